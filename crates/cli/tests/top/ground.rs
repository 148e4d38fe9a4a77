//! A proxy with two listeners in front of the tests' server, and `onecopy top` on a terminal.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use onecopy_mysql::Config as ClientConfig;
use onecopy_mysql::blocking::Connection;
use onecopy_net::Endpoint;
use onecopy_net::evented::Address;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{
    AccountConfig, BackendConfig, Config, HealthConfig, ListenerConfig, Mode, PoolConfig,
    RuleConfig, Secret,
};
use onecopy_testkit::server::test_server;

use crate::screen;
use crate::terminal::Terminal;

pub(crate) const PASSWORD: &str = "let me in";

pub(crate) fn loopback(port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    }
}

/// A pooled listener, `pooled`, and one that passes everything, `plain`.
pub(crate) struct Ground {
    pub(crate) proxy: Proxy,
}

impl Ground {
    pub(crate) fn start(change: impl FnOnce(&mut Config)) -> Self {
        let direct = ClientConfig::from_url(&test_server().url()).unwrap();
        let backend = || BackendConfig {
            name: "db1".into(),
            ..BackendConfig::new(direct.endpoint.clone())
        };
        let password = Secret::new(password().into_bytes());
        let mut config = Config {
            workers: 2,
            health: HealthConfig {
                interval: None,
                ..HealthConfig::default()
            },
            listeners: vec![
                ListenerConfig {
                    name: "pooled".into(),
                    listen: vec![loopback(0)],
                    mode: Mode::Transaction,
                    accounts: vec![AccountConfig::new(direct.user.clone(), password)],
                    reencrypt_passwords: true,
                    pool: PoolConfig {
                        max: 4,
                        ..PoolConfig::default()
                    },
                    rules: vec![RuleConfig {
                        name: "twos".into(),
                        starts_with: Some("DO 2".into()),
                        ..RuleConfig::default()
                    }],
                    backends: vec![backend()],
                    ..ListenerConfig::default()
                },
                ListenerConfig {
                    name: "plain".into(),
                    listen: vec![loopback(0)],
                    backends: vec![backend()],
                    ..ListenerConfig::default()
                },
            ],
            ..Config::default()
        };
        config.admin.listen = Some(loopback(0));
        config.admin.password = Secret::new(PASSWORD);
        change(&mut config);
        Self {
            proxy: Proxy::start(config).unwrap(),
        }
    }

    /// HOST:PORT of the admin listener.
    pub(crate) fn admin(&self) -> String {
        match self.proxy.admin_address() {
            Some(Address::Tcp(address)) => address.to_string(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn admin_connection(&self) -> Connection {
        Connection::connect(&format!("mysql://admin:let%20me%20in@{}/", self.admin())).unwrap()
    }

    /// A client of the listener with this number.
    pub(crate) fn client(&self, listener: usize) -> Connection {
        Connection::connect_with(&self.client_config(listener)).unwrap()
    }

    pub(crate) fn client_config(&self, listener: usize) -> ClientConfig {
        let mut config = ClientConfig::from_url(&test_server().url()).unwrap();
        let Address::Tcp(address) = self.proxy.addresses()[listener] else {
            panic!("it listens on TCP");
        };
        config.endpoint = loopback(address.port());
        config.get_server_public_key = true;
        config
    }

    /// `onecopy top` at this proxy and others.
    pub(crate) fn top(&self, arguments: &[&str]) -> Command {
        let mut command = onecopy();
        command
            .arg(format!("admin@{}", self.admin()))
            .args(arguments);
        command
    }
}

/// The password of the tests' server.
fn password() -> String {
    let url = test_server().url();
    let (_, login) = url.split_once("://").unwrap();
    let (login, _) = login.split_once('@').unwrap();
    login
        .split_once(':')
        .map_or("", |(_, password)| password)
        .to_owned()
}

/// `onecopy top` with nothing of ours in its environment but the password.
pub(crate) fn onecopy() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onecopy"));
    for variable in ["ONECOPY_URL", "NO_COLOR", "CLICOLOR_FORCE"] {
        command.env_remove(variable);
    }
    command
        .arg("top")
        .env("ONECOPY_PASSWORD", PASSWORD)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The program on a terminal of 120 columns and 30 rows.
pub(crate) struct Live(pub(crate) Terminal);

const COLUMNS: u16 = 120;
const ROWS: u16 = 30;

impl Live {
    pub(crate) fn start(program: &mut Command) -> Self {
        Self(Terminal::start_screen(program, COLUMNS, ROWS))
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        screen::lines(&self.0.all(), COLUMNS.into(), ROWS.into())
    }

    /// Waits until the screen is like this.
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&[String]) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let lines = self.lines();
            if is_so(&lines) {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "not {what}:\n{}",
                lines.join("\n")
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn shows(&self, text: &str) {
        self.until(text, |lines| lines.iter().any(|line| line.contains(text)));
    }

    /// Waits until the row with this word is the chosen one.
    pub(crate) fn chooses(&self, word: &str) {
        self.until(&format!("at {word}"), |lines| {
            let mut rows = lines.iter().filter_map(|line| line.strip_prefix('>'));
            rows.any(|row| row.split_whitespace().any(|one| one == word))
        });
    }

    pub(crate) fn shows_no(&self, text: &str) {
        self.until(&format!("without {text}"), |lines| {
            !lines.iter().any(|line| line.contains(text))
        });
    }

    pub(crate) fn type_keys(&mut self, keys: &str) {
        self.0.type_keys(keys);
    }
}
