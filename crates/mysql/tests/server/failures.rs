//! What fails, how it is told, and what the connection is worth afterwards.

use std::time::{Duration, Instant};

use onecopy_mysql::{Config, Error, ProtocolError};

use super::Connection;
use crate::common::{takes, url, urls, with_option};

#[tokio::test]
async fn a_servers_error_leaves_the_connection_usable() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        for (sql, code, state) in [
            ("SELEKT 1", 1064, "42000"),
            ("SELECT * FROM no_such_table", 1146, "42S02"),
            (
                "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 30001, MESSAGE_TEXT = 'größer'",
                30_001,
                "45000",
            ),
        ] {
            let error = wait!(conn.query(sql)).unwrap_err();
            let server = error.server().unwrap();
            assert_eq!(
                (server.code, server.sql_state.as_deref()),
                (code, Some(state))
            );
            assert!(!error.is_closed() && !conn.is_closed() && !error.is_retryable());
            wait!(conn.ping()).unwrap();
        }
        let error =
            wait!(conn.run("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'größer'")).unwrap_err();
        assert_eq!(error.to_string(), "server error 1644 (45000): größer");
        assert_unknown_database(&wait!(conn.use_database("no_such_database")).unwrap_err());
        let error = wait!(conn.prepare("SELECT * FROM no_such_table")).unwrap_err();
        assert_eq!(error.server().unwrap().code, 1146);
        assert_eq!(one(&mut conn, "SELECT 5").await, 5);
    }
}

#[tokio::test]
async fn a_connection_that_is_killed_says_that_it_is_closed() {
    for url in urls() {
        let mut killer = wait!(Connection::connect(&url)).unwrap();
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        wait!(killer.run(format!("KILL {}", conn.connection_id()))).unwrap();
        let error = wait!(conn.ping()).unwrap_err();
        assert!(error.is_closed() && conn.is_closed(), "{error}");
        for _ in 0..2 {
            let error = wait!(conn.query("SELECT 1")).unwrap_err();
            assert!(
                error.is_closed() && error.to_string().ends_with("; connect again"),
                "{error}"
            );
        }
        assert!(wait!(conn.prepare("SELECT 1")).unwrap_err().is_closed());
        assert!(wait!(conn.reset()).unwrap_err().is_closed());
        assert!(wait!(conn.close()).unwrap_err().is_closed());
    }
}

#[tokio::test]
async fn a_connection_that_ends_itself_says_so() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let error = wait!(conn.run("KILL CONNECTION_ID()")).unwrap_err();
    // MariaDB says goodbye; MySQL tells that the statement was interrupted, which other statements survive.
    let interrupted = error.server().is_some_and(|server| server.code == 1317);
    assert!(
        interrupted || error.is_closed() && conn.is_closed(),
        "{error}"
    );
    assert!(wait!(conn.ping()).unwrap_err().is_closed() && conn.is_closed());
}

#[tokio::test]
async fn a_connection_that_the_server_gave_up_says_so() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    wait!(conn.run("SET SESSION wait_timeout = 1")).unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    let error = wait!(conn.query("SELECT 1")).unwrap_err();
    assert!(error.is_closed() && conn.is_closed(), "{error}");
}

#[tokio::test]
async fn a_connection_that_is_killed_in_a_query_says_that_it_is_closed() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let (id, url) = (conn.connection_id(), url());
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        let mut killer = onecopy_mysql::blocking::Connection::connect(&url).unwrap();
        killer.run(format!("KILL {id}")).unwrap();
    });
    let error = wait!(conn.run("SELECT SLEEP(20)")).unwrap_err();
    assert!(error.is_closed() && conn.is_closed(), "{error}");
    killer.join().unwrap();
}

#[tokio::test]
async fn a_query_that_is_killed_leaves_the_connection_usable() {
    let mut killer = wait!(Connection::connect(&url())).unwrap();
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    // Rows are under way: what was sent before the end still comes.
    let mut rows =
        wait!(conn.query("SELECT a.seq FROM seq_1_to_100000 AS a, seq_1_to_100000 AS b")).unwrap();
    wait!(rows.next()).unwrap().unwrap();
    drop(rows);
    wait!(killer.run(format!("KILL QUERY {}", conn.connection_id()))).unwrap();
    assert_eq!(one(&mut conn, "SELECT 6").await, 6);
}

