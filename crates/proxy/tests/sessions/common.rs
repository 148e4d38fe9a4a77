//! A proxy in front of the tests' server.

use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_net::Endpoint;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{BackendConfig, Config, HealthConfig, ListenerConfig};
use onecopy_testkit::server::shared;

pub(crate) fn loopback(port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    }
}

/// Where the server listens, and its URL with another address in it.
pub(crate) fn server_port() -> u16 {
    let url = shared().url();
    let address = url.split('@').nth(1).unwrap();
    let port = address.split(':').nth(1).unwrap();
    port.split(['/', '?']).next().unwrap().parse().unwrap()
}

pub(crate) fn listener(backends: Vec<BackendConfig>) -> ListenerConfig {
    ListenerConfig {
        listen: vec![loopback(0)],
        backends,
        ..ListenerConfig::default()
    }
}

/// A proxy with one worker in front of the server, which asks no backend whether it is up: many here are no servers.
pub(crate) fn start(change: impl FnOnce(&mut Config)) -> Proxy {
    let backend = BackendConfig::new(loopback(server_port()));
    let mut config = Config {
        workers: 1,
        // Some backends are scripts, which have no part for a health check.
        health: HealthConfig {
            interval: None,
            ..HealthConfig::default()
        },
        listeners: vec![listener(vec![backend])],
        ..Config::default()
    };
    config.health.interval = None;
    change(&mut config);
    Proxy::start(config).unwrap()
}

/// The server's URL by way of the proxy.
pub(crate) fn url(proxy: &Proxy) -> String {
    let port = proxy.tcp_address().unwrap().port();
    shared()
        .url()
        .replace(&format!(":{}", server_port()), &format!(":{port}"))
}

pub(crate) fn connect(proxy: &Proxy) -> Connection {
    Connection::connect(&url(proxy)).unwrap()
}

/// Waits until it is so; a loaded machine may take its time.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}
