//! The state of a session goes with it.

use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::Mode;

use crate::common::{Pooled, text};

#[test]
fn variables_and_the_schema_are_each_sessions_own() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    let before = text(&mut other, "SELECT @@sql_mode");
    one.run("SET sql_mode = 'ANSI_QUOTES', time_zone = '+03:00'")
        .unwrap();
    one.run("SET NAMES latin1").unwrap();
    one.run("CREATE DATABASE IF NOT EXISTS pooled_one").unwrap();
    one.run("USE pooled_one").unwrap();
    for _ in 0..3 {
        assert_eq!(text(&mut other, "SELECT @@sql_mode"), before);
        assert_eq!(text(&mut other, "SELECT @@character_set_client"), "utf8mb4");
        assert_ne!(text(&mut other, "SELECT DATABASE()"), "pooled_one");
        assert_eq!(text(&mut one, "SELECT @@sql_mode"), "ANSI_QUOTES");
        assert_eq!(text(&mut one, "SELECT @@time_zone"), "+03:00");
        assert_eq!(text(&mut one, "SELECT @@character_set_client"), "latin1");
        assert_eq!(text(&mut one, "SELECT DATABASE()"), "pooled_one");
    }
}

/// Servers report the character set, and not the collation that comes with it.
#[test]
fn a_collation_that_nothing_reports_is_its_sessions_own() {
    const ASK: &str = "SELECT @@collation_connection";
    let pooled = Pooled::start(Mode::Transaction, 1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    let mut direct = pooled.direct();
    // The two are alike, until one has the default collation of the same character set.
    for client in [&mut one, &mut other, &mut direct] {
        client
            .run("SET collation_connection = 'utf8mb4_bin'")
            .unwrap();
    }
    for client in [&mut one, &mut direct] {
        client
            .run("SET character_set_connection = utf8mb4")
            .unwrap();
    }
    assert_eq!(text(&mut other, ASK), "utf8mb4_bin");
    let default = text(&mut direct, ASK);
    assert_ne!(default, "utf8mb4_bin");
    assert_eq!(text(&mut one, ASK), default);
}

#[test]
fn what_can_t_be_replayed_keeps_its_connection() {
    let pooled = Pooled::start(Mode::Transaction, 2);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    one.run("SET @a = 7").unwrap();
    one.run("CREATE TEMPORARY TABLE pooled_t (a INT)").unwrap();
    one.run("INSERT INTO pooled_t VALUES (1), (2)").unwrap();
    for _ in 0..3 {
        assert_eq!(text(&mut other, "SELECT @a"), "NULL");
        assert_eq!(text(&mut one, "SELECT @a"), "7");
        assert_eq!(text(&mut one, "SELECT COUNT(*) FROM pooled_t"), "2");
    }
    one.close().unwrap();
    let mut next = pooled.connect();
    let mut third = pooled.connect();
    for client in [&mut other, &mut next, &mut third] {
        assert_eq!(text(client, "SELECT @a"), "NULL");
    }
}

#[test]
fn prepared_statements_follow_their_session() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    let a = one.prepare("SELECT ? + 1").unwrap();
    let b = other.prepare("SELECT ? + 2").unwrap();
    other.run("SET sql_mode = ''").unwrap();
    for n in 0..5_i64 {
        let mut rows = one.execute(&a, &[n.into()]).unwrap();
        assert_eq!(rows.next().unwrap().unwrap().get::<i64>(0).unwrap(), n + 1);
        rows.finish().unwrap();
        let mut rows = other.execute(&b, &[n.into()]).unwrap();
        assert_eq!(rows.next().unwrap().unwrap().get::<i64>(0).unwrap(), n + 2);
        rows.finish().unwrap();
    }
    one.close_statement(a).unwrap();
    one.ping().unwrap();
}

#[test]
fn the_last_insert_id_is_each_sessions_own() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    one.run("CREATE TABLE pooled_ids (id INT AUTO_INCREMENT PRIMARY KEY, a INT)")
        .unwrap();
    one.run("INSERT INTO pooled_ids (a) VALUES (1)").unwrap();
    other.run("INSERT INTO pooled_ids (a) VALUES (2)").unwrap();
    other
        .run("INSERT INTO pooled_ids (id, a) VALUES (77, 2)")
        .unwrap();
    for _ in 0..3 {
        assert_eq!(text(&mut one, "SELECT LAST_INSERT_ID()"), "1");
        assert_eq!(text(&mut other, "SELECT LAST_INSERT_ID()"), "2");
    }
    one.run("DROP TABLE pooled_ids").unwrap();
}

/// MariaDB ends a transaction that is read only with `SET autocommit = 1`, and the statement behind it is still read only.
#[test]
fn what_autocommit_leaves_of_a_transaction_stays_with_its_session() {
    let pooled = Pooled::start_with(Mode::Transaction, 1, |config| {
        config.listeners[0].pool.wait_timeout = Duration::from_millis(500);
    });
    let mut direct = pooled.direct();
    direct
        .run("CREATE OR REPLACE TABLE left_over (a INT)")
        .or_else(|_| direct.run("CREATE TABLE left_over (a INT)"))
        .unwrap();
    let ends = |conn: &mut Connection| {
        conn.run("SET autocommit = 0").unwrap();
        conn.run("START TRANSACTION READ ONLY").unwrap();
        assert_eq!(text(conn, "SELECT COUNT(*) FROM left_over"), "0");
        conn.run("SET autocommit = 1").unwrap();
    };
    let insert = |conn: &mut Connection| -> Result<(), u16> {
        let done = conn.run("INSERT INTO left_over VALUES (1)");
        done.map(drop).map_err(|error| error.server().unwrap().code)
    };
    ends(&mut direct);
    let expected = insert(&mut direct);
    direct.run("TRUNCATE left_over").unwrap();
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    ends(&mut one);
    // The only connection stays with the first one.
    let error = other.run("BEGIN").unwrap_err();
    assert_eq!(error.server().unwrap().code, 1040, "{error}");
    assert_eq!(insert(&mut one), expected);
    // The end of another transaction ends it.
    one.run("BEGIN").unwrap();
    one.run("COMMIT").unwrap();
    other.run("BEGIN").unwrap();
    assert_eq!(insert(&mut other), Ok(()));
    other.run("ROLLBACK").unwrap();
    assert_eq!(insert(&mut one), Ok(()));
    direct.run("DROP TABLE left_over").unwrap();
}
