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
    PasswordHash::from_password(password).respond(nonce)
}

/// SHA1(password): enough to log in with this plugin, and with no other. Protect it like a password: it is not what servers store.
///
/// It is wiped on drop, and `Debug` prints `***`.
#[derive(Clone)]
pub struct PasswordHash(Zeroizing<[u8; HASH_BYTES]>);

impl PasswordHash {
    /// Creates it from the password, which must not be empty: an account without a password has no hash.
    pub fn from_password(password: &Secret) -> Self {
        Self(Zeroizing::new(sha1(&[password.expose()])))
    }

    /// Returns the response to `nonce`.
    pub fn respond(&self, nonce: &[u8; NONCE_BYTES]) -> Secret {
        let twice = sha1(&[&*self.0]);
        Secret::new(xor(&self.0, &sha1(&[nonce, &twice])))
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(***)")
    }
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

    /// Creates it from the text that a server stores: `*` and 40 hexadecimal digits, as `PASSWORD('...')` of MariaDB gives it. `None` if
    /// it is anything else.
    pub fn from_text(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('*')?.as_bytes();
        let mut hash = [0; HASH_BYTES];
        if digits.len() != 2 * HASH_BYTES {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let mut digits = pair.iter().map(|&digit| char::from(digit).to_digit(16));
            let value = digits.next()?? * 16 + digits.next()??;
            *byte = u8::try_from(value).ok()?;
        }
        Some(Self(hash))
    }

    /// Returns whether `response` was computed from the password, in constant time.
    pub fn verify(&self, nonce: &[u8; NONCE_BYTES], response: &[u8]) -> bool {
        self.open(nonce, response).is_some()
    }

    /// Returns the hash that `response` was computed from, if it is the password's; compares in constant time.
    pub fn open(&self, nonce: &[u8; NONCE_BYTES], response: &[u8]) -> Option<PasswordHash> {
        let response = <[u8; HASH_BYTES]>::try_from(response).ok()?;
        let once = Zeroizing::new(xor(&response, &sha1(&[nonce, &self.0])));
        let is_right: bool = sha1(&[&*once]).ct_eq(&self.0).into();
        is_right.then_some(PasswordHash(once))
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
