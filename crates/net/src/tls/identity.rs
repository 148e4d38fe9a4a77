//! The certificate and key of one side.

use rustls::InconsistentKeys;
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;

use super::{Pem, TlsError};

/// The certificate and key of this side. A server shows the certificate to every client, a client to servers that ask for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificate, and the intermediates between it and the CA.
    pub certificate: Pem,
    /// The certificate's private key, not encrypted: PKCS#8, PKCS#1 or SEC1.
    pub key: Pem,
}

impl Identity {
    /// The certificates, and the key, which must be of the first of them.
    pub(super) fn certified(&self, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
        let Self { certificate, key } = self;
        let chain = certificate.certificates("ssl-cert")?;
        let private_key = key.private_key("ssl-key")?;
        let private_key = provider.key_provider.load_private_key(private_key);
        let private_key = private_key.map_err(|error| key.bad("ssl-key", &error.to_string()))?;
        let certified = CertifiedKey::new(chain, private_key);
        match certified.keys_match() {
            // Some keys don't tell their public half.
            Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => {
                Ok(certified)
            }
            Err(rustls::Error::InvalidCertificate(_)) if is_version_1(&certified) => {
                match has_key_of_version_1(&certified) {
                    true => Ok(certified),
                    false => Err(self.not_its_key()),
                }
            }
            Err(rustls::Error::InconsistentKeys(_)) => Err(self.not_its_key()),
            Err(error) => Err(certificate.bad("ssl-cert", &error.to_string())),
        }
    }

    fn not_its_key(&self) -> TlsError {
        let place = self.certificate.place();
        let problem = format!("it is not the private key of the first certificate in {place}");
        self.key.bad("ssl-key", &problem)
    }
}

/// Whether the first certificate is of X.509 version 1, which rustls does not read. Servers show such certificates, and
/// clients of OpenSSL take them. Without a version in front, the number of the certificate comes first:
/// `SEQUENCE { SEQUENCE { INTEGER serial, ...`.
fn is_version_1(certified: &CertifiedKey) -> bool {
    const INTEGER: u8 = 0x02;
    let first = certified.end_entity_cert().map(|first| first.as_ref());
    let inner = first.ok().and_then(sequence).and_then(sequence);
    inner.is_some_and(|inner| inner.first() == Some(&INTEGER))
}

/// What a DER sequence begins with.
fn sequence(der: &[u8]) -> Option<&[u8]> {
    const SEQUENCE: u8 = 0x30;
    match der {
        [SEQUENCE, 0..0x80, content @ ..] => Some(content),
        [SEQUENCE, long, rest @ ..] => rest.get(usize::from(long & 0x7F)..),
        _ => None,
    }
}

/// Whether the public half of the key is in the certificate, where it stands as it is.
fn has_key_of_version_1(certified: &CertifiedKey) -> bool {
    let (Ok(first), Some(public)) = (certified.end_entity_cert(), certified.key.public_key())
    else {
        return false;
    };
    let mut places = first.windows(public.len().max(1));
    places.any(|place| place == public.as_ref())
}
