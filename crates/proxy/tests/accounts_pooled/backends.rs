//! The proxy's own logins, by each plugin of the server and over each way to it.

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::Mode;
use onecopy_testkit::server::{ServerKind, lacks};

use crate::common::{WAYS, connect, known, said, text, user};
use crate::sides::{Front, Way, account, sides};

const PASSWORD: &str = "correct horse";

/// Each plugin of the server, and how an account is made with it.
fn plugins() -> Vec<(&'static str, String)> {
    let mut admin = Connection::connect(&sides().server.url()).unwrap();
    if sides().server.kind() == ServerKind::MySql {
        lacks(
            "mysql_native_password, ed25519, parsec",
            "they are MariaDB's",
        );
        return ["caching_sha2_password", "sha256_password"]
            .map(|plugin| (plugin, format!("IDENTIFIED WITH {plugin} BY '{PASSWORD}'")))
            .to_vec();
    }
    let mut plugins = vec!["mysql_native_password"];
    for (plugin, library) in [("ed25519", "auth_ed25519"), ("parsec", "auth_parsec")] {
        match admin.run(format!("INSTALL SONAME '{library}'")) {
            Ok(_) => plugins.push(plugin),
            // 1968: it is there already.
            Err(error) if error.server().is_some_and(|error| error.code == 1968) => {
                plugins.push(plugin);
            }
            Err(error) => lacks(plugin, &error.to_string()),
        }
    }
    let made = |plugin| {
        let how = format!("IDENTIFIED VIA {plugin} USING PASSWORD('{PASSWORD}')");
        (plugin, how)
    };
    plugins.into_iter().map(made).collect()
}

fn front(way: Way, user: &str, password: &str, sends_header: bool) -> Front {
    let mut backend = sides().backend(way);
    backend.sends_proxy_header = sends_header;
    sides().proxy(backend, |listener| {
        listener.mode = Mode::Transaction;
        listener.accounts = vec![known(user, password)];
        // Of sha2 plugins: over a plain connection the password goes under the server's key.
        listener.reencrypt_passwords = true;
    })
}

#[test]
fn the_proxy_logs_in_by_every_plugin_of_the_server_over_every_way() {
    for (plugin, how) in plugins() {
        for backend in WAYS {
            let what = format!("{plugin} {backend:?}");
            // Made again, so that the server has nothing in a cache.
            account("of_backend", &how);
            let front = front(backend, "of_backend", PASSWORD, false);
            let config = front.config_of(Way::Plain, "of_backend", PASSWORD);
            let mut conn = connect(&config).unwrap();
            assert_eq!(user(&mut conn), "of_backend@%", "{what}");
            let is_encrypted = "SELECT CONCAT(VARIABLE_VALUE <> '') FROM ";
            let table = match sides().server.kind() {
                ServerKind::MySql => "performance_schema.session_status",
                _ => "information_schema.SESSION_STATUS",
            };
            let sql = format!("{is_encrypted} {table} WHERE VARIABLE_NAME = 'Ssl_cipher'");
            let expected = if backend == Way::Tls { "1" } else { "0" };
            assert_eq!(text(&mut conn, &sql), expected, "{what}");
        }
    }
}

#[test]
fn a_password_that_the_server_does_not_have_is_said_with_the_servers_words() {
    for (plugin, how) in plugins() {
        account("of_other", &how);
        for backend in WAYS {
            let front = front(backend, "of_other", "another one", false);
            let config = front.config_of(Way::Plain, "of_other", "another one");
            let mut conn = connect(&config).unwrap();
            let (code, message) = said(&conn.run("DO 1").unwrap_err());
            assert!(
                code == 1045 && message.contains("Access denied for user 'of_other'"),
                "{plugin} {backend:?} {code}: {message}"
            );
        }
    }
}

#[test]
fn shared_connections_speak_for_nobody_to_a_server_that_takes_headers() {
    if sides().server.kind() == ServerKind::MySql {
        return lacks("headers of the PROXY protocol", "MySQL takes none");
    }
    account("of_header", &format!("IDENTIFIED BY '{PASSWORD}'"));
    for way in [Way::Plain, Way::Tls] {
        let front = front(way, "of_header", PASSWORD, true);
        let config = front.config_of(Way::Plain, "of_header", PASSWORD);
        let mut conn = connect(&config).unwrap();
        let sql = "SELECT SUBSTRING_INDEX(HOST, ':', 1) FROM information_schema.PROCESSLIST WHERE ID = \
             (SELECT MAX(ID) FROM information_schema.PROCESSLIST WHERE USER = 'of_header')";
        let host = text(&mut conn, sql);
        assert!(
            ["127.0.0.1", "localhost"].contains(&host.as_str()),
            "{host}"
        );
    }
}
