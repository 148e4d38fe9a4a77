//! TLS of a server: what it shows to clients, and which of theirs it asks for.

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

/// Whether clients are asked for a certificate, and the CAs that it must be of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ClientCertificates {
    /// They are not asked.
    #[default]
    Off,
    /// A client may have none. One that it shows must be of these CAs.
    Optional(Pem),
    /// A client without one of these CAs has no session.
    Required(Pem),
}

/// How a server speaks TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsServerOptions {
    /// What is shown to clients.
    pub identity: Identity,
    /// What of theirs is asked for.
    pub clients: ClientCertificates,
}

/// TLS with clients, ready to begin, version 1.2 or 1.3. A clone costs one count, and shares the keys of the session tickets
/// by which clients come back with a short handshake; a new acceptor, as one makes after a change of the files, has keys of
/// its own and takes no ticket of an older one. Sessions under way are not touched.
#[derive(Clone)]
pub struct TlsAcceptor(Arc<Made>);

struct Made {
    config: Arc<ServerConfig>,
    options: TlsServerOptions,
    stamps: [Option<Stamp>; 3],
}

impl TlsAcceptor {
    /// TLS as `options` say. Reads their files, at most 16 MiB each.
    ///
    /// # Errors
    /// Files that can't be read or are not PEM, a key that is not the certificate's, no CAs; each names the option
    /// and the file. Certificates of X.509 version 1 are accepted, but clients built on rustls refuse to verify them.
    pub fn new(options: &TlsServerOptions) -> Result<Self, TlsError> {
        // Before the files are read: one that changes meanwhile is then seen to have changed.
        let stamps = options.stamps();
        Ok(Self(Arc::new(Made {
            config: Arc::new(options.make()?),
            options: options.clone(),
            stamps,
        })))
    }

    /// What it was made with.
    pub fn options(&self) -> &TlsServerOptions {
        &self.0.options
    }

    /// Whether one of the files has changed since it was read, or is gone. Looks at up to three files, reads none.
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

/// Paths and nothing of the key.
impl fmt::Debug for TlsAcceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TlsAcceptor").field(&self.0.options).finish()
    }
}

#[cfg(test)]
mod tests;
