//! Accounts that are read from the server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_net::Endpoint;
use onecopy_proxy::config::{AccountConfig, BackendConfig, Config, HealthLogin, Secret};
use onecopy_testkit::server::{Server, ServerKind, lacks};

use crate::common::{connect, known, loopback, pooled_with, said, until, user};
use crate::hashes::{hashed, login};
use crate::sides::{Front, Way, sides};

/// A listener that reads its accounts so often.
fn front(interval: Duration, change: impl FnOnce(&mut Config)) -> Front {
    pooled_with(&[], |config| {
        config.health.login = Some(HealthLogin {
            user: "root".to_owned(),
            password: Secret::new(sides().server.root_password().as_bytes().to_vec()),
        });
        config.listeners[0].server_accounts = Some(interval);
        change(config);
    })
}

fn direct(sql: &str) {
    let mut direct = Connection::connect(&sides().server.url()).unwrap();
    direct.run(sql).unwrap();
}

fn accounts_of(front: &Front, user: &str) -> Vec<AccountConfig> {
    let mut accounts = front.proxy.config().listeners.swap_remove(0).accounts;
    accounts.retain(|account| account.user == user);
    accounts
}

fn code(front: &Front, user: &str, password: &str) -> u16 {
    let config = login(front, Way::Plain, user, password);
    said(&connect(&config).unwrap_err()).0
}

fn assert_in(front: &Front, user_name: &str, password: &str) {
    let config = login(front, Way::Plain, user_name, password);
    let mut conn = connect(&config).unwrap();
    assert_eq!(user(&mut conn), format!("{user_name}@%"));
}

const OFTEN: Duration = Duration::from_millis(1);
const SELDOM: Duration = Duration::from_secs(3_600);

#[test]
fn accounts_follow_the_servers() {
    hashed("read_first", "first");
    let front = front(OFTEN, |_| {});
    assert_in(&front, "read_first", "first");
    assert_eq!(code(&front, "read_first", "second"), 1045);

    let before = accounts_of(&front, "read_first");
    direct("ALTER USER read_first@'%' IDENTIFIED BY 'second'");
    until("the new password", || {
        accounts_of(&front, "read_first") != before
    });
    assert_eq!(code(&front, "read_first", "first"), 1045);
    assert_in(&front, "read_first", "second");

    hashed("read_later", "later");
    until("the new account", || {
        !accounts_of(&front, "read_later").is_empty()
    });
    assert_in(&front, "read_later", "later");
    direct("ALTER USER read_later@'%' ACCOUNT LOCK");
    until("the lock", || accounts_of(&front, "read_later").is_empty());
    assert_eq!(code(&front, "read_later", "later"), 1045);

    direct("CREATE USER read_first@'192.0.2.1' IDENTIFIED BY 'another'");
    until("two passwords", || {
        accounts_of(&front, "read_first").is_empty()
    });
    direct("DROP USER read_first@'192.0.2.1'");
    until("one password", || {
        !accounts_of(&front, "read_first").is_empty()
    });
    assert_in(&front, "read_first", "second");
    direct("DROP USER read_first@'%'");
    until("the end of the account", || {
        accounts_of(&front, "read_first").is_empty()
    });
    assert_eq!(code(&front, "read_first", "second"), 1045);
}

#[test]
fn the_first_login_with_a_new_password_is_let_in() {
    hashed("read_doubted", "first");
    let front = front(SELDOM, |_| {});
    assert_in(&front, "read_doubted", "first");
    for password in ["second", "third"] {
        direct(&format!(
            "ALTER USER read_doubted@'%' IDENTIFIED BY '{password}'"
        ));
        assert_in(&front, "read_doubted", password);
    }
    assert_eq!(code(&front, "read_doubted", "first"), 1045);
    // Nobody knew it before.
    hashed("read_unknown", "secret");
    assert_in(&front, "read_unknown", "secret");
    assert_eq!(code(&front, "read_unknown", "another"), 1045);
    direct("ALTER USER read_unknown@'%' ACCOUNT LOCK");
    assert_eq!(code(&front, "read_unknown", "another"), 1045);
    assert!(accounts_of(&front, "read_unknown").is_empty());
}

