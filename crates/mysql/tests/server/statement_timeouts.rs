//! A deadline for a whole statement, all of its results and rows.

use std::time::{Duration, Instant};

use onecopy_mysql::{Config, Error, params};

use super::Connection;
use crate::common::{urls, with_option};

use_reader_traits!();

const TIMEOUT: Duration = Duration::from_millis(300);

/// For statements that have to be in time, on a busy machine too.
const LONG_TIMEOUT: Duration = Duration::from_secs(4);

/// Rows without an end; each comes long before any deadline of a call.
const DRIBBLE: &str = "SELECT seq, SLEEP(0.01) FROM seq_1_to_1000000000";

/// Rows that come as fast as they can be read.
const FLOOD: &str = "SELECT seq, REPEAT('x', 100) FROM seq_1_to_1000000000";

async fn limited(url: &str) -> Connection {
    let mut config = Config::from_url(url).unwrap();
    config.statement_timeout = Some(TIMEOUT);
    // No single call takes so long.
    config.call_timeout = Some(Duration::from_secs(60));
    config.multi_statements = true;
    wait!(Connection::connect_with(&config)).unwrap()
}

/// A statement's timeout, and the connection continues: its next command does not wait for the statement's own end.
async fn assert_timeout(conn: &mut Connection, started: Instant, result: Result<(), Error>) {
    let error = result.unwrap_err();
    assert!(started.elapsed() >= TIMEOUT);
    assert!(error.is_timeout() && !error.is_closed(), "{error}");
    assert_eq!(
        error.to_string(),
        "the statement took longer than statement-timeout allows"
    );
    conn.set_statement_timeout(None);
    let mut rows = wait!(conn.query("SELECT 7")).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    assert_eq!(row.get::<i32>(0).unwrap(), 7);
    wait!(rows.finish()).unwrap();
    conn.set_statement_timeout(Some(TIMEOUT));
}

#[tokio::test]
async fn rows_that_keep_coming_do_not_outlast_it() {
    for url in urls() {
        let mut conn = limited(&url).await;
        for sql in [DRIBBLE, FLOOD] {
            let started = Instant::now();
            let read = async {
                let mut rows = wait!(conn.query(sql))?;
                while wait!(rows.next())?.is_some() {}
                Ok(())
            };
            let result = read.await;
            assert_timeout(&mut conn, started, result).await;

            conn.set_statement_timeout(None);
            let statement = wait!(conn.prepare(sql)).unwrap();
            conn.set_statement_timeout(Some(TIMEOUT));
            let started = Instant::now();
            let read = async {
                let mut rows = wait!(conn.execute(&statement, &[]))?;
                while wait!(rows.next_owned())?.is_some() {}
                Ok(())
            };
            let result = read.await;
            assert_timeout(&mut conn, started, result).await;
        }
    }
}

#[tokio::test]
async fn neither_passing_over_rows_nor_running_without_them_outlasts_it() {
    let mut conn = limited(&urls()[0]).await;
    for sql in [DRIBBLE, FLOOD, "SELECT SLEEP(60)"] {
        let started = Instant::now();
        let result = wait!(conn.run(sql)).map(drop);
        assert_timeout(&mut conn, started, result).await;
        let started = Instant::now();
        let result = match wait!(conn.query(sql)) {
            Ok(rows) => wait!(rows.finish()).map(drop),
            Err(error) => Err(error),
        };
        assert_timeout(&mut conn, started, result).await;
    }
}

#[tokio::test]
async fn it_bounds_all_results_together() {
    let mut conn = limited(&urls()[0]).await;
    // Few ends: a server that is told to end a statement between two of them may send nothing more.
    let sql = ["DO SLEEP(0.2)"; 10].join(";");
    let started = Instant::now();
    let read = async {
        let mut rows = wait!(conn.query(&sql))?;
        while wait!(rows.next_result())? {}
        Ok(())
    };
    let result = read.await;
    assert_timeout(&mut conn, started, result).await;
}

#[tokio::test]
async fn values_that_are_streamed_do_not_outlast_it() {
    let mut conn = limited(&urls()[0]).await;
    let started = Instant::now();
    let read = async {
        let mut rows = wait!(conn.query(FLOOD))?;
        while let Some(mut row) = wait!(rows.next_streaming())? {
            while let Some(mut column) = wait!(row.next_column())? {
                let mut text = Vec::new();
                if let Err(error) = wait!(column.read_to_end(&mut text)) {
                    return Err(error.downcast::<Error>().unwrap());
                }
            }
        }
        Ok(())
    };
    let result = read.await;
    assert_timeout(&mut conn, started, result).await;
}

/// The most that a record of TLS carries: 16 KiB.
const TLS_RECORD: usize = 16 << 10;

#[tokio::test]
async fn a_large_value_does_not_outlast_it() {
    let mut conn = limited(&urls()[0]).await;
    conn.set_statement_timeout(Some(LONG_TIMEOUT));
    let sql = "SELECT REPEAT('x', 8 << 20)";
    let mut rows = wait!(conn.query(sql)).unwrap();
    let mut row = wait!(rows.next_streaming()).unwrap().unwrap();
    let mut column = wait!(row.next_column()).unwrap().unwrap();
    let mut piece = vec![0; 64 << 10];
    wait!(column.read_exact(&mut piece)).unwrap();
    pause!(LONG_TIMEOUT);
    // The rest of it may have arrived already. Over TLS what is left of a record is given out first.
    let mut left = 0;
    let error = loop {
        match wait!(column.read(&mut piece)) {
            Ok(n) => left += n,
            Err(error) => break error,
        }
        assert!(left <= TLS_RECORD, "{left} bytes");
    };
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    let error = error.downcast::<Error>().unwrap();
    assert!(error.is_timeout(), "{error}");
}

#[tokio::test]
async fn each_statement_has_its_own_and_what_is_over_has_none() {
    let mut conn = limited(&urls()[0]).await;
    conn.set_statement_timeout(Some(LONG_TIMEOUT));
    let mut rows = wait!(conn.query("SELECT 1")).unwrap();
    assert!(wait!(rows.next()).unwrap().is_some());
    assert!(wait!(rows.next()).unwrap().is_none());
    pause!(LONG_TIMEOUT);
    assert!(wait!(rows.next()).unwrap().is_none());
    assert!(!wait!(rows.next_result()).unwrap());
    wait!(rows.finish()).unwrap();
    let statement = wait!(conn.prepare("SELECT ?")).unwrap();
    let mut rows = wait!(conn.execute(&statement, &params![1])).unwrap();
    assert!(wait!(rows.next()).unwrap().is_some());
}

#[tokio::test]
async fn the_url_sets_it_and_the_connection_changes_it() {
    let url = with_option(&urls()[0], "statement-timeout=0.3");
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    assert!(wait!(conn.run("DO SLEEP(60)")).unwrap_err().is_timeout());
    conn.set_statement_timeout(None);
    wait!(conn.run("DO SLEEP(0.5)")).unwrap();
    conn.set_statement_timeout(Some(TIMEOUT));
    assert!(wait!(conn.run(DRIBBLE)).unwrap_err().is_timeout());
}
