//! TLS as a server: the certificate it shows, and whether it asks clients for theirs.

use std::fmt;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::SingleCertAndKey;

use super::connector::roots;
use super::pem::Stamp;
use super::{Identity, Pem, Session, TlsError};

/// Whether clients are asked for a certificate, and which CAs must have signed it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ClientCertificates {
    /// Clients are not asked for a certificate.
    #[default]
    Off,
    /// A client may have no certificate. If it shows one, one of these CAs must have signed it.
    Optional(Pem),
    /// A client must have a certificate signed by one of these CAs. Otherwise the handshake fails.
    Required(Pem),
}

/// The TLS options of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsServerOptions {
    /// The certificate that is shown to clients, and its key.
    pub identity: Identity,
    /// Whether clients are asked for a certificate.
    pub clients: ClientCertificates,
}

/// Creates TLS sessions with clients, of version 1.2 or 1.3.
///
/// A clone only increments a reference count, and shares the keys of the session tickets, with which returning clients resume
/// with a short handshake. A new acceptor, created for example after the files have changed, has keys of its own and does not
/// accept tickets of an older one. Existing sessions are not affected.
#[derive(Clone)]
pub struct TlsAcceptor(Arc<Made>);

struct Made {
    config: Arc<ServerConfig>,
    options: TlsServerOptions,
    stamps: [Option<Stamp>; 3],
}

impl TlsAcceptor {
    /// Creates an acceptor. Reads the files in `options`, at most 16 MiB each.
    ///
    /// # Errors
    /// Fails if a file cannot be read or is not PEM, if the key does not belong to the certificate, or if there are no CAs. The
    /// error names the option and the file. Certificates of X.509 version 1 are accepted, but clients that use rustls refuse to
    /// verify them.
    pub fn new(options: &TlsServerOptions) -> Result<Self, TlsError> {
        // Before the files are read: one that changes meanwhile is then seen to have changed.
        let stamps = options.stamps();
        Ok(Self(Arc::new(Made {
            config: Arc::new(options.make()?),
            options: options.clone(),
            stamps,
        })))
    }

    /// Returns the options that the acceptor was created with.
    pub fn options(&self) -> &TlsServerOptions {
        &self.0.options
    }

    /// Returns whether one of the files has changed since it was read, or is gone. It looks at the metadata of up to three files
    /// and reads none.
    pub fn is_stale(&self) -> bool {
        self.0.options.stamps() != self.0.stamps
    }

    pub(crate) fn session(&self) -> Result<Session, TlsError> {
        Session::server(Arc::clone(&self.0.config))
    }
}

impl ClientCertificates {
    fn authorities(&self) -> Option<&Pem> {
        match self {
            Self::Off => None,
            Self::Optional(pem) | Self::Required(pem) => Some(pem),
        }
    }
}

impl TlsServerOptions {
    fn stamps(&self) -> [Option<Stamp>; 3] {
        [
            Some(self.identity.certificate.stamp()),
            Some(self.identity.key.stamp()),
            self.clients.authorities().map(Pem::stamp),
        ]
    }

    fn make(&self) -> Result<ServerConfig, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let shown = self.identity.certified(&provider)?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(self.verifier()?)
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(shown)));
        // Kept by the clients, so that what a client did not come back for costs nothing here.
        config.ticketer = aws_lc_rs::Ticketer::new()?;
        Ok(config)
    }

    fn verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
        let Some(authorities) = self.clients.authorities() else {
            return Ok(WebPkiClientVerifier::no_client_auth());
        };
        let builder = WebPkiClientVerifier::builder_with_provider(
            Arc::new(roots(authorities)?),
            Arc::new(aws_lc_rs::default_provider()),
        );
        match self.clients {
            ClientCertificates::Required(_) => builder,
            _ => builder.allow_unauthenticated(),
        }
        .build()
        .map_err(|error| authorities.bad("ssl-ca", &error.to_string()))
    }
}

/// Shows paths, and nothing of the key.
impl fmt::Debug for TlsAcceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TlsAcceptor").field(&self.0.options).finish()
    }
}

#[cfg(test)]
mod tests;
