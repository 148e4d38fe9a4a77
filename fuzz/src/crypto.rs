//! What the protocol takes from outside: random bytes that are always the same, and an encryption that anybody can undo
//! but nobody takes for the message. And what costs more than an input is worth.

use onecopy_mysql_proto::auth::{Crypto, CryptoError, PublicKey};

/// Makes every run of an input the same.
#[derive(Debug)]
pub struct Plain;

impl Crypto for Plain {
    fn random(&self, bytes: &mut [u8]) -> Result<(), CryptoError> {
        bytes.fill(0x5A);
        Ok(())
    }

    fn rsa_oaep(&self, _key: &PublicKey, message: &[u8]) -> Result<Vec<u8>, CryptoError> {
        Ok(message.iter().map(|byte| !byte).collect())
    }
}

/// Whether a server's bytes may be a salt of `parsec` with many iterations, of which the highest factor has 262,144:
/// allowed, and nothing that a target could say more about.
pub fn is_slow(server: &[u8]) -> bool {
    const QUICK: u8 = 2;
    let is_salt = |pair: &[u8]| pair[0] == b'P' && (QUICK..0x20).contains(&pair[1]);
    server.windows(2).any(is_salt)
}
