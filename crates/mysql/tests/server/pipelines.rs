//! Statements that are sent together, and their results in order.

use onecopy_mysql::{Error, ProtocolError, StatusFlags, params};

use super::Connection;
use crate::common::{binary, count, letters, number, url, urls, with_option, with_zlib};

/// The one value of the next result.
macro_rules! value {
    ($results:ident, $type:ty) => {{
        let mut rows = wait!($results.next()).unwrap().unwrap();
        let value: $type = wait!(rows.next()).unwrap().unwrap().get(0).unwrap();
        value
    }};
}

async fn own_result(conn: &mut Connection) {
    let mut rows = wait!(conn.query("SELECT 'own'")).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    assert_eq!(row.get::<&str>(0).unwrap(), "own");
    wait!(rows.finish()).unwrap();
}

fn code(error: &Error) -> Option<u16> {
    error.server().map(|error| error.code)
}

#[tokio::test]
async fn results_and_errors_come_in_the_order_of_the_statements() {
    for option in [
        "pipelining=true",
        "pipelining=false",
        "statement-cache=1",
        "compression=zlib",
    ] {
        if option.contains("compression") && with_zlib(&url()).is_none() {
            continue;
        }
        for url in urls() {
            let mut conn = wait!(Connection::connect(&with_option(&url, option))).unwrap();
            let statement = wait!(conn.prepare("SELECT ? + 1")).unwrap();
            for round in 0..3 {
                let before = conn.meter();
                let mut pipeline = conn.pipeline();
                pipeline.query("SELECT 1 UNION SELECT 2").unwrap();
                pipeline.query("SELEKT").unwrap();
                pipeline.execute(&statement, &params![5]).unwrap();
                pipeline.execute(&statement, &[]).unwrap();
                pipeline.exec("SELECT ? * 2", &params![21]).unwrap();
                pipeline.exec("SELEKT ?", &params![1]).unwrap();
                pipeline.exec("SELECT ? * 2", &params![round]).unwrap();
                pipeline.query("DO 1").unwrap();
                pipeline.exec("PREPARE p FROM 'DO 1'", &[]).unwrap();
                pipeline.query("SELECT 'last'").unwrap();
                assert_eq!(pipeline.len(), 10);
                let mut results = wait!(pipeline.send()).unwrap();
                assert_eq!(results.len(), 10);
                // Half read.
                assert_eq!(value!(results, i64), 1);
                assert_eq!(code(&wait!(results.next()).unwrap_err()), Some(1064));
                assert_eq!(value!(results, i64), 6);
                let error = wait!(results.next()).unwrap_err();
                let (expected, given) = (1, 0);
                assert_eq!(
                    error.protocol(),
                    Some(&ProtocolError::ParameterCount { expected, given })
                );
                assert_eq!(value!(results, i64), 42);
                assert_eq!(code(&wait!(results.next()).unwrap_err()), Some(1064));
                assert_eq!(value!(results, i64), 2 * round);
                let rows = wait!(results.next()).unwrap().unwrap();
                assert!(rows.columns().is_none());
                drop(rows);
                let error = wait!(results.next()).unwrap_err();
                assert!(
                    error.to_string().ends_with("run this statement with query"),
                    "{error}"
                );
                assert_eq!(value!(results, String), "last");
                assert!(results.is_empty());
                assert!(wait!(results.next()).unwrap().is_none());
                assert!(wait!(results.next()).unwrap().is_none());
                drop(results);
                let writes = conn.meter().since(&before).writes;
                if option == "pipelining=true" {
                    // The texts that can't be prepared are tried again.
                    assert_eq!(writes, 2, "round {round}");
                }
                own_result(&mut conn).await;
            }
        }
    }
}

#[tokio::test]
async fn a_pipeline_of_known_statements_is_one_write() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    for round in 0..3 {
        let before = conn.meter();
        let mut pipeline = conn.pipeline();
        for number in 0..100 {
            pipeline.exec("SELECT ?", &params![number]).unwrap();
        }
        let mut results = wait!(pipeline.send()).unwrap();
        for number in 0..100 {
            assert_eq!(value!(results, i64), number);
        }
        drop(results);
        let writes = if round == 0 { 2 } else { 1 };
        assert_eq!(conn.meter().since(&before).writes, writes);
    }
}

#[tokio::test]
async fn tens_of_thousands_go_through_with_large_results_and_large_parameters() {
    let text = letters().first(3_000);
    let large = binary().first(100_000);
    for url in urls().into_iter().chain(with_zlib(&url())) {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let (small, few) = (count(20_000, 100_000) as i64, 300);
        let mut pipeline = conn.pipeline();
        for number in 0..small {
            pipeline
                .exec("SELECT ?, 'and a row of some length'", &params![number])
                .unwrap();
        }
        for _ in 0..few {
            // More than the sockets hold, in both directions.
            pipeline
                .exec("SELECT ?, REPEAT(?, 30)", &params![large, text])
                .unwrap();
        }
        let mut results = wait!(pipeline.send()).unwrap();
        for number in 0..small {
            let mut rows = wait!(results.next()).unwrap().unwrap();
            assert_eq!(
                wait!(rows.next()).unwrap().unwrap().get::<i64>(0).unwrap(),
                number
            );
        }
        for number in 0..few {
            let mut rows = wait!(results.next()).unwrap().unwrap();
            let row = wait!(rows.next()).unwrap().unwrap();
            assert!(row.get::<&[u8]>(0).unwrap() == large, "{number}");
            assert_eq!(row.get::<&[u8]>(1).unwrap().len(), 90_000);
        }
        assert!(wait!(results.next()).unwrap().is_none());
        drop(results);
        let held = conn.meter().capacity_now;
        assert!(held <= 256 << 10, "{held} bytes are kept");
        own_result(&mut conn).await;
    }
}

