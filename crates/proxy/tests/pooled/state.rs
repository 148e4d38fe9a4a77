//! The state of a session goes with it.

use std::time::Duration;

use onecopy_mysql::Config;
use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::Mode;
use onecopy_testkit::server::Server;

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

/// While the schema is one of these, MariaDB 10.11 writes what has changed in another way.
#[test]
fn schemas_of_wide_characters_are_each_sessions_own() {
    for charset in ["ucs2", "utf16", "utf32"] {
        let pooled = Pooled::start(Mode::Transaction, 1);
        let (mut one, mut other) = (pooled.connect(), pooled.connect());
        let schema = format!("pooled_{charset}");
        let create = format!("CREATE DATABASE IF NOT EXISTS {schema} CHARACTER SET {charset}");
        one.run(create).unwrap();
        one.run(format!("USE {schema}")).unwrap();
        one.run("SET time_zone = '+03:00'").unwrap();
        for _ in 0..3 {
            assert_ne!(text(&mut other, "SELECT DATABASE()"), schema);
            assert_ne!(text(&mut other, "SELECT @@time_zone"), "+03:00");
            assert_eq!(text(&mut one, "SELECT DATABASE()"), schema);
            assert_eq!(text(&mut one, "SELECT @@time_zone"), "+03:00");
            one.run("BEGIN").unwrap();
            one.run("COMMIT").unwrap();
        }
        one.run("USE information_schema").unwrap();
        assert_ne!(text(&mut other, "SELECT DATABASE()"), schema);
        assert_eq!(text(&mut one, "SELECT DATABASE()"), "information_schema");
        pooled
            .direct()
            .run(format!("DROP DATABASE {schema}"))
            .unwrap();
    }
}

/// Servers report the character set, and not the collation that comes with it.
#[test]
fn an_empty_schema_at_the_login_is_none() {
    let pooled = Pooled::start_for(&["of_no_schema"], 1, |_| {});
    let mut config = Config::from_url(&pooled.url()).unwrap();
    (config.user, config.password) = ("of_no_schema".into(), "secret".into());
    config.database = Some(String::new());
    let mut conn = Connection::connect_with(&config).unwrap();
    assert_eq!(text(&mut conn, "SELECT DATABASE() IS NULL"), "1");
    conn.ping().unwrap();
}

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

/// Connections keep statements that their clients have closed.
#[test]
fn the_server_has_room_for_the_statements_that_connections_keep() {
    let server = Server::builder()
        .argument("--max-prepared-stmt-count=40")
        .start()
        .unwrap();
    let pooled = Pooled::in_front_of(&server, Mode::Transaction, 2);
    let mut config = Config::from_url(&pooled.url()).unwrap();
    config.statement_cache = 0;
    let mut clients = [(); 2].map(|()| Connection::connect_with(&config).unwrap());
    for number in 0..100 {
        for conn in &mut clients {
            let sql = format!("SELECT {number} + ?");
            let sum = conn.exec_opt::<(i64,)>(&sql, &[1.into()]).unwrap();
            assert_eq!(sum, Some((number + 1,)));
        }
    }
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

/// Only a tracker tells of it, without saying what has changed: on MySQL beside the number of the statement, with a log on MariaDB beside
/// the id of a transaction.
#[test]
fn what_a_routine_sets_out_of_sight_keeps_its_connection() {
    let server = Server::builder()
        .argument("--log-bin=binlog")
        .argument("--log-bin-trust-function-creators=1")
        .argument("--server-id=1")
        .start()
        .unwrap();
    let pooled = Pooled::in_front_of(&server, Mode::Transaction, 2);
    let [mut one, mut two, mut other] = [(); 3].map(|()| pooled.connect());
    for sql in [
        "CREATE TABLE test.t (a INT)",
        "CREATE FUNCTION test.keeps(n INT) RETURNS INT NO SQL BEGIN SET @kept = n; RETURN n; END",
        "CREATE TRIGGER test.notes BEFORE INSERT ON test.t FOR EACH ROW SET @kept = NEW.a",
    ] {
        other.run(sql).unwrap();
    }
    for (conn, sql) in [
        (&mut one, "SELECT test.keeps(7)"),
        (&mut two, "INSERT INTO test.t VALUES (7)"),
    ] {
        let mut rows = conn.query(sql).unwrap();
        while rows.next().unwrap().is_some() {}
        rows.finish().unwrap();
        for _ in 0..3 {
            assert_eq!(text(&mut other, "SELECT @kept IS NULL"), "1", "{sql}");
            assert_eq!(text(conn, "SELECT @kept + 0"), "7", "{sql}");
        }
        let clients = pooled.proxy.snapshot(true).clients;
        let pinned = clients.iter().filter(|client| !client.pins.is_empty());
        assert_eq!(pinned.count(), 1, "{sql}");
        // The other connection is for the next one.
        conn.reset().unwrap();
    }
}
