//! Pins that end by themselves: the connection is for others again.

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::Mode;
use onecopy_testkit::server::lacks;

use crate::common::{Pooled, text};
use crate::private::until;

/// Why sessions keep their connections now.
fn pins(pooled: &Pooled) -> Vec<String> {
    let clients = pooled.proxy.snapshot(true).clients;
    let pins = clients.into_iter().map(|client| client.pins);
    pins.filter(|pins| !pins.is_empty()).collect()
}

fn run_all(conn: &mut Connection, statements: &[&str]) {
    for sql in statements {
        conn.run(*sql).unwrap();
    }
}

#[test]
fn the_rows_that_a_query_has_counted_are_kept_until_the_next_query() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    run_all(
        &mut pooled.direct(),
        &[
            "CREATE TABLE counted (a INT)",
            "INSERT INTO counted VALUES (1), (2), (3)",
        ],
    );
    for between in [None, Some("DO 1"), Some("SELEC 1")] {
        let sql = "SELECT SQL_CALC_FOUND_ROWS a FROM counted ORDER BY a LIMIT 1";
        assert_eq!(text(&mut one, sql), "1");
        assert_eq!(pins(&pooled), ["found_rows"]);
        if let Some(sql) = between {
            let _ = one.run(sql);
            assert_eq!(pins(&pooled), ["found_rows"], "{sql}");
        }
        let found = text(&mut one, "SELECT FOUND_ROWS()");
        let mut direct = pooled.direct();
        text(&mut direct, sql);
        if let Some(sql) = between {
            let _ = direct.run(sql);
        }
        assert_eq!(found, text(&mut direct, "SELECT FOUND_ROWS()"));
        // The only connection is for the other one.
        assert_eq!(text(&mut other, "SELECT 7"), "7");
        assert_eq!(pins(&pooled), [""; 0], "{between:?}");
    }
    pooled.direct().run("DROP TABLE counted").unwrap();
}

#[test]
fn an_xa_transaction_keeps_its_connection_until_it_is_over() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    let mut direct = pooled.direct();
    direct.run("CREATE TABLE of_xa (a INT)").unwrap();
    let is_pinned = || pins(&pooled).iter().any(|pins| pins.contains("xa"));
    for (begin, end) in [
        (&["XA END 'one'"][..], "XA COMMIT 'one' ONE PHASE"),
        (&["XA END 'one'"], "XA ROLLBACK 'one'"),
        (&["XA END 'one'", "XA PREPARE 'one'"], "XA COMMIT 'one'"),
        (&["XA END 'one'", "XA PREPARE 'one'"], "XA ROLLBACK 'one'"),
    ] {
        run_all(
            &mut one,
            &["XA START 'one'", "INSERT INTO of_xa VALUES (1)"],
        );
        run_all(&mut one, begin);
        assert!(is_pinned(), "{begin:?}");
        // What fails ends nothing.
        one.run("XA COMMIT 'none'").unwrap_err();
        assert!(is_pinned(), "{begin:?}");
        one.run(end).unwrap();
        assert!(!is_pinned(), "{end}");
        assert_eq!(text(&mut other, "SELECT 7"), "7");
    }
    assert_eq!(text(&mut other, "SELECT COUNT(*) FROM of_xa"), "2");
    direct.run("DROP TABLE of_xa").unwrap();
}

/// The proxy relies on this: while a session has an XA transaction, servers refuse to end another one for it.
#[test]
fn no_other_xa_transaction_ends_beside_ones_own() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let mut own = pooled.direct();
    own.run("CREATE TABLE of_two (a INT)").unwrap();
    let mut left = pooled.direct();
    let detached = [
        "XA START 'left'",
        "INSERT INTO of_two VALUES (1)",
        "XA END 'left'",
        "XA PREPARE 'left'",
    ];
    run_all(&mut left, &detached);
    left.close().unwrap();
    run_all(
        &mut own,
        &["XA START 'own'", "INSERT INTO of_two VALUES (2)"],
    );
    own.run("XA COMMIT 'left'").unwrap_err();
    own.run("XA END 'own'").unwrap();
    own.run("XA COMMIT 'left'").unwrap_err();
    own.run("XA PREPARE 'own'").unwrap();
    let is_ended = own.run("XA COMMIT 'left'").is_ok();
    own.run("XA COMMIT 'own'").unwrap();
    // The server may still be closing the connection that has prepared it.
    until("the other one can be ended", || {
        is_ended || own.run("XA COMMIT 'left'").is_ok()
    });
    // On MySQL a transaction leaves its session when it is prepared.
    let is_mysql = !text(&mut own, "SELECT VERSION()").contains("MariaDB");
    assert!(!is_ended || is_mysql);
    own.run("DROP TABLE of_two").unwrap();
}

