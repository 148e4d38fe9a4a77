//! A replica of semi-synchronous replication: the backend's side is compressed, and its acknowledgements have to come.

use onecopy_mysql::Config;
use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::compression::{Algorithm, Method};
use onecopy_proxy::config::Offered;
use onecopy_testkit::server::{Server, ServerKind, lacks};

use crate::common::{method, start, until};

/// Transactions, each of which waits for the replica.
const COMMITS: u32 = 20;

fn server(id: u32) -> Server {
    let server = Server::builder()
        .argument(format!("--server-id={id}"))
        .argument("--log-bin=log")
        // Longer than any test takes: a commit without an acknowledgement is counted, and does not pass.
        .argument("--loose-rpl-semi-sync-master-timeout=30000")
        .argument("--loose-rpl-semi-sync-slave-enabled=1");
    server.start().unwrap()
}

fn connect(server: &Server) -> Connection {
    Connection::connect_with(&Config::from_url(&server.url()).unwrap()).unwrap()
}

fn status(conn: &mut Connection, name: &str) -> u32 {
    let query = format!("SHOW STATUS LIKE 'Rpl_semi_sync_master_{name}'");
    let mut rows = conn.query(&query).unwrap();
    let row = rows.next().unwrap().unwrap();
    let value: String = row.get(1).unwrap();
    rows.finish().unwrap();
    value.parse().unwrap()
}

fn commits_are_acknowledged(way: Option<Method>) {
    let (primary, replica) = (server(1), server(2));
    let mut to_primary = connect(&primary);
    to_primary
        .run("CREATE USER replica@'%' IDENTIFIED BY 'a password'")
        .unwrap();
    to_primary
        .run("GRANT REPLICATION SLAVE ON *.* TO replica@'%'")
        .unwrap();
    to_primary
        .run("CREATE TABLE test.acknowledged (a LONGTEXT)")
        .unwrap();
    // Nothing waits before there is a replica.
    let enabled = "SET GLOBAL rpl_semi_sync_master_enabled = 1";
    to_primary.run(enabled).unwrap();
    let proxy = start(primary.port(), Offered::default(), way);
    let port = proxy.tcp_address().unwrap().port();
    let mut to_replica = connect(&replica);
    // The events need not be run, which would make the accounts of these servers again. From 11.4 on TLS is the default.
    let source = format!(
        "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'replica', \
         MASTER_PASSWORD = 'a password', MASTER_USE_GTID = NO, \
         MASTER_SSL = 0, MASTER_SSL_VERIFY_SERVER_CERT = 0"
    );
    to_replica.run(&source).unwrap();
    to_replica.run("START SLAVE IO_THREAD").unwrap();
    until("a replica", || status(&mut to_primary, "clients") == 1);
    let before = status(&mut to_primary, "yes_tx");
    for commit in 0..COMMITS {
        // Of one frame, and of several.
        let len = [1, 100_000][commit as usize % 2];
        let insert = format!("INSERT INTO test.acknowledged VALUES (REPEAT('r', {len}))");
        to_primary.run("BEGIN").unwrap();
        for _ in 0..=commit % 3 {
            to_primary.run(&insert).unwrap();
        }
        to_primary.run("COMMIT").unwrap();
    }
    assert_eq!(
        status(&mut to_primary, "yes_tx") - before,
        COMMITS,
        "{way:?}"
    );
    assert_eq!(status(&mut to_primary, "no_tx"), 0);
    // All by the first connection.
    let accepted = proxy.snapshot(false).counters.entrances[0].accepted;
    to_replica.run("STOP SLAVE").unwrap();
    assert_eq!(accepted, 1, "{way:?}");
}

#[test]
fn commits_wait_for_a_replica_behind_a_compressed_backend_no_longer_than_for_others() {
    if onecopy_testkit::server::shared().kind() != ServerKind::MariaDb {
        return lacks("semi-synchronous replication", "it needs MySQL's plugins");
    }
    commits_are_acknowledged(None);
    commits_are_acknowledged(Some(method(Algorithm::Zlib)));
}
