//! Reads that go to a replica: which they are, and that none of them misses a change of its own client's.

use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::{Consistency, ReplicaReads, RuleConfig, RuleTarget};
use onecopy_testkit::server::Server;

use crate::pair::{Pair, connect, number, shown_of};
use crate::replication::{direct, is_mariadb, run_all, until};
use crate::stall::Stall;

const PRIMARY: i64 = 1;
const REPLICA: i64 = 2;

fn client(pair: &Pair) -> Connection {
    connect(&pair.proxy)
}

/// A counter of the admin listener's.
fn counted(pair: &Pair, column: &str) -> u64 {
    let mut admin = pair.admin();
    let mut rows = admin.query("SHOW READS").unwrap();
    let count = rows.next().unwrap().unwrap().get::<u64>(column).unwrap();
    rows.finish().unwrap();
    count
}

/// Has the replica apply each transaction so long after it was committed.
fn delay(replica: &Server, seconds: u32) {
    let mut conn = direct(replica);
    let change = match is_mariadb(replica) {
        true => [
            "STOP SLAVE SQL_THREAD",
            "CHANGE MASTER TO MASTER_DELAY",
            "START SLAVE",
        ],
        false => [
            "STOP REPLICA SQL_THREAD",
            "CHANGE REPLICATION SOURCE TO SOURCE_DELAY",
            "START REPLICA",
        ],
    };
    let [stop, change, start] = change;
    let stop = match is_mariadb(replica) {
        // MariaDB changes nothing of a running one.
        true => "STOP SLAVE",
        false => stop,
    };
    run_all(&mut conn, &[stop, &format!("{change} = {seconds}"), start]);
}

#[test]
fn reads_go_to_the_replica_and_all_else_to_the_primary() {
    let pair = Pair::start_reading(ReplicaReads::default());
    let mut conn = client(&pair);
    for (sql, expected) in [
        ("SELECT @@server_id", REPLICA),
        (
            "WITH one AS (SELECT 1) SELECT @@server_id FROM one",
            REPLICA,
        ),
        ("SELECT @@server_id /* onecopy: primary */", PRIMARY),
        ("SELECT @@server_id FROM done LIMIT 1 FOR UPDATE", PRIMARY),
        (
            "SELECT @@server_id FROM done LIMIT 1 LOCK IN SHARE MODE",
            PRIMARY,
        ),
        ("SELECT @@server_id", REPLICA),
    ] {
        if sql.contains("done") {
            // It takes no lock without a row.
            conn.run(format!("INSERT INTO done VALUES ({}, 0)", rand_id()))
                .unwrap();
        }
        assert_eq!(number(&mut conn, sql), expected, "{sql}");
    }
    let statement = conn.prepare("SELECT @@server_id + ?").unwrap();
    let id = conn.execute_one::<(i64,)>(&statement, &[0.into()]).unwrap();
    assert_eq!(id, (REPLICA,), "prepared");
    for (begin, expected) in [
        ("BEGIN", PRIMARY),
        ("START TRANSACTION READ ONLY", REPLICA),
        ("SET autocommit = 0", PRIMARY),
    ] {
        conn.run(begin).unwrap();
        assert_eq!(number(&mut conn, "SELECT @@server_id"), expected, "{begin}");
        conn.run("COMMIT").unwrap();
    }
    conn.run("SET autocommit = 1").unwrap();
    // The session's state is the same everywhere.
    conn.run("SET time_zone = '+03:00'").unwrap();
    until("what SET has left on the primary is known", || {
        let (zone, id) = conn
            .query_one::<(String, i64)>("SELECT @@time_zone, @@server_id")
            .unwrap();
        assert_eq!(zone, "+03:00");
        id == REPLICA
    });
    assert!(counted(&pair, "Replica") >= 6);
}

/// A number that no other row has.
fn rand_id() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    static NEXT: AtomicU64 = AtomicU64::new(1 << 40);
    NEXT.fetch_add(1, SeqCst)
}

#[test]
fn a_transaction_that_only_reads_ends_where_the_next_one_begins() {
    let pair = Pair::start_reading(ReplicaReads::default());
    let mut conn = client(&pair);
    conn.run("START TRANSACTION READ ONLY").unwrap();
    assert_eq!(number(&mut conn, "SELECT @@server_id"), REPLICA);
    let refused = conn.run("INSERT INTO done VALUES (1, 0)").unwrap_err();
    // MariaDB has the error of a server that is read only.
    let code = refused.server().unwrap().code;
    assert!([1290, 1792].contains(&code), "{refused}");
    conn.run("BEGIN").unwrap();
    assert_eq!(number(&mut conn, "SELECT @@server_id"), PRIMARY);
    conn.run("INSERT INTO done VALUES (1, 0)").unwrap();
    conn.run("COMMIT").unwrap();
    assert_eq!(number(&mut conn, "SELECT COUNT(*) FROM done"), 1);
}

