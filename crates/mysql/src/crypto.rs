//! Random bytes and RSA for the protocol core, provided by aws-lc-rs.

use aws_lc_rs::rand;
use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use onecopy_mysql_proto::auth::{Crypto, CryptoError, PublicKey};

/// Random bytes and RSA from aws-lc-rs, the library that TLS uses too. It is for code that drives the protocol core without a
/// connection of this crate, such as a proxy.
#[derive(Debug)]
pub struct AwsLc;

impl Crypto for AwsLc {
    fn random(&self, bytes: &mut [u8]) -> Result<(), CryptoError> {
        rand::fill(bytes).map_err(|_| CryptoError::NoRandom)
    }

    fn rsa_oaep(&self, key: &PublicKey, message: &[u8]) -> Result<Vec<u8>, CryptoError> {
        let rejected = |_| CryptoError::KeyRejected;
        let key =
            PublicEncryptingKey::from_der(key.as_der()).map_err(|_| CryptoError::KeyRejected)?;
        let key = OaepPublicEncryptingKey::new(key).map_err(rejected)?;
        let mut room = vec![0; key.ciphertext_size()];
        let length = key
            .encrypt(&OAEP_SHA1_MGF1SHA1, message, &mut room, None)
            .map_err(rejected)?
            .len();
        room.truncate(length);
        Ok(room)
    }
}

#[cfg(test)]
mod tests;