#[tokio::test]
async fn a_call_that_times_out_leaves_the_connection_usable() {
    for url in urls() {
        let url = with_option(&url, "call-timeout=0.15&abandoned=drain");
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let (start, deadline) = (Instant::now(), Duration::from_millis(150));
        let error = wait!(conn.query("SELECT SLEEP(4)")).unwrap_err();
        let waited = start.elapsed();
        assert!(
            error.is_timeout() && !error.is_closed() && !conn.is_closed(),
            "{error}"
        );
        assert!(
            waited >= deadline && waited <= deadline + LATE,
            "{waited:?}"
        );
        // The outstanding reply is still awaited, within the same time.
        assert!(wait!(conn.ping()).unwrap_err().is_timeout());
        conn.set_call_timeout(Some(Duration::from_secs(20)));
        assert_eq!(one(&mut conn, "SELECT 7").await, 7);
        conn.set_call_timeout(None);
        assert_eq!(one(&mut conn, "SELECT SLEEP(0.2) + 8").await, 8);
    }
}

/// Also where the call before had a deadline an eighth longer or shorter, whose timer a driver might keep.
#[tokio::test]
async fn each_call_times_out_at_its_own_deadline() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        for (before, millis) in [(1_000, 2_000), (2_000, 1_800), (2_000, 2_200)] {
            let timeout = Duration::from_millis(millis);
            let mut late = Duration::MAX;
            // A busy machine is late at times, a timer of another length at all times.
            for _ in 0..5 {
                conn.set_call_timeout(Some(Duration::from_millis(before)));
                if wait!(conn.ping()).is_err() {
                    conn.set_call_timeout(Some(Duration::from_secs(20)));
                    wait!(conn.ping()).unwrap();
                    continue;
                }
                conn.set_call_timeout(Some(timeout));
                let start = Instant::now();
                let error = wait!(conn.query("SELECT SLEEP(10)")).unwrap_err();
                let waited = start.elapsed();
                assert!(error.is_timeout(), "{error}");
                assert!(
                    waited >= timeout,
                    "{waited:?} for a deadline of {timeout:?}"
                );
                late = late.min(waited - timeout);
                conn.set_call_timeout(Some(Duration::from_secs(20)));
                wait!(conn.ping()).unwrap();
                if late < OTHER_TIMER {
                    break;
                }
            }
            assert!(
                late < OTHER_TIMER,
                "{late:?} late for a deadline of {timeout:?} after one of {before} ms"
            );
        }
    }
}

/// Less than the deadlines of that test differ by.
const OTHER_TIMER: Duration = Duration::from_millis(150);

#[tokio::test]
async fn a_row_that_times_out_can_be_asked_for_again() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    // The first rows fill the server's buffer, so that they leave before it sleeps.
    let sql = "SELECT seq, REPEAT('x', 1000), IF(seq = 900, SLEEP(2), 0) FROM seq_1_to_1000";
    conn.set_call_timeout(Some(Duration::from_secs(1)));
    let mut rows = wait!(conn.query(sql)).unwrap();
    let (mut seen, mut timeouts) = (0, 0);
    loop {
        match wait!(rows.next()) {
            Ok(Some(row)) => {
                seen += 1;
                assert_eq!(row.get::<i64>(0).unwrap(), seen);
            }
            Ok(None) => break,
            Err(error) => {
                assert!(error.is_timeout(), "{error}");
                timeouts += 1;
            }
        }
    }
    assert_eq!(seen, 1000);
    assert!(timeouts > 0);
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_at_the_deadline() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let start = Instant::now();
    let url = format!("mysql://root@127.0.0.1:{port}/?connect-timeout=0.2");
    let error = wait!(Connection::connect(&url)).unwrap_err();
    let waited = start.elapsed();
    assert!(error.is_timeout(), "{error}");
    assert!(
        waited >= Duration::from_millis(190) && waited < Duration::from_secs(3),
        "{waited:?}"
    );
}