#[test]
fn warnings_and_found_rows_are_asked_for_where_the_read_was() {
    let pair = Pair::start_reading(ReplicaReads::default());
    let mut conn = client(&pair);
    conn.run("INSERT INTO done VALUES (1, 0), (2, 0)").unwrap();
    for _ in 0..3 {
        until("what the error has left on the primary is known", || {
            number(
                &mut conn,
                "SELECT CAST('x' AS SIGNED) + @@server_id FROM done LIMIT 1",
            ) == REPLICA
        });
        let mut rows = conn.query("SHOW WARNINGS").unwrap();
        let code = rows.next().unwrap().unwrap().get::<u16>(1).unwrap();
        rows.finish().unwrap();
        assert_eq!(code, 1292);
        conn.run("INSERT INTO done VALUES (3)").unwrap_err();
        conn.run("INSERT INTO done VALUES (3, 0)").unwrap();
        assert_eq!(number(&mut conn, "SELECT ROW_COUNT()"), 1);
    }
}

/// A write and a read of it, again and again, while the replica is two seconds behind; and reads of others, which go to it.
#[test]
fn a_client_sees_its_own_changes_while_the_replica_is_behind() {
    write_and_read(2);
}

/// Sometimes it has them in time, and sometimes not.
#[test]
fn a_client_sees_its_own_changes_while_the_replica_is_a_little_behind() {
    write_and_read(0);
}

fn write_and_read(seconds: u32) {
    let pairs = match std::env::var_os("ONECOPY_SOAK") {
        Some(_) => 100_000,
        None => 400,
    };
    let pair = Pair::start_reading(ReplicaReads {
        max_lag: None,
        read_wait: Duration::from_millis(1),
        ..ReplicaReads::default()
    });
    delay(&pair.replica, seconds);
    client(&pair)
        .run("CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, n INT)")
        .unwrap();
    let writer = |number_of: i64| {
        let mut config = pair.client();
        config.multi_statements = true;
        move || {
            let mut conn = Connection::connect_with(&config).unwrap();
            for n in 0..pairs / 4 {
                let id = number_of << 32 | n;
                if number_of == 1 && n % 8 == 0 {
                    // Servers tell of changes otherwise on a connection whose insert id was set.
                    conn.run("INSERT INTO counted (n) VALUES (1)").unwrap();
                    number(&mut conn, "SELECT LAST_INSERT_ID()");
                }
                match n % 3 {
                    0 => conn
                        .run(format!("INSERT INTO done VALUES ({id}, 0)"))
                        .unwrap(),
                    1 => {
                        conn.run("BEGIN").unwrap();
                        conn.run(format!("INSERT INTO done VALUES ({id}, 0)"))
                            .unwrap();
                        conn.run("COMMIT").unwrap()
                    }
                    // The reply to several has an error behind the change.
                    _ => {
                        let sql = format!("INSERT INTO done VALUES ({id}, 0); SELECT nothing");
                        drop(conn.run(sql).unwrap_err());
                        continue_with(&mut conn, id);
                        continue;
                    }
                };
                continue_with(&mut conn, id);
            }
        }
    };
    fn continue_with(conn: &mut Connection, id: i64) {
        let sql = format!("SELECT COUNT(*) FROM done WHERE id = {id}");
        assert_eq!(number(conn, &sql), 1, "{id}");
    }
    std::thread::scope(|scope| {
        let writers: Vec<_> = (1..=4).map(|number| scope.spawn(writer(number))).collect();
        let mut reader = client(&pair);
        let mut reads = 0;
        while writers.iter().any(|writer| !writer.is_finished()) {
            assert_eq!(number(&mut reader, "SELECT @@server_id"), REPLICA);
            reads += 1;
        }
        assert!(reads > 0);
    });
    let behind = counted(&pair, "Ahead_of_replica");
    assert!(seconds == 0 || behind > 0, "the replica was behind");
    assert_eq!(counted(&pair, "Without_replica"), 0);
}

