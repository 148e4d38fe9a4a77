//! A password under the server's RSA key: `caching_sha2_password` and `sha256_password` over clear text.
//!
//! The password and its NUL, each byte XORed with the nonce's, the nonce repeated as often as it takes; all of that by
//! RSA-OAEP with SHA-1. The client may ask for the key by one byte of its own; the server sends it as PEM.
//!
//! Servers take this over clear text only, and for `sha256_password` over a Unix socket, where a key that is asked for is
//! the server's own. Over TLS, verified or not, they take whatever comes for the password itself, so that there a key is of
//! no use. Tried with MySQL 9.7.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html>

use super::crypto::Crypto;
use super::error::AuthError;
use super::nonce::HASH_BYTES;
use super::public_key::PublicKey;
use super::secret::Secret;

/// Asks for the key in `caching_sha2_password`.
pub const CACHING_SHA2_REQUEST: u8 = 0x02;
/// Asks for the key in `sha256_password`.
pub const SHA256_REQUEST: u8 = 0x01;

/// The first byte of a key in PEM.
pub(super) const PEM_START: u8 = b'-';

/// The password under `key`, bound to `nonce`.
///
/// # Errors
/// [`AuthError::PasswordTooLong`] where the key has no room for it, [`AuthError::Crypto`].
pub fn encrypt(
    password: &Secret,
    nonce: &[u8; HASH_BYTES],
    key: &PublicKey,
    crypto: &dyn Crypto,
) -> Result<Secret, AuthError> {
    let max_bytes = key.max_message_bytes() - 1;
    if password.expose().len() > max_bytes {
        return Err(AuthError::PasswordTooLong { max_bytes });
    }
    let message = masked(password, nonce);
    Ok(Secret::new(crypto.rsa_oaep(key, message.expose())?))
}

/// The password that was bound to `nonce` and put under a key, from what the key's owner has decrypted; `None` where it is
/// none.
pub fn unmask(message: &Secret, nonce: &[u8; HASH_BYTES]) -> Option<Secret> {
    let bytes = message.expose().iter().zip(nonce.iter().cycle());
    let mut plain = Vec::with_capacity(message.expose().len());
    plain.extend(bytes.map(|(byte, mask)| byte ^ mask));
    let is_password = plain.pop() == Some(0);
    let plain = Secret::new(plain);
    is_password.then_some(plain)
}

/// The password and its NUL, XORed with the nonce.
fn masked(password: &Secret, nonce: &[u8; HASH_BYTES]) -> Secret {
    let plain = password.expose().iter().chain([&0]);
    let bytes = plain
        .zip(nonce.iter().cycle())
        .map(|(byte, mask)| byte ^ mask);
    // Reserved at once: a vector that grows would leave parts of it behind.
    let mut message = Vec::with_capacity(password.expose().len() + 1);
    message.extend(bytes);
    Secret::new(message)
}

#[cfg(test)]
mod tests;
