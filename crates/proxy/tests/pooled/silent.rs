//! What servers do not report, or report otherwise: the statement's text says it.

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::Mode;
use onecopy_testkit::server::lacks;

use crate::common::{Pooled, text};

fn pins(pooled: &Pooled) -> String {
    let clients = pooled.proxy.snapshot(true).clients;
    clients.into_iter().map(|client| client.pins).collect()
}

/// Runs what a server may lack.
fn run(conn: &mut Connection, sql: &str) -> bool {
    let error = match conn.run(sql) {
        Ok(_) => return true,
        Err(error) => error,
    };
    lacks(sql, &error.to_string());
    false
}

#[test]
fn what_no_tracker_tells_of_keeps_its_connection() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let mut direct = pooled.direct();
    direct.run("CREATE TABLE pooled_silent (a INT)").unwrap();
    direct.run("CREATE ROLE pooled_role").unwrap();
    direct.run("GRANT pooled_role TO CURRENT_USER()").unwrap();
    for (sql, pin) in [
        ("SELECT 1 INTO @a", "user_variable"),
        ("SELECT @a := 1", "user_variable"),
        ("SELECT GET_LOCK('pooled_silent', 0)", "named_lock"),
        ("SELECT `GET_LOCK`('pooled_silent', 0)", "named_lock"),
        ("HANDLER pooled_silent OPEN", "handler"),
        ("SET ROLE pooled_role", "role"),
        ("SET RESOURCE GROUP USR_default", "role"),
        ("LOCK INSTANCE FOR BACKUP", "backup_lock"),
        ("BACKUP STAGE START", "backup_lock"),
        ("FLUSH TABLES pooled_silent WITH READ LOCK", "lock_tables"),
        ("EXECUTE IMMEDIATE 'SELECT 1'", "sql_prepare"),
        ("SET profiling = ON", "variable"),
        // It has failed, but not before the lock was taken.
        (
            "SELECT GET_LOCK('pooled_silent', 0), (SELECT 1 UNION SELECT 2)",
            "named_lock",
        ),
    ] {
        let mut one = pooled.connect();
        let is_failing = sql.contains("UNION");
        match is_failing {
            true => assert!(text_or_error(&mut one, sql).is_err()),
            false if run(&mut one, sql) => {}
            false => continue,
        }
        assert_eq!(pins(&pooled), pin, "{sql}");
        one.close().unwrap();
        // A long text is looked at, too; of a very long one it is not known what it leaves.
        for (len, pin) in [(40_000, pin), (100_000, "unexplained")] {
            let mut one = pooled.connect();
            let padding = format!(" /* {} */ ", "long ".repeat(len / 5));
            let sql = sql.replacen(' ', &padding, 1);
            assert_eq!(text_or_error(&mut one, &sql).is_err(), is_failing);
            assert!(pins(&pooled).contains(pin), "{pin}: {}", pins(&pooled));
            one.close().unwrap();
        }
    }
    // No such thing is in these.
    let mut one = pooled.connect();
    for sql in [
        "FLUSH STATUS",
        "SELECT 'GET_LOCK(', a AS connection_id FROM pooled_silent",
        "SELECT 1 /* @a := 2 */",
        "UPDATE pooled_silent SET a = LAST_INSERT_ID(a + 1)",
    ] {
        one.run(sql).unwrap();
        one.ping().unwrap();
        assert_eq!(pins(&pooled), "", "{sql}");
    }
    direct.run("DROP ROLE pooled_role").unwrap();
    direct.run("DROP TABLE pooled_silent").unwrap();
}

#[test]
fn what_a_long_prepared_statement_leaves_keeps_its_connection() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    for (sql, pin) in [
        ("SELECT 1 INTO @a", "user_variable"),
        ("DO GET_LOCK('pooled_prepared', 0)", "named_lock"),
    ] {
        for (len, is_kept) in [(40_000, false), (300_000, true)] {
            let mut one = pooled.connect();
            let padding = format!(" /* {} */ ", "long ".repeat(len / 5));
            let statement = one.prepare(sql.replacen(' ', &padding, 1)).unwrap();
            let rows = one.execute(&statement, &[]).unwrap();
            rows.finish().unwrap();
            let found = pins(&pooled);
            assert!(
                found.contains(pin) || is_kept && !found.is_empty(),
                "{pin}: {found}"
            );
            one.close().unwrap();
        }
    }
}

