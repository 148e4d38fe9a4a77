//! Accounts of which the proxy knows only what the server stores.

use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, PluginSet};
use onecopy_proxy::config::{AccountConfig, ListenerConfig, Secret, StoredHash};
use onecopy_testkit::server::{ENDLESS, lacks};

use crate::common::{WAYS, connect, pooled, said, text, until, user};
use crate::reloads::end_connections;
use crate::sides::{Front, Way, sides};

/// An account on the server, and the proxy's, with the hash that the server has: of mysql_native_password, or of caching_sha2_password where
/// the server does not have the former.
pub(crate) fn hashed(user: &str, password: &str) -> AccountConfig {
    let mut direct = Connection::connect(&sides().server.url()).unwrap();
    direct
        .run(format!("DROP USER IF EXISTS {user}@'%'"))
        .unwrap();
    let create = match sides().server.version().contains("MariaDB") {
        true => format!(
            "CREATE USER {user}@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('{password}')"
        ),
        false => {
            format!("CREATE USER {user}@'%' IDENTIFIED WITH mysql_native_password BY '{password}'")
        }
    };
    if let Err(error) = direct.run(create) {
        lacks("mysql_native_password", &error.to_string());
        let create = "IDENTIFIED WITH caching_sha2_password BY";
        direct
            .run(format!("CREATE USER {user}@'%' {create} '{password}'"))
            .unwrap();
    }
    direct
        .run(format!("GRANT ALL ON *.* TO {user}@'%'"))
        .unwrap();
    let sql = format!("SELECT authentication_string FROM mysql.user WHERE user = '{user}'");
    let hash = StoredHash::from_text(&text(&mut direct, &sql));
    AccountConfig {
        hash: Some(hash.unwrap()),
        ..AccountConfig::new(user, Secret::default())
    }
}

/// How a client logs in to such an account.
pub(crate) fn login(front: &Front, way: Way, user: &str, password: &str) -> Config {
    let mut config = front.config_of(way, user, password);
    // For the first login by caching_sha2_password: it is the test's own proxy.
    config.get_server_public_key = true;
    config
}

/// The plugin of its hash.
fn of(account: &AccountConfig) -> (&'static str, PluginSet) {
    match account.hash {
        Some(StoredHash::NativePassword(_)) => {
            ("mysql_native_password", PluginSet::NATIVE_PASSWORD)
        }
        _ => ("caching_sha2_password", PluginSet::CACHING_SHA2_PASSWORD),
    }
}

fn front(account: &AccountConfig, change: impl FnOnce(&mut ListenerConfig)) -> Front {
    pooled(&[], |listener| {
        listener.accounts = vec![account.clone()];
        change(listener);
    })
}

#[test]
fn clients_log_in_with_the_password_of_a_hash_and_the_proxy_with_what_they_prove() {
    let account = hashed("hash_of", "secret");
    for plugin in [
        of(&account).1,
        PluginSet::CACHING_SHA2_PASSWORD | PluginSet::NATIVE_PASSWORD,
        PluginSet::SAFE,
    ] {
        for way in WAYS {
            let front = front(&account, |_| {});
            let mut config = login(&front, way, "hash_of", "secret");
            config.auth_plugins = plugin;
            for wrong in ["wrong", ""] {
                let mut wrongly = config.clone();
                wrongly.password = wrong.into();
                assert_eq!(said(&connect(&wrongly).unwrap_err()).0, 1045);
            }
            let mut conns: Vec<_> = (0..3).map(|_| connect(&config).unwrap()).collect();
            for conn in &mut conns {
                assert_eq!(user(conn), "hash_of@%", "{plugin:?} {way:?}");
            }
        }
    }
}

#[test]
fn a_client_without_the_plugin_of_a_hash_does_not_get_in() {
    let account = hashed("hash_other", "secret");
    let front = front(&account, |_| {});
    let mut config = login(&front, Way::Tls, "hash_other", "secret");
    config.auth_plugins = PluginSet::CLIENT_ED25519;
    let error = connect(&config).unwrap_err().to_string();
    assert!(error.contains(of(&account).0), "{error}");
}

#[test]
fn a_change_of_user_to_an_account_of_a_hash_is_a_login() {
    let (one, two) = (hashed("hash_one", "first"), hashed("hash_two", "second"));
    let front = front(&one, |listener| listener.accounts.push(two.clone()));
    let mut conn = connect(&login(&front, Way::Plain, "hash_one", "first")).unwrap();
    assert_eq!(user(&mut conn), "hash_one@%");
    conn.change_user("hash_two", "second", None).unwrap();
    assert_eq!(user(&mut conn), "hash_two@%");
}

#[test]
fn a_statement_of_such_an_account_is_interrupted_after_its_time() {
    let account = hashed("hash_long", "secret");
    let front = front(&account, |listener| {
        listener.query_timeout = Some(Duration::from_millis(300));
    });
    let mut conn = connect(&login(&front, Way::Plain, "hash_long", "secret")).unwrap();
    let rows = conn.query(ENDLESS);
    let error = match rows {
        Err(error) => error,
        Ok(mut rows) => loop {
            match rows.next() {
                Ok(row) => assert!(row.is_some(), "it has ended"),
                Err(error) => break error,
            }
        },
    };
    assert_eq!(said(&error).0, 3024);
    assert_eq!(user(&mut conn), "hash_long@%");
}

#[test]
fn a_password_that_changes_holds_from_the_next_login_on() {
    let account = hashed("hash_new", "first");
    let front = front(&account, |_| {});
    let config = |password| login(&front, Way::Plain, "hash_new", password);
    let mut before = connect(&config("first")).unwrap();
    assert_eq!(user(&mut before), "hash_new@%");
    let account = hashed("hash_new", "second");
    let mut proxy = front.proxy.config();
    proxy.listeners[0].accounts = vec![account];
    let changes = front.proxy.reload(proxy).unwrap();
    let said_so = |line: &String| line.ends_with("password of account 'hash_new' has changed");
    assert!(changes.lines().iter().any(said_so), "{changes:?}");
    assert_eq!(said(&connect(&config("first")).unwrap_err()).0, 1045);
    let mut after = connect(&config("second")).unwrap();
    until("a connection by the new password", || {
        after.run("DO 1").is_ok()
    });
    assert_eq!(user(&mut after), "hash_new@%");
}

#[test]
fn a_session_goes_on_after_a_reload_that_leaves_its_hash() {
    let account = hashed("hash_kept", "secret");
    let front = front(&account, |_| {});
    let mut conn = connect(&login(&front, Way::Plain, "hash_kept", "secret")).unwrap();
    assert_eq!(user(&mut conn), "hash_kept@%");
    front.proxy.reload(front.proxy.config()).unwrap();
    end_connections("hash_kept");
    // Nobody has logged in since.
    assert_eq!(user(&mut conn), "hash_kept@%");
}
