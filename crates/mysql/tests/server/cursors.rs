//! Rows that are fetched in batches.

use onecopy_mysql::{ProtocolError, params};

use super::Connection;
use crate::common::{url, urls};

use_reader_traits!();

async fn own_result(conn: &mut Connection) {
    let mut rows = wait!(conn.query("SELECT 'own'")).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    assert_eq!(row.get::<&str>(0).unwrap(), "own");
    wait!(rows.finish()).unwrap();
}

async fn resets(conn: &mut Connection) -> u64 {
    let mut rows = wait!(conn.query("SHOW SESSION STATUS LIKE 'Com_stmt_reset'")).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    row.get::<&str>(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn all_rows_come_in_batches_of_the_size_that_was_asked_for() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let sql = "SELECT seq, REPEAT('x', 100) FROM seq_1_to_100 WHERE seq > ?";
        let statement = wait!(conn.prepare(sql)).unwrap();
        for (size, skipped) in [
            (1, 0),
            (7, 0),
            (50, 0),
            (99, 0),
            (100, 0),
            (1000, 0),
            (10, 100),
        ] {
            let before = conn.meter();
            let mut cursor = wait!(conn.cursor(&statement, &params![skipped], size)).unwrap();
            assert_eq!(cursor.columns().unwrap().len(), 2);
            let (mut seen, mut batches) = (skipped, 0);
            while let Some(mut rows) = wait!(cursor.next_batch()).unwrap() {
                let mut count = 0;
                while let Some(row) = wait!(rows.next()).unwrap() {
                    (seen, count) = (seen + 1, count + 1);
                    assert_eq!(row.get::<i64>(0).unwrap(), seen);
                    assert_eq!(row.get::<&str>(1).unwrap().len(), 100);
                }
                assert!(count <= size, "{count}");
                batches += 1;
            }
            drop(cursor);
            assert_eq!(seen, 100, "{size}");
            let most = u64::from((100 - u32::try_from(skipped).unwrap()) / size + 1);
            assert!(batches <= most, "{batches} batches of {size}");
            assert_eq!(conn.meter().since(&before).writes, batches + 1);
            own_result(&mut conn).await;
        }
        assert_eq!(resets(&mut conn).await, 0);
    }
}

#[tokio::test]
async fn rows_of_a_batch_are_read_in_every_way() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let sql = "SELECT seq, REPEAT('x', 300000) FROM seq_1_to_100 WHERE seq <= 9";
    let statement = wait!(conn.prepare(sql)).unwrap();
    let mut cursor = wait!(conn.cursor(&statement, &[], 3)).unwrap();
    let mut value = Vec::new();
    let mut seen = 0;
    while let Some(mut rows) = wait!(cursor.next_batch()).unwrap() {
        if let Some(row) = wait!(rows.next_owned()).unwrap() {
            seen += 1;
            assert_eq!(row.get::<i64>(0).unwrap(), seen);
        }
        if wait!(rows.next_into(1, &mut value)).unwrap().is_some() {
            seen += 1;
            assert_eq!(value.len(), 300_000);
        }
        if let Some(mut row) = wait!(rows.next_streaming()).unwrap() {
            seen += 1;
            let mut column = wait!(row.next_column()).unwrap().unwrap();
            assert_eq!(wait!(column.get::<i64>()).unwrap(), seen);
        }
    }
    assert_eq!(seen, 9);
}

/// To skip the rest of a batch takes longer here than a statement that nobody waits for is read before it is cancelled.
#[tokio::test]
async fn large_batches_that_are_skipped_lose_no_row_behind_them() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let sql = "SELECT seq, REPEAT('x', 16000000) FROM seq_1_to_100 WHERE seq <= 9";
    let statement = wait!(conn.prepare(sql)).unwrap();
    let mut cursor = wait!(conn.cursor(&statement, &[], 3)).unwrap();
    let mut seen = Vec::new();
    while let Some(mut rows) = wait!(cursor.next_batch()).unwrap() {
        if let Some(mut row) = wait!(rows.next_streaming()).unwrap() {
            let mut column = wait!(row.next_column()).unwrap().unwrap();
            seen.push(wait!(column.get::<i64>()).unwrap());
        }
    }
    assert_eq!(seen, [1, 4, 7]);
}

