//! Programs that are killed at any moment, while others use the same connections.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use onecopy_mysql::StatusFlags;
use onecopy_testkit::server::mariadb_client;

use crate::common::text;
use crate::private::{Front, until};

const POOL: usize = 4;
/// Programs that are killed, one after the other on each of two threads.
const KILLED: u64 = 40;

/// Everything that a client can leave behind: a transaction with a row in it, locks, variables, a table, a statement, rows that nobody
/// reads, and the same again.
const SCRIPT: &str = "
SET SESSION lock_wait_timeout = 77;
BEGIN; INSERT INTO one.kept VALUES (1); SELECT REPEAT('r', 100000) FROM one.many; SET @left = 'behind'; COMMIT;
CREATE TEMPORARY TABLE one.left_table (a INT); SELECT GET_LOCK('left', 0); PREPARE left_statement FROM 'SELECT 1';
BEGIN; DELETE FROM one.kept; SELECT SLEEP(0.002); ROLLBACK;
";

fn program(front: &Front) -> Child {
    let port = front.proxy.tcp_address().unwrap().port();
    let mut client = Command::new(mariadb_client());
    client.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1"]);
    client.args(["--user=app", "--password=first", "--force", "--skip-ssl"]);
    client.arg(format!("--port={port}"));
    client.args(["-e", &SCRIPT.repeat(20)]);
    client.stdout(Stdio::null()).stderr(Stdio::null());
    client.spawn().unwrap()
}

#[test]
fn a_client_that_is_killed_anywhere_leaves_nothing_to_others() {
    let front = Front::start(|listener| listener.pool.max = POOL);
    let mut direct = front.direct();
    for sql in [
        "CREATE DATABASE one",
        "CREATE TABLE one.kept (a INT) ENGINE=InnoDB",
        "CREATE TABLE one.many (a INT PRIMARY KEY)",
        "INSERT INTO one.many VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)",
        "GRANT ALL ON *.* TO app@'%'",
    ] {
        direct.run(sql).unwrap();
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for witness in 0..3 {
            let (front, done) = (&front, &done);
            scope.spawn(move || {
                let mut conn = front.connect();
                let own = 2_000 + witness;
                conn.run(format!("SET SESSION lock_wait_timeout = {own}"))
                    .unwrap();
                let expected = format!("{own}|{witness}");
                let sql = format!("SELECT CONCAT_WS('|', @@lock_wait_timeout, {witness})");
                while !done.load(Relaxed) {
                    let seen = text(&mut conn, &sql);
                    assert_eq!(seen, expected);
                    assert!(!conn.status().contains(StatusFlags::IN_TRANS));
                    conn.run("SELECT 1 FROM one.left_table").unwrap_err();
                }
            });
        }
        let killers: Vec<_> = (0..2)
            .map(|thread| {
                let front = &front;
                scope.spawn(move || {
                    for round in 0..KILLED / 2 {
                        let mut child = program(front);
                        // Anywhere between its login and its end: a prime apart, so that no two are at the same place.
                        thread::sleep(Duration::from_micros((round * 2 + thread) * 1_009 % 40_000));
                        child.kill().unwrap();
                        child.wait().unwrap();
                    }
                })
            })
            .collect();
        for killer in killers {
            killer.join().unwrap();
        }
        done.store(true, Relaxed);
    });
    until("the killed clients are gone", || {
        front.proxy.sessions() == 0
    });
    let pools = front.proxy.snapshot(false).pools;
    assert!(pools[0].connections <= POOL, "{pools:?}");
    until("all connections are free", || {
        let pool = &front.proxy.snapshot(false).pools[0];
        pool.idle == pool.connections
    });
    // One on each connection.
    let mut clients: Vec<_> = (0..POOL).map(|_| front.connect()).collect();
    for client in &mut clients {
        client.run("BEGIN").unwrap();
        let left = "SELECT CONCAT(@left IS NULL, @@lock_wait_timeout <> 77)";
        assert_eq!(text(client, left), "11");
        client.run("EXECUTE left_statement").unwrap_err();
    }
    drop(clients);
    let open = "SELECT COUNT(*) FROM information_schema.INNODB_TRX";
    assert_eq!(text(&mut direct, open), "0");
    assert_eq!(text(&mut direct, "SELECT IS_FREE_LOCK('left')"), "1");
    let server = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app'";
    let connections: usize = text(&mut direct, server).parse().unwrap();
    assert!(connections <= POOL, "{connections}");
}
