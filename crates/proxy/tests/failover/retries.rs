//! Reads whose server is lost before any of their result has come (`retry-reads`), and commands of which nothing was sent.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use onecopy_mysql::Error;
use onecopy_mysql::blocking::Connection;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{AccountConfig, Mode, ReplicaReads, Secret};

use crate::pair::{self, Pair, connect, number, server};
use crate::replication::{PASSWORD, direct, run_all, until};

const PRIMARY: i64 = 1;
const REPLICA: i64 = 2;

/// Longer than a test lasts, unless its server is lost.
const SLOW: &str = "SELECT @@server_id + 0 * SLEEP(600)";

/// Fast on the primary.
const SLOW_ON_REPLICA: &str = "SELECT @@server_id + 0 * SLEEP(IF(@@server_id = 2, 600, 0))";

/// A primary and a replica that reads go to, of a listener that sends them once more.
fn start(retries: bool) -> Pair {
    let pair = Pair::start_reading(ReplicaReads::default());
    let mut config = pair.proxy.config();
    config.listeners[0].retry_reads = retries;
    pair.proxy.reload(config).unwrap();
    pair
}

/// What the admin listener says of them.
fn retries(pair: &Pair) -> u64 {
    let mut admin = pair.admin();
    let mut rows = admin.query("SHOW POOLS").unwrap();
    let count = rows.next().unwrap().unwrap().get("Read_retries").unwrap();
    rows.finish().unwrap();
    count
}

/// Waits until a statement that holds this text runs on the server.
fn await_running(server: &onecopy_testkit::server::Server, text: &str, count: i64) {
    let mut conn = direct(server);
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app' AND INFO LIKE '%{text}%'"
    );
    until("the statement runs", || number(&mut conn, &sql) == count);
}

/// Does something on another thread while a server is lost.
fn during<T: Send>(work: impl FnOnce() -> T + Send, lose: impl FnOnce()) -> T {
    std::thread::scope(|scope| {
        let work = scope.spawn(work);
        lose();
        work.join().unwrap()
    })
}

fn is_lost(error: &Error) -> bool {
    error.to_string().contains("Lost connection to backend")
}

#[test]
fn a_read_whose_replica_is_lost_is_sent_once_more() {
    for is_stopped in [false, true] {
        let mut pair = start(true);
        let [mut text, mut prepared, mut piped] = [0; 3].map(|_| connect(&pair.proxy));
        let statement = prepared
            .prepare("SELECT @@server_id + ? * SLEEP(IF(@@server_id = 2, 600, 0))")
            .unwrap();
        text.run("SET SESSION lock_wait_timeout = 1234").unwrap();
        until("its state is known", || {
            number(&mut text, "SELECT @@server_id") == REPLICA
        });
        let results = during(
            || {
                std::thread::scope(|scope| {
                    let text = scope.spawn(|| {
                        let read = number(&mut text, SLOW_ON_REPLICA);
                        (read, number(&mut text, "SELECT @@lock_wait_timeout"))
                    });
                    let prepared = scope.spawn(|| {
                        (prepared.execute_one::<(i64,)>(&statement, &[0.into()]))
                            .unwrap()
                            .0
                    });
                    let piped = scope.spawn(|| {
                        let mut pipeline = piped.pipeline();
                        pipeline.query(SLOW_ON_REPLICA).unwrap();
                        pipeline.query("SELECT @@server_id + 10").unwrap();
                        let mut results = pipeline.send().unwrap();
                        [0; 2].map(|_| {
                            let mut rows = results.next().unwrap().unwrap();
                            let id = rows.next().unwrap().unwrap().get::<i64>(0).unwrap();
                            rows.finish().unwrap();
                            id
                        })
                    });
                    (
                        text.join().unwrap(),
                        prepared.join().unwrap(),
                        piped.join().unwrap(),
                    )
                })
            },
            || {
                await_running(&pair.replica, "SLEEP(IF(", 3);
                match is_stopped {
                    true => pair.replica.pause(),
                    false => pair.replica.kill(),
                }
            },
        );
        assert_eq!(results.0, (PRIMARY, 1234));
        assert_eq!(results.1, PRIMARY);
        assert_eq!(results.2, [PRIMARY, PRIMARY + 10]);
        assert_eq!(retries(&pair), 3);
        pair.replica.resume();
    }
}