#[tokio::test]
async fn a_cursor_dropped_anywhere_is_closed_before_the_next_command() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let statement = wait!(conn.prepare("SELECT seq FROM seq_1_to_1000")).unwrap();
        for (batches, rows_read) in [(0, 0), (1, 0), (1, 5), (1, 10), (2, 3), (3, 10)] {
            let before = resets(&mut conn).await;
            let mut cursor = wait!(conn.cursor(&statement, &[], 10)).unwrap();
            for batch in 0..batches {
                let mut rows = wait!(cursor.next_batch()).unwrap().unwrap();
                for row in 0..rows_read {
                    let got: i64 = wait!(rows.next()).unwrap().unwrap().get(0).unwrap();
                    assert_eq!(got, batch * 10 + row + 1);
                }
            }
            drop(cursor);
            assert_eq!(resets(&mut conn).await, before + 1);
            own_result(&mut conn).await;
        }
        // The statement is dropped with it.
        let mut cursor = wait!(conn.cursor(&statement, &[], 10)).unwrap();
        assert!(wait!(cursor.next_batch()).unwrap().is_some());
        drop(cursor);
        drop(statement);
        own_result(&mut conn).await;
    }
}

#[tokio::test]
async fn a_statement_without_a_cursor_has_one_batch_or_none() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let show = wait!(conn.prepare("SHOW VARIABLES LIKE 'port'")).unwrap();
    let mut cursor = wait!(conn.cursor(&show, &[], 1)).unwrap();
    let mut count = 0;
    while let Some(mut rows) = wait!(cursor.next_batch()).unwrap() {
        while wait!(rows.next()).unwrap().is_some() {
            count += 1;
        }
    }
    assert_eq!(count, 1);
    drop(cursor);
    let create = "CREATE TEMPORARY TABLE of_a_cursor (a INT)";
    for (sql, affected) in [
        ("DO 1", 0),
        ("SET @a = 1", 0),
        (create, 0),
        ("INSERT INTO of_a_cursor VALUES (1), (2)", 2),
    ] {
        let none = wait!(conn.prepare(sql)).unwrap();
        let mut cursor = wait!(conn.cursor(&none, &[], 1)).unwrap();
        assert!(cursor.columns().unwrap().is_empty(), "{sql}");
        assert!(wait!(cursor.next_batch()).unwrap().is_none(), "{sql}");
        assert_eq!(cursor.done().affected_rows, affected, "{sql}");
    }
    let error = wait!(conn.prepare("SELECT 1 FROM no_such_table")).unwrap_err();
    assert!(error.server().is_some());
    let fails = wait!(conn.prepare("SELECT (SELECT seq FROM seq_1_to_2)")).unwrap();
    let error = match wait!(conn.cursor(&fails, &[], 1)) {
        Err(error) => error,
        Ok(mut cursor) => match wait!(cursor.next_batch()).unwrap() {
            Some(mut rows) => wait!(rows.next()).unwrap_err(),
            None => panic!("no error"),
        },
    };
    assert_eq!(error.server().map(|error| error.code), Some(1242));
    own_result(&mut conn).await;
}

