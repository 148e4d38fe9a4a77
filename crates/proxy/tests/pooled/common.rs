//! A pooled listener in front of the tests' server.

use onecopy_mysql::Config as ClientConfig;
use onecopy_mysql::blocking::Connection;
use onecopy_net::Endpoint;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{
    AccountConfig, BackendConfig, Config, HealthConfig, ListenerConfig, Mode, PoolConfig, Secret,
};
use onecopy_testkit::server::{Server, TestServer, test_server};

/// A server and a proxy in front of it whose clients share connections.
pub(crate) struct Pooled {
    pub(crate) proxy: Proxy,
    pub(crate) server: TestServer,
    /// User and password, where they are not the server's own.
    login: Option<(String, String)>,
}

pub(crate) fn loopback(port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    }
}

impl Pooled {
    pub(crate) fn start(mode: Mode, max: usize) -> Self {
        Self::start_with(mode, max, |_| {})
    }

    pub(crate) fn start_with(mode: Mode, max: usize, change: impl FnOnce(&mut Config)) -> Self {
        Self::before(test_server(), mode, max, change)
    }

    /// In front of a server of the test's own.
    pub(crate) fn in_front_of(server: &Server, mode: Mode, max: usize) -> Self {
        Self::before(TestServer::Given(server.url()), mode, max, |config| {
            config.listeners[0].reencrypt_passwords = true;
        })
    }

    fn before(
        server: TestServer,
        mode: Mode,
        max: usize,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let direct = ClientConfig::from_url(&server.url()).unwrap();
        let port = port_of(&server.url());
        let account = AccountConfig::new(
            direct.user.clone(),
            Secret::new(password_of(&server.url()).into_bytes()),
        );
        let mut config = Config {
            workers: 2,
            health: HealthConfig {
                interval: None,
                ..HealthConfig::default()
            },
            listeners: vec![ListenerConfig {
                listen: vec![loopback(0)],
                mode,
                accounts: vec![account],
                pool: PoolConfig {
                    max,
                    ..PoolConfig::default()
                },
                backends: vec![BackendConfig::new(loopback(port))],
                ..ListenerConfig::default()
            }],
            ..Config::default()
        };
        change(&mut config);
        Self {
            proxy: start(config),
            server,
            login: None,
        }
    }

    /// With an account of its own, whose connections can be counted.
    pub(crate) fn start_as(user: &str, mode: Mode, max: usize) -> Self {
        let server = test_server();
        let mut direct = Connection::connect(&server.url()).unwrap();
        direct
            .run(format!(
                "CREATE OR REPLACE USER {user} IDENTIFIED BY 'secret'"
            ))
            .or_else(|_| direct.run(format!("CREATE USER {user} IDENTIFIED BY 'secret'")))
            .unwrap();
        let account = AccountConfig::new(user, Secret::new(b"secret".to_vec()));
        let mut pooled = Self::start_with(mode, max, |config| {
            config.listeners[0].accounts = vec![account];
            // Where the server's plugin wants a key, as over TCP without TLS.
            config.listeners[0].reencrypt_passwords = true;
        });
        pooled.login = Some((user.to_owned(), "secret".to_owned()));
        pooled
    }

    /// With these accounts, each with the password `secret`.
    pub(crate) fn start_for(users: &[&str], max: usize, change: impl FnOnce(&mut Config)) -> Self {
        let account = |user: &&str| AccountConfig::new(*user, Secret::new(b"secret".to_vec()));
        let accounts: Vec<_> = users.iter().map(account).collect();
        let pooled = Self::start_with(Mode::Transaction, max, |config| {
            config.listeners[0].accounts = accounts;
            config.listeners[0].reencrypt_passwords = true;
            change(config);
        });
        let mut direct = pooled.direct();
        for user in users {
            direct.run(format!("DROP USER IF EXISTS {user}")).unwrap();
            direct
                .run(format!("CREATE USER {user} IDENTIFIED BY 'secret'"))
                .unwrap();
        }
        pooled
    }

    /// As one of these accounts, in no database.
    pub(crate) fn connect_as(&self, user: &str) -> Connection {
        let mut config = ClientConfig::from_url(&self.url()).unwrap();
        (config.user, config.password) = (user.into(), "secret".into());
        config.database = None;
        Connection::connect_with(&config).unwrap()
    }

    pub(crate) fn url(&self) -> String {
        let port = self.proxy.tcp_address().unwrap().port();
        let url = self.server.url();
        url.replace(&format!(":{}", port_of(&url)), &format!(":{port}"))
    }

    pub(crate) fn connect(&self) -> Connection {
        let mut config = ClientConfig::from_url(&self.url()).unwrap();
        if let Some((user, password)) = &self.login {
            config.user = user.clone();
            config.password = password.as_str().into();
            config.database = None;
        }
        Connection::connect_with(&config).unwrap()
    }

    pub(crate) fn direct(&self) -> Connection {
        Connection::connect(&self.server.url()).unwrap()
    }
}

fn port_of(url: &str) -> u16 {
    let address = url.split('@').nth(1).unwrap();
    let port = address.split(':').nth(1).unwrap();
    port.split(['/', '?']).next().unwrap().parse().unwrap()
}

fn password_of(url: &str) -> String {
    let login = url.split("//").nth(1).unwrap().split('@').next().unwrap();
    login
        .split_once(':')
        .map_or(String::new(), |(_, password)| password.to_owned())
}

/// The first column of the first row; `NULL` for none.
pub(crate) fn text(conn: &mut Connection, sql: &str) -> String {
    let mut rows = conn.query(sql).unwrap();
    let row = rows.next().unwrap().unwrap();
    let text = match row.bytes(0).unwrap() {
        Some(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        None => "NULL".to_owned(),
    };
    rows.finish().unwrap();
    text
}

/// With a log for people who look for a fault, where they ask for it.
pub(crate) fn start(config: Config) -> Proxy {
    match std::env::var_os("ONECOPY_TEST_LOG") {
        None => Proxy::start(config).unwrap(),
        Some(_) => Proxy::start_logging(config, std::io::stderr()).unwrap(),
    }
}