#[tokio::test]
async fn no_server_is_a_refused_connection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    for url in [
        format!("mysql://root@127.0.0.1:{port}/"),
        "mysql://root@localhost/?socket=/nonexistent/mysqld.sock".to_owned(),
    ] {
        let error = wait!(Connection::connect(&url)).unwrap_err();
        assert!(error.is_closed() && error.is_retryable() && !error.is_timeout());
        assert!(
            error.to_string().ends_with("is the server running there?"),
            "{error}"
        );
        let source = std::error::Error::source(&error).unwrap();
        assert!(source.downcast_ref::<std::io::Error>().is_some());
    }
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_database_are_the_servers_errors() {
    for url in urls() {
        let mut config = Config::from_url(&url).unwrap();
        config.password = "wrong".into();
        assert_unknown(wait!(Connection::connect_with(&config)));
        config.password = "".into();
        assert_refused(wait!(Connection::connect_with(&config)), 1045, "28000");
        let mut config = Config::from_url(&url).unwrap();
        config.user = "nobody_of_that_name".into();
        assert_unknown(wait!(Connection::connect_with(&config)));
        let mut config = Config::from_url(&url).unwrap();
        config.database = Some("no_such_database".into());
        let error = wait!(Connection::connect_with(&config)).unwrap_err();
        assert_unknown_database(&error);
        assert!(!error.is_retryable());
    }
}

#[tokio::test]
async fn a_row_over_the_limit_is_a_typed_error() {
    for (limit, len) in [
        (1_000, 1_001),
        (1_000, 300_000),
        (100_000, 150_000),
        (1_000_000, 1_000_001),
        (20_000_000, 20_000_001),
    ] {
        if !takes(len) {
            continue;
        }
        for binary in [false, true] {
            let url = with_option(&url(), &format!("max-row-bytes={limit}"));
            let mut conn = wait!(Connection::connect(&url)).unwrap();
            assert_eq!(
                row_of(&mut conn, limit - 20, binary).await.unwrap(),
                limit - 20
            );
            let error = row_of(&mut conn, len, binary).await.unwrap_err();
            let Some(ProtocolError::Wire(cause)) = error.protocol() else {
                panic!("{limit} {len} {binary}: {error}");
            };
            assert!(cause.to_string().contains(&limit.to_string()), "{cause}");
            assert!(error.is_closed() && conn.is_closed());
            assert!(wait!(conn.ping()).unwrap_err().is_closed());
        }
    }
}

#[tokio::test]
async fn a_row_over_the_limit_may_be_streamed_or_passed_over() {
    let url = with_option(&url(), "max-row-bytes=1000");
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    let mut rows = wait!(conn.query("SELECT REPEAT('x', 3000000), 'end'")).unwrap();
    let mut row = wait!(rows.next_streaming()).unwrap().unwrap();
    assert_eq!(
        wait!(row.next_column()).unwrap().unwrap().len(),
        Some(3_000_000)
    );
    let mut end = wait!(row.next_column()).unwrap().unwrap();
    assert_eq!(wait!(end.get::<&str>()).unwrap(), "end");
    drop(row);
    wait!(rows.finish()).unwrap();
    wait!(conn.run("SELECT REPEAT('x', 3000000)")).unwrap();
    assert_eq!(one(&mut conn, "SELECT 9").await, 9);
}

#[tokio::test]
async fn a_row_of_the_limit_is_within_it() {
    let mut config = Config::from_url(&url()).unwrap();
    for payload in [1_000, 65_538, 65_540, 300_000, 16_777_215, 16_777_216] {
        let prefix = if payload <= 65_538 { 3 } else { 4 };
        config.limits.max_row_bytes = payload;
        let mut conn = wait!(Connection::connect_with(&config)).unwrap();
        let len = usize::try_from(payload).unwrap() - prefix;
        assert_eq!(row_of(&mut conn, len, false).await.unwrap(), len);
        assert!(
            row_of(&mut conn, len + 1, false)
                .await
                .unwrap_err()
                .is_closed()
        );
    }
}

/// Each row has two values, which count 32 bytes beside what they have: 3 bytes, and 4 in the last row.
#[tokio::test]
async fn a_result_over_the_limit_is_not_collected_and_the_connection_stays_usable() {
    let sql = "SELECT seq + 99, NULL FROM seq_1_to_100 UNION ALL SELECT 1000, NULL";
    for (max, fits) in [(6_768, true), (6_767, false), (0, true)] {
        let url = with_option(&url(), &format!("max-result-bytes={max}"));
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let rows = wait!(conn.query_as::<(u32, Option<Vec<u8>>)>(sql)).map(|rows| rows.len());
        assert_collected(rows, fits);
        assert_eq!(one(&mut conn, "SELECT 8").await, 8);
        let mut rows = wait!(conn.query(sql)).unwrap();
        let collected = wait!(rows.collect_owned()).map(|rows| rows.len());
        assert_collected(collected, fits);
        // What is left of it can be read still: it is behind the limit only.
        assert!(wait!(rows.next()).unwrap().is_none());
        assert_eq!(one(&mut conn, "SELECT 9").await, 9);
        // One by one there is no limit, and what was read of another result does not count.
        let mut rows = wait!(conn.query(sql)).unwrap();
        let mut count = 0;
        while wait!(rows.next()).unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, 101);
    }
}