#[test]
fn named_locks_keep_their_connection_until_they_are_released() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    let mut direct = pooled.direct();
    for (between, release) in [
        (&[][..], "SELECT RELEASE_LOCK('of one')"),
        (
            &[
                "SELECT GET_LOCK('of one', 1)",
                "SELECT RELEASE_LOCK('of one')",
            ],
            "DO RELEASE_LOCK('of one') /* the last */",
        ),
        (
            &[
                "SELECT GET_LOCK('another', 1)",
                "SELECT RELEASE_LOCK('of one')",
            ],
            "SELECT RELEASE_LOCK('another') AS is_free",
        ),
        (
            &["SELECT GET_LOCK(CONCAT('of', ' two'), 1), 2"],
            "SELECT RELEASE_ALL_LOCKS()",
        ),
    ] {
        one.run("SELECT GET_LOCK('of one', 5)").unwrap();
        for sql in between {
            one.run(*sql).unwrap();
        }
        assert_eq!(pins(&pooled), ["named_lock"], "{release}");
        one.run(release).unwrap();
        assert_eq!(pins(&pooled), [""; 0], "{release}");
        assert_eq!(text(&mut other, "SELECT 7"), "7");
        assert_eq!(text(&mut direct, "SELECT IS_FREE_LOCK('of one')"), "1");
    }
    // What surely releases nothing pins nothing.
    one.run("SELECT RELEASE_LOCK('of one')").unwrap();
    assert_eq!(pins(&pooled), [""; 0]);
    // No row is wanted, and so nothing is released.
    one.run("SELECT GET_LOCK('of one', 5)").unwrap();
    one.run("SET SESSION sql_select_limit = 0").unwrap();
    one.run("SELECT RELEASE_LOCK('of one')").unwrap();
    assert!(pins(&pooled)[0].starts_with("named_lock"));
    assert_eq!(text(&mut direct, "SELECT IS_FREE_LOCK('of one')"), "0");
    one.reset().unwrap();
    // Which lock an execution is about is not known.
    one.run("SELECT GET_LOCK('of one', 5)").unwrap();
    let rows = one.exec("DO RELEASE_LOCK(?)", &["of one".into()]);
    rows.unwrap().finish().unwrap();
    assert!(pins(&pooled)[0].starts_with("named_lock"));
    one.reset().unwrap();
    let rows = one.exec("SELECT GET_LOCK('of one', 5)", &[]);
    rows.unwrap().finish().unwrap();
    assert_eq!(pins(&pooled), ["named_lock"]);
    let rows = one.exec("SELECT RELEASE_LOCK('of one')", &[]);
    rows.unwrap().finish().unwrap();
    assert_eq!(pins(&pooled), [""; 0]);
    // A function may have left something that outlives the locks.
    direct
        .run(
            "CREATE FUNCTION keeps_one() RETURNS INT DETERMINISTIC NO SQL \
             BEGIN SET @kept = 1; RETURN 1; END",
        )
        .unwrap();
    one.run("SELECT GET_LOCK('of one', 5)").unwrap();
    one.run("DO keeps_one()").unwrap();
    one.run("SELECT RELEASE_LOCK('of one')").unwrap();
    assert_eq!(pins(&pooled), ["unexplained"]);
    assert_eq!(text(&mut one, "SELECT @kept"), "1");
    direct.run("DROP FUNCTION keeps_one").unwrap();
}

#[test]
fn handlers_keep_their_connection_until_they_are_closed() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    let mut direct = pooled.direct();
    direct
        .run("CREATE TABLE handled (a INT, `close` INT)")
        .unwrap();
    run_all(
        &mut one,
        &[
            "HANDLER handled OPEN",
            "HANDLER handled OPEN AS close",
            "HANDLER `close` READ FIRST WHERE `close` = 1",
            "HANDLER handled CLOSE",
        ],
    );
    one.run("HANDLER handled CLOSE").unwrap_err();
    assert_eq!(pins(&pooled), ["handler"]);
    one.run("HANDLER `close` CLOSE").unwrap();
    assert_eq!(pins(&pooled), [""; 0]);
    assert_eq!(text(&mut other, "SELECT 7"), "7");
    direct.run("DROP TABLE handled").unwrap();
}

#[test]
fn a_statement_that_is_only_prepared_pins_nothing_and_ends_no_pin() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let mut one = pooled.connect();
    let mut direct = pooled.direct();
    direct.run("CREATE TABLE only_prepared (a INT)").unwrap();
    for sql in [
        "SELECT GET_LOCK('only prepared', ?)",
        "SET sort_buffer_size = ?",
    ] {
        one.prepare(sql).unwrap();
        assert_eq!(pins(&pooled), [""; 0], "{sql}");
    }
    one.run("LOCK TABLES only_prepared WRITE").unwrap();
    if let Err(error) = one.prepare("UNLOCK TABLES") {
        lacks("UNLOCK TABLES that is prepared", &error.to_string());
    }
    assert_eq!(pins(&pooled), ["lock_tables"]);
    one.run("UNLOCK TABLES").unwrap();
    assert_eq!(pins(&pooled), [""; 0]);
    direct.run("DROP TABLE only_prepared").unwrap();
}
