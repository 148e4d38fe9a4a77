//! A server of one's own, whose counters and settings nobody else uses.

use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config as ClientConfig, Error};
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{
    AccountConfig, BackendConfig, Config, HealthConfig, ListenerConfig, Mode, PoolConfig, Secret,
};
use onecopy_testkit::server::Server;

use crate::common::{loopback, start, text};

/// A server of one's own, whose counters nobody else changes, and a proxy in front of it.
pub(crate) struct Front {
    pub(crate) server: Server,
    pub(crate) proxy: Proxy,
}

impl Front {
    pub(crate) fn start(change: impl FnOnce(&mut ListenerConfig)) -> Self {
        let server = Server::start().unwrap();
        let mut listener = ListenerConfig {
            listen: vec![loopback(0)],
            mode: Mode::Transaction,
            accounts: vec![account("first")],
            reencrypt_passwords: true,
            pool: PoolConfig {
                max: 8,
                ..PoolConfig::default()
            },
            backends: vec![BackendConfig::new(loopback(server.port()))],
            ..ListenerConfig::default()
        };
        change(&mut listener);
        let proxy = start(Config {
            workers: 2,
            health: HealthConfig {
                interval: None,
                ..HealthConfig::default()
            },
            listeners: vec![listener],
            ..Config::default()
        });
        let front = Self { server, proxy };
        front.make_account("first");
        front
    }

    pub(crate) fn direct(&self) -> Connection {
        Connection::connect(&self.server.url()).unwrap()
    }

    pub(crate) fn make_account(&self, password: &str) {
        let sql = format!("CREATE USER app@'%' IDENTIFIED BY '{password}'");
        self.direct().run(sql).unwrap();
    }

    pub(crate) fn connect(&self) -> Connection {
        self.try_connect().unwrap()
    }

    pub(crate) fn try_connect(&self) -> Result<Connection, Error> {
        Connection::connect_with(&self.client())
    }

    /// How a client connects.
    pub(crate) fn client(&self) -> ClientConfig {
        let mut config = ClientConfig::from_url(&self.server.url()).unwrap();
        config.endpoint = loopback(self.proxy.tcp_address().unwrap().port());
        (config.user, config.password) = ("app".into(), "first".into());
        config.database = None;
        config
    }

    /// Ends the proxy's connections.
    pub(crate) fn end_connections(&self) {
        let mut direct = self.direct();
        let list = "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'app' LIMIT 1";
        let count = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app'";
        while text(&mut direct, count) != "0" {
            let id: Option<(u64,)> = direct.query_opt(list).unwrap();
            if let Some((id,)) = id {
                let _ = direct.run(format!("KILL {id}"));
            }
        }
    }

    /// One of the server's counters.
    pub(crate) fn counted(&self, name: &str) -> u64 {
        counted(&mut self.direct(), name)
    }
}

pub(crate) fn counted(conn: &mut Connection, name: &str) -> u64 {
    let sql = format!("SHOW GLOBAL STATUS LIKE '{name}'");
    let mut rows = conn.query(&sql).unwrap();
    let row = rows.next().unwrap().unwrap();
    let value = row.get::<&str>(1).unwrap().parse().unwrap();
    rows.finish().unwrap();
    value
}

pub(crate) fn account(password: &str) -> AccountConfig {
    AccountConfig::new("app", Secret::new(password.as_bytes().to_vec()))
}

pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
