//! A prepared statement that is dropped is closed on the server with its connection's next command.

use onecopy_mysql::{ProtocolError, Statement, params};
use onecopy_testkit::server::Server;

use super::Connection;

/// Statements that the server has at most.
const MOST: u64 = 10;

fn server() -> Server {
    Server::builder()
        .argument(format!("--max-prepared-stmt-count={MOST}"))
        .start()
        .unwrap()
}

/// Statements on the server, those of all connections.
async fn count(conn: &mut Connection) -> u64 {
    status(conn, "GLOBAL", "Prepared_stmt_count").await
}

/// Statements that this connection has closed.
async fn closed(conn: &mut Connection) -> u64 {
    status(conn, "SESSION", "Com_stmt_close").await
}

async fn status(conn: &mut Connection, scope: &str, name: &str) -> u64 {
    let mut rows = wait!(conn.query(format!("SHOW {scope} STATUS LIKE '{name}'"))).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    let count = row.get::<&str>(1).unwrap().parse().unwrap();
    wait!(rows.finish()).unwrap();
    count
}

async fn value(conn: &mut Connection, statement: &Statement) -> i64 {
    let mut rows = wait!(conn.execute(statement, &[])).unwrap();
    let value = wait!(rows.next()).unwrap().unwrap().get(0).unwrap();
    wait!(rows.finish()).unwrap();
    value
}

#[tokio::test]
async fn any_number_of_statements_can_be_prepared_one_after_the_other() {
    let server = server();
    let mut conn = wait!(Connection::connect(&server.url())).unwrap();
    for number in 0..5 * MOST {
        let statement = wait!(conn.prepare(format!("SELECT {number}"))).unwrap();
        assert_eq!(value(&mut conn, &statement).await, number as i64);
    }
    assert_eq!(count(&mut conn).await, 0);
    assert_eq!(closed(&mut conn).await, 5 * MOST);
}

#[tokio::test]
async fn a_statement_lives_as_long_as_its_last_clone() {
    let server = server();
    let mut conn = wait!(Connection::connect(&server.url())).unwrap();
    let statement = wait!(conn.prepare("SELECT 7")).unwrap();
    let clone = statement.clone();
    assert_eq!(clone, statement);
    drop(statement);
    assert_eq!(value(&mut conn, &clone).await, 7);
    assert_eq!(count(&mut conn).await, 1);
    drop(clone);
    assert_eq!(count(&mut conn).await, 0);
}

#[tokio::test]
async fn a_dropped_statement_costs_no_write_of_its_own() {
    let server = server();
    let mut conn = wait!(Connection::connect(&server.url())).unwrap();
    for _ in 0..3 {
        wait!(conn.prepare("SELECT 1")).unwrap();
    }
    let before = conn.meter();
    wait!(conn.ping()).unwrap();
    let cost = conn.meter().since(&before);
    // One COM_STMT_CLOSE of 9 bytes, for the others went with the prepares behind them; and COM_PING.
    assert_eq!((cost.writes, cost.bytes_written), (1, 9 + 5));
}

#[tokio::test]
async fn statements_may_be_dropped_on_other_threads_and_while_rows_are_read() {
    let server = server();
    let mut conn = wait!(Connection::connect(&server.url())).unwrap();
    let read = wait!(conn.prepare("SELECT 1 UNION SELECT 2 UNION SELECT 3")).unwrap();
    let mut others = Vec::new();
    for _ in 1..MOST {
        others.push(wait!(conn.prepare("SELECT 1")).unwrap());
    }
    let mut rows = wait!(conn.execute(&read, &[])).unwrap();
    assert!(wait!(rows.next()).unwrap().is_some());
    drop(read);
    let halves = others.split_off(others.len() / 2);
    for statements in [others, halves] {
        std::thread::spawn(move || drop(statements)).join().unwrap();
    }
    let row = wait!(rows.next()).unwrap().unwrap();
    assert_eq!(row.get::<i32>(0).unwrap(), 2);
    drop(rows);
    assert_eq!(count(&mut conn).await, 0);
    assert_eq!(closed(&mut conn).await, MOST);
}

#[tokio::test]
async fn a_statement_that_a_call_closes_is_not_closed_again() {
    let server = server();
    let mut conn = wait!(Connection::connect(&server.url())).unwrap();
    let statement = wait!(conn.prepare("SELECT 1")).unwrap();
    let clone = statement.clone();
    wait!(conn.close_statement(statement)).unwrap();
    // In its place on the server and here.
    let next = wait!(conn.prepare("SELECT 2")).unwrap();
    let error = wait!(conn.execute(&clone, &[])).unwrap_err();
    assert_eq!(error.protocol(), Some(&ProtocolError::StatementClosed));
    drop(clone);
    assert_eq!(value(&mut conn, &next).await, 2);
    assert_eq!(count(&mut conn).await, 1);
    assert_eq!(closed(&mut conn).await, 1);
}

#[tokio::test]
async fn a_statement_may_outlive_its_connection_and_a_reset() {
    let server = server();
    let mut conn = wait!(Connection::connect(&server.url())).unwrap();
    let before = wait!(conn.prepare("SELECT 1")).unwrap();
    wait!(conn.reset()).unwrap();
    let after = wait!(conn.prepare("SELECT 2")).unwrap();
    drop(before);
    assert_eq!(value(&mut conn, &after).await, 2);
    assert_eq!(closed(&mut conn).await, 0);
    wait!(conn.close()).unwrap();
    drop(after);
    let mut other = wait!(Connection::connect(&server.url())).unwrap();
    let left = wait!(other.prepare("SELECT 3")).unwrap();
    drop(other);
    std::thread::spawn(move || drop(left)).join().unwrap();
}

#[tokio::test]
async fn long_data_of_a_dropped_statement_is_of_no_concern() {
    let server = server();
    let mut conn = wait!(Connection::connect(&server.url())).unwrap();
    let statement = wait!(conn.prepare("SELECT ?")).unwrap();
    wait!(conn.send_long_data(&statement, 0, &b"never used"[..])).unwrap();
    drop(statement);
    let next = wait!(conn.prepare("SELECT ?")).unwrap();
    let mut rows = wait!(conn.execute(&next, &params!["used"])).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    assert_eq!(row.get::<&str>(0).unwrap(), "used");
    wait!(rows.finish()).unwrap();
    assert_eq!(count(&mut conn).await, 1);
}
