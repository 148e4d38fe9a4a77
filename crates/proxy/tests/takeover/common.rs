//! Two proxies with the same configuration.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use onecopy_mysql::Config as ClientConfig;
use onecopy_mysql::blocking::Connection;
use onecopy_net::Endpoint;
use onecopy_net::evented::Address;
use onecopy_proxy::config::{
    AccountConfig, AdminConfig, BackendConfig, Config, HealthConfig, ListenerConfig, Mode,
    PoolConfig, Secret, UpgradeConfig,
};
use onecopy_proxy::{Error, Log, Proxy, Takeover};
use onecopy_testkit::server::shared;

/// Until something happens that has to.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The password of the administrator.
const ADMIN: &str = "admin";

/// A folder that goes with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Relaxed);
        let name = format!("onecopy-takeover-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A proxy, and what another one needs to take over from it.
pub(crate) struct Ground {
    pub(crate) folder: Folder,
    pub(crate) config: Config,
}

pub(crate) fn loopback(port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    }
}

impl Ground {
    /// One listener whose clients have connections of their own, on TCP and a Unix socket; one whose clients share connections; and an
    /// admin listener.
    pub(crate) fn new() -> Self {
        let folder = Folder::new();
        let direct = ClientConfig::from_url(&shared().url()).unwrap();
        let account = AccountConfig::new(
            direct.user.clone(),
            Secret::new(shared().root_password().as_bytes().to_vec()),
        );
        let backend = BackendConfig::new(loopback(shared().port()));
        let config = Config {
            workers: 2,
            health: HealthConfig {
                interval: None,
                ..HealthConfig::default()
            },
            admin: AdminConfig {
                listen: Some(Endpoint::Unix(folder.path("admin.sock"))),
                password: Secret::new(ADMIN.as_bytes().to_vec()),
                ..AdminConfig::default()
            },
            upgrade: UpgradeConfig {
                socket: Some(folder.path("upgrade.sock")),
                ..UpgradeConfig::default()
            },
            listeners: vec![
                ListenerConfig {
                    name: "pass".into(),
                    listen: vec![loopback(0), Endpoint::Unix(folder.path("pass.sock"))],
                    backends: vec![backend.clone()],
                    ..ListenerConfig::default()
                },
                ListenerConfig {
                    name: "pooled".into(),
                    listen: vec![loopback(0)],
                    mode: Mode::Transaction,
                    accounts: vec![account],
                    pool: PoolConfig {
                        max: 4,
                        ..PoolConfig::default()
                    },
                    reencrypt_passwords: true,
                    backends: vec![backend],
                    ..ListenerConfig::default()
                },
            ],
            ..Config::default()
        };
        Self { folder, config }
    }

    pub(crate) fn start(&self) -> Proxy {
        Proxy::start(self.config.clone()).unwrap()
    }

    /// Another proxy takes over.
    pub(crate) fn take_over(&self) -> Result<Proxy, Error> {
        take_over(&self.config)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path("upgrade.sock")
    }

    /// By the first address of a listener; they are those of `proxy`.
    pub(crate) fn connect(&self, proxy: &Proxy, listener: usize) -> Connection {
        self.try_to_connect(proxy, listener).unwrap()
    }

    pub(crate) fn try_to_connect(
        &self,
        proxy: &Proxy,
        listener: usize,
    ) -> Result<Connection, onecopy_mysql::Error> {
        Connection::connect_with(&self.client(proxy, listener))
    }

    pub(crate) fn client(&self, proxy: &Proxy, listener: usize) -> ClientConfig {
        let addresses = proxy.addresses();
        let mut tcp = addresses.iter().filter_map(|address| match address {
            Address::Tcp(address) => Some(address.port()),
            Address::Unix(_) => None,
        });
        let port = tcp.nth(listener).unwrap();
        let (own, url) = (shared().port(), shared().url());
        let url = url.replace(&format!(":{own}"), &format!(":{port}"));
        ClientConfig::from_url(&url).unwrap()
    }

    /// By a Unix socket of the folder, as an administrator where it is that one.
    pub(crate) fn connect_unix(&self, name: &str) -> Connection {
        let path = self.folder.path(name).to_str().unwrap().replace('/', "%2F");
        let url = shared().socket_url();
        let (before, _) = url.split_once("socket=").unwrap();
        let url = match name {
            "admin.sock" => format!("mysql://admin:{ADMIN}@localhost/?socket={path}"),
            _ => format!("{before}socket={path}"),
        };
        Connection::connect(&url).unwrap()
    }
}

pub(crate) fn take_over(config: &Config) -> Result<Proxy, Error> {
    let takeover = Takeover::begin(config)?;
    Proxy::take_over(config.clone(), takeover, &Log::default())
}

/// The first value of a statement.
pub(crate) fn text(conn: &mut Connection, sql: &str) -> String {
    let mut rows = conn.query(sql).unwrap();
    let value: String = rows.next().unwrap().unwrap().get(0).unwrap();
    rows.finish().unwrap();
    value
}

pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}
