//! What the protocol needs and this crate does not have: random bytes, and RSA.
//!
//! The crate does no IO and stays pure Rust, so both come from outside, and tests can make them deterministic.

use core::fmt;

use super::public_key::PublicKey;

/// Random bytes, and encryption under a server's key.
pub trait Crypto: fmt::Debug + Send + Sync {
    /// Fills `bytes` with random bytes that nobody can foresee.
    ///
    /// # Errors
    /// [`CryptoError::NoRandom`].
    fn random(&self, bytes: &mut [u8]) -> Result<(), CryptoError>;

    /// Encrypts `message` by RSA-OAEP with SHA-1, MGF1 with SHA-1 and no label (RFC 8017, section 7.1.1). `message` has at
    /// most [`PublicKey::max_message_bytes`] bytes; the answer has [`PublicKey::bytes`].
    ///
    /// # Errors
    /// [`CryptoError::KeyRejected`].
    fn rsa_oaep(&self, key: &PublicKey, message: &[u8]) -> Result<Vec<u8>, CryptoError>;
}

/// Why a [`Crypto`] could not do its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CryptoError {
    /// There are no random bytes to be had.
    NoRandom,
    /// The key can't be encrypted under: it is RSA in form, and not a key that anybody made.
    KeyRejected,
    /// There is no [`Crypto`]: the caller gave none.
    Missing,
}

impl core::error::Error for CryptoError {}

impl fmt::Display for CryptoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoRandom => "the system has no random bytes to give",
            Self::KeyRejected => "the server's public key can't be encrypted under",
            Self::Missing => "this authentication needs random bytes or rsa, and none were given",
        })
    }
}

/// None: what needs random bytes or RSA fails with [`CryptoError::Missing`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoCrypto;

impl Crypto for NoCrypto {
    fn random(&self, _bytes: &mut [u8]) -> Result<(), CryptoError> {
        Err(CryptoError::Missing)
    }

    fn rsa_oaep(&self, _key: &PublicKey, _message: &[u8]) -> Result<Vec<u8>, CryptoError> {
        Err(CryptoError::Missing)
    }
}
