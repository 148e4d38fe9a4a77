//! Rows, rows' values and readers that nobody reads to the end: the next command gets its own result.

use super::Connection;
use crate::common::{LARGEST, count, database, soak, takes, urls, with_option};

use_reader_traits!();

const MANY: &str = "SELECT seq, REPEAT('x', seq % 100) FROM seq_1_to_100000";

/// Still more than the sockets' buffers hold.
const FEWER: &str = "SELECT seq, REPEAT('x', seq % 100) FROM seq_1_to_10000";

/// A row beyond what is borrowed in one piece, between two that are not.
const LARGE: &str = "SELECT ELT(n, 'small', 'large', 'last'), REPEAT('z', ELT(n, 100, 17000000, 1)), n \
                     FROM (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3) AS three";

#[tokio::test]
async fn rows_dropped_early_are_not_the_next_commands() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let statement = wait!(conn.prepare(MANY)).unwrap();
        for taken in [0, 1, 1000] {
            for binary in [false, true] {
                let mut rows = if binary {
                    wait!(conn.execute(&statement, &[])).unwrap()
                } else {
                    wait!(conn.query(MANY)).unwrap()
                };
                for seq in 1..=taken {
                    let row = wait!(rows.next()).unwrap().unwrap();
                    assert_eq!(row.get::<i64>(0).unwrap(), seq);
                }
                drop(rows);
                assert_own_result(&mut conn).await;
            }
        }
        // Commands without rows of their own come through as well.
        drop(wait!(conn.query(FEWER)).unwrap());
        wait!(conn.ping()).unwrap();
        drop(wait!(conn.query(FEWER)).unwrap());
        let again = wait!(conn.prepare("SELECT 5")).unwrap();
        drop(wait!(conn.query(FEWER)).unwrap());
        wait!(conn.close_statement(again)).unwrap();
        drop(wait!(conn.query(FEWER)).unwrap());
        wait!(conn.use_database(&database())).unwrap();
        drop(wait!(conn.query(FEWER)).unwrap());
        wait!(conn.reset()).unwrap();
        drop(wait!(conn.query(LARGE)).unwrap());
        assert_own_result(&mut conn).await;
        drop(wait!(conn.query(FEWER)).unwrap());
        wait!(conn.close()).unwrap();
    }
}

#[tokio::test]
async fn a_streamed_row_dropped_anywhere_is_passed_over() {
    if !takes(LARGEST) {
        return;
    }
    for (index, url) in urls().iter().enumerate() {
        let mut conn = wait!(Connection::connect(url)).unwrap();
        let statement = wait!(conn.prepare(LARGE)).unwrap();
        for binary in [false, true] {
            if !soak() && binary != (index == 0) {
                continue; // one protocol over each transport
            }
            for columns in 0..=3 {
                for read in [0, 5_001, 16_900_000] {
                    let mut rows = if binary {
                        wait!(conn.execute(&statement, &[])).unwrap()
                    } else {
                        wait!(conn.query(LARGE)).unwrap()
                    };
                    drop(wait!(rows.next_streaming()).unwrap().unwrap());
                    let mut row = wait!(rows.next_streaming()).unwrap().unwrap();
                    for index in 0..columns {
                        let mut column = wait!(row.next_column()).unwrap().unwrap();
                        assert_eq!(column.index(), index);
                        if index == 1 {
                            assert_eq!(wait!(column.fill_buf()).unwrap()[0], b'z');
                            wait!(column.read_exact(&mut vec![0; read])).unwrap();
                        }
                    }
                    drop(row);
                    if (columns + read) % 2 == 0 {
                        let last = wait!(rows.next()).unwrap().unwrap();
                        assert_eq!(last.get::<&str>(0).unwrap(), "last");
                    }
                    drop(rows);
                    assert_own_result(&mut conn).await;
                    if columns < 2 {
                        break; // the large value was not begun
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn rows_may_change_their_form_in_the_middle() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let mut rows = wait!(conn.query(MANY)).unwrap();
    let mut reused = Vec::new();
    for seq in 1..=400_i64 {
        let len = usize::try_from(seq % 100).unwrap();
        match seq % 4 {
            0 => {
                let row = wait!(rows.next()).unwrap().unwrap();
                assert_eq!(row.get::<i64>(0).unwrap(), seq);
            }
            1 => {
                let row = wait!(rows.next_owned()).unwrap().unwrap();
                assert_eq!(row.get::<&str>(1).unwrap().len(), len);
            }
            2 => {
                let row = wait!(rows.next_into(1, &mut reused)).unwrap().unwrap();
                assert_eq!((row.get::<i64>(0).unwrap(), row.len()), (seq, 2));
                assert_eq!(reused.len(), len);
            }
            _ => {
                let mut row = wait!(rows.next_streaming()).unwrap().unwrap();
                let mut column = wait!(row.next_column()).unwrap().unwrap();
                assert_eq!(wait!(column.get::<i64>()).unwrap(), seq);
            }
        }
    }
    drop(rows);
    assert_own_result(&mut conn).await;
}

#[tokio::test]
async fn what_was_dropped_is_read_within_the_deadline_of_the_next_call() {
    let url = with_option(&urls()[0], "call-timeout=30");
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    for _ in 0..count(2, 20) {
        let mut rows = wait!(conn.query(MANY)).unwrap();
        wait!(rows.next()).unwrap().unwrap();
        drop(rows);
        assert_own_result(&mut conn).await;
    }
}

async fn assert_own_result(conn: &mut Connection) {
    let mut rows = wait!(conn.query("SELECT 'own', 42")).unwrap();
    assert_eq!(rows.columns().unwrap().len(), 2);
    let row = wait!(rows.next()).unwrap().unwrap();
    assert_eq!(
        (row.get::<&str>(0).unwrap(), row.get::<i32>(1).unwrap()),
        ("own", 42)
    );
    assert!(wait!(rows.next()).unwrap().is_none());
}
