//! `caching_sha2_password`.
//!
//! response = SHA256(password) XOR SHA256(SHA256(SHA256(password)), nonce).
//!
//! A server that has SHA256(SHA256(password)) in its cache checks the response and sends AuthMoreData 0x03. Otherwise it requests
//! the password itself with 0x04. Over a secure channel the client sends the password and a NUL. Over a plain one it sends it
//! encrypted with the server's RSA key, see [`rsa`](super::rsa), or not at all. An empty password is sent as a single NUL.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html>

use core::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::secret::Secret;

mod stored_password;

pub use stored_password::StoredPassword;

/// The length of the nonce, in bytes.
pub const NONCE_BYTES: usize = super::nonce::HASH_BYTES;
/// The length of a hash, in bytes.
const HASH_BYTES: usize = 32;

/// AuthMoreData: the response was correct, and OK follows.
pub const FAST_OK: u8 = 0x03;
/// AuthMoreData: the server needs the password itself.
pub const FULL_AUTHENTICATION: u8 = 0x04;

/// Returns the response to `nonce`; a single NUL for an empty password.
pub fn respond(password: &Secret, nonce: &[u8; NONCE_BYTES]) -> Secret {
    if password.is_empty() {
        return with_nul(password);
    }
    let once = Zeroizing::new(sha256(&[password.expose()]));
    let twice = sha256(&[&*once]);
    Secret::new(xor(&once, &sha256(&[&twice, nonce])))
}

/// What a server has of a password in its cache: the hash of its hash.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier([u8; HASH_BYTES]);

impl Verifier {
    /// Creates it from the password.
    pub fn from_password(password: &Secret) -> Self {
        let once = Zeroizing::new(sha256(&[password.expose()]));
        Self(sha256(&[&*once]))
    }

    /// Creates it from a stored hash of the hash. MySQL itself stores another hash, a [`StoredPassword`].
    pub fn from_bytes(hash: [u8; HASH_BYTES]) -> Self {
        Self(hash)
    }

    /// Returns whether `response` was computed from the password, in constant time.
    pub fn verify(&self, nonce: &[u8; NONCE_BYTES], response: &[u8]) -> bool {
        let Ok(response) = <[u8; HASH_BYTES]>::try_from(response) else {
            return false;
        };
        let once = Zeroizing::new(xor(&response, &sha256(&[&self.0, nonce])));
        sha256(&[&*once]).ct_eq(&self.0).into()
    }

    /// Whether it is this password's, in constant time.
    pub(super) fn is_of(&self, password: &[u8]) -> bool {
        let once = Zeroizing::new(sha256(&[password]));
        sha256(&[&*once]).ct_eq(&self.0).into()
    }
}

/// Returns the password with the NUL that ends it if it is sent itself.
pub fn with_nul(password: &Secret) -> Secret {
    let mut bytes = Vec::with_capacity(password.expose().len() + 1);
    bytes.extend_from_slice(password.expose());
    bytes.push(0);
    Secret::new(bytes)
}

/// Does not show the hash, because it allows offline guessing.
impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(***)")
    }
}

fn sha256(parts: &[&[u8]]) -> [u8; HASH_BYTES] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}

fn xor(a: &[u8; HASH_BYTES], b: &[u8; HASH_BYTES]) -> [u8; HASH_BYTES] {
    let mut out = *a;
    for (byte, other) in out.iter_mut().zip(b) {
        *byte ^= other;
    }
    out
}

#[cfg(test)]
mod tests;