fn assert_collected(rows: Result<usize, Error>, fits: bool) {
    match rows {
        Ok(rows) => assert!(fits && rows == 101, "{rows}"),
        Err(error) => {
            assert!(!fits && error.is_result_too_large(), "{error}");
            // The server has executed it, or was stopped while it did.
            assert!(!error.is_closed() && error.maybe_executed(), "{error}");
            assert!(error.to_string().contains("6767 bytes"), "{error}");
        }
    }
}

/// Rows for hours, and a value that is read into its own memory.
#[tokio::test]
async fn a_result_without_an_end_is_given_up_at_the_limit() {
    let url = with_option(&url(), "max-result-bytes=1000000");
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    let endless = "SELECT CONCAT(seq) FROM seq_1_to_1000000000";
    let of_nulls = "SELECT NULLIF(CONCAT(seq), CONCAT(seq)) FROM seq_1_to_1000000000";
    for sql in [endless, of_nulls, "SELECT REPEAT('x', 1000001)"] {
        let error = wait!(conn.query_as::<(Option<Vec<u8>>,)>(sql)).unwrap_err();
        assert!(error.is_result_too_large(), "{error}");
        assert_eq!(one(&mut conn, "SELECT 9").await, 9);
        let error = wait!(wait!(conn.query(sql)).unwrap().collect_owned()).unwrap_err();
        assert!(error.is_result_too_large(), "{error}");
        assert_eq!(one(&mut conn, "SELECT 9").await, 9);
    }
}

/// How late a timeout may be told: for timers, and a machine that does other things too.
const LATE: Duration = Duration::from_secs(2);

/// A user with rights on some databases only is not told whether there is another.
fn assert_unknown_database(error: &Error) {
    let server = error.server().unwrap();
    assert_eq!(server.sql_state.as_deref(), Some("42000"), "{error}");
    assert!(server.code == 1049 || server.code == 1044, "{error}");
}

/// A password that is not in the cache of `caching_sha2_password` is asked for itself, as is that of a user whom MySQL
/// does not know, for whom it makes up a plugin: where it may not be sent the login
/// ends before the server has judged it.
fn assert_unknown(result: Result<Connection, Error>) {
    let error = match &result {
        Err(error) if error.server().is_none() => error,
        _ => return assert_refused(result, 1045, "28000"),
    };
    assert!(
        error
            .to_string()
            .contains("_password needs the password itself"),
        "{error}"
    );
    assert!(error.is_closed());
}

/// Both sides wait for the other to speak, until the deadline.
#[tokio::test]
async fn a_server_without_a_greeting_is_asked_after_at_the_deadline() {
    let valkey = onecopy_testkit::valkey::Server::start().unwrap();
    let url = format!(
        "mysql://root@127.0.0.1:{}/?connect-timeout=0.2",
        valkey.port()
    );
    let error = wait!(Connection::connect(&url)).unwrap_err();
    assert!(error.is_timeout(), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("sent no greeting: is it a MySQL or MariaDB server? Valkey, Redis"),
        "{text}"
    );
}

fn assert_refused(result: Result<Connection, Error>, code: u16, state: &str) {
    let error = result.unwrap_err();
    let server = error.server().unwrap();
    assert_eq!(
        (server.code, server.sql_state.as_deref()),
        (code, Some(state)),
        "{error}"
    );
    assert!(!error.is_retryable());
}

async fn one(conn: &mut Connection, sql: &str) -> i64 {
    let mut rows = wait!(conn.query(sql)).unwrap();
    let number = wait!(rows.next()).unwrap().unwrap().get(0).unwrap();
    wait!(rows.finish()).unwrap();
    number
}

/// Reads a row with one value of `len` bytes.
async fn row_of(conn: &mut Connection, len: usize, binary: bool) -> Result<usize, Error> {
    let sql = format!("SELECT REPEAT('x', {len})");
    let statement = wait!(conn.prepare(&sql))?;
    let mut rows = if binary {
        wait!(conn.execute(&statement, &[]))?
    } else {
        wait!(conn.query(&sql))?
    };
    let row = wait!(rows.next())?.unwrap();
    Ok(row.get::<&[u8]>(0)?.len())
}
