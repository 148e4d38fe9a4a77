//! `client_ed25519` of MariaDB.
//!
//! The response is an Ed25519 signature of the nonce. The key is the SHA-512 hash of the password, which may have any length: its
//! first half, clamped, is the secret scalar, and its second half is the prefix. RFC 8032 hashes a seed of 32 bytes instead of
//! the password; everything else is as there. The server stores the public key. An empty password produces a signature too.
//!
//! <https://mariadb.com/kb/en/authentication-plugin-ed25519/>, <https://www.rfc-editor.org/rfc/rfc8032>

use core::fmt;

use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign, raw_verify};
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest, Sha512};
use zeroize::Zeroizing;

use super::secret::Secret;

/// The length of the nonce, in bytes.
pub const NONCE_BYTES: usize = super::nonce::ED25519_BYTES;

/// Returns the response to `nonce`, 64 bytes.
pub fn respond(password: &Secret, nonce: &[u8; NONCE_BYTES]) -> Secret {
    let key = secret_key(password);
    let signature = raw_sign::<Sha512>(&key, nonce, &VerifyingKey::from(&key));
    Secret::new(signature.to_bytes())
}

/// The bytes of the public key.
pub(super) fn stored(password: &Secret) -> [u8; 32] {
    VerifyingKey::from(&secret_key(password)).to_bytes()
}

/// What a server stores of a password: the public key.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier(VerifyingKey);

impl Verifier {
    /// Creates it from the password.
    pub fn from_password(password: &Secret) -> Self {
        Self(VerifyingKey::from(&secret_key(password)))
    }

    /// Creates it from what a server stores, decoded from base64. Returns `None` if the bytes are not a public key.
    pub fn from_bytes(public_key: &[u8; 32]) -> Option<Self> {
        VerifyingKey::from_bytes(public_key).ok().map(Self)
    }

    /// Returns whether `response` is the password's signature of `nonce`.
    pub fn verify(&self, nonce: &[u8; NONCE_BYTES], response: &[u8]) -> bool {
        Signature::from_slice(response)
            .is_ok_and(|signature| raw_verify::<Sha512>(&self.0, nonce, &signature).is_ok())
    }
}

/// Does not show the key: the public key of a weak password allows offline guessing.
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