/// Nothing arrives from its primary, and it says that it is not behind.
#[test]
fn a_client_sees_its_own_changes_where_the_replica_is_wrong_about_its_lag() {
    let pair = Pair::start_reading(ReplicaReads {
        max_lag: Some(Duration::from_secs(1)),
        read_wait: Duration::from_millis(1),
        ..ReplicaReads::default()
    });
    let way = Stall::before(pair.primary.port());
    let (change, wait): (_, &[&str]) = match is_mariadb(&pair.replica) {
        true => (
            ["STOP SLAVE", "CHANGE MASTER TO MASTER_PORT", "START SLAVE"],
            &["SET GLOBAL rpl_semi_sync_master_enabled = 0"],
        ),
        false => (
            [
                "STOP REPLICA",
                "CHANGE REPLICATION SOURCE TO SOURCE_PORT",
                "START REPLICA",
            ],
            &["SET GLOBAL rpl_semi_sync_source_enabled = 0"],
        ),
    };
    // Commits would wait for the replica.
    run_all(&mut direct(&pair.primary), wait);
    let [stop, change, start] = change;
    let change = format!("{change} = {}", way.port);
    run_all(&mut direct(&pair.replica), &[stop, &change, start]);
    let mut conn = client(&pair);
    conn.run("INSERT INTO done VALUES (0, 0)").unwrap();
    until("it arrives on its way", || {
        let sql = "SELECT COUNT(*) FROM test.done WHERE id = 0";
        number(&mut direct(&pair.replica), sql) == 1
    });
    pair.await_states(["up", "replica"]);
    way.set(true);
    let mut other = client(&pair);
    for id in 1..=50 {
        conn.run(format!("INSERT INTO done VALUES ({id}, 0)"))
            .unwrap();
        let sql = format!("SELECT COUNT(*) FROM done WHERE id = {id}");
        assert_eq!(number(&mut conn, &sql), 1, "{id}");
        assert_eq!(number(&mut other, "SELECT @@server_id"), REPLICA);
    }
    assert!(counted(&pair, "Ahead_of_replica") > 0);
    let mut admin = pair.admin();
    assert_eq!(shown_of(&mut admin, "two", "State"), "replica");
    way.set(false);
    until("it has them", || {
        number(&mut conn, "SELECT @@server_id + COUNT(*) FROM done") == REPLICA + 51
    });
}

#[test]
fn a_client_whose_changes_have_arrived_reads_from_the_replica() {
    let pair = Pair::start_reading(ReplicaReads {
        read_wait: Duration::from_secs(60),
        ..ReplicaReads::default()
    });
    let mut conn = client(&pair);
    for id in 0..200 {
        conn.run(format!("INSERT INTO done VALUES ({id}, 0)"))
            .unwrap();
        let sql = format!("SELECT COUNT(*) + 10 * @@server_id FROM done WHERE id = {id}");
        assert_eq!(number(&mut conn, &sql), 1 + 10 * REPLICA, "{id}");
    }
    let waits = counted(&pair, "Waits");
    assert!((1..=200).contains(&waits), "{waits}");
    for _ in 0..10 {
        assert_eq!(number(&mut conn, "SELECT @@server_id"), REPLICA);
    }
    assert_eq!(counted(&pair, "Waits"), waits, "it is known to have them");
}

#[test]
fn a_replica_that_is_behind_stopped_or_lost_serves_no_reads() {
    let mut pair = Pair::start_reading(ReplicaReads {
        max_lag: Some(Duration::from_secs(3)),
        ..ReplicaReads::default()
    });
    let mut conn = client(&pair);
    assert_eq!(number(&mut conn, "SELECT @@server_id"), REPLICA);
    let stop = match is_mariadb(&pair.replica) {
        true => ["STOP SLAVE IO_THREAD", "START SLAVE IO_THREAD"],
        false => ["STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD"],
    };
    direct(&pair.replica).run(stop[0]).unwrap();
    pair.await_states(["up", "lagging"]);
    let why = shown_of(&mut pair.admin(), "two", "Last_error");
    assert!(why.contains("IO_Running is No"), "{why}");
    assert_eq!(number(&mut conn, "SELECT @@server_id"), PRIMARY);
    direct(&pair.replica).run(stop[1]).unwrap();
    pair.await_states(["up", "replica"]);
    assert_eq!(number(&mut conn, "SELECT @@server_id"), REPLICA);
    pair.replica.kill();
    // Between statements nobody notices.
    for _ in 0..50 {
        assert_eq!(number(&mut conn, "SELECT @@server_id"), PRIMARY);
    }
    assert!(counted(&pair, "Without_replica") > 0);
}

