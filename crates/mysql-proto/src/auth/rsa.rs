//! Encryption of a password with the server's RSA key: `caching_sha2_password` and `sha256_password` over plain TCP.
//!
//! The password and its NUL are XORed with the nonce, repeated as often as needed, and then encrypted with RSA-OAEP with SHA-1.
//! The client may request the key with a packet of one byte; the server sends it as PEM.
//!
//! Servers accept this only over plain TCP and, for `sha256_password`, over a Unix socket, where a key that was requested is
//! certainly the server's own. Over TLS, verified or not, they take any response for the password itself, so a key is of no use
//! there. Tested with MySQL 9.7.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html>

use super::crypto::Crypto;
use super::error::AuthError;
use super::nonce::HASH_BYTES;
use super::public_key::PublicKey;
use super::secret::Secret;

/// The request for the key in `caching_sha2_password`.
pub const CACHING_SHA2_REQUEST: u8 = 0x02;
/// The request for the key in `sha256_password`.
pub const SHA256_REQUEST: u8 = 0x01;

/// The first byte of a key in PEM.
pub(super) const PEM_START: u8 = b'-';

/// Encrypts the password with `key`, bound to `nonce`.
///
/// # Errors
/// Fails with [`AuthError::PasswordTooLong`] if the password is too long for the key, and with [`AuthError::Crypto`].
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

/// Returns the password from a message that the owner of the key has decrypted and that was bound to `nonce`, or `None` if the
/// message is not a password.
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
