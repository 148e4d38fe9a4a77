//! TLS on each side by itself.

use std::process::{Command, Stdio};

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{SslMode, aio as face};
use onecopy_net::ClientCertificates;
use onecopy_testkit::mariadb_client;
use onecopy_testkit::server::{ServerKind, lacks};

use crate::basics::text;
use crate::common::until;
use crate::sides::{Front, Sides, Way, account, identity, sides, unique};

const WAYS: [Way; 3] = [Way::Plain, Way::Tls, Way::Socket];

/// Accounts of every plugin that sends hashes alone: name and password.
fn accounts(sides: &'static Sides) -> Vec<(&'static str, &'static str)> {
    if sides.server.kind() == ServerKind::MySql {
        lacks("mysql_native_password, ed25519", "they are MariaDB's");
        return vec![("root", sides.server.root_password())];
    }
    let native = ("by_native", "a native one");
    account(
        native.0,
        "IDENTIFIED VIA mysql_native_password USING PASSWORD('a native one')",
    );
    let mut admin = Connection::connect(&sides.server.url()).unwrap();
    if let Err(error) = admin.run("INSTALL SONAME 'auth_ed25519'") {
        lacks("ed25519", &error.to_string());
        return vec![native];
    }
    account(
        "by_ed25519",
        "IDENTIFIED VIA ed25519 USING PASSWORD('of a curve')",
    );
    vec![native, ("by_ed25519", "of a curve")]
}

/// What the server says of the session's own TLS.
const CIPHER: &str = "SHOW STATUS LIKE 'Ssl_cipher'";

fn cipher(conn: &mut Connection) -> String {
    let mut rows = conn.query(CIPHER).unwrap();
    let cipher = rows
        .next()
        .unwrap()
        .unwrap()
        .get::<&str>(1)
        .unwrap()
        .to_owned();
    rows.finish().unwrap();
    cipher
}

#[test]
fn each_side_has_tls_or_not_by_itself() {
    let sides = sides();
    let accounts = accounts(sides);
    for backend in WAYS {
        let front = sides.proxy(sides.backend(backend), |_| {});
        for client in WAYS {
            for &(user, password) in &accounts {
                let config = front.config_of(client, user, password);
                let what = format!("{client:?} {backend:?} {user}");
                let mut conn = Connection::connect_with(&config).expect(&what);
                assert_eq!(conn.tls().is_some(), client == Way::Tls, "{what}");
                assert_eq!(!cipher(&mut conn).is_empty(), backend == Way::Tls, "{what}");
                // Larger than any record and any buffer.
                let mut rows = conn.query("SELECT REPEAT('r', 3000000)").unwrap();
                let row = rows.next().unwrap().unwrap();
                assert_eq!(row.bytes(0).unwrap().unwrap(), [b'r'; 3_000_000], "{what}");
                rows.finish().unwrap();
                let sql = format!("SELECT CRC32('{}')", "w".repeat(3_000_000));
                assert_eq!(text(&mut conn, &sql), "2441614242", "{what}");
                // The sequence ids of a change of user are those of either side.
                conn.change_user(user, password, None).expect(&what);
                assert_eq!(
                    text(&mut conn, "SELECT CURRENT_USER()"),
                    format!("{user}@%")
                );
                let error = Connection::connect_with(&front.config_of(client, user, "wrong"));
                // For a wrong one MySQL wants the password itself, which is another test's.
                let code = error.unwrap_err().server().map(|error| error.code);
                assert!(code == Some(1045) || user == "root", "{what}: {code:?}");
            }
        }
        until("the end of the sessions", || front.proxy.sessions() == 0);
    }
}

#[tokio::test]
async fn the_tokio_face_has_tls_on_each_side_by_itself() {
    let sides = sides();
    for backend in WAYS {
        let front = sides.proxy(sides.backend(backend), |_| {});
        for client in WAYS {
            let mut conn = face::Connection::connect_with(&front.config(client))
                .await
                .unwrap();
            assert_eq!(conn.tls().is_some(), client == Way::Tls);
            let mut rows = conn.query(CIPHER).await.unwrap();
            let row = rows.next().await.unwrap().unwrap();
            assert_eq!(
                row.bytes(1).unwrap().unwrap().is_empty(),
                backend != Way::Tls
            );
            rows.finish().await.unwrap();
            conn.close().await.unwrap();
        }
    }
}

/// MariaDB's own client: what it prints.
fn mariadb(front: &Front, arguments: &[&str], sql: &str) -> Result<String, String> {
    let server = &sides().server;
    let output = Command::new(mariadb_client().unwrap())
        .args([
            "--no-defaults",
            "--protocol=tcp",
            "--host=127.0.0.1",
            "--user=root",
            "-BN",
        ])
        .arg(format!("--port={}", front.port()))
        .args(arguments)
        .args(["-e", sql])
        .env("MYSQL_PWD", server.root_password())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout).unwrap());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn mariadbs_client_has_tls_on_each_side_by_itself() {
    let sides = sides();
    if sides.server.kind() == ServerKind::MySql {
        return lacks(
            "mariadb through the proxy",
            "its default plugins are not MySQL 9's",
        );
    }
    let ca = unique("pem");
    std::fs::write(&ca, sides.authority.certificate()).unwrap();
    let ca_option = format!("--ssl-ca={}", ca.display());
    for backend in WAYS {
        let front = sides.proxy(sides.backend(backend), |_| {});
        let has_tls = |shown: &str| {
            let line = shown.lines().find(|line| line.starts_with("Ssl_cipher\t"));
            line.unwrap().len() > "Ssl_cipher\t".len()
        };
        let plain = mariadb(&front, &["--skip-ssl"], CIPHER).unwrap();
        assert_eq!(has_tls(&plain), backend == Way::Tls);
        let verified = ["--ssl", &ca_option, "--ssl-verify-server-cert"];
        let tls = mariadb(&front, &verified, CIPHER).unwrap();
        assert_eq!(has_tls(&tls), backend == Way::Tls);
        let shown = mariadb(
            &front,
            &verified,
            "SELECT LENGTH(REPEAT('x', 20000000)); \\s",
        )
        .unwrap();
        assert!(
            shown.contains("20000000") && shown.contains("Cipher in use is"),
            "{shown}"
        );
    }
    std::fs::remove_file(ca).unwrap();
}

