//! Statements that nobody waits for any more: the next command sees to their end, by reading it or by an order.

use std::time::{Duration, Instant};

use super::Connection;
use crate::common::{assert_nothing_runs, url, urls, with_option};

/// What is cancelled ends within this time, on a machine that is busy too.
const SOON: Duration = Duration::from_secs(10);

/// Begins a statement and gives it up while its reply is waited for.
macro_rules! give_up {
    ($conn:ident, $sql:expr) => {{
        $conn.set_call_timeout(Some(Duration::from_millis(250)));
        let error = wait!($conn.query($sql)).map(drop).unwrap_err();
        assert!(error.is_timeout(), "{error}");
        $conn.set_call_timeout(None);
    }};
}

#[tokio::test]
async fn a_long_statement_is_cancelled_by_the_next_command() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        for _ in 0..3 {
            let tag = tag(&conn);
            give_up!(conn, &format!("SELECT SLEEP(600), '{tag}'"));
            let start = Instant::now();
            assert_own_result(&mut conn).await;
            assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
            assert_nothing_runs(&tag);
        }
    }
}

#[tokio::test]
async fn a_short_statement_is_not_cancelled() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    wait!(conn.run("CREATE TEMPORARY TABLE short (a INT)")).unwrap();
    for _ in 0..20 {
        let mut rows = wait!(conn.query("SELECT seq FROM seq_1_to_100")).unwrap();
        wait!(rows.next()).unwrap().unwrap();
        drop(rows);
        wait!(conn.run("INSERT INTO short VALUES (1)")).unwrap();
    }
    let mut rows = wait!(conn.query("SELECT COUNT(*) FROM short")).unwrap();
    assert_eq!(
        wait!(rows.next()).unwrap().unwrap().get::<i64>(0).unwrap(),
        20
    );
}

/// Of one table: over a join MariaDB looks for an order only once a buffer.
#[tokio::test]
async fn rows_without_an_end_are_cancelled_by_the_next_command() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let tag = tag(&conn);
        for columns in ["seq", "REPEAT('x', 1000000)"] {
            let sql = format!("SELECT {columns}, '{tag}' FROM seq_1_to_1000000000");
            let mut rows = wait!(conn.query(&sql)).unwrap();
            wait!(rows.next()).unwrap().unwrap();
            drop(rows);
            let start = Instant::now();
            assert_own_result(&mut conn).await;
            assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
        }
        assert_nothing_runs(&tag);
    }
}

#[tokio::test]
async fn results_without_an_end_are_cancelled_by_the_next_command() {
    let name = face_name!("results_for_ever");
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    wait!(conn.run(format!("DROP PROCEDURE IF EXISTS {name}"))).unwrap();
    let create = format!("CREATE PROCEDURE {name}() BEGIN WHILE 1 DO SELECT 1; END WHILE; END");
    wait!(conn.run(&create)).unwrap();
    let mut rows = wait!(conn.query(format!("CALL {name}()"))).unwrap();
    wait!(rows.next()).unwrap().unwrap();
    assert!(wait!(rows.next_result()).unwrap());
    drop(rows);
    let start = Instant::now();
    wait!(conn.run(format!("DROP PROCEDURE {name}"))).unwrap();
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

/// The first order ends one statement, and the server continues with the one behind it.
#[tokio::test]
async fn statements_that_follow_within_one_query_are_cancelled_too() {
    let mut conn = wait!(Connection::connect(&with_option(
        &url(),
        "multi-statements=true"
    )))
    .unwrap();
    let tag = tag(&conn);
    let sql = format!("DO SLEEP(600) /* {tag} */;").repeat(3) + "SELECT 1";
    give_up!(conn, &sql);
    let start = Instant::now();
    assert_own_result(&mut conn).await;
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    assert_nothing_runs(&tag);
}

#[tokio::test]
async fn a_deadline_holds_over_the_order_too() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let tag = tag(&conn);
    give_up!(conn, &format!("SELECT SLEEP(600), '{tag}'"));
    // Too short for anything; what is left of the time is always enough for a later call.
    conn.set_call_timeout(Some(Duration::from_micros(50)));
    let start = Instant::now();
    let mut calls = 0;
    while let Err(error) = wait!(conn.ping()) {
        assert!(error.is_timeout(), "{error}");
        assert!(start.elapsed() < SOON);
        calls += 1;
        if calls == 50 {
            conn.set_call_timeout(Some(Duration::from_secs(5)));
        }
    }
    assert_nothing_runs(&tag);
}

#[tokio::test]
async fn what_is_to_be_drained_is_never_cancelled() {
    let url = with_option(&url(), "abandoned=drain");
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    let start = Instant::now();
    give_up!(conn, "DO SLEEP(1) /* only drained */");
    conn.set_call_timeout(Some(Duration::from_millis(200)));
    let error = wait!(conn.ping()).unwrap_err();
    assert!(error.is_timeout(), "{error}");
    conn.set_call_timeout(None);
    assert_own_result(&mut conn).await;
    // From before it was sent, or a busy machine would count as an order.
    assert!(
        start.elapsed() >= Duration::from_secs(1),
        "it was cancelled"
    );
}

#[tokio::test]
async fn a_close_does_not_wait_for_a_statement_without_an_end() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let tag = tag(&conn);
        give_up!(conn, &format!("SELECT SLEEP(600), '{tag}'"));
        let start = Instant::now();
        wait!(conn.close()).unwrap();
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
        assert_nothing_runs(&tag);
    }
}

/// What tells this connection's statements from those of other tests.
fn tag(conn: &Connection) -> String {
    format!("abandoned by {}.", conn.connection_id())
}

async fn assert_own_result(conn: &mut Connection) {
    let mut rows = wait!(conn.query("SELECT SLEEP(0.002), 'own'")).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    assert_eq!(
        (row.get::<i32>(0).unwrap(), row.get::<&str>(1).unwrap()),
        (0, "own")
    );
    assert!(wait!(rows.next()).unwrap().is_none());
}
