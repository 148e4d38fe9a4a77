//! TLS as a file asks for it, on each side.

use std::path::{Path, PathBuf};

use onecopy_net::{
    ClientCertificates, Endpoint, Identity, Pem, TlsAcceptor, TlsCache, TlsConnector, TlsError,
    TlsOptions, TlsServerOptions, Verify,
};
use serde::Deserialize;
use toml::Spanned;

use super::error::Problem;

/// `[mysql.tls]`: TLS with clients.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ClientTls {
    certificate: PathBuf,
    key: PathBuf,
    required: Option<bool>,
    client_certificates: Option<Asked>,
    client_ca: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Asked {
    #[default]
    Off,
    Optional,
    Required,
}

/// `[mysql.backend.tls]`: TLS with a server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct BackendTls {
    mode: Option<Mode>,
    ca: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    server_name: Option<String>,
}

/// The words of the clients' `ssl-mode`, as far as they ask for TLS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    Required,
    VerifyCa,
    #[default]
    VerifyFull,
}

impl ClientTls {
    /// TLS of a listener, and whether clients without it are refused. Reads the files.
    pub(super) fn acceptor(
        tls: Spanned<Self>,
        folder: &Path,
    ) -> Result<(TlsAcceptor, bool), Problem> {
        let span = tls.span();
        let tls = tls.into_inner();
        let authorities = tls.client_ca.map(|path| Pem::File(folder.join(path)));
        let clients = match (tls.client_certificates.unwrap_or_default(), authorities) {
            (Asked::Off, None) => ClientCertificates::Off,
            (Asked::Optional, Some(pem)) => ClientCertificates::Optional(pem),
            (Asked::Required, Some(pem)) => ClientCertificates::Required(pem),
            (Asked::Off, Some(_)) => {
                let message = "`client-ca` is given, but no client is asked for a certificate";
                return Err(Problem::at(span, message)
                    .hint("set `client-certificates` to \"optional\" or \"required\""));
            }
            (_, None) => {
                let message = "clients are asked for certificates, but no CA is set";
                return Err(Problem::at(span, message).hint("give `client-ca`"));
            }
        };
        let options = TlsServerOptions {
            identity: Identity {
                certificate: Pem::File(folder.join(tls.certificate)),
                key: Pem::File(folder.join(tls.key)),
            },
            clients,
        };
        let acceptor = TlsAcceptor::new(&options);
        let acceptor = acceptor.map_err(|error| Problem::at(span, told(&error, "client-ca")))?;
        Ok((acceptor, tls.required.unwrap_or_default()))
    }
}

impl BackendTls {
    /// TLS with the server at `endpoint`. Reads the files.
    pub(super) fn connector(
        tls: Spanned<Self>,
        endpoint: &Endpoint,
        folder: &Path,
    ) -> Result<TlsConnector, Problem> {
        let span = tls.span();
        let tls = tls.into_inner();
        let file = |path: PathBuf| Pem::File(folder.join(path));
        let identity = match (tls.certificate, tls.key) {
            (Some(certificate), Some(key)) => Some(Identity {
                certificate: file(certificate),
                key: file(key),
            }),
            (None, None) => None,
            _ => {
                let message = "`certificate` and `key` are given together or not at all";
                return Err(Problem::at(span, message));
            }
        };
        let options = TlsOptions {
            verify: match tls.mode.unwrap_or_default() {
                Mode::Required => Verify::None,
                Mode::VerifyCa => Verify::Ca,
                Mode::VerifyFull => Verify::Full,
            },
            ca: tls.ca.map(file),
            identity,
            ..TlsOptions::default()
        };
        let name = match (&tls.server_name, endpoint) {
            (Some(name), _) => name,
            (None, Endpoint::Tcp { host, .. }) => host,
            (None, Endpoint::Unix(_)) => "localhost",
        };
        TlsConnector::new(&options, name, &TlsCache::default())
            .map_err(|error| Problem::at(span, told(&error, "ca")))
    }
}

/// An error that names the key of this file where TLS's own text names the clients' option. `ca` is what that one is here.
fn told(error: &TlsError, ca: &str) -> String {
    let text = error.to_string();
    let (TlsError::File { option, .. } | TlsError::Pem { option, .. }) = error else {
        return text;
    };
    let key = match *option {
        "ssl-cert" => "certificate",
        "ssl-key" => "key",
        "ssl-ca" => ca,
        other => other,
    };
    text.replacen(option, key, 1)
}
