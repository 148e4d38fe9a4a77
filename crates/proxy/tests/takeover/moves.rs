//! Sessions of a pool that go over with their state, and those that stay.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use onecopy_mysql::SslMode;
use onecopy_mysql::blocking::Connection;
use onecopy_net::{ClientCertificates, Endpoint, Identity, Pem, TlsAcceptor, TlsServerOptions};
use onecopy_proxy::Proxy;
use onecopy_testkit::certificate::Authority;
use onecopy_testkit::server::shared;

use crate::common::{Ground, take_over, text, until};

const POOLED: usize = 1;

/// All sessions of a proxy have gone to its successor.
fn until_moved(old: &Proxy, new: &Proxy, count: usize) {
    until("all sessions at the new proxy", || {
        old.sessions() == 0 && new.sessions() == count
    });
}

#[test]
fn a_session_goes_on_with_its_state() {
    let ground = Ground::new();
    let old = ground.start();
    let mut conn = ground.connect(&old, POOLED);
    conn.run("CREATE OR REPLACE TABLE moved_state (id INT AUTO_INCREMENT PRIMARY KEY, t VARCHAR(20)) CHARACTER SET utf8mb4")
        .or_else(|_| conn.run("CREATE TABLE moved_state (id INT AUTO_INCREMENT PRIMARY KEY, t VARCHAR(20)) CHARACTER SET utf8mb4"))
        .unwrap();
    conn.run("CREATE DATABASE IF NOT EXISTS moved_schema")
        .unwrap();
    conn.run("SET NAMES latin1").unwrap();
    conn.run("SET time_zone = '+05:00', sql_mode = 'ANSI_QUOTES'")
        .unwrap();
    let statement = conn.prepare("SELECT CONCAT(?, '!', DATABASE())").unwrap();
    let before = |conn: &mut Connection, argument: &str| -> String {
        let mut rows = conn.execute(&statement, &[argument.into()]).unwrap();
        let value = rows.next().unwrap().unwrap().get(0).unwrap();
        rows.finish().unwrap();
        value
    };
    assert_eq!(before(&mut conn, "one"), "one!test");
    conn.run("INSERT INTO moved_state (id, t) VALUES (NULL, 'x')")
        .unwrap();
    let inserted = text(&mut conn, "SELECT CAST(LAST_INSERT_ID() AS CHAR)");
    conn.run("USE moved_schema").unwrap();
    let id = conn.connection_id();
    let new = ground.take_over().unwrap();
    until_moved(&old, &new, 1);
    drop(old);
    assert_eq!(text(&mut conn, "SELECT @@time_zone"), "+05:00");
    assert_eq!(text(&mut conn, "SELECT @@character_set_client"), "latin1");
    assert_eq!(text(&mut conn, "SELECT @@sql_mode"), "ANSI_QUOTES");
    assert_eq!(text(&mut conn, "SELECT DATABASE()"), "moved_schema");
    assert_eq!(
        text(&mut conn, "SELECT CAST(LAST_INSERT_ID() AS CHAR)"),
        inserted
    );
    // As it was prepared, in the schema of that time.
    assert_eq!(before(&mut conn, "two"), "two!test");
    let another = conn.prepare("SELECT ?").unwrap();
    drop(another);
    let clients = new.snapshot(true).clients;
    assert_eq!((clients.len(), clients[0].id), (1, id));
    assert!(clients[0].commands > 8, "{}", clients[0].commands);
    // It is as it was, in every way that others see it.
    let mut other = ground.connect(&new, POOLED);
    assert_ne!(other.connection_id(), id);
    other.run(format!("KILL {id}")).unwrap();
    assert!(conn.run("SELECT 1").is_err());
    other.run("DROP TABLE test.moved_state").unwrap();
    other.run("DROP DATABASE moved_schema").unwrap();
}

#[test]
fn a_session_that_has_moved_can_change_its_user_be_reset_and_move_again() {
    let ground = Ground::new();
    let mut proxy = ground.start();
    let mut conn = ground.connect(&proxy, POOLED);
    conn.run("SET time_zone = '+05:00'").unwrap();
    for _ in 0..2 {
        let new = ground.take_over().unwrap();
        until_moved(&proxy, &new, 1);
        proxy = new;
        assert_eq!(text(&mut conn, "SELECT @@time_zone"), "+05:00");
    }
    conn.reset().unwrap();
    assert_ne!(text(&mut conn, "SELECT @@time_zone"), "+05:00");
    let user = ground.client(&proxy, POOLED);
    conn.change_user(&user.user, shared().root_password(), None)
        .unwrap();
    assert_eq!(text(&mut conn, "SELECT 7"), "7");
}