#[test]
fn transactions_that_a_replica_has_received_and_not_applied_are_counted() {
    let pair = Pair::start_reading(ReplicaReads {
        max_lag: None,
        ..ReplicaReads::default()
    });
    let mut admin = pair.admin();
    let mut behind = || {
        let mut rows = admin.query("SHOW SERVERS").unwrap();
        let mut last = None;
        while let Some(row) = rows.next().unwrap() {
            last = row.get::<Option<u64>>("Lag_transactions").unwrap();
        }
        rows.finish().unwrap();
        last
    };
    until("it has all", || behind() == Some(0));
    delay(&pair.replica, 3_600);
    let mut conn = client(&pair);
    for id in 0..3 {
        conn.run(format!("INSERT INTO done VALUES ({id}, 0)"))
            .unwrap();
    }
    until("three are not applied", || behind() == Some(3));
    delay(&pair.replica, 0);
    until("it has all again", || behind() == Some(0));
}

#[test]
fn reads_follow_the_roles_when_the_replica_is_promoted() {
    let mut pair = Pair::start_reading(ReplicaReads::default());
    let mut conn = client(&pair);
    conn.run("INSERT INTO done VALUES (1, 0)").unwrap();
    assert_eq!(number(&mut conn, "SELECT @@server_id"), REPLICA);
    pair.primary.kill();
    pair.promote();
    conn.run("INSERT INTO done VALUES (2, 0)").unwrap();
    assert_eq!(number(&mut conn, "SELECT COUNT(*) FROM done"), 2);
    until("the promoted one is the primary", || {
        number(&mut conn, "SELECT @@server_id /* onecopy: primary */") == REPLICA
    });
    pair.await_states(["down", "up"]);
}

/// What the tests above would see without care.
#[test]
fn without_consistency_a_client_reads_what_the_replica_has() {
    let pair = Pair::start_reading(ReplicaReads {
        max_lag: None,
        consistency: Consistency::None,
        ..ReplicaReads::default()
    });
    delay(&pair.replica, 2);
    let mut conn = client(&pair);
    let count = "SELECT COUNT(*) FROM done WHERE id = 1";
    assert_eq!(number(&mut conn, count), 0);
    conn.run("INSERT INTO done VALUES (1, 0)").unwrap();
    assert_eq!(
        number(&mut conn, count),
        0,
        "the replica is two seconds behind"
    );
    until("the change has arrived", || number(&mut conn, count) == 1);
}

#[test]
fn rules_say_where_reads_go_and_comments_have_the_last_word() {
    let pair = Pair::start_reading(ReplicaReads::default());
    let mut conn = client(&pair);
    let mut config = pair.proxy.config();
    let rule = |digest: &str, to| RuleConfig {
        name: digest.to_owned(),
        digest: Some(digest.to_owned()),
        to: Some(to),
        ..RuleConfig::default()
    };
    config.listeners[0].rules = vec![
        rule("^SELECT .* AS `fresh`$", RuleTarget::Primary),
        rule("^SELECT .* AS `old`", RuleTarget::Replica),
    ];
    pair.proxy.reload(config).unwrap();
    let statement = conn.prepare("SELECT @@server_id AS fresh").unwrap();
    for (sql, expected) in [
        ("SELECT @@server_id AS fresh", PRIMARY),
        (
            "SELECT @@server_id AS fresh /* onecopy: primary */",
            PRIMARY,
        ),
        ("SELECT @@server_id AS old", REPLICA),
        ("SELECT @@server_id AS old /* onecopy: primary */", PRIMARY),
        // It does not only read.
        ("SELECT @@server_id AS old FOR UPDATE", PRIMARY),
        ("SELECT @@server_id", REPLICA),
    ] {
        assert_eq!(number(&mut conn, sql), expected, "{sql}");
    }
    let id = conn.execute_one::<(i64,)>(&statement, &[]).unwrap();
    assert_eq!(id, (PRIMARY,), "prepared");
}

/// Those that wait for a connection to the primary in place of a replica stay in line for it.
#[test]
fn reads_without_a_replica_share_the_connections_to_the_primary() {
    const CLIENTS: usize = 40;
    let mut pair = Pair::start_reading(ReplicaReads::default());
    pair.replica.kill();
    pair.await_states(["up", "down"]);
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let config = pair.client();
            scope.spawn(move || {
                let mut conn = Connection::connect_with(&config).unwrap();
                // Each has a state of its own: a connection of another one is changed first.
                conn.run(format!(
                    "SET SESSION lock_wait_timeout = {}",
                    1_000 + number
                ))
                .unwrap();
                for _ in 0..50 {
                    let sql = "SELECT @@lock_wait_timeout + 0 * SLEEP(0.001)";
                    assert_eq!(
                        super::replicas::number(&mut conn, sql),
                        i64::try_from(1_000 + number).unwrap()
                    );
                }
            });
        }
    });
}

