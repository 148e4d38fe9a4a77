//! TLS errors.

use std::path::PathBuf;
use std::{fmt, io};

use onecopy_wire::WireError;
use rustls::{AlertDescription, CertificateError};

/// Why TLS could not be established, or ended. The error's text contains no secrets.
#[derive(Debug)]
#[non_exhaustive]
pub enum TlsError {
    /// A file of certificates or keys cannot be read.
    File {
        /// The option that names the file.
        option: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The PEM input cannot be used: it is invalid, or a key does not belong to its certificate.
    Pem {
        /// The option that provides it.
        option: &'static str,
        /// The path of the file, or a note that it was in memory.
        place: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The system's trusted CAs are not available.
    NoSystemRoots(String),
    /// The host is neither a name nor an address that a certificate could be for.
    BadServerName(String),
    /// The server closed the connection during the handshake.
    ClosedInHandshake,
    /// The client closed the connection during the handshake.
    ClientClosedInHandshake,
    /// This many bytes arrived in clear text after the request for TLS. They must not be taken for the
    /// server's, whoever sent them.
    ClearText(usize),
    /// The handshake or a later record failed.
    Failed(Failure),
    /// Memory could not be allocated, or a limit was reached.
    Buffer(WireError),
}

/// An error of the TLS library.
pub struct Failure {
    error: rustls::Error,
    /// Whose doing it is, as far as it is the other side's.
    peer: Peer,
}

#[derive(Clone, Copy)]
enum Peer {
    Server,
    Client,
}

impl TlsError {
    /// Returns whether the peer's certificate was refused.
    pub fn is_untrusted(&self) -> bool {
        matches!(
            self,
            Self::Failed(Failure {
                error: rustls::Error::InvalidCertificate(_),
                ..
            })
        )
    }

    /// The same again, of those that end a session.
    pub(super) fn again(&self) -> Self {
        match self {
            Self::Failed(Failure { error, peer }) => Self::Failed(Failure {
                error: error.clone(),
                peer: *peer,
            }),
            Self::Buffer(error) => Self::Buffer(*error),
            Self::ClientClosedInHandshake => Self::ClientClosedInHandshake,
            _ => Self::ClosedInHandshake,
        }
    }

    /// The same where this side is the server.
    pub(super) fn of_client(self) -> Self {
        match self {
            Self::Failed(Failure { error, .. }) => Self::Failed(Failure {
                error,
                peer: Peer::Client,
            }),
            other => other,
        }
    }

    /// Extracts the error from an I/O error that a TLS stream returned.
    ///
    /// # Errors
    /// Returns any other I/O error unchanged.
    pub fn from_io(error: io::Error) -> Result<Self, io::Error> {
        error.downcast()
    }
}

impl From<rustls::Error> for TlsError {
    fn from(error: rustls::Error) -> Self {
        Self::Failed(Failure {
            error,
            peer: Peer::Server,
        })
    }
}

impl From<WireError> for TlsError {
    fn from(error: WireError) -> Self {
        Self::Buffer(error)
    }
}

/// Converts the error, because streams return I/O errors. The I/O drivers extract it again.
impl From<TlsError> for io::Error {
    fn from(error: TlsError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File {
                option,
                path,
                source,
            } => write!(f, "{option}: can't read '{}': {source}", path.display()),
            Self::Pem {
                option,
                place,
                problem,
            } => write!(f, "{option}: {place}: {problem}"),
            Self::NoSystemRoots(why) => write!(
                f,
                "the system's CA certificates can't be read ({why}): install the package ca-certificates, or name \
                 the server's CA with ssl-ca"
            ),
            Self::BadServerName(name) => write!(
                f,
                "a certificate can't be for '{name}', which is neither a host's name nor an address: set ssl-server-name"
            ),
            Self::ClosedInHandshake => {
                f.write_str("the server closed the connection while tls was being set up")
            }
            Self::ClientClosedInHandshake => {
                f.write_str("the client closed the connection while tls was being set up")
            }
            Self::ClearText(bytes) => write!(
                f,
                "{bytes} bytes in clear text followed the request for TLS; an attacker may have injected them"
            ),
            Self::Failed(failure) => failure.fmt(f),
            Self::Buffer(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TlsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.peer {
            Peer::Server => of_server(&self.error, f),
            Peer::Client => of_client(&self.error, f),
        }
    }
}

fn of_server(error: &rustls::Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match error {
            rustls::Error::InvalidCertificate(error) => refused(error, f),
            rustls::Error::AlertReceived(
                AlertDescription::CertificateRequired
                | AlertDescription::BadCertificate
                | AlertDescription::UnknownCA
                | AlertDescription::CertificateUnknown,
            ) => f.write_str(
                "the server refuses this client's certificate: give one that it trusts with ssl-cert and ssl-key",
            ),
            rustls::Error::AlertReceived(alert) => {
                write!(f, "the server broke off tls: {}", alert_name(*alert))
            }
            rustls::Error::InvalidMessage(_) => {
                f.write_str("what the server sent is not tls; if it refused in clear text, its log says why")
            }
            rustls::Error::PeerIncompatible(why) => write!(
                f,
                "the server speaks no tls that is safe here (1.2 with forward secrecy, or 1.3): {why:?}"
            ),
            error => write!(f, "tls failed: {error}"),
        }
}

fn of_client(error: &rustls::Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match error {
        rustls::Error::InvalidCertificate(error) if is_version_1(error) => f.write_str(
            "the client's certificate is refused: it is of x.509 version 1, which can't be verified here; give the client one of version 3",
        ),
        rustls::Error::InvalidCertificate(error) => {
            write!(f, "the client's certificate is refused: {error}")
        }
        rustls::Error::NoCertificatesPresented => {
            f.write_str("the client has no certificate, and one is required")
        }
        rustls::Error::AlertReceived(
            AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateExpired,
        ) => f.write_str(
            "the client does not trust the certificate: configure its CA in the client, or use another certificate",
        ),
        rustls::Error::AlertReceived(alert) => {
            write!(f, "the client broke off tls: {}", alert_name(*alert))
        }
        rustls::Error::InvalidMessage(_) => f.write_str("what the client sent is not tls"),
        rustls::Error::PeerIncompatible(why) => write!(
            f,
            "the client speaks no tls that is safe here (1.2 with forward secrecy, or 1.3): {why:?}"
        ),
        error => write!(f, "tls failed: {error}"),
    }
}

fn alert_name(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::HandshakeFailure => {
            "handshake failure, the two have no cipher in common".to_owned()
        }
        AlertDescription::ProtocolVersion => "it has no version in common".to_owned(),
        other => format!("{other:?}"),
    }
}

/// What is wrong with the server's certificate, and what to do.
fn refused(error: &CertificateError, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("the server's certificate is refused: ")?;
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            f.write_str("it has expired; the server needs a new one")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            f.write_str("it is not valid yet; look at both clocks")
        }
        CertificateError::UnknownIssuer => f.write_str(
            "it is not signed by a trusted CA; name the server's CA with ssl-ca",
        ),
        CertificateError::NotValidForName => {
            f.write_str("it is for another host; set ssl-server-name to the host that it is for")
        }
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            write!(f, "it is not for {}", expected.to_str())?;
            if presented.is_empty() {
                return f.write_str(
                    " and names no host at all, like those that MySQL generates; verify only its CA with \
                     ssl-mode=verify-ca",
                );
            }
            let names = names(presented);
            write!(
                f,
                " but for {names}; set ssl-server-name to the host that it is for"
            )
        }
        CertificateError::Revoked => f.write_str("it was revoked"),
        error if is_version_1(error) => f.write_str(
            "it is of x.509 version 1, which can't be verified here; make one of version 3, with a subjectAltName",
        ),
        error => write!(f, "{error}"),
    }
}

/// Whether it is a certificate of X.509 version 1. The library has no name for that among its own errors.
fn is_version_1(error: &CertificateError) -> bool {
    matches!(error, CertificateError::Other(error) if error.to_string() == "UnsupportedCertVersion")
}

/// The names that a server's certificate has: text of the server's, so it is cut and only printable characters are shown.
fn names(presented: &[String]) -> String {
    const NAMES: usize = 4;
    const CHARACTERS: usize = 64;
    let shown = presented.iter().take(NAMES).map(|name| {
        let printable = plain(name).chars().take(CHARACTERS);
        printable
            .map(|c| if c.is_ascii_graphic() { c } else { '?' })
            .collect::<String>()
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// The name in `DnsName("localhost")` or `IpAddress(127.0.0.1)`, as the TLS library has it. Any other is shown as it is.
fn plain(name: &str) -> &str {
    let inside = |before, behind| name.strip_prefix(before)?.strip_suffix(behind);
    inside("DnsName(\"", "\")")
        .or_else(|| inside("IpAddress(", ")"))
        .unwrap_or(name)
}

#[cfg(test)]
mod tests;
