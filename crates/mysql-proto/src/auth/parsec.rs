//! `parsec`, MariaDB from 11.6 on: a signature by a key that is derived from the password and a salt.
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
//! The 32 bytes that come of password and salt are the seed of an Ed25519 key as in RFC 8032; what is signed is both
//! scrambles, the server's first.
//!
//! <https://mariadb.com/kb/en/authentication-plugin-parsec/>

use ed25519_dalek::{Signer, SigningKey};
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
/// The highest factor that is computed, 262,144 iterations.
///
/// MariaDB up to 12 has 0 to 3; 13.1 lets its administrator go to 20, which is seven minutes. The server picks it before
/// anybody knows who it is, and no deadline interrupts it, so that it must stay below what a login may take.
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
    /// Reads the server's bytes.
    ///
    /// # Errors
    /// Another length or algorithm; [`AuthError::TooManyIterations`] for a factor above [`MAX_FACTOR`].
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

/// The response: the client's scramble, and the signature of both.
///
/// Takes 0.7 ms of one core for the factor 0 and twice as long for each step, 0.17 s for [`MAX_FACTOR`].
pub fn respond(
    password: &Secret,
    ext_salt: &ExtSalt,
    server_scramble: &[u8; SCRAMBLE_BYTES],
    client_scramble: &[u8; SCRAMBLE_BYTES],
) -> Secret {
    let mut seed = Zeroizing::new([0; SEED_BYTES]);
    let iterations = MIN_ITERATIONS << ext_salt.factor;
    pbkdf2_hmac::<Sha512>(password.expose(), &ext_salt.salt, iterations, &mut *seed);
    let signed = [&server_scramble[..], client_scramble].concat();
    let signature = SigningKey::from_bytes(&seed).sign(&signed).to_bytes();
    Secret::new([&client_scramble[..], &signature].concat())
}

#[cfg(test)]
mod tests;
