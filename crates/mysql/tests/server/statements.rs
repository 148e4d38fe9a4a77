//! Prepared statements: how many parameters they take and how long they live.

use onecopy_mysql::{Param, ProtocolError, params};

use super::Connection;
use crate::common::url;

#[tokio::test]
async fn as_many_parameters_as_the_protocol_counts() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let sql = |count: usize| format!("SELECT 7 IN ({})", vec!["?"; count].join(","));
    let statement = wait!(conn.prepare(sql(65_535))).unwrap();
    assert_eq!(statement.parameters(), 65_535);
    let mut values = vec![Param::Int(0); 65_535];
    for (last, found) in [
        (Param::Int(7), Some(1)),
        (Param::Int(8), Some(0)),
        (Param::Null, None),
    ] {
        values[65_534] = last;
        let mut rows = wait!(conn.execute(&statement, &values)).unwrap();
        let row = wait!(rows.next()).unwrap().unwrap();
        assert_eq!(row.get::<Option<i32>>(0).unwrap(), found);
        wait!(rows.finish()).unwrap();
    }
    let error = wait!(conn.prepare(sql(65_536))).unwrap_err();
    assert_eq!(error.server().unwrap().code, 1390);
    wait!(conn.ping()).unwrap();
}

#[tokio::test]
async fn a_wrong_number_of_parameters_is_refused_unsent() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let statement = wait!(conn.prepare("SELECT ?, ?")).unwrap();
    let before = conn.meter();
    let error = wait!(conn.execute(&statement, &params![1])).unwrap_err();
    let expected = ProtocolError::ParameterCount {
        expected: 2,
        given: 1,
    };
    assert_eq!(error.protocol(), Some(&expected));
    assert!(!error.is_closed());
    assert_eq!(conn.meter(), before);
    wait!(
        wait!(conn.execute(&statement, &params![1, 2]))
            .unwrap()
            .finish()
    )
    .unwrap();
}

#[tokio::test]
async fn a_closed_statement_is_refused_also_when_its_place_is_used_again() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let first = wait!(conn.prepare("SELECT 1")).unwrap();
    wait!(conn.close_statement(first.clone())).unwrap();
    let second = wait!(conn.prepare("SELECT 2")).unwrap();
    assert_refused(wait!(conn.execute(&first, &[])).map(drop));
    assert_refused(wait!(conn.close_statement(first.clone())));
    assert_refused(conn.statement_columns(&first).map(drop));
    assert_refused(wait!(conn.send_long_data(&first, 0, &b"x"[..])).map(drop));
    let mut rows = wait!(conn.execute(&second, &[])).unwrap();
    assert_eq!(
        wait!(rows.next()).unwrap().unwrap().get::<i32>(0).unwrap(),
        2
    );
}

#[tokio::test]
async fn a_statement_of_another_connection_is_refused() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let mut other = wait!(Connection::connect(&url())).unwrap();
    let statement = wait!(conn.prepare("SELECT 1")).unwrap();
    wait!(other.prepare("SELECT 2")).unwrap();
    assert_refused(wait!(other.execute(&statement, &[])).map(drop));
    assert_refused(wait!(other.close_statement(statement.clone())));
    wait!(other.ping()).unwrap();
    wait!(wait!(conn.execute(&statement, &[])).unwrap().finish()).unwrap();
}

#[tokio::test]
async fn a_closed_statement_is_closed_on_the_server_too() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let before = status(&mut conn, "Com_stmt_close").await;
    for _ in 0..3 {
        let statement = wait!(conn.prepare("SELECT 1")).unwrap();
        wait!(conn.close_statement(statement)).unwrap();
    }
    assert_eq!(status(&mut conn, "Com_stmt_close").await, before + 3);
}

#[tokio::test]
async fn a_statement_that_fails_can_be_executed_again() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    wait!(conn.run("CREATE TEMPORARY TABLE only_once (id INT PRIMARY KEY)")).unwrap();
    let insert = wait!(conn.prepare("INSERT INTO only_once VALUES (?)")).unwrap();
    for (id, expected) in [(1, None), (1, Some(1062)), (2, None)] {
        let code = match wait!(conn.execute(&insert, &params![id])) {
            Ok(_) => None,
            Err(error) => Some(error.server().unwrap().code),
        };
        assert_eq!(code, expected, "{id}");
    }
}

fn assert_refused<T>(result: Result<T, onecopy_mysql::Error>) {
    let Err(error) = result else {
        panic!("a statement that is closed was used");
    };
    assert_eq!(error.protocol(), Some(&ProtocolError::StatementClosed));
    assert!(!error.is_closed());
}

async fn status(conn: &mut Connection, name: &str) -> u64 {
    let mut rows = wait!(conn.query(format!("SHOW SESSION STATUS LIKE '{name}'"))).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    let number = row.get::<&str>(1).unwrap().parse().unwrap();
    wait!(rows.finish()).unwrap();
    number
}

#[tokio::test]
async fn a_statement_may_be_bytes_that_are_not_utf_8() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let latin1 = b"SELECT HEX(_latin1'\xE9')";
    let mut rows = wait!(conn.query(latin1)).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    assert_eq!(row.get::<&str>(0).unwrap(), "E9");
    wait!(rows.finish()).unwrap();

    let statement = wait!(conn.prepare(latin1)).unwrap();
    let mut rows = wait!(conn.execute(&statement, &[])).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    assert_eq!(row.get::<&str>(0).unwrap(), "E9");
    wait!(rows.finish()).unwrap();

    wait!(conn.run(b"DO _binary'\xFF\xFE'".as_slice())).unwrap();
    wait!(conn.run(String::from("DO 1"))).unwrap();
}
