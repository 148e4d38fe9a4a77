//! `client_ed25519`, MariaDB.
//!
//! The response is an Ed25519 signature of the nonce. The key is SHA-512 of the password, whatever its length: its
//! first half, clamped, is the secret scalar and its second half the prefix. The server keeps the public key. RFC 8032
//! would have a seed of 32 bytes in the password's place; all else is as there. An empty password signs too.
//!
//! <https://mariadb.com/kb/en/authentication-plugin-ed25519/>, <https://www.rfc-editor.org/rfc/rfc8032>

use core::fmt;

use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign, raw_verify};
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest, Sha512};
use zeroize::Zeroizing;

use super::secret::Secret;

/// The nonce's length, in bytes.
pub const NONCE_BYTES: usize = super::nonce::ED25519_BYTES;

/// The response to `nonce`, 64 bytes.
pub fn respond(password: &Secret, nonce: &[u8; NONCE_BYTES]) -> Secret {
    let key = secret_key(password);
    let signature = raw_sign::<Sha512>(&key, nonce, &VerifyingKey::from(&key));
    Secret::new(signature.to_bytes())
}

/// What a server keeps of a password: the public key.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier(VerifyingKey);

impl Verifier {
    /// From the password.
    pub fn from_password(password: &Secret) -> Self {
        Self(VerifyingKey::from(&secret_key(password)))
    }

    /// From what a server has stored, decoded from its base64; `None` for bytes that are no public key.
    pub fn from_bytes(public_key: &[u8; 32]) -> Option<Self> {
        VerifyingKey::from_bytes(public_key).ok().map(Self)
    }

    /// Whether `response` is the password's signature of `nonce`.
    pub fn verify(&self, nonce: &[u8; NONCE_BYTES], response: &[u8]) -> bool {
        Signature::from_slice(response)
            .is_ok_and(|signature| raw_verify::<Sha512>(&self.0, nonce, &signature).is_ok())
    }
}

/// A public key of a guessable password is good for offline guessing, so it is not shown.
impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(***)")
    }
}

fn secret_key(password: &Secret) -> ExpandedSecretKey {
    let hash = Zeroizing::new(<[u8; 64]>::from(Sha512::digest(password.expose())));
    ExpandedSecretKey::from_bytes(&hash)
}

#[cfg(test)]
mod tests;