/// After a cursor MySQL sends no rows to an execution without one, and no end of them; also where it has prepared the statement again
/// for a number in the place of a text.
#[tokio::test]
async fn a_statement_is_executed_with_and_without_a_cursor_in_any_order() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        for order in ["cecee", "ecee", "eCe", "CeEe", "oeoe", "Oe", "eEdcde"] {
            let sql = "SELECT seq, ?, REPEAT('x', 300) FROM seq_1_to_100";
            let statement = wait!(conn.prepare(sql)).unwrap();
            for what in order.chars() {
                let params = if what.is_lowercase() {
                    params!["text"]
                } else {
                    params![7]
                };
                let mut seen = 0;
                match what.to_ascii_lowercase() {
                    'c' => {
                        let mut cursor = wait!(conn.cursor(&statement, &params, 30)).unwrap();
                        while let Some(mut rows) = wait!(cursor.next_batch()).unwrap() {
                            while let Some(row) = wait!(rows.next()).unwrap() {
                                seen += 1;
                                assert_eq!(row.get::<i64>(0).unwrap(), seen);
                            }
                        }
                    }
                    // Dropped as soon as it is open.
                    'o' => {
                        drop(wait!(conn.cursor(&statement, &params, 30)).unwrap());
                        continue;
                    }
                    'e' => {
                        let mut rows = wait!(conn.execute(&statement, &params)).unwrap();
                        assert_eq!(rows.columns().unwrap().len(), 3);
                        while let Some(row) = wait!(rows.next()).unwrap() {
                            seen += 1;
                            assert_eq!(row.get::<i64>(0).unwrap(), seen);
                            assert_eq!(row.get::<&str>(2).unwrap().len(), 300);
                        }
                    }
                    // Dropped in its rows.
                    _ => {
                        let mut rows = wait!(conn.execute(&statement, &params)).unwrap();
                        wait!(rows.next()).unwrap().unwrap();
                        continue;
                    }
                }
                assert_eq!(seen, 100, "{what} of {order}");
            }
            own_result(&mut conn).await;
            // All of its rows at once, or what to do.
            let mut pipeline = conn.pipeline();
            pipeline.execute(&statement, &params!["p"]).unwrap();
            pipeline.query("SELECT 'behind it'").unwrap();
            let mut results = wait!(pipeline.send()).unwrap();
            match wait!(results.next()) {
                Ok(rows) => {
                    let rows = wait!(rows.unwrap().collect_owned()).unwrap();
                    assert_eq!(rows.len(), 100);
                }
                Err(error) => assert_eq!(error.protocol(), Some(&ProtocolError::CursorOnly)),
            }
            assert!(wait!(results.next()).unwrap().is_some());
        }
    }
}

#[tokio::test]
async fn a_cursor_outlives_its_statement() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let statement = wait!(conn.prepare("SELECT seq FROM seq_1_to_100")).unwrap();
    let mut cursor = wait!(conn.cursor(&statement, &[], 30)).unwrap();
    drop(statement);
    let mut seen = 0;
    while let Some(mut rows) = wait!(cursor.next_batch()).unwrap() {
        while wait!(rows.next()).unwrap().is_some() {
            seen += 1;
        }
    }
    assert_eq!(seen, 100);
}

#[tokio::test]
async fn a_cursor_lives_in_a_transaction() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let statement = wait!(conn.prepare("SELECT seq FROM seq_1_to_100 WHERE seq <= 30")).unwrap();
    let mut tx = wait!(conn.transaction()).unwrap();
    let mut cursor = wait!(tx.cursor(&statement, &[], 10)).unwrap();
    let mut rows = wait!(cursor.next_batch()).unwrap().unwrap();
    wait!(rows.next()).unwrap();
    drop(cursor);
    wait!(tx.commit()).unwrap();
    // The rollback is sent with the execution that opens the cursor.
    drop(wait!(conn.transaction()).unwrap());
    let before = conn.meter();
    let mut cursor = wait!(conn.cursor(&statement, &[], 30)).unwrap();
    let mut rows = wait!(cursor.next_batch()).unwrap().unwrap();
    let mut count = 0;
    while wait!(rows.next()).unwrap().is_some() {
        count += 1;
    }
    drop(cursor);
    assert_eq!((count, conn.meter().since(&before).writes), (30, 2));
}

#[tokio::test]
async fn a_batch_of_which_no_row_is_read_is_skipped() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let statement = wait!(conn.prepare("SELECT seq FROM seq_1_to_100 WHERE seq <= 10")).unwrap();
    let mut cursor = wait!(conn.cursor(&statement, &[], 3)).unwrap();
    let mut batches = 0;
    while let Some(mut rows) = wait!(cursor.next_batch()).unwrap() {
        if batches == 2 {
            let row = wait!(rows.next()).unwrap().unwrap();
            assert_eq!(row.get::<i64>(0).unwrap(), 7);
        }
        batches += 1;
        assert!(batches < 10, "the same batch comes again");
    }
    assert_eq!(batches, 4);
    drop(cursor);
    wait!(conn.ping()).unwrap();
}
