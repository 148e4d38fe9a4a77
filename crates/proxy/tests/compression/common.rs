//! Proxies in a row: the way between two of them is compressed.
//!
//! ```text
//!   client -- clear -- [proxy] -- compressed -- [proxy] -- clear -- server
//! ```

use std::time::{Duration, Instant};

use onecopy_mysql::Config as ClientConfig;
use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::compression::{Algorithm, Method};
use onecopy_net::Endpoint;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{BackendConfig, Config, HealthConfig, ListenerConfig, Offered};
use onecopy_testkit::server::shared;

pub(crate) fn loopback(port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    }
}

/// Where the tests' server listens.
pub(crate) fn server_port() -> u16 {
    match client_config().endpoint {
        Endpoint::Tcp { port, .. } => port,
        Endpoint::Unix(_) => unreachable!("the URL is one of TCP"),
    }
}

/// The way to the tests' server.
pub(crate) fn client_config() -> ClientConfig {
    ClientConfig::from_url(&shared().url()).unwrap()
}

/// The way to a proxy in front of it.
pub(crate) fn config_of(port: u16) -> ClientConfig {
    let mut config = client_config();
    config.endpoint = loopback(port);
    config
}

pub(crate) fn method(algorithm: Algorithm) -> Method {
    Method::new(algorithm, Method::default_level(algorithm))
}

/// A proxy in front of one port, which is spoken to so.
pub(crate) fn start(port: u16, offered: Offered, compression: Option<Method>) -> Proxy {
    start_with(port, offered, compression, |_| {})
}

pub(crate) fn start_with(
    port: u16,
    offered: Offered,
    compression: Option<Method>,
    change: impl FnOnce(&mut Config),
) -> Proxy {
    let backend = BackendConfig {
        compression,
        ..BackendConfig::new(loopback(port))
    };
    let mut config = Config {
        workers: 1,
        // Some backends are scripts, which have no part for a health check.
        health: HealthConfig {
            interval: None,
            ..HealthConfig::default()
        },
        listeners: vec![ListenerConfig {
            listen: vec![loopback(0)],
            compression: offered,
            backends: vec![backend],
            ..ListenerConfig::default()
        }],
        ..Config::default()
    };
    change(&mut config);
    Proxy::start(config).unwrap()
}

pub(crate) fn port(proxy: &Proxy) -> u16 {
    proxy.tcp_address().unwrap().port()
}

/// What a listener offers for a client that is spoken to so.
pub(crate) fn offer(method: Option<Method>) -> Offered {
    match method.map(Method::algorithm) {
        None => Offered::Off,
        Some(Algorithm::Zlib) => Offered::Zlib,
        Some(Algorithm::Zstd) => Offered::Zstd,
    }
}

/// Proxies one behind the other, with these ways between them and to the server; the first is the one that clients come to.
pub(crate) struct Chain {
    pub(crate) proxies: Vec<Proxy>,
}

impl Chain {
    /// `ways`: behind the first proxy, behind the second, and so on; the last one is the way to `port`.
    pub(crate) fn new(port: u16, ways: &[Option<Method>]) -> Self {
        let mut proxies = Vec::new();
        let mut next = port;
        for (at, &way) in ways.iter().enumerate().rev() {
            let before = at.checked_sub(1).and_then(|before| ways[before]);
            let proxy = start(next, offer(before), way);
            next = self::port(&proxy);
            proxies.insert(0, proxy);
        }
        Self { proxies }
    }

    pub(crate) fn port(&self) -> u16 {
        port(&self.proxies[0])
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::connect_with(&config_of(self.port())).unwrap()
    }

    /// What each of its proxies says of the compression of its only session.
    pub(crate) fn compression(&self) -> Vec<[Option<&'static str>; 2]> {
        let of = |proxy: &Proxy| {
            let clients = proxy.snapshot(true).clients;
            assert_eq!(clients.len(), 1);
            [
                clients[0].client_compression,
                clients[0].backend_compression,
            ]
        };
        self.proxies.iter().map(of).collect()
    }
}

pub(crate) fn text(conn: &mut Connection, sql: &str) -> String {
    let mut rows = conn.query(sql).unwrap();
    let bytes = rows.next().unwrap().unwrap().bytes(0).unwrap().unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    rows.finish().unwrap();
    text
}

/// Waits until it is so; a loaded machine may take its time.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}