#[tokio::test]
async fn results_dropped_anywhere_leave_the_next_command_its_own_result() {
    let large = binary().first(600_000);
    for url in urls().into_iter().chain(with_zlib(&url())) {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        for read in [0, 1, 2, 51, 99] {
            for lends in [false, true] {
                let mut pipeline = conn.pipeline();
                for number in 0..100 {
                    pipeline
                        .query(format!(
                            "SELECT {number}, REPEAT('x', 5000) UNION SELECT 1, 2"
                        ))
                        .unwrap();
                    if lends {
                        pipeline.exec("SELECT LENGTH(?)", &params![large]).unwrap();
                    }
                }
                let mut results = wait!(pipeline.send()).unwrap();
                for number in 0..read {
                    assert_eq!(value!(results, i64), number);
                    if lends {
                        assert_eq!(value!(results, i64), 600_000);
                    }
                }
                if read % 2 == 1 {
                    let mut rows = wait!(results.next()).unwrap().unwrap();
                    wait!(rows.next()).unwrap();
                }
                drop(results);
                match wait!(conn.ping()) {
                    // Half of a large parameter was sent.
                    Err(error) if error.is_closed() && lends => {
                        conn = wait!(Connection::connect(&url)).unwrap();
                    }
                    pong => pong.unwrap(),
                }
                own_result(&mut conn).await;
            }
        }
    }
}

#[tokio::test]
async fn what_was_not_sent_is_not_executed() {
    for option in ["pipelining=true", "pipelining=false"] {
        // A cancelled statement would be missing in between.
        let url = with_option(&with_option(&url(), option), "abandoned=drain");
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let table = format!("pipelines_{}", number());
        wait!(conn.run(format!("DROP TABLE IF EXISTS {table}"))).unwrap();
        wait!(conn.run(format!("CREATE TABLE {table} (id INT PRIMARY KEY)"))).unwrap();
        let insert = format!("INSERT INTO {table} VALUES (?)");
        let mut pipeline = conn.pipeline();
        for id in 0..30_000 {
            pipeline.exec(&insert, &params![id]).unwrap();
        }
        let mut results = wait!(pipeline.send()).unwrap();
        assert!(wait!(results.next()).unwrap().is_some());
        drop(results);
        let mut rows = wait!(conn.query(format!("SELECT COUNT(*), MAX(id) FROM {table}"))).unwrap();
        let row = wait!(rows.next()).unwrap().unwrap();
        let (count, last): (i64, i64) = (row.get(0).unwrap(), row.get(1).unwrap());
        assert!(
            (1..20_000).contains(&count) && count == last + 1,
            "{count} up to {last}"
        );
    }
}

#[tokio::test]
async fn finish_executes_all_and_tells_of_the_first_error() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let table = format!("pipelines_{}", number());
    wait!(conn.run(format!("DROP TABLE IF EXISTS {table}"))).unwrap();
    let mut pipeline = conn.pipeline();
    pipeline
        .query(format!("CREATE TABLE {table} (id INT PRIMARY KEY)"))
        .unwrap();
    for id in [1, 2, 2, 3] {
        pipeline
            .query(format!("INSERT INTO {table} VALUES ({id})"))
            .unwrap();
    }
    pipeline.query("SELEKT").unwrap();
    let error = wait!(wait!(pipeline.send()).unwrap().finish()).unwrap_err();
    assert_eq!(code(&error), Some(1062));
    let mut rows = wait!(conn.query(format!("SELECT COUNT(*) FROM {table}"))).unwrap();
    let count: i64 = wait!(rows.next()).unwrap().unwrap().get(0).unwrap();
    assert_eq!(count, 3);
}

#[tokio::test]
async fn a_pipeline_in_a_transaction_is_rolled_back_with_it() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let table = format!("pipelines_{}", number());
    wait!(conn.run(format!("DROP TABLE IF EXISTS {table}"))).unwrap();
    wait!(conn.run(format!("CREATE TABLE {table} (id INT PRIMARY KEY)"))).unwrap();
    let mut tx = wait!(conn.transaction()).unwrap();
    let mut pipeline = tx.pipeline();
    for id in 0..10 {
        pipeline
            .query(format!("INSERT INTO {table} VALUES ({id})"))
            .unwrap();
    }
    let mut results = wait!(pipeline.send()).unwrap();
    assert!(wait!(results.next()).unwrap().is_some());
    drop(results);
    drop(tx);
    let mut rows = wait!(conn.query(format!("SELECT COUNT(*) FROM {table}"))).unwrap();
    let count: i64 = wait!(rows.next()).unwrap().unwrap().get(0).unwrap();
    wait!(rows.finish()).unwrap();
    assert_eq!(count, 0);
    assert!(!conn.status().contains(StatusFlags::IN_TRANS));
}