#[test]
fn nothing_but_reads_is_sent_again() {
    let cases = [
        (None, "INSERT INTO done SELECT SLEEP(600), 1"),
        (None, "SELECT SLEEP(600) FROM done FOR UPDATE"),
        (Some("BEGIN"), SLOW),
        (Some("SET autocommit = 0"), SLOW),
        (Some("SET @kept = 1"), SLOW),
        (Some("CREATE TEMPORARY TABLE own (id INT)"), SLOW),
        // The one on the replica.
        (Some("START TRANSACTION READ ONLY"), SLOW),
    ];
    let mut pair = start(true);
    let prepare = [
        "GRANT CREATE TEMPORARY TABLES ON test.* TO app@'%'",
        "INSERT INTO test.done VALUES (1, 0)",
    ];
    run_all(&mut direct(&pair.primary), &prepare);
    let clients = cases.map(|(before, sql)| {
        let mut conn = connect(&pair.proxy);
        if let Some(before) = before {
            conn.run(before).unwrap();
        }
        (
            std::thread::spawn(move || conn.run(sql).unwrap_err()),
            sql,
            before,
        )
    });
    await_running(&pair.primary, "SLEEP(", 6);
    await_running(&pair.replica, "SLEEP(", 1);
    pair.replica.kill();
    pair.primary.kill();
    for (client, sql, before) in clients {
        let error = client.join().unwrap();
        assert!(is_lost(&error), "{sql} behind {before:?}: {error}");
    }
    assert_eq!(retries(&pair), 0);
}

#[test]
fn without_the_setting_nothing_is_sent_again() {
    let mut pair = start(false);
    let mut conn = connect(&pair.proxy);
    let error = during(
        || conn.run(SLOW_ON_REPLICA).unwrap_err(),
        || {
            await_running(&pair.replica, "SLEEP(", 1);
            pair.replica.kill();
        },
    );
    assert!(is_lost(&error), "{error}");
    assert_eq!(retries(&pair), 0);
}

#[test]
fn a_result_that_has_begun_is_not_sent_again() {
    let mut pair = start(true);
    let mut conn = connect(&pair.proxy);
    // Too long for the server to wait for the second one.
    let sql = "SELECT REPEAT('x', 100000) UNION ALL SELECT SLEEP(600)";
    let mut rows = conn.query(sql).unwrap();
    assert_eq!(
        rows.next().unwrap().unwrap().get::<&str>(0).unwrap().len(),
        100_000
    );
    pair.replica.kill();
    let error = rows.next().unwrap_err();
    assert!(is_lost(&error), "{error}");
    assert_eq!(retries(&pair), 0);
}

/// Only its first bytes have to have arrived before it is sent on, so there is no whole copy of it.
#[test]
fn a_long_command_is_not_sent_again() {
    let mut pair = start(true);
    let [mut text, mut prepared] = [0; 2].map(|_| connect(&pair.proxy));
    let long = "x".repeat(100_000);
    let sql = format!("SELECT SLEEP(600), '{long}'");
    let statement = prepared.prepare("SELECT SLEEP(600), ?").unwrap();
    let errors = during(
        || {
            std::thread::scope(|scope| {
                let text = scope.spawn(|| text.run(&sql).unwrap_err());
                let prepared = prepared.execute(&statement, &[long.as_str().into()]);
                [text.join().unwrap(), prepared.map(drop).unwrap_err()]
            })
        },
        || {
            await_running(&pair.replica, "SLEEP(600)", 1);
            await_running(&pair.primary, "SLEEP(600)", 1);
            pair.replica.kill();
            pair.primary.kill();
        },
    );
    assert!(errors.iter().all(is_lost), "{errors:?}");
    assert_eq!(retries(&pair), 0);
}

#[test]
fn a_read_loses_two_servers_at_the_most() {
    let mut pair = start(true);
    let mut conn = connect(&pair.proxy);
    let error = during(
        || conn.run(SLOW).unwrap_err(),
        || {
            await_running(&pair.replica, "SLEEP(", 1);
            pair.replica.kill();
            await_running(&pair.primary, "SLEEP(", 1);
            pair.primary.kill();
        },
    );
    assert!(is_lost(&error), "{error}");
    assert_eq!(retries(&pair), 1);
}

