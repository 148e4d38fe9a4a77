//! `parsec`, MariaDB 11.6 and later: a signature with a key that is derived from the password and a salt.
//!
//! ```text
//!   server: AuthSwitchRequest, scramble of 32 bytes
//!   client: an empty packet
//!   server: ext-salt
//!   client: scramble of 32 bytes of its own, signature of 64 bytes
//! ```
//!
//! | bytes | field     | note                                                      |
//! |-------|-----------|-----------------------------------------------------------|
//! | 1     | algorithm | always `P`, PBKDF2 with HMAC-SHA-512                      |
//! | 1     | factor    | 1,024 iterations for 0, twice as many for each one more   |
//! | 18    | salt      |                                                           |
//!
//! The 32 bytes derived from password and salt are the seed of an Ed25519 key as in RFC 8032. It signs both scrambles, the
//! server's first.
//!
//! <https://mariadb.com/kb/en/authentication-plugin-parsec/>

use core::fmt;

use ed25519_dalek::{Signature, Signer, SigningKey, Verifier as _, VerifyingKey};
use pbkdf2::pbkdf2_hmac;
use sha2::Sha512;
use zeroize::Zeroizing;

use super::error::AuthError;
use super::secret::Secret;
use crate::codec::{DecodeErrorKind, Reader};

/// The length of each side's scramble, in bytes.
pub const SCRAMBLE_BYTES: usize = super::nonce::SCRAMBLE_BYTES;
/// The length of the salt, in bytes.
pub const SALT_BYTES: usize = 18;
/// The highest accepted iteration factor, 262,144 iterations.
///
/// MariaDB up to 12 has 0 to 3; 13.1 allows up to 20, which takes seven minutes. The server picks the factor before its identity
/// is known, and no deadline interrupts the computation, so the limit must stay below an acceptable login time.
pub const MAX_FACTOR: u8 = 8;

const NAME: &str = "ext-salt";
/// PBKDF2.
pub(super) const ALGORITHM: u8 = b'P';
const MIN_ITERATIONS: u32 = 1024;
const SEED_BYTES: usize = 32;

/// How the key is derived from the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtSalt {
    factor: u8,
    salt: [u8; SALT_BYTES],
}

impl ExtSalt {
    /// Creates one with this salt and 1,024 iterations, MariaDB's default.
    pub fn new(salt: [u8; SALT_BYTES]) -> Self {
        Self { factor: 0, salt }
    }

    /// Returns the server's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&[ALGORITHM, self.factor], &self.salt[..]].concat()
    }

    /// Decodes the server's bytes.
    ///
    /// # Errors
    /// Fails on another length or algorithm, and with [`AuthError::TooManyIterations`] on a factor above [`MAX_FACTOR`].
    pub fn decode(bytes: &[u8]) -> Result<Self, AuthError> {
        let mut reader = Reader::new(NAME, bytes);
        reader.expect(ALGORITHM, "algorithm")?;
        let factor = reader.u8("factor")?;
        let salt = reader.array("salt")?;
        if reader.remaining() > 0 {
            return Err(reader.error("salt", DecodeErrorKind::Trailing).into());
        }
        if factor > MAX_FACTOR {
            return Err(AuthError::TooManyIterations { factor });
        }
        Ok(Self { factor, salt })
    }
}

/// Returns the response: the client's scramble, and the signature of both scrambles.
///
/// Takes 0.7 ms of CPU time for factor 0, twice as long for each step, and 0.17 s for [`MAX_FACTOR`].
pub fn respond(
    password: &Secret,
    ext_salt: &ExtSalt,
    server_scramble: &[u8; SCRAMBLE_BYTES],
    client_scramble: &[u8; SCRAMBLE_BYTES],
) -> Secret {
    let seed = seed(password, ext_salt);
    let signed = [&server_scramble[..], client_scramble].concat();
    let signature = SigningKey::from_bytes(&seed).sign(&signed).to_bytes();
    Secret::new([&client_scramble[..], &signature].concat())
}

/// What a server stores of a password, which it derives the same key from: the ext-salt and the public key. Takes as long as
/// [`respond`].
pub(super) fn stored(password: &Secret, ext_salt: &ExtSalt) -> Vec<u8> {
    let key = SigningKey::from_bytes(&seed(password, ext_salt));
    let public_key = key.verifying_key().to_bytes();
    [&ext_salt.to_bytes()[..], &public_key].concat()
}

/// What a server stores of a password: the ext-salt and the public key.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    ext_salt: ExtSalt,
    key: VerifyingKey,
}

impl Verifier {
    /// Creates it from the password. Takes as long as [`respond`].
    pub fn from_password(password: &Secret, ext_salt: ExtSalt) -> Self {
        let key = SigningKey::from_bytes(&seed(password, &ext_salt)).verifying_key();
        Self { ext_salt, key }
    }

    /// Returns one that asks for the key of another salt, and is signed for by nobody: for users that do not exist, whose salts
    /// should differ like those of others.
    #[must_use]
    pub fn with_ext_salt(self, ext_salt: ExtSalt) -> Self {
        Self { ext_salt, ..self }
    }

    /// Returns what the client derives its key with.
    pub fn ext_salt(&self) -> &ExtSalt {
        &self.ext_salt
    }

    /// Returns whether `response` is a scramble of the client's and the password's signature of both scrambles.
    pub fn verify(&self, server_scramble: &[u8; SCRAMBLE_BYTES], response: &[u8]) -> bool {
        let Some((client_scramble, signature)) = response.split_first_chunk::<SCRAMBLE_BYTES>()
        else {
            return false;
        };
        let signed = [&server_scramble[..], client_scramble].concat();
        Signature::from_slice(signature)
            .is_ok_and(|signature| self.key.verify(&signed, &signature).is_ok())
    }
}

/// Does not show the key: the public key of a weak password allows offline guessing.
impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(***)")
    }
}

fn seed(password: &Secret, ext_salt: &ExtSalt) -> Zeroizing<[u8; SEED_BYTES]> {
    let mut seed = Zeroizing::new([0; SEED_BYTES]);
    let iterations = MIN_ITERATIONS << ext_salt.factor;
    pbkdf2_hmac::<Sha512>(password.expose(), &ext_salt.salt, iterations, &mut *seed);
    seed
}

#[cfg(test)]
mod tests;
