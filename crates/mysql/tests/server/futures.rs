//! The tokio API's futures: they may go to another thread, and be dropped at any await.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use onecopy_mysql::aio::{ColumnReader, Connection, Rows, Stream, StreamingRow};
use onecopy_mysql::{Config, Error, Param, Statement};
use tokio::io::{AsyncReadExt, BufReader};

use crate::common::{Dribble, binary, count, lacks, urls};

fn send<T: Send>(_: T) {}

/// Compiled, never called: that each future is `Send` is what it shows.
#[allow(dead_code)]
fn every_future(
    config: &'static Config,
    stream: Stream,
    conn: &mut Connection,
    statement: Statement,
) {
    send(Connection::connect(""));
    send(Connection::connect_with(config));
    send(Connection::from_stream(config, stream));
    send(conn.query(""));
    send(conn.run(""));
    send(conn.prepare(""));
    send(conn.execute(&statement, &[Param::Null]));
    send(conn.query_as::<(String,)>(""));
    send(conn.query_one::<(String,)>(""));
    send(conn.query_opt::<(String,)>(""));
    send(conn.query_scalar::<String>(""));
    send(conn.execute_as::<(String,)>(&statement, &[]));
    send(conn.exec_as::<(String,)>("", &[]));
    send(conn.exec_named("", &[]));
    send(conn.exec_named_as::<(String,)>("", &[]));
    send(conn.send_long_data(&statement, 0, &b""[..]));
    send(conn.close_statement(statement));
    send(conn.ping());
    send(conn.use_database(""));
    send(conn.reset());
    send(conn.change_user("", "", None));
}

#[allow(dead_code)]
fn every_future_of_rows(
    rows: &mut Rows<'_>,
    row: &mut StreamingRow<'_>,
    column: &mut ColumnReader<'_>,
) {
    send(rows.next());
    send(rows.next_owned());
    send(rows.next_into(0, &mut Vec::new()));
    send(rows.next_streaming());
    send(rows.next_result());
    send(rows.collect_owned());
    send(rows.next_as::<(&str,)>());
    send(rows.collect_as::<(String,)>());
    send(row.next_column());
    send(column.get::<u8>());
    send(column.read(&mut []));
    send(BufReader::new(column));
}

#[allow(dead_code)]
fn every_future_of_the_end(conn: Connection, rows: Rows<'_>) {
    send(rows.finish());
    send(conn.close());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_work_in_tasks_on_several_threads() {
    let mut tasks = Vec::new();
    for (number, url) in urls().into_iter().cycle().take(8).enumerate() {
        tasks.push(tokio::spawn(async move {
            let mut conn = Connection::connect(&url).await?;
            let mut sum = 0;
            for _ in 0..20 {
                let mut rows = conn
                    .query("SELECT seq, REPEAT('x', 1000) FROM seq_1_to_100")
                    .await?;
                while let Some(row) = rows.next().await? {
                    sum += row.get::<u64>(0)?;
                    tokio::task::yield_now().await;
                }
            }
            conn.close().await?;
            Ok::<_, Error>((number, sum))
        }));
    }
    for (number, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap().unwrap(), (number, 20 * 5050));
    }
}

