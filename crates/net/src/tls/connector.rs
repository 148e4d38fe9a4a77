//! TLS as a client: whom it trusts, and which certificate it shows.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::ServerName;
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier as PlatformVerifier;

use super::pem::Stamp;
use super::verifier::{AnyHost, Deferring};
use super::{Identity, Pem, Session, TlsError};

/// What is verified of the peer's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verify {
    /// Nothing: any server is accepted.
    None,
    /// That a trusted CA signed it. The host name is not checked.
    Ca,
    /// That a trusted CA signed it, and that it is for this host.
    #[default]
    Full,
}

/// The TLS options of a client.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TlsOptions {
    /// What is verified of the server's certificate.
    pub verify: Verify,
    /// The trusted CAs. `None`: those of the system.
    pub ca: Option<Pem>,
    /// The client's certificate and key, for servers that ask for one.
    pub identity: Option<Identity>,
    /// Whether a single certificate that no trusted CA has signed is accepted for now, with [`Verify::Full`]. The protocol must then
    /// verify it: the core is given it by [`Core::certificate_to_verify`](onecopy_wire::Core::certificate_to_verify). That the server has the
    /// certificate's key is always verified. Default: no.
    pub defers_unknown_issuer: bool,
}

/// The TLS configuration that was made last, so that files are read once and sessions are resumed. Clones share it.
#[derive(Clone, Default)]
pub struct TlsCache(Arc<Mutex<Option<Arc<Made>>>>);

struct Made {
    of: Key,
    config: Arc<ClientConfig>,
    /// What would verify certificates if that were not left to the protocol.
    deferred: Option<Arc<dyn ServerCertVerifier>>,
}

/// Identifies the options that a configuration was made from, and the state of their files.
#[derive(PartialEq, Eq)]
struct Key {
    options: TlsOptions,
    stamps: [Option<Stamp>; 3],
}

/// Creates TLS sessions with one host.
#[derive(Clone)]
pub struct TlsConnector {
    made: Arc<Made>,
    name: ServerName<'static>,
}

impl TlsConnector {
    /// Creates a connector for the host `name`: a DNS name, or an address in text form. Reads the files in `options` if they have
    /// changed.
    ///
    /// # Errors
    /// Fails if a file cannot be read or is not PEM, if the key does not belong to the certificate, or if there are no CAs. If
    /// the host is verified, it also fails if no certificate can be for `name`.
    pub fn new(options: &TlsOptions, name: &str, cache: &TlsCache) -> Result<Self, TlsError> {
        let name = match ServerName::try_from(name.to_owned()) {
            Ok(name) => name,
            Err(_) if options.verify == Verify::Full => {
                return Err(TlsError::BadServerName(name.to_owned()));
            }
            // It is only sent so that the server can choose a certificate; an address is not sent at all.
            Err(_) => ServerName::from(IpAddr::from(Ipv4Addr::UNSPECIFIED)),
        };
        let made = cache.make(options)?;
        Ok(Self { made, name })
    }

    /// Returns the options that the connector was created with.
    pub fn options(&self) -> &TlsOptions {
        &self.made.of.options
    }

    /// Returns the host name that the peer's certificate must have, as it was given. If the host is not verified and the given
    /// name is not a host name, returns a placeholder address.
    pub fn server_name(&self) -> String {
        self.name.to_str().into_owned()
    }

    /// Returns whether one of the files has changed since it was read, or is gone. It looks at the metadata of up to three files
    /// and reads none.
    pub fn is_stale(&self) -> bool {
        self.options().stamps() != self.made.of.stamps
    }

    /// Returns what is verified of the server's certificate.
    pub fn verify(&self) -> Verify {
        self.options().verify
    }

    pub(crate) fn session(&self) -> Result<Session, TlsError> {
        let config = Arc::clone(&self.made.config);
        let deferred = self.made.deferred.clone();
        Session::client(config, self.name.clone(), self.options().verify, deferred)
    }
}

impl TlsCache {
    fn make(&self, options: &TlsOptions) -> Result<Arc<Made>, TlsError> {
        let key = Key {
            options: options.clone(),
            stamps: options.stamps(),
        };
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = &*made
            && made.of == key
        {
            return Ok(Arc::clone(made));
        }
        let (config, deferred) = options.make()?;
        let new = Arc::new(Made {
            of: key,
            config: Arc::new(config),
            deferred,
        });
        *made = Some(Arc::clone(&new));
        Ok(new)
    }
}

impl TlsOptions {
    fn stamps(&self) -> [Option<Stamp>; 3] {
        let identity = self.identity.as_ref();
        [
            self.ca.as_ref().map(Pem::stamp),
            identity.map(|identity| identity.certificate.stamp()),
            identity.map(|identity| identity.key.stamp()),
        ]
    }

    fn make(&self) -> Result<(ClientConfig, Option<Arc<dyn ServerCertVerifier>>), TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let strict = self.verifier(&provider)?;
        let defers = self.defers_unknown_issuer && self.verify == Verify::Full;
        let deferred = defers.then(|| Arc::clone(&strict));
        let verifier = match &deferred {
            None => strict,
            Some(strict) => Arc::new(Deferring(Arc::clone(strict))),
        };
        let identity = match &self.identity {
            Some(identity) => Some(SingleCertAndKey::from(identity.certified(&provider)?)),
            None => None,
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder.with_client_cert_resolver(Arc::new(identity)),
        };
        Ok((config, deferred))
    }

    fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
        let provider = Arc::clone(provider);
        Ok(match (self.verify, &self.ca) {
            (Verify::None, _) => Arc::new(AnyHost {
                roots: None,
                provider,
            }),
            (Verify::Ca, Some(pem)) => Arc::new(AnyHost {
                roots: Some(roots(pem)?),
                provider,
            }),
            // Anyone can have a certificate of a public CA, for a host of his own.
            (Verify::Ca, None) => {
                return Err(TlsError::Pem {
                    option: "ssl-ca",
                    place: "none is given".to_owned(),
                    problem: "verify-ca accepts every host with a certificate of the CA, so name a CA of your own; or use verify-full"
                        .to_owned(),
                });
            }
            (Verify::Full, Some(pem)) => {
                WebPkiServerVerifier::builder_with_provider(roots(pem)?.into(), provider)
                    .build()
                    .map_err(|error| TlsError::from(rustls::Error::General(error.to_string())))?
            }
            (Verify::Full, None) => match PlatformVerifier::new(Arc::clone(&provider)) {
                Ok(verifier) => Arc::new(verifier),
                // Without any CA every issuer is unknown.
                Err(_) if self.defers_unknown_issuer => Arc::new(AnyHost {
                    roots: Some(RootCertStore::empty()),
                    provider,
                }),
                Err(error) => return Err(TlsError::NoSystemRoots(error.to_string())),
            },
        })
    }
}

pub(super) fn roots(pem: &Pem) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in pem.certificates("ssl-ca")? {
        roots
            .add(certificate)
            .map_err(|error| pem.bad("ssl-ca", &format!("not a CA certificate: {error}")))?;
    }
    Ok(roots)
}

impl fmt::Debug for TlsCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsCache")
    }
}

impl fmt::Debug for TlsConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsConnector")
            .field("name", &self.name)
            .field("verify", &self.options().verify)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
