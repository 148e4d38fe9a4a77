//! What a client sees is what the server says.

use onecopy_mysql::Config;
use onecopy_mysql::blocking::Connection;
use onecopy_proxy::Killed;

use crate::common::{connect, start, until, url};

pub(crate) fn text(conn: &mut Connection, sql: &str) -> String {
    let mut rows = conn.query(sql).unwrap();
    let bytes = rows.next().unwrap().unwrap().bytes(0).unwrap().unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    rows.finish().unwrap();
    text
}

#[test]
fn a_session_is_the_servers_own() {
    let proxy = start(|_| {});
    let mut conn = connect(&proxy);
    let id = text(&mut conn, "SELECT CONNECTION_ID()");
    assert_eq!(id, conn.connection_id().to_string());
    let version = text(&mut conn, "SELECT VERSION()");
    assert!(conn.server_version().ends_with(&version));
    let error = conn.run("SELECT * FROM nothing_there").unwrap_err();
    assert_eq!(error.server().unwrap().code, 1146);
    conn.ping().unwrap();
    conn.close().unwrap();
    until("the end of the session", || proxy.sessions() == 0);
    assert_eq!(proxy.snapshot(false).buffers_in_use, 0);
}

#[test]
fn as_many_attributes_as_servers_take_pass() {
    let proxy = start(|_| {});
    let mut config = Config::from_url(&url(&proxy)).unwrap();
    // The client's own are some hundred bytes.
    config.attributes = vec![("filler".into(), "x".repeat(65_200))];
    let mut conn = Connection::connect_with(&config).unwrap();
    conn.ping().unwrap();
}

#[test]
fn the_proxy_knows_what_the_session_is_at() {
    let proxy = start(|_| {});
    let mut conn = connect(&proxy);
    let before = proxy.snapshot(true).clients[0].commands;
    let statement = conn.prepare("SELECT ?").unwrap();
    conn.run("BEGIN").unwrap();
    let client = proxy.snapshot(true).clients.pop().unwrap();
    assert_eq!(
        (
            client.commands - before,
            client.statements,
            client.in_transaction
        ),
        (2, 1, true)
    );
    assert_eq!((client.id, client.state), (conn.connection_id(), "idle"));
    conn.run("COMMIT").unwrap();
    conn.close_statement(statement).unwrap();
    conn.ping().unwrap();
    let client = proxy.snapshot(true).clients.pop().unwrap();
    assert_eq!(
        (
            client.commands - before,
            client.statements,
            client.in_transaction
        ),
        (5, 0, false)
    );
}

#[test]
fn large_values_pass_in_both_directions() {
    let proxy = start(|_| {});
    let mut conn = connect(&proxy);
    for len in [1, 16_000, 300_000, (1 << 24) - 5, 1 << 24, 40 << 20] {
        let value = vec![b'v'; len];
        let statement = conn.prepare("SELECT ?, LENGTH(?)").unwrap();
        let mut rows = conn
            .execute(&statement, &[(&value[..]).into(), (&value[..]).into()])
            .unwrap();
        let row = rows.next().unwrap().unwrap();
        assert!(row.get::<&[u8]>(0).unwrap() == value);
        assert_eq!(row.get::<u64>(1).unwrap(), len as u64);
        rows.finish().unwrap();
        conn.close_statement(statement).unwrap();
    }
    let snapshot = proxy.snapshot(false);
    assert!(snapshot.meter.bytes_read > 100 << 20);
    assert_eq!(
        snapshot.meter.copied(),
        snapshot.meter.bytes_moved + snapshot.meter.bytes_copied_by_growth
    );
    assert!(snapshot.meter.copied() < 64 << 10, "{:?}", snapshot.meter);
    assert!(snapshot.buffer_bytes < 2 << 20, "{snapshot:?}");
}

#[test]
fn a_kill_hits_the_session_it_names() {
    let proxy = start(|_| {});
    let (mut a, mut b) = (connect(&proxy), connect(&proxy));
    b.run(format!("KILL {}", a.connection_id())).unwrap();
    // In the server's words, or in the proxy's where it closed without a word.
    assert!(a.run("SELECT 1").is_err());
    b.ping().unwrap();
    let id = b.connection_id();
    assert_eq!(proxy.kill(None, id), Killed::Yes);
    let error = b.ping().unwrap_err();
    assert_eq!(
        error.server().map(|error| error.code),
        Some(1927),
        "{error}"
    );
    assert_eq!(proxy.kill(None, id), Killed::No);
}
