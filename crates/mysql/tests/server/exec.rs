//! SQL with parameters, whose statement is prepared once and kept.

use onecopy_mysql::{Param, ProtocolError, params};
use onecopy_testkit::server::Server;

use super::Connection;
use crate::common::{binary, count, number, url, urls, with_option};

/// A status variable of this connection, or of the server.
async fn status(conn: &mut Connection, scope: &str, name: &str) -> u64 {
    let mut rows = wait!(conn.query(format!("SHOW {scope} STATUS LIKE '{name}'"))).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    let count = row.get::<&str>(1).unwrap().parse().unwrap();
    wait!(rows.finish()).unwrap();
    count
}

async fn prepares(conn: &mut Connection) -> u64 {
    status(conn, "SESSION", "Com_stmt_prepare").await
}

/// The one value of a statement.
async fn value(conn: &mut Connection, sql: &str, params: &[Param<'_>]) -> i64 {
    let mut rows = wait!(conn.exec(sql, params)).unwrap();
    let value = wait!(rows.next()).unwrap().unwrap().get(0).unwrap();
    wait!(rows.finish()).unwrap();
    value
}

#[tokio::test]
async fn a_text_is_prepared_once_and_costs_one_round_trip_from_then_on() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let prepared = prepares(&mut conn).await;
        for number in 0..10 {
            let before = conn.meter();
            assert_eq!(
                value(&mut conn, "SELECT ? + 1", &params![number]).await,
                number + 1
            );
            let cost = conn.meter().since(&before);
            let first = if conn.server_version().contains("MariaDB") {
                1
            } else {
                2
            };
            let writes = if number == 0 { first } else { 1 };
            assert_eq!(cost.writes, writes, "{number}: {cost:?}");
        }
        assert_eq!(prepares(&mut conn).await, prepared + 1);
    }
}

#[tokio::test]
async fn the_first_time_gives_the_same_in_one_round_trip_and_in_two() {
    let large = binary().first(1_000_000);
    for option in [
        "pipelining=true",
        "pipelining=false",
        "cached-metadata=false",
    ] {
        let mut conn = wait!(Connection::connect(&with_option(&url(), option))).unwrap();
        let table = format!("exec_{}", number());
        wait!(conn.run(format!("DROP TABLE IF EXISTS {table}"))).unwrap();
        let create =
            format!("CREATE TABLE {table} (id INT AUTO_INCREMENT PRIMARY KEY, b LONGBLOB)");
        wait!(conn.run(create)).unwrap();
        let insert = format!("INSERT INTO {table} (b) VALUES (?)");
        for round in 1..4 {
            let done = wait!(wait!(conn.exec(&insert, &params![large])).unwrap().finish()).unwrap();
            assert_eq!((done.affected_rows, done.last_insert_id), (1, round));
        }
        let select = format!("SELECT id, b, 'it''s ?' FROM {table} WHERE id > ? ORDER BY id");
        for round in 0..3 {
            let mut rows = wait!(conn.exec(&select, &params![round])).unwrap();
            for id in round + 1..=3 {
                let row = wait!(rows.next()).unwrap().unwrap();
                assert_eq!(row.get::<i64>(0).unwrap(), id);
                assert!(row.get::<&[u8]>(1).unwrap() == large);
                assert_eq!(row.get::<&str>(2).unwrap(), "it's ?");
            }
            assert!(wait!(rows.next()).unwrap().is_none());
        }
        // Errors of the prepare, of the execution, and of the call.
        for _ in 0..2 {
            let error = wait!(conn.exec("SELEKT ?", &params![1])).unwrap_err();
            assert_eq!(error.server().map(|error| error.code), Some(1064));
            let twice = format!("INSERT INTO {table} (id) VALUES (?)");
            let error = wait!(conn.exec(&twice, &params![1])).unwrap_err();
            assert_eq!(error.server().map(|error| error.code), Some(1062));
            let error = wait!(conn.exec("SELECT ?, ?", &params![1])).unwrap_err();
            let (expected, given) = (2, 1);
            assert_eq!(
                error.protocol(),
                Some(&ProtocolError::ParameterCount { expected, given })
            );
            assert_eq!(value(&mut conn, "SELECT ?", &params![7]).await, 7);
        }
        // A text that does not tell the number of its parameters.
        assert_eq!(value(&mut conn, "SELECT /* ? */ ?", &params![8]).await, 8);
        assert_eq!(
            value(&mut conn, r"SELECT LENGTH('\'?') + ?", &params![8]).await,
            10
        );
        assert_eq!(
            value(&mut conn, "SELECT LENGTH('ä?') + ?", &params![8]).await,
            11
        );
    }
}