/// A login of this user with a response to no nonce, laid out after MariaDB's page of the handshake response.
fn guess(user: &str) -> Vec<u8> {
    // CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION and CLIENT_PLUGIN_AUTH; packets of 16 MiB; utf8mb4.
    let mut payload = vec![0, 0x82, 0x08, 0, 0, 0, 0, 1, 45];
    payload.extend([0; 23]);
    payload.extend(user.as_bytes());
    payload.extend([0, 20]);
    payload.extend([7; 20]);
    payload.extend(b"mysql_native_password\0");
    let len = u8::try_from(payload.len()).unwrap();
    [&[len, 0, 0, 1], &payload[..]].concat()
}

#[test]
fn who_guesses_and_leaves_while_accounts_are_read_has_had_its_guess() {
    if sides().server.kind() == ServerKind::MySql {
        return lacks("mysql_native_password", "an account has another plugin");
    }
    hashed("read_guessed", "secret");
    let front = front(SELDOM, |_| {});
    assert_in(&front, "read_guessed", "secret");
    let address = front.proxy.tcp_address().unwrap();
    for _ in 0..5 {
        let mut stream = TcpStream::connect(address).unwrap();
        // So that nothing that it has not read resets the connection.
        stream.read_exact(&mut [0; 4]).unwrap();
        stream.write_all(&guess("read_guessed")).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    }
    let since = Instant::now();
    assert_in(&front, "read_guessed", "secret");
    assert!(since.elapsed() >= Duration::from_millis(250));
}

#[test]
fn a_change_of_user_knows_new_passwords_too() {
    for name in ["read_changed_from", "read_changed_to"] {
        hashed(name, "first");
    }
    let front = front(SELDOM, |_| {});
    let mut conn = connect(&login(&front, Way::Plain, "read_changed_from", "first")).unwrap();
    direct("ALTER USER read_changed_to@'%' IDENTIFIED BY 'second'");
    conn.change_user("read_changed_to", "second", None).unwrap();
    assert_eq!(user(&mut conn), "read_changed_to@%");
}

#[test]
fn a_wrong_password_is_refused_although_the_server_hangs() {
    let mut server = Server::start().unwrap();
    let front = front(SELDOM, |config| {
        config.health.login = Some(HealthLogin {
            user: "root".to_owned(),
            password: Secret::new(server.root_password().as_bytes().to_vec()),
        });
        config.health.timeout = Duration::from_secs(600);
        config.listeners[0].accounts = vec![known("read_hanging", "secret")];
        let socket = Endpoint::Unix(server.socket().to_owned());
        config.listeners[0].backends = vec![BackendConfig::new(socket)];
    });
    let account = "CREATE USER read_hanging@'%' IDENTIFIED BY 'secret'";
    let mut root = Connection::connect(&server.url()).unwrap();
    root.run(account).unwrap();
    // So that the proxy knows what to greet with.
    connect(&login(&front, Way::Plain, "read_hanging", "secret")).unwrap();
    server.pause();
    assert_eq!(code(&front, "read_hanging", "wrong"), 1045);
    server.resume();
}

#[test]
fn reloads_keep_what_was_read_and_accounts_of_the_file_come_first() {
    hashed("read_kept", "secret");
    let front = front(SELDOM, |_| {});
    assert_in(&front, "read_kept", "secret");
    let mut file = front.proxy.config();
    // As a file has it: nothing was read.
    file.listeners[0].accounts = Vec::new();
    assert!(front.proxy.reload(file.clone()).unwrap().is_empty());
    assert_in(&front, "read_kept", "secret");

    file.listeners[0].accounts = vec![known("read_kept", "secret")];
    front.proxy.reload(file.clone()).unwrap();
    let accounts = accounts_of(&front, "read_kept");
    assert_eq!(accounts.len(), 1);
    assert!(!accounts[0].is_of_server && accounts[0].hash.is_none());
    assert_in(&front, "read_kept", "secret");

    file.listeners[0].server_accounts = None;
    file.listeners[0].accounts = vec![known("another", "secret")];
    front.proxy.reload(file).unwrap();
    assert_eq!(code(&front, "read_kept", "secret"), 1045);
}

#[test]
fn a_server_that_is_away_keeps_no_proxy_from_its_start() {
    let since = Instant::now();
    let front = front(OFTEN, |config| {
        config.health.timeout = Duration::from_secs(5);
        // Nothing listens there.
        config.listeners[0].backends = vec![BackendConfig::new(loopback(1))];
    });
    let config = login(&front, Way::Plain, "nobody", "secret");
    let error = connect(&config).unwrap_err();
    assert!(said(&error).0 != 1045, "{error}");
    assert!(since.elapsed() < Duration::from_secs(30));
}