/// Functions whose text is not seen.
fn create_functions(pair: &Pair) {
    let mut conn = direct(&pair.primary);
    run_all(
        &mut conn,
        &[
            "GRANT EXECUTE ON test.* TO app@'%'",
            "CREATE TABLE test.loose (id INT) ENGINE = MyISAM",
            "CREATE FUNCTION test.keeps(n INT) RETURNS INT NO SQL BEGIN SET @kept = n; RETURN n; END",
            "CREATE FUNCTION test.writes(n INT) RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO done VALUES (n, 0); RETURN n; END",
            "CREATE FUNCTION test.fails(n INT) RETURNS INT READS SQL DATA BEGIN RETURN (SELECT id FROM nothing_there); END",
        ],
    );
    let mut replica = direct(&pair.replica);
    until("the replica has all of that", || {
        let sql = "SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'test'";
        number(&mut replica, sql) == 3
    });
}

#[test]
fn a_session_with_state_on_a_replica_is_told_where_it_has_to_write() {
    let pair = Pair::start_reading(ReplicaReads::default());
    create_functions(&pair);
    let mut conn = client(&pair);
    assert_eq!(
        number(&mut conn, "SELECT keeps(7) + @@server_id"),
        7 + REPLICA
    );
    assert_eq!(number(&mut conn, "SELECT @kept + 0"), 7);
    let refused = conn.run("INSERT INTO done VALUES (1, 0)").unwrap_err();
    let server = refused.server().unwrap();
    assert_eq!(server.code, 1290);
    let text = server.message.to_string();
    assert!(text.contains("has state on a replica ("), "{text}");
    assert_eq!(number(&mut conn, "SELECT @kept + @@server_id"), 7 + REPLICA);
    // As the error says.
    conn.reset().unwrap();
    assert_eq!(
        number(
            &mut conn,
            "SELECT /* onecopy: primary */ keeps(8) + @@server_id"
        ),
        8 + PRIMARY
    );
    conn.run("INSERT INTO done VALUES (1, 0)").unwrap();
    assert_eq!(number(&mut conn, "SELECT @kept + 0"), 8);
}

#[test]
fn a_session_whose_reads_write_reads_from_the_primary() {
    let pair = Pair::start_reading(ReplicaReads::default());
    create_functions(&pair);
    let mut conn = client(&pair);
    let refused = conn.query_opt::<(i64,)>("SELECT writes(5)").unwrap_err();
    assert_eq!(refused.server().unwrap().code, 1290, "{refused}");
    assert_eq!(number(&mut conn, "SELECT writes(6)"), 6);
    assert_eq!(
        number(&mut conn, "SELECT COUNT(*) FROM done WHERE id = 6"),
        1
    );
    assert_eq!(number(&mut conn, "SELECT @@server_id"), PRIMARY);
    assert_eq!(number(&mut client(&pair), "SELECT @@server_id"), REPLICA);
}

/// Its reply is an error, which does not say which transaction it has made all the same.
#[test]
fn a_client_sees_what_a_statement_that_failed_has_left() {
    let pair = Pair::start_reading(ReplicaReads {
        max_lag: None,
        read_wait: Duration::from_millis(1),
        ..ReplicaReads::default()
    });
    create_functions(&pair);
    delay(&pair.replica, 2);
    let mut conn = client(&pair);
    assert_eq!(number(&mut conn, "SELECT @@server_id"), REPLICA);
    for id in 0..5 {
        conn.run(format!("INSERT INTO loose VALUES ({id}), (fails({id}))"))
            .unwrap_err();
        let sql = format!("SELECT COUNT(*) FROM loose WHERE id = {id}");
        assert_eq!(number(&mut conn, &sql), 1, "{id}");
        // The next round begins without a connection.
        until("it reads from the replica", || {
            number(&mut conn, "SELECT @@server_id + COUNT(*) FROM done") == REPLICA
        });
    }
}

/// The servers do not say which transactions a session has made.
#[test]
fn without_a_log_a_client_that_has_written_reads_from_the_primary() {
    let pair = Pair::start_without_log();
    let mut conn = client(&pair);
    assert_eq!(number(&mut conn, "SELECT @@server_id"), REPLICA);
    conn.run("SET SESSION lock_wait_timeout = 1234").unwrap();
    until("what SET has left on the primary is known", || {
        number(&mut conn, "SELECT @@server_id") == REPLICA
    });
    conn.run("INSERT INTO done VALUES (1, 0)").unwrap();
    for _ in 0..100 {
        assert_eq!(number(&mut conn, "SELECT @@server_id"), PRIMARY);
    }
    assert_eq!(number(&mut client(&pair), "SELECT @@server_id"), REPLICA);
}
