//! RSA: the proxy's own key, under which clients may send passwords, and those of backends.

use onecopy_mysql_proto::auth::{PrivateKey, PublicKey, Secret};

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};

/// A key of 2,048 bits, in memory alone.
pub(crate) struct Key {
    private: OaepPrivateDecryptingKey,
    pem: Vec<u8>,
}

impl Key {
    /// A new key; takes some tenths of a second. `None` where none can be made.
    pub(crate) fn generate() -> Option<Self> {
        let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).ok()?;
        let der: PublicKeyX509Der<'_> = private.public_key().as_der().ok()?;
        let pem = PublicKey::from_der(der.as_ref()).ok()?.to_pem();
        Some(Self {
            private: OaepPrivateDecryptingKey::new(private).ok()?,
            pem: pem.into_bytes(),
        })
    }

    /// The public part, in PEM.
    pub(crate) fn pem(&self) -> &[u8] {
        &self.pem
    }

    /// What was put under it; `None` where that was another key, or nothing of the kind.
    pub(crate) fn decrypt(&self, encrypted: &[u8]) -> Option<Secret> {
        let mut room = vec![0; self.private.min_output_size()];
        let message = self
            .private
            .decrypt(&OAEP_SHA1_MGF1SHA1, encrypted, &mut room, None);
        let length = message.map_or(0, |message| message.len());
        // All of the room is wiped with it, also where nothing came of it.
        let room = Secret::new(room);
        let message = room.expose().get(..length).filter(|_| length > 0)?;
        Some(Secret::new(message))
    }
}

impl PrivateKey for Key {
    fn public_pem(&self) -> &[u8] {
        self.pem()
    }

    fn decrypt(&self, encrypted: &[u8]) -> Option<Secret> {
        self.decrypt(encrypted)
    }
}

/// Sizes, and nothing of the key.
impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(2048 bits)")
    }
}

#[cfg(test)]
mod tests {
    use onecopy_mysql::AwsLc;
    use onecopy_mysql_proto::auth::rsa;

    use super::*;

    #[test]
    fn a_password_under_the_key_is_read_by_its_owner_alone() {
        let (ours, others) = (Key::generate().unwrap(), Key::generate().unwrap());
        let public = PublicKey::from_pem(ours.pem()).unwrap();
        assert_eq!(public.bits(), 2048);
        let nonce = [7; 20];
        for password in ["", "secret", &"x".repeat(public.max_message_bytes() - 1)] {
            let encrypted = rsa::encrypt(&Secret::new(password), &nonce, &public, &AwsLc).unwrap();
            let message = ours.decrypt(encrypted.expose()).unwrap();
            let plain = rsa::unmask(&message, &nonce).unwrap();
            assert_eq!(plain.expose(), password.as_bytes());
            assert!(others.decrypt(encrypted.expose()).is_none());
        }
        for noise in [&b""[..], &[0], &[0; 256], &[0xFF; 256], &[1; 300]] {
            assert!(ours.decrypt(noise).is_none());
        }
        assert!(!format!("{ours:?}").contains("BEGIN"));
    }
}