#[test]
fn a_read_that_a_client_kills_is_not_sent_again() {
    let pair = start(true);
    let [mut killer, mut killed] = [0; 2].map(|_| connect(&pair.proxy));
    let id = killed.connection_id();
    let error = during(
        || killed.run(SLOW).unwrap_err(),
        || {
            await_running(&pair.replica, "SLEEP(", 1);
            killer.run(format!("KILL {id}")).unwrap();
        },
    );
    assert!(error.is_closed() || error.server().is_some(), "{error}");
    assert_eq!(retries(&pair), 0);
}

/// There is no other server to try.
#[test]
fn a_read_waits_for_its_only_server_to_come_back() {
    let mut first = server(1, &[]);
    let mut config = pair::config(&[&first], Mode::Transaction, None);
    let listener = &mut config.listeners[0];
    listener.retry_reads = true;
    // One that each server has from its start.
    listener.accounts = vec![AccountConfig::new("root", Secret::new(PASSWORD))];
    let proxy = Proxy::start(config).unwrap();
    let mut client = pair::client(&proxy);
    client.user = "root".into();
    let mut conn = Connection::connect_with(&client).unwrap();
    conn.run("SET SESSION lock_wait_timeout = 1234").unwrap();
    let sql = "SELECT @@lock_wait_timeout + 0 * SLEEP(IF(@@server_id = 2, 0, 600))";
    let port = first.port();
    let mut second = None;
    let found = during(
        || number(&mut conn, sql),
        || {
            let mut direct = direct(&first);
            let running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%SLEEP(IF%' AND ID <> CONNECTION_ID()";
            until("the read runs", || number(&mut direct, running) == 1);
            first.kill();
            second = Some(server(2, &[&format!("--port={port}")]));
        },
    );
    assert_eq!(found, 1234);
}

/// The difference of a schema is waited for, so that of the INSERT nothing was sent. That holds without `retry-reads`.
#[test]
fn a_command_that_was_not_sent_waits_for_another_server() {
    for is_stopped in [false, true] {
        let mut pair = Pair::start(Mode::Transaction);
        run_all(
            &mut direct(&pair.primary),
            &["CREATE DATABASE other", "GRANT ALL ON other.* TO app@'%'"],
        );
        let mut config = pair.proxy.config();
        config.listeners[0].pool.max = 1;
        pair.proxy.reload(config).unwrap();
        let [mut in_other, mut in_test] = [0; 2].map(|_| connect(&pair.proxy));
        in_other.run("USE other").unwrap();
        // The one connection is in `test` from then on.
        in_test.run("DO 0").unwrap();
        pair.primary.pause();
        let affected = during(
            || {
                in_other
                    .run("INSERT INTO test.done VALUES (7, 7)")
                    .map(|done| done.affected_rows)
            },
            || {
                let mut admin = pair.admin();
                until("the difference was sent", || {
                    let mut rows = admin.query("SHOW PROCESSLIST").unwrap();
                    let mut is_there = false;
                    while let Some(row) = rows.next().unwrap() {
                        is_there |= row.get::<Option<&str>>("State").unwrap() == Some("replay");
                    }
                    rows.finish().unwrap();
                    is_there
                });
                if !is_stopped {
                    pair.primary.kill();
                }
                pair.promote();
            },
        );
        assert_eq!(affected.unwrap(), 1);
        let sql = "SELECT COUNT(*) FROM test.done WHERE id = 7";
        assert_eq!(number(&mut direct(&pair.replica), sql), 1);
        pair.primary.resume();
    }
}

/// The server says why it closes, or says nothing.
#[test]
fn reads_go_on_where_a_replica_is_shut_down() {
    let pair = start(true);
    let (is_over, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|_| {
                let (config, is_over, reads) = (pair.client(), &is_over, &reads);
                scope.spawn(move || {
                    let mut conn = Connection::connect_with(&config).unwrap();
                    let sql = "SELECT @@server_id + 0 * COUNT(*) FROM done";
                    while !is_over.load(SeqCst) {
                        number(&mut conn, sql);
                        reads.fetch_add(1, SeqCst);
                    }
                    number(&mut conn, sql)
                })
            })
            .collect();
        until("all of them read", || reads.load(SeqCst) >= 200);
        direct(&pair.replica).run("SHUTDOWN").unwrap();
        pair.await_states(["up", "down"]);
        is_over.store(true, SeqCst);
        for client in clients {
            assert_eq!(client.join().unwrap(), PRIMARY);
        }
    });
}
