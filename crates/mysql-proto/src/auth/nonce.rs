//! The server's random bytes, which make each response good for one login only.
//!
//! A server that could choose a constant could have tables of hashes made for it in advance, so a nonce that is
//! plainly not random is refused.

use super::error::AuthError;
use super::plugin::Plugin;

/// The nonce's length in `mysql_native_password` and `caching_sha2_password`.
pub(crate) const HASH_BYTES: usize = 20;
/// The nonce's length in `client_ed25519`.
pub(crate) const ED25519_BYTES: usize = 32;
/// The length of a scramble in `parsec`.
pub(crate) const SCRAMBLE_BYTES: usize = 32;

/// A nonce of `N` bytes from a plugin's data.
///
/// The hash plugins' data may have a NUL behind the nonce, in `client_ed25519` and `parsec` every byte is
/// the nonce's.
pub(crate) fn checked<const N: usize>(plugin: Plugin, data: &[u8]) -> Result<[u8; N], AuthError> {
    let bytes = match data {
        [nonce @ .., 0] if N == HASH_BYTES && nonce.len() == N => nonce,
        _ => data,
    };
    match <[u8; N]>::try_from(bytes) {
        Ok(nonce) if nonce.iter().any(|&byte| byte != 0) => Ok(nonce),
        _ => Err(AuthError::BadNonce {
            plugin,
            bytes: data.len(),
        }),
    }
}

#[cfg(test)]
mod tests;
