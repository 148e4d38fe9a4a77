//! `mysql_native_password`.
//!
//! response = SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password))); the server stores SHA1(SHA1(password)).
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_authentication_methods_native_password_authentication.html>

use core::fmt;

use sha1::{Digest, Sha1};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::secret::Secret;

/// The length of the nonce, in bytes.
pub const NONCE_BYTES: usize = super::nonce::HASH_BYTES;
/// The length of a hash, in bytes.
const HASH_BYTES: usize = 20;

/// Returns the response to `nonce`; empty for an empty password.
pub fn respond(password: &Secret, nonce: &[u8; NONCE_BYTES]) -> Secret {
    if password.is_empty() {
        return Secret::default();
    }
    let once = Zeroizing::new(sha1(&[password.expose()]));
    let twice = sha1(&[&*once]);
    Secret::new(xor(&once, &sha1(&[nonce, &twice])))
}

/// SHA1(SHA1(password)).
pub(super) fn stored(password: &Secret) -> [u8; HASH_BYTES] {
    let once = Zeroizing::new(sha1(&[password.expose()]));
    sha1(&[&*once])
}

/// What a server stores of a password: the hash of its hash.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier([u8; HASH_BYTES]);

impl Verifier {
    /// Creates it from the password.
    pub fn from_password(password: &Secret) -> Self {
        Self(stored(password))
    }

    /// Creates it from what a server stores: the bytes after the `*` of `PASSWORD()`.
    pub fn from_bytes(hash: [u8; HASH_BYTES]) -> Self {
        Self(hash)
    }

    /// Returns whether `response` was computed from the password, in constant time.
    pub fn verify(&self, nonce: &[u8; NONCE_BYTES], response: &[u8]) -> bool {
        let Ok(response) = <[u8; HASH_BYTES]>::try_from(response) else {
            return false;
        };
        let once = Zeroizing::new(xor(&response, &sha1(&[nonce, &self.0])));
        sha1(&[&*once]).ct_eq(&self.0).into()
    }
}

/// Does not show the hash, because it allows offline guessing.
impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(***)")
    }
}

fn sha1(parts: &[&[u8]]) -> [u8; HASH_BYTES] {
    let mut hash = Sha1::new();
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