fn text_or_error(conn: &mut Connection, sql: &str) -> Result<(), onecopy_mysql::Error> {
    let mut rows = conn.query(sql)?;
    while rows.next()?.is_some() {}
    rows.finish().map(drop)
}

#[test]
fn a_plain_transaction_is_no_pin() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let mut one = pooled.connect();
    for begin in ["BEGIN", "START TRANSACTION"] {
        one.run(begin).unwrap();
        assert_eq!(text(&mut one, "SELECT 1"), "1");
        assert_eq!(pins(&pooled), "", "{begin}");
        one.run("COMMIT").unwrap();
    }
    // What was chosen for it beforehand is one, until it is over.
    one.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        .unwrap();
    one.run("BEGIN").unwrap();
    assert_eq!(pins(&pooled), "transaction_characteristics");
    one.run("COMMIT").unwrap();
    assert_eq!(pins(&pooled), "");
}

#[test]
fn a_variable_that_is_set_for_one_statement_is_not_set_for_the_next() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    let sql = "SET STATEMENT sort_buffer_size = 100000 FOR SELECT @@sort_buffer_size";
    let before = text(&mut one, "SELECT @@sort_buffer_size");
    match text_or_error(&mut one, sql) {
        Ok(()) => {}
        Err(error) => return lacks("SET STATEMENT", &error.to_string()),
    }
    other.run("SET div_precision_increment = 5").unwrap();
    for _ in 0..3 {
        assert_eq!(text(&mut one, "SELECT @@sort_buffer_size"), before);
        assert_eq!(text(&mut other, "SELECT @@sort_buffer_size"), before);
    }
    assert_eq!(pins(&pooled), "");
}

#[test]
fn an_insert_id_that_a_statement_sets_is_its_session_s() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    assert_eq!(text(&mut one, "SELECT LAST_INSERT_ID(77)"), "77");
    assert_eq!(text(&mut other, "SELECT LAST_INSERT_ID()"), "0");
    other.run("SELECT LAST_INSERT_ID(5)").unwrap();
    assert_eq!(text(&mut one, "SELECT LAST_INSERT_ID()"), "77");
    one.run("DO LAST_INSERT_ID(0)").unwrap();
    assert_eq!(text(&mut other, "SELECT LAST_INSERT_ID()"), "5");
    assert_eq!(text(&mut one, "SELECT LAST_INSERT_ID()"), "0");
    // After a value of 20 KB.
    let long = format!("SELECT LENGTH('{}'), LAST_INSERT_ID()", "x".repeat(20_000));
    let mut rows = other.query(&long).unwrap();
    assert_eq!(rows.next().unwrap().unwrap().get::<u64>(1).unwrap(), 5);
    rows.finish().unwrap();
    assert_eq!(pins(&pooled), "");
}

#[test]
fn backslashes_are_read_as_the_session_s_mode_says() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let mut one = pooled.connect();
    one.run("SET sql_mode = 'NO_BACKSLASH_ESCAPES'").unwrap();
    one.run(r"SELECT 'a\', GET_LOCK('pooled_mode', 0), '\'")
        .unwrap();
    assert_eq!(pins(&pooled), "named_lock");
    one.close().unwrap();
    let mut one = pooled.connect();
    one.run(r"SELECT 'a\', GET_LOCK(', 0, '\''").unwrap();
    assert_eq!(pins(&pooled), "");
}

#[test]
fn a_schema_of_any_name_is_found_again_in_any_character_set() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    one.run("CREATE DATABASE `pooled_d\u{e9}`").unwrap();
    one.run("USE `pooled_d\u{e9}`").unwrap();
    one.run("SET NAMES latin1").unwrap();
    for _ in 0..3 {
        assert_eq!(text(&mut other, "SELECT 1"), "1");
        let name = "SELECT HEX(CONVERT(DATABASE() USING utf8mb4))";
        assert_eq!(text(&mut one, name), "706F6F6C65645F64C3A9");
        assert_eq!(text(&mut one, "SELECT @@character_set_client"), "latin1");
        other.run("USE test").unwrap();
    }
    one.run("SET NAMES utf8mb4").unwrap();
    one.run("DROP DATABASE `pooled_d\u{e9}`").unwrap();
}