#[test]
fn what_is_pinned_or_in_a_transaction_stays_until_it_is_not() {
    let ground = Ground::new();
    let old = ground.start();
    let mut pinned = ground.connect(&old, POOLED);
    pinned.run("SET @a = 'kept'").unwrap();
    let mut temporary = ground.connect(&old, POOLED);
    temporary
        .run("CREATE TEMPORARY TABLE kept_for_now (a INT)")
        .unwrap();
    let mut busy = ground.connect(&old, POOLED);
    busy.run("BEGIN").unwrap();
    let mut idle = ground.connect(&old, POOLED);
    let new = ground.take_over().unwrap();
    until("the idle session at the new proxy", || new.sessions() == 1);
    // Longer than a session has to be silent.
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!((old.sessions(), new.sessions()), (3, 1));
    assert_eq!(text(&mut pinned, "SELECT @a"), "kept");
    temporary
        .run("INSERT INTO kept_for_now VALUES (1)")
        .unwrap();
    busy.run("SELECT 1").unwrap();
    busy.run("COMMIT").unwrap();
    until("the end of the transaction", || new.sessions() == 2);
    temporary.run("DROP TEMPORARY TABLE kept_for_now").unwrap();
    pinned.reset().unwrap();
    temporary.reset().unwrap();
    until_moved(&old, &new, 4);
    for conn in [&mut pinned, &mut temporary, &mut busy, &mut idle] {
        assert_eq!(text(conn, "SELECT 3"), "3");
    }
}

#[test]
fn clients_with_tls_and_of_other_listeners_stay() {
    let mut ground = Ground::new();
    let authority = Authority::new("the takeover's tests");
    let certificate = authority.server(&["127.0.0.1"]);
    let options = TlsServerOptions {
        identity: Identity {
            certificate: Pem::Text(certificate.certificate.clone().into_bytes()),
            key: Pem::Text(certificate.key.clone().into_bytes()),
        },
        clients: ClientCertificates::Off,
    };
    ground.config.listeners[POOLED].tls = Some(TlsAcceptor::new(&options).unwrap());
    let socket = Endpoint::Unix(ground.folder.path("pooled.sock"));
    ground.config.listeners[POOLED].listen.push(socket);
    let old = ground.start();
    let mut tls = ground.client(&old, POOLED);
    tls.ssl_mode = Some(SslMode::Required);
    let mut tls = Connection::connect_with(&tls).unwrap();
    let mut pass = ground.connect(&old, 0);
    let mut unix = ground.connect_unix("pooled.sock");
    let mut plain = ground.connect(&old, POOLED);
    let new = ground.take_over().unwrap();
    until("those of the pool at the new proxy", || new.sessions() == 2);
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!((old.sessions(), new.sessions()), (2, 2));
    for conn in [&mut tls, &mut pass, &mut unix, &mut plain] {
        assert_eq!(text(conn, "SELECT 4"), "4");
    }
}

#[test]
fn a_session_that_is_not_taken_goes_on_where_it_was() {
    let ground = Ground::new();
    let old = ground.start();
    let mut conns: Vec<_> = (0..3).map(|_| ground.connect(&old, POOLED)).collect();
    for conn in &mut conns {
        conn.run("SET time_zone = '+06:00'").unwrap();
    }
    let mut config = ground.config.clone();
    config.max_connections = 1;
    let new = take_over(&config).unwrap();
    until("one at the new proxy", || new.sessions() == 1);
    until("two at the old one", || old.sessions() == 2);
    for conn in &mut conns {
        assert_eq!(text(conn, "SELECT @@time_zone"), "+06:00");
    }
    // A listener that shares no connections takes none.
    let mut config = config.clone();
    config.max_connections = 100;
    config.listeners[POOLED].mode = onecopy_proxy::config::Mode::Pass;
    config.listeners[POOLED].accounts = Vec::new();
    let newest = take_over(&config).unwrap();
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!((new.sessions(), newest.sessions()), (1, 0));
    for conn in &mut conns {
        assert_eq!(text(conn, "SELECT @@time_zone"), "+06:00");
    }
}

#[test]
fn clients_that_speak_at_any_moment_lose_no_statement() {
    let ground = Ground::new();
    let mut proxy = ground.start();
    let is_over = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..8_u64)
        .map(|number| {
            let (config, is_over) = (ground.client(&proxy, POOLED), Arc::clone(&is_over));
            std::thread::spawn(move || {
                let mut conn = Connection::connect_with(&config).unwrap();
                let zone = format!("+0{number}:00");
                conn.run(format!("SET time_zone = '{zone}'")).unwrap();
                let statement = conn.prepare("SELECT CONCAT(@@time_zone, ?)").unwrap();
                let mut count = 0_u64;
                while !is_over.load(SeqCst) {
                    count += 1;
                    let mut rows = conn.execute(&statement, &[count.into()]).unwrap();
                    let value: String = rows.next().unwrap().unwrap().get(0).unwrap();
                    rows.finish().unwrap();
                    assert_eq!(value, format!("{zone}{count}"));
                    // Around the time that one has to be silent.
                    std::thread::sleep(Duration::from_millis(245 + (count * 7 + number * 3) % 30));
                }
            })
        })
        .collect();
    until("all clients", || proxy.sessions() == 8);
    let mut before = Vec::new();
    for _ in 0..3 {
        let new = ground.take_over().unwrap();
        until("some sessions at the new proxy", || new.sessions() >= 3);
        before.push(std::mem::replace(&mut proxy, new));
    }
    is_over.store(true, SeqCst);
    for client in clients {
        client.join().unwrap();
    }
    until("the end of all sessions", || {
        before.iter().all(|old| old.sessions() == 0)
    });
}

#[test]
fn hundreds_of_idle_sessions_move() {
    let ground = Ground::new();
    let old = ground.start();
    let mut conns: Vec<_> = (0..300).map(|_| ground.connect(&old, POOLED)).collect();
    let new = ground.take_over().unwrap();
    until_moved(&old, &new, 300);
    for conn in &mut conns {
        assert_eq!(text(conn, "SELECT 5"), "5");
    }
}
