//! The TLS settings of a configuration.

use std::borrow::Cow;
use std::net::SocketAddr;

use onecopy_mysql_proto::client::TlsDemand;
use onecopy_net::{Endpoint, Identity, TlsConnector, TlsOptions, Verify};

use crate::{Config, Error};

/// Whether TLS is used, and how the server is verified.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::blocking::Connection;
/// use onecopy_mysql::{Config, SslMode};
///
/// # fn main() -> Result<(), onecopy_mysql::Error> {
/// let mut config = Config::from_url("mysql://app:password@db.example.com/shop")?;
/// config.ssl_mode = Some(SslMode::VerifyFull); // as `?ssl-mode=verify-full`
/// let conn = Connection::connect_with(&config)?;
/// println!("{:?}", conn.tls());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SslMode {
    /// Clear text, also over a network.
    Disabled,
    /// TLS if the server offers it. The server is not verified: there is no protection against an active attacker.
    Preferred,
    /// TLS, or the connection fails. The server is not verified.
    Required,
    /// TLS with a certificate signed by a CA in `ssl_ca`; the host name is not checked.
    VerifyCa,
    /// Like `VerifyCa`, and the certificate must be for this host. This is the default over a network. Without `ssl_ca` the
    /// system's CAs are trusted.
    VerifyFull,
}

impl SslMode {
    /// Returns the mode's name in a URL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Preferred => "preferred",
            Self::Required => "required",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        use SslMode::{Disabled, Preferred, Required, VerifyCa, VerifyFull};
        [Disabled, Preferred, Required, VerifyCa, VerifyFull]
            .into_iter()
            .find(|mode| mode.name() == name)
    }

    pub(crate) fn demand(self) -> TlsDemand {
        match self {
            Self::Disabled => TlsDemand::None,
            Self::Preferred => TlsDemand::IfOffered,
            Self::Required | Self::VerifyCa | Self::VerifyFull => TlsDemand::Required,
        }
    }

    /// Whether the server is known to be the right one. The CA of `VerifyCa` is one of the caller's own, which
    /// vouches for its hosts.
    pub(crate) fn verifies(self) -> bool {
        matches!(self, Self::VerifyCa | Self::VerifyFull)
    }
}

/// Returns the configuration for the caller's stream. If no mode was chosen and the stream leads to another host, the server is
/// verified, whatever the configuration's endpoint is.
pub(crate) fn over_stream(config: &Config, peer: Option<SocketAddr>) -> Cow<'_, Config> {
    let is_remote = peer.is_some_and(|peer| !peer.ip().to_canonical().is_loopback());
    if config.ssl_mode.is_some() || !is_remote {
        return Cow::Borrowed(config);
    }
    Cow::Owned(Config {
        ssl_mode: Some(SslMode::VerifyFull),
        ..config.clone()
    })
}

/// TLS as the configuration wants it; `None` where it wants none. Refuses what can't be kept, before anybody is
/// connected to.
pub(crate) fn connector(config: &Config) -> Result<Option<TlsConnector>, Error> {
    let mode = config.effective_ssl_mode();
    refuse_contradiction(config, mode)?;
    let verify = match mode {
        SslMode::Disabled => return Ok(None),
        SslMode::Preferred | SslMode::Required => Verify::None,
        SslMode::VerifyCa => Verify::Ca,
        SslMode::VerifyFull => Verify::Full,
    };
    let options = TlsOptions {
        verify,
        ca: config.ssl_ca.clone(),
        identity: match (&config.ssl_cert, &config.ssl_key) {
            (Some(certificate), Some(key)) => Some(Identity {
                certificate: certificate.clone(),
                key: key.clone(),
            }),
            _ => None,
        },
        // A server can only prove its certificate with the password if there is one.
        defers_unknown_issuer: config.verify_by_password
            && config.ssl_ca.is_none()
            && !config.password.is_empty(),
    };
    let connector = TlsConnector::new(&options, server_name(config), &config.tls_cache)?;
    Ok(Some(connector))
}

fn refuse_contradiction(config: &Config, mode: SslMode) -> Result<(), Error> {
    let refuse = |problem: String| Err(Error::config(problem));
    if config.ssl_ca.is_some() && !mode.verifies() {
        return refuse(format!(
            "ssl-ca has no effect with ssl-mode={}, which verifies nothing; set ssl-mode=verify-ca or verify-full",
            mode.name()
        ));
    }
    if config.ssl_cert.is_some() != config.ssl_key.is_some() {
        return refuse("ssl-cert and ssl-key go together: set both or none".to_owned());
    }
    for (option, is_given) in [
        ("ssl-cert", config.ssl_cert.is_some()),
        ("ssl-server-name", config.ssl_server_name.is_some()),
    ] {
        if is_given && mode == SslMode::Disabled {
            return refuse(format!("{option} has no effect with ssl-mode=disabled"));
        }
    }
    if mode == SslMode::VerifyCa && config.ssl_ca.is_none() {
        return refuse(
            "verify-ca accepts every host with a certificate of the CA, so name a CA of your own: set ssl-ca, or use \
             ssl-mode=verify-full"
                .to_owned(),
        );
    }
    if mode == SslMode::VerifyFull && server_name(config).is_empty() {
        return refuse(
            "a unix socket has no host's name to verify: set ssl-server-name, or ssl-mode=verify-ca".to_owned(),
        );
    }
    Ok(())
}

fn server_name(config: &Config) -> &str {
    match (&config.ssl_server_name, &config.endpoint) {
        (Some(name), _) => name,
        (None, Endpoint::Tcp { host, .. }) => host,
        (None, Endpoint::Unix(_)) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_to_another_host_is_verified_unless_a_mode_was_chosen() {
        let mode = |url: &str, peer: Option<&str>| {
            let config = Config::from_url(url).unwrap();
            let peer = peer.map(|peer| peer.parse().unwrap());
            over_stream(&config, peer).effective_ssl_mode()
        };
        let (local, other) = ("mysql://localhost", "mysql://db.example");
        for (peer, expected) in [
            (None, SslMode::Disabled),
            (Some("127.0.0.1:3306"), SslMode::Disabled),
            (Some("[::1]:3306"), SslMode::Disabled),
            (Some("[::ffff:127.0.0.1]:3306"), SslMode::Disabled),
            (Some("192.0.2.1:3306"), SslMode::VerifyFull),
            (Some("[2001:db8::1]:3306"), SslMode::VerifyFull),
        ] {
            assert_eq!(mode(local, peer), expected, "{peer:?}");
            // The configuration's own host counts too: behind a tunnel it is another one.
            assert_eq!(mode(other, peer), SslMode::VerifyFull, "{peer:?}");
        }
        let chosen = "mysql://localhost/?ssl-mode=required";
        assert_eq!(mode(chosen, Some("192.0.2.1:3306")), SslMode::Required);
        assert_eq!(
            mode("mysql://localhost/?ssl-server-name=db.example", None),
            SslMode::VerifyFull
        );
    }
}
