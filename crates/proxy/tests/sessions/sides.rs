//! A server, and proxies before it whose sides are TLS or not.

use std::path::PathBuf;
use std::sync::OnceLock;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, SslMode};
use onecopy_net::{
    ClientCertificates, Endpoint, Identity, Pem, TlsAcceptor, TlsCache, TlsConnector, TlsOptions,
    TlsServerOptions, Verify,
};
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{self, BackendConfig, ListenerConfig};
use onecopy_testkit::certificate::{Authority, Certificate};
use onecopy_testkit::server::Server;

use crate::common::loopback;

/// Authorities, and a server that one of them vouches for.
pub(crate) struct Sides {
    pub(crate) server: Server,
    pub(crate) authority: Authority,
    /// Vouches for nobody here.
    pub(crate) stranger: Authority,
}

/// One of the two kinds of either side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Plain,
    Tls,
    Socket,
}

/// The server of these tests: it takes headers of the PROXY protocol where it is MariaDB.
pub(crate) fn sides() -> &'static Sides {
    static SIDES: OnceLock<Sides> = OnceLock::new();
    SIDES.get_or_init(|| {
        let authority = Authority::new("the proxy's tests");
        let certificate = || authority.server(&["127.0.0.1", "localhost"]);
        let server = Server::builder()
            .tls(&authority, certificate())
            .argument("--loose-proxy-protocol-networks=127.0.0.1")
            .start()
            .unwrap();
        Sides {
            server,
            authority,
            stranger: Authority::new("a stranger"),
        }
    })
}

impl Sides {
    /// TLS with clients.
    pub(crate) fn acceptor(&self, clients: ClientCertificates) -> TlsAcceptor {
        let certificate = self.authority.server(&["127.0.0.1", "localhost"]);
        let options = TlsServerOptions {
            identity: identity(&certificate),
            clients,
        };
        TlsAcceptor::new(&options).unwrap()
    }

    /// TLS with the server, which is verified.
    pub(crate) fn connector(&self, client: Option<&Certificate>) -> TlsConnector {
        let options = TlsOptions {
            verify: Verify::Full,
            ca: Some(self.authorities()),
            identity: client.map(identity),
            ..TlsOptions::default()
        };
        TlsConnector::new(&options, "127.0.0.1", &TlsCache::default()).unwrap()
    }

    pub(crate) fn authorities(&self) -> Pem {
        Pem::Text(self.authority.certificate().into_bytes())
    }

    /// The way to the server.
    pub(crate) fn backend(&self, way: Way) -> BackendConfig {
        let endpoint = match way {
            Way::Socket => Endpoint::Unix(self.server.socket().to_owned()),
            _ => loopback(self.server.port()),
        };
        BackendConfig {
            tls: (way == Way::Tls).then(|| self.connector(None)),
            ..BackendConfig::new(endpoint)
        }
    }

    /// A proxy that offers TLS and a Unix socket to its clients.
    pub(crate) fn proxy(
        &self,
        backend: BackendConfig,
        change: impl FnOnce(&mut ListenerConfig),
    ) -> Front {
        self.proxy_with(backend, |config| change(&mut config.listeners[0]))
    }

    /// The same where more is to be changed.
    pub(crate) fn proxy_with(
        &self,
        backend: BackendConfig,
        change: impl FnOnce(&mut config::Config),
    ) -> Front {
        let socket = unique("sock");
        let listener = ListenerConfig {
            listen: vec![loopback(0), Endpoint::Unix(socket.clone())],
            backends: vec![backend],
            tls: Some(self.acceptor(ClientCertificates::Off)),
            ..ListenerConfig::default()
        };
        let mut config = config::Config {
            workers: 1,
            listeners: vec![listener],
            // A script has no part for a health check, and an account is one session's alone.
            health: config::HealthConfig {
                interval: None,
                ..config::HealthConfig::default()
            },
            ..config::Config::default()
        };
        change(&mut config);
        Front {
            proxy: Proxy::start(config).unwrap(),
            socket,
        }
    }
}

/// A proxy, and the path of its socket.
pub(crate) struct Front {
    pub(crate) proxy: Proxy,
    socket: PathBuf,
}

impl Front {
    /// The way to it, as the server's administrator.
    pub(crate) fn config(&self, way: Way) -> Config {
        let mut config = Config::from_url(&sides().server.url()).unwrap();
        config.endpoint = match way {
            Way::Socket => Endpoint::Unix(self.socket.clone()),
            _ => loopback(self.port()),
        };
        config.ssl_mode = Some(SslMode::Disabled);
        if way == Way::Tls {
            config.ssl_mode = Some(SslMode::VerifyFull);
            config.ssl_ca = Some(sides().authorities());
        }
        config
    }

    /// The same as somebody else, in no database.
    pub(crate) fn config_of(&self, way: Way, user: &str, password: &str) -> Config {
        let mut config = self.config(way);
        config.user = user.into();
        config.password = password.into();
        config.database = None;
        config
    }

    /// The path of its Unix socket.
    #[allow(dead_code)] // of the tests that include this file some
    pub(crate) fn socket(&self) -> &std::path::Path {
        &self.socket
    }

    pub(crate) fn port(&self) -> u16 {
        self.proxy.tcp_address().unwrap().port()
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// A path in the system's folder for such that nobody else has.
pub(crate) fn unique(ending: &str) -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Relaxed));
    std::env::temp_dir().join(format!("onecopy-proxy-{process}-{number}.{ending}"))
}

pub(crate) fn identity(certificate: &Certificate) -> Identity {
    Identity {
        certificate: Pem::Text(certificate.certificate.clone().into_bytes()),
        key: Pem::Text(certificate.key.clone().into_bytes()),
    }
}

/// An account with all rights on the database `test`, made again.
pub(crate) fn account(name: &str, identified: &str) {
    let mut conn = Connection::connect(&sides().server.url()).unwrap();
    conn.run(format!("DROP USER IF EXISTS {name}@'%'")).unwrap();
    conn.run(format!("CREATE USER {name}@'%' {identified}"))
        .unwrap();
    conn.run(format!("GRANT ALL ON test.* TO {name}@'%'"))
        .unwrap();
}
