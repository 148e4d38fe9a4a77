//! A listener whose clients share connections, in front of a server with TLS.

use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config as ClientConfig, Error};
use onecopy_net::Endpoint;
use onecopy_proxy::config::{AccountConfig, Config, ListenerConfig, Mode, Secret};

use crate::sides::{Front, Way, account, sides};

pub(crate) const WAYS: [Way; 3] = [Way::Plain, Way::Tls, Way::Socket];

pub(crate) fn loopback(port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    }
}

pub(crate) fn known(user: &str, password: &str) -> AccountConfig {
    AccountConfig::new(user, Secret::new(password))
}

/// A listener with these accounts, whose connections to the server are those of a Unix socket: every plugin of the server works there.
pub(crate) fn pooled(accounts: &[(&str, &str)], change: impl FnOnce(&mut ListenerConfig)) -> Front {
    pooled_with(accounts, |config| change(&mut config.listeners[0]))
}

pub(crate) fn pooled_with(accounts: &[(&str, &str)], change: impl FnOnce(&mut Config)) -> Front {
    sides().proxy_with(sides().backend(Way::Socket), |config| {
        let listener = &mut config.listeners[0];
        listener.mode = Mode::Transaction;
        let accounts = accounts.iter();
        listener.accounts = accounts
            .map(|(user, password)| known(user, password))
            .collect();
        change(config);
    })
}

/// An account of the server's, by its default plugin.
pub(crate) fn on_server(user: &str, password: &str) {
    account(user, &format!("IDENTIFIED BY '{password}'"));
}

pub(crate) fn connect(config: &ClientConfig) -> Result<Connection, Error> {
    Connection::connect_with(config)
}

pub(crate) fn user(conn: &mut Connection) -> String {
    text(conn, "SELECT CURRENT_USER()")
}

/// The first column of the first row.
pub(crate) fn text(conn: &mut Connection, sql: &str) -> String {
    let mut rows = conn.query(sql).unwrap();
    let row = rows.next().unwrap().unwrap();
    let text = row.get::<&str>(0).unwrap().to_owned();
    rows.finish().unwrap();
    text
}

/// What a server or the proxy says that lets nobody in, with its code.
pub(crate) fn said(error: &Error) -> (u16, String) {
    let server = error.server().unwrap_or_else(|| panic!("{error}"));
    (server.code, server.message.to_string())
}

pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