#[tokio::test]
async fn any_number_of_texts_leaves_the_servers_statements_bounded() {
    let server = Server::builder()
        .argument("--max-prepared-stmt-count=6")
        .start()
        .unwrap();
    for (kept, rounds, pipelining) in [
        (5, count(200, 100_000), true),
        (5, 100, false),
        (0, 100, true),
        (0, 100, false),
    ] {
        let option = format!("statement-cache={kept}&pipelining={pipelining}");
        let mut conn = wait!(Connection::connect(&with_option(&server.url(), &option))).unwrap();
        // The server forgets the statements of the connection before when it sees its end.
        while status(&mut conn, "GLOBAL", "Prepared_stmt_count").await > 0 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        for number in 0..rounds as i64 {
            let sql = format!("SELECT ? + {number}");
            assert_eq!(value(&mut conn, &sql, &params![1]).await, number + 1);
            if number % 7 == 0 {
                // It may have a parameter more, or not be SQL.
                wait!(conn.exec(format!("SELECT ?, ? + {number}"), &params![1])).unwrap_err();
                wait!(conn.exec(format!("SELEKT ? + {number}"), &params![1])).unwrap_err();
            }
        }
        let open = status(&mut conn, "GLOBAL", "Prepared_stmt_count").await;
        assert!(open <= kept, "{open} of {kept}");
        wait!(conn.close()).unwrap();
    }
}

#[tokio::test]
async fn a_text_that_is_too_long_for_the_cache_is_executed_and_closed() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let closed = status(&mut conn, "SESSION", "Com_stmt_close").await;
    for bytes in [15 << 10, 17 << 10, 32 << 10, 100 << 10] {
        let sql = format!("SELECT ? + LENGTH('{}')", "x".repeat(bytes));
        for _ in 0..2 {
            let sum = bytes as i64 + 1;
            assert_eq!(value(&mut conn, &sql, &params![1]).await, sum);
        }
    }
    // The last two, each of them twice.
    let closed = status(&mut conn, "SESSION", "Com_stmt_close").await - closed;
    assert_eq!(closed, 4);
}

#[tokio::test]
async fn the_oldest_text_makes_room_and_is_closed_with_the_next_command() {
    let mut conn = wait!(Connection::connect(&with_option(
        &url(),
        "statement-cache=2"
    )))
    .unwrap();
    for sql in [
        "SELECT 1 + ?",
        "SELECT 2 + ?",
        "SELECT 1 + ?",
        "SELECT 3 + ?",
    ] {
        value(&mut conn, sql, &params![0]).await;
    }
    let prepared = prepares(&mut conn).await;
    assert_eq!(value(&mut conn, "SELECT 1 + ?", &params![0]).await, 1);
    assert_eq!(prepares(&mut conn).await, prepared);
    assert_eq!(value(&mut conn, "SELECT 2 + ?", &params![0]).await, 2);
    assert_eq!(prepares(&mut conn).await, prepared + 1);
    let before = conn.meter();
    let closed = status(&mut conn, "SESSION", "Com_stmt_close").await;
    assert_eq!((closed, conn.meter().since(&before).writes), (2, 1));
}

#[tokio::test]
async fn a_kept_statement_survives_alter_reset_and_a_change_of_user() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let table = format!("exec_{}", number());
    wait!(conn.run(format!("DROP TABLE IF EXISTS {table}"))).unwrap();
    wait!(conn.run(format!("CREATE TABLE {table} (a INT)"))).unwrap();
    wait!(conn.run(format!("INSERT INTO {table} VALUES (1)"))).unwrap();
    let sql = format!("SELECT * FROM {table} WHERE a = ?");
    for columns in 1..4 {
        let mut rows = wait!(conn.exec(&sql, &params![1])).unwrap();
        assert_eq!(rows.columns().unwrap().len(), columns);
        assert_eq!(wait!(rows.next()).unwrap().unwrap().len(), columns);
        wait!(rows.finish()).unwrap();
        wait!(conn.run(format!("ALTER TABLE {table} ADD COLUMN c{columns} INT"))).unwrap();
    }
    wait!(conn.reset()).unwrap();
    assert_eq!(value(&mut conn, &sql, &params![1]).await, 1);
    let config = onecopy_mysql::Config::from_url(&url()).unwrap();
    let database = config.database.as_deref();
    wait!(conn.change_user(&config.user, config.password.clone(), database)).unwrap();
    assert_eq!(value(&mut conn, &sql, &params![1]).await, 1);
}

#[tokio::test]
async fn a_text_that_can_not_be_prepared_is_to_be_queried() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let error = wait!(conn.exec("PREPARE p FROM 'DO 1'", &[])).unwrap_err();
    assert_eq!(error.server().map(|error| error.code), Some(1295));
    assert!(
        error.to_string().ends_with("run this statement with query"),
        "{error}"
    );
    wait!(conn.ping()).unwrap();
}

#[tokio::test]
async fn in_a_transaction_too() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let mut tx = wait!(conn.transaction()).unwrap();
    assert_eq!(value(&mut tx, "SELECT ?", &params![1]).await, 1);
    drop(tx);
    let before = conn.meter();
    assert_eq!(value(&mut conn, "SELECT ?", &params![2]).await, 2);
    assert_eq!(conn.meter().since(&before).writes, 1);
    drop(wait!(conn.transaction()).unwrap());
    // The rollback, the prepare and the execution.
    let before = conn.meter();
    assert_eq!(value(&mut conn, "SELECT 1 + ?", &params![2]).await, 3);
    let writes = if conn.server_version().contains("MariaDB") {
        1
    } else {
        2
    };
    assert_eq!(conn.meter().since(&before).writes, writes);
}