#[tokio::test]
async fn a_login_dropped_at_any_poll_leaves_nothing() {
    for url in urls() {
        let mut config = Config::from_url(&url).unwrap();
        config.database = Some(OWN.to_owned());
        let before = Connection::connect(&url).await.unwrap();
        let mut dropped = 0;
        for polls in 0..count(10, 50) {
            let login = Connection::connect_with(&config);
            match within(polls as u64, login).await {
                Some(conn) => conn.unwrap().ping().await.unwrap(),
                None => dropped += 1,
            }
        }
        // Poll 0 does not even begin.
        assert!(dropped > 1, "only {dropped} were dropped");
        // The server numbers sessions as it accepts them: those between these two are of the logins above, or of other tests.
        let mut after = Connection::connect(&url).await.unwrap();
        let start = Instant::now();
        while sessions_between(&before, &mut after).await > 0 {
            assert!(
                start.elapsed() < Duration::from_secs(5),
                "a dropped login left a session"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The database of the logins that are dropped: every user may use it, and other tests do so for a moment only.
const OWN: &str = "information_schema";

/// Sessions in our database, or that wait for the rest of a login.
async fn sessions_between(before: &Connection, after: &mut Connection) -> u64 {
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID > {} AND ID < {} AND (DB = '{OWN}' OR USER = \
         'unauthenticated user')",
        before.connection_id(),
        after.connection_id()
    );
    let mut rows = after.query(&sql).await.unwrap();
    let sessions = rows.next().await.unwrap().unwrap().get(0).unwrap();
    rows.finish().await.unwrap();
    sessions
}

/// A reply that was begun by a future that is gone is what the next command waits for first.
#[tokio::test]
async fn an_abandoned_query_is_not_taken_for_the_next_ones_result() {
    for url in urls() {
        let mut conn = Connection::connect(&url).await.unwrap();
        assert!(
            within(1, conn.query("SELECT SLEEP(0.3), 'abandoned'"))
                .await
                .is_none()
        );
        own_result(&mut conn, 17).await.unwrap();
        // A statement whose number was not heard of any more does no harm.
        assert!(
            within(1, conn.prepare("SELECT 'abandoned'"))
                .await
                .is_none()
        );
        own_result(&mut conn, 18).await.unwrap();
        assert!(
            within(0, conn.query("SELECT 'never begun'"))
                .await
                .is_none()
        );
        own_result(&mut conn, 19).await.unwrap();
    }
}

/// Were the pieces kept that had arrived, the value sent again would be behind them.
#[tokio::test]
async fn long_data_of_a_dropped_future_is_forgotten() {
    let mut conn = Connection::connect(&urls()[0]).await.unwrap();
    let mut statement = conn.prepare("SELECT ?, ?").await.unwrap();
    // Fewer than the reader's 30 pauses, so that it is never done.
    for polls in 1..count(12, 30) as u64 {
        for (resent, expected) in [(Param::LongData, "again"), (Param::from("other"), "other")] {
            let pausing = Dribble::new(binary().first(3_000_000), 100_000).that_pauses();
            let begun = within(polls, conn.send_long_data(&statement, 0, pausing)).await;
            assert!(begun.is_none());
            if conn.ping().await.is_err_and(|error| error.is_closed()) {
                conn = Connection::connect(&urls()[0]).await.unwrap(); // half a piece was sent
                statement = conn.prepare("SELECT ?, ?").await.unwrap();
                continue;
            }
            if resent == Param::LongData {
                let sent = conn
                    .send_long_data(&statement, 0, expected.as_bytes())
                    .await;
                assert_eq!(sent.unwrap(), 5);
            }
            let mut rows = conn
                .execute(&statement, &[resent, "x".into()])
                .await
                .unwrap();
            let row = rows.next().await.unwrap().unwrap();
            let value = row.get::<&[u8]>(0).unwrap();
            assert!(
                value == expected.as_bytes(),
                "{} bytes after {polls} polls",
                value.len()
            );
        }
    }
}

/// A command that is withdrawn for it was never begun takes nothing else with it.
#[tokio::test]
async fn a_statement_closed_before_a_withdrawn_command_is_closed_on_the_server() {
    if urls()[0].contains("ssl-ca=") {
        let reason = "over TLS a record of a command is taken before the socket is asked, so that it is begun";
        return lacks("commands that are not begun", reason);
    }
    let mut conn = Connection::connect(&urls()[0]).await.unwrap();
    let text = format!("SELECT LENGTH('{}')", "x".repeat(100_000));
    for _ in 0..3 {
        let statement = conn.prepare("SELECT 1").await.unwrap();
        conn.close_statement(statement).await.unwrap();
        while tokio::task::coop::has_budget_remaining() {
            tokio::task::coop::consume_budget().await;
        }
        // Without a budget no byte is written.
        let before = conn.meter().bytes_written;
        assert!(within(1, conn.query(&text)).await.is_none());
        assert_eq!(conn.meter().bytes_written, before);
        tokio::task::yield_now().await;
        own_result(&mut conn, 20).await.unwrap();
    }
    let mut rows = conn
        .query("SHOW SESSION STATUS LIKE 'Com_stmt_close'")
        .await
        .unwrap();
    let row = rows.next().await.unwrap().unwrap();
    assert_eq!(row.get::<&str>(1).unwrap(), "3");
}

/// Polls at most `polls` times; `None` if it was not done by then.
pub(crate) async fn within<T>(polls: u64, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

async fn own_result(conn: &mut Connection, number: u64) -> Result<(), Error> {
    let mut rows = conn.query(&format!("SELECT 'own', {number}")).await?;
    let row = rows.next().await?.unwrap();
    assert_eq!((row.get::<&str>(0)?, row.get::<u64>(1)?), ("own", number));
    assert!(rows.next().await?.is_none());
    rows.finish().await.map(drop)
}
