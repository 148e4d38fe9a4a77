//! Cryptography that the protocol needs and this crate does not contain: random bytes, and RSA on either side.
//!
//! The crate does no I/O and is pure Rust. The caller provides both, and tests can make them deterministic.

use core::fmt;

use super::public_key::PublicKey;
use super::secret::Secret;

/// A provider of random bytes, and of encryption with a server's key.
pub trait Crypto: fmt::Debug + Send + Sync {
    /// Fills `bytes` with cryptographically secure random bytes.
    ///
    /// # Errors
    /// Fails with [`CryptoError::NoRandom`].
    fn random(&self, bytes: &mut [u8]) -> Result<(), CryptoError>;

    /// Encrypts `message` with RSA-OAEP with SHA-1, MGF1 with SHA-1 and no label (RFC 8017, section 7.1.1). `message` has at most
    /// [`PublicKey::max_message_bytes`] bytes; the result has [`PublicKey::bytes`].
    ///
    /// # Errors
    /// Fails with [`CryptoError::KeyRejected`].
    fn rsa_oaep(&self, key: &PublicKey, message: &[u8]) -> Result<Vec<u8>, CryptoError>;
}

/// A server's own RSA key, which clients encrypt their passwords with, see [`rsa`](super::rsa).
pub trait PrivateKey: fmt::Debug + Send + Sync {
    /// Returns the public part as PEM, for clients that request it.
    fn public_pem(&self) -> &[u8];

    /// Decrypts what was encrypted with the public part by RSA-OAEP with SHA-1, MGF1 with SHA-1 and no label. Returns `None` for
    /// anything else.
    fn decrypt(&self, encrypted: &[u8]) -> Option<Secret>;
}

/// The error of a [`Crypto`] operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CryptoError {
    /// Random bytes are not available.
    NoRandom,
    /// The key cannot be used for encryption: it has the form of an RSA key, but its numbers are not valid.
    KeyRejected,
    /// The caller provided no [`Crypto`].
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

/// No cryptography: anything that needs random bytes or RSA fails with [`CryptoError::Missing`].
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
