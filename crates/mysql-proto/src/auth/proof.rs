//! The proof that a server's certificate is its own, without a CA: MariaDB 11.4 and later.
//!
//! A server without a configured certificate makes one at each start, which nobody has signed. Behind a login over TLS it sends
//! a hash of what both sides know, the hash of the password, and of the certificate that it has sent. A man in the middle who has
//! put in a certificate of their own can make it, because they do not know the former.
//!
//! The message of the login's OK packet:
//!
//! | bytes | field   | note                                                                             |
//! |-------|---------|----------------------------------------------------------------------------------|
//! | 1     | version | 0x01                                                                             |
//! | 64    | proof   | SHA-256 of password hash, nonce (20 bytes) and fingerprint, in hexadecimal digits |
//!
//! The password hash is what the server stores: SHA1(SHA1(password)) for `mysql_native_password`, the public key for
//! `client_ed25519`, and the ext-salt and the public key for `parsec`. The nonce is the greeting's, or that of a later switch to
//! `mysql_native_password`. The fingerprint is the SHA-256 hash of the certificate.
//!
//! <https://mariadb.com/kb/en/securing-connections-for-client-and-server/>

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::nonce::HASH_BYTES;
use super::plugin::PluginSet;

/// The plugins with which the server can make the proof.
pub const PROVABLE: PluginSet = PluginSet::NATIVE_PASSWORD
    .union(PluginSet::CLIENT_ED25519)
    .union(PluginSet::PARSEC);

const VERSION: u8 = 0x01;

/// The SHA-256 hash of a certificate in DER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Computes it.
    pub fn of(certificate: &[u8]) -> Self {
        Self(Sha256::digest(certificate).into())
    }

    /// Returns whether the login's message proves it, in constant time.
    pub fn is_proven_by(
        &self,
        message: &[u8],
        password_hash: &[u8],
        nonce: &[u8; HASH_BYTES],
    ) -> bool {
        let [VERSION, proof @ ..] = message else {
            return false;
        };
        let mut hash = Sha256::new();
        hash.update(password_hash);
        hash.update(nonce);
        hash.update(self.0);
        let expected = Zeroizing::new(hex(&hash.finalize()));
        expected
            .as_slice()
            .ct_eq(&proof.to_ascii_uppercase())
            .into()
    }
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    let digit = |half: u8| match half {
        0..=9 => b'0' + half,
        _ => b'A' + half - 10,
    };
    let digits = bytes
        .iter()
        .flat_map(|&byte| [digit(byte >> 4), digit(byte & 0x0F)]);
    digits.collect()
}

#[cfg(test)]
mod tests;