#[test]
fn a_listener_that_requires_tls_tells_clients_without_it() {
    let sides = sides();
    let front = sides.proxy(sides.backend(Way::Plain), |listener| {
        listener.requires_tls = true
    });
    let error = Connection::connect_with(&front.config(Way::Plain)).unwrap_err();
    assert_eq!(error.server().unwrap().code, 3159, "{error}");
    for way in [Way::Tls, Way::Socket] {
        Connection::connect_with(&front.config(way))
            .unwrap()
            .ping()
            .unwrap();
    }
}

#[test]
fn a_client_that_requires_tls_goes_where_there_is_none() {
    let sides = sides();
    // Of the backend's TLS it does not hear.
    let front = sides.proxy(sides.backend(Way::Tls), |listener| listener.tls = None);
    let error = Connection::connect_with(&front.config(Way::Tls)).unwrap_err();
    assert!(
        error.server().is_none() && error.to_string().contains("tls"),
        "{error}"
    );
    let mut config = front.config(Way::Plain);
    config.ssl_mode = Some(SslMode::Preferred);
    let conn = Connection::connect_with(&config).unwrap();
    assert!(conn.tls().is_none());
}

#[test]
fn clients_show_certificates_of_the_right_authority() {
    let sides = sides();
    let required = ClientCertificates::Required(sides.authorities());
    let acceptor = sides.acceptor(required);
    let front = sides.proxy(sides.backend(Way::Plain), |listener| {
        listener.tls = Some(acceptor);
    });
    let mut config = front.config(Way::Tls);
    let mut shows = |authority: &onecopy_testkit::certificate::Authority| {
        let shown = identity(&authority.client("a client"));
        (config.ssl_cert, config.ssl_key) = (Some(shown.certificate), Some(shown.key));
        Connection::connect_with(&config)
    };
    shows(&sides.authority).unwrap().ping().unwrap();
    assert!(shows(&sides.stranger).is_err());
    assert!(Connection::connect_with(&front.config(Way::Tls)).is_err());
    until("the end of the sessions", || front.proxy.sessions() == 0);
}

#[test]
fn the_proxys_own_certificate_is_shown_to_the_backend() {
    let sides = sides();
    account("with_x509", "IDENTIFIED BY 'Shown. 1' REQUIRE X509");
    let client = sides.authority.client("the proxy");
    let mut backend = sides.backend(Way::Tls);
    let front = sides.proxy(backend.clone(), |_| {});
    let refused = Connection::connect_with(&front.config_of(Way::Tls, "with_x509", "Shown. 1"));
    assert_eq!(refused.unwrap_err().server().unwrap().code, 1045);
    backend.tls = Some(sides.connector(Some(&client)));
    let front = sides.proxy(backend, |_| {});
    let config = front.config_of(Way::Tls, "with_x509", "Shown. 1");
    Connection::connect_with(&config).unwrap().ping().unwrap();
}

#[test]
fn a_backend_that_is_not_who_it_should_be_gets_nothing() {
    let sides = sides();
    let options = onecopy_net::TlsOptions {
        ca: Some(onecopy_net::Pem::Text(
            sides.stranger.certificate().into_bytes(),
        )),
        ..Default::default()
    };
    let cache = onecopy_net::TlsCache::default();
    let mut backend = sides.backend(Way::Plain);
    backend.tls = Some(onecopy_net::TlsConnector::new(&options, "127.0.0.1", &cache).unwrap());
    let front = sides.proxy(backend, |_| {});
    for way in WAYS {
        let error = Connection::connect_with(&front.config(way)).unwrap_err();
        assert_eq!(error.server().unwrap().code, 1429, "{error}");
    }
}

#[test]
fn what_tls_copies_is_counted_of_each_side_and_stays_counted() {
    let len = 3_000_000;
    let mut copied = Vec::new();
    for (backend, client) in [
        (Way::Plain, Way::Plain),
        (Way::Plain, Way::Tls),
        (Way::Tls, Way::Tls),
    ] {
        let front = sides().proxy(sides().backend(backend), |listener| {
            listener.reencrypt_passwords = true
        });
        let mut conn = Connection::connect_with(&front.config(client)).unwrap();
        assert_eq!(
            text(&mut conn, &format!("SELECT REPEAT('t', {len})")).len(),
            len
        );
        let count = || front.proxy.snapshot(false).meter.bytes_copied_by_tls;
        let live = count();
        drop(conn);
        until("the end of the session", || front.proxy.sessions() == 0);
        assert!(count() >= live, "{} after {live}", count());
        copied.push(live);
    }
    assert_eq!(copied[0], 0);
    assert!(
        copied[1] >= len as u64 && copied[2] >= copied[1] + len as u64,
        "{copied:?}"
    );
}
