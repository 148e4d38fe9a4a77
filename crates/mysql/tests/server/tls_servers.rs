//! Servers with every kind of certificate, each started once.

use std::path::PathBuf;
use std::sync::OnceLock;

use onecopy_mysql::{Config, Pem};
use onecopy_testkit::certificate::{Authority, Certificate};
use onecopy_testkit::server::{Server, ServerKind};

/// Authorities, and the servers that they vouch for.
#[derive(Debug)]
pub(crate) struct Servers {
    authority: Authority,
    /// Vouches for none of them.
    stranger: Authority,
    /// Its certificate is for 127.0.0.1 and localhost.
    pub(crate) good: Server,
    /// For localhost by name, not by address.
    pub(crate) by_name: Server,
    /// For another host.
    pub(crate) other_host: Server,
    /// For this host, until 2020.
    pub(crate) expired: Server,
    /// It has none and speaks no TLS.
    pub(crate) without: Server,
    /// It was given none, and may have made one itself.
    pub(crate) own: Server,
}

pub(crate) fn servers() -> &'static Servers {
    static SERVERS: OnceLock<Servers> = OnceLock::new();
    SERVERS.get_or_init(Servers::start)
}

impl Servers {
    fn start() -> Self {
        let authority = Authority::new("onecopy's tests");
        let with = |certificate: Certificate| {
            let builder = Server::builder().tls(&authority, certificate);
            builder.start().unwrap()
        };
        let good = with(authority.server(&["127.0.0.1", "localhost"]));
        let skip_tls = match good.kind() {
            ServerKind::MySql => "--tls-version=",
            ServerKind::MariaDb => "--skip-ssl",
        };
        Self {
            by_name: with(authority.server(&["localhost"])),
            other_host: with(authority.server(&["db.example"])),
            expired: with(authority.expired_server(&["127.0.0.1", "localhost"])),
            own: Server::start().unwrap(),
            without: Server::builder().argument(skip_tls).start().unwrap(),
            stranger: Authority::new("a stranger"),
            authority,
            good,
        }
    }

    /// The CA that vouches for the servers.
    pub(crate) fn authority(&self) -> Pem {
        Pem::Text(self.authority.certificate().into_bytes())
    }

    /// Another CA, which they don't know.
    pub(crate) fn stranger(&self) -> Pem {
        Pem::Text(self.stranger.certificate().into_bytes())
    }

    /// A client's certificate that the servers trust.
    pub(crate) fn client(&self) -> Certificate {
        self.authority.client("a client")
    }

    /// A client's certificate that they don't.
    pub(crate) fn strange_client(&self) -> Certificate {
        self.stranger.client("a client")
    }
}

/// The way to a server over TCP, without a word on TLS.
pub(crate) fn config(server: &Server) -> Config {
    Config::from_url(&server.url()).unwrap()
}

/// Writes a certificate into a folder of its own; gives the paths of certificate and key.
pub(crate) fn on_disk(certificate: &Certificate, name: &str) -> (PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("onecopy-tls-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let files = certificate.write(&folder, "client").unwrap();
    (files.certificate, files.key)
}
