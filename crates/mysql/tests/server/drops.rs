//! Thousands of calls given up at random points: the next command on the same handle has its own result, or says that
//! the connection is closed.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use onecopy_mysql::aio::Connection;
use onecopy_mysql::{
    BulkOptions, Cancelled, Compression, Config, Error, Param, ProtocolError, Statement,
    StatusFlags, blocking,
};
use onecopy_testkit::server::Server;
use tokio::io::AsyncReadExt;

use crate::common::{
    Dribble, Random, assert_nothing_runs, binary, count, lacks, letters, seed, soak, url, urls,
    with_option,
};
use crate::futures::within;

/// Connections at once.
const WORKERS: usize = 8;

/// Longer than any socket's buffer: a write of it has to wait.
const LARGE: usize = 600_000;

/// What is begun and dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Begun {
    Short,
    Sleep,
    BorrowedRows,
    BinaryRows,
    OwnedRows,
    ReusedRows,
    MappedRows,
    AllMappedRows,
    StreamedRow,
    Results,
    LargeText,
    LargeParameter,
    LongData,
    Prepare,
    Ping,
    UseDatabase,
    Reset,
    Finish,
    Transaction,
    Exec,
    Pipeline,
    LargePipeline,
    Cursor,
    Bulk,
    LocalInfile,
}

/// Rows and large parts twice: half of the short ones are dropped in the one wait that they have.
pub(crate) const BEGUN: [Begun; 34] = [
    Begun::Short,
    Begun::Sleep,
    Begun::BorrowedRows,
    Begun::BorrowedRows,
    Begun::BinaryRows,
    Begun::BinaryRows,
    Begun::OwnedRows,
    Begun::OwnedRows,
    Begun::ReusedRows,
    Begun::ReusedRows,
    Begun::MappedRows,
    Begun::AllMappedRows,
    Begun::StreamedRow,
    Begun::StreamedRow,
    Begun::Results,
    Begun::LargeText,
    Begun::LargeText,
    Begun::LargeParameter,
    Begun::LargeParameter,
    Begun::LongData,
    Begun::LongData,
    Begun::Prepare,
    Begun::Ping,
    Begun::UseDatabase,
    Begun::Reset,
    Begun::Finish,
    Begun::Transaction,
    Begun::Transaction,
    Begun::Exec,
    Begun::Pipeline,
    Begun::LargePipeline,
    Begun::Cursor,
    Begun::Bulk,
    Begun::LocalInfile,
];

impl Begun {
    /// Whether parts are borrowed that are gone with the future, or come from a reader that is: half sent, they close the connection.
    pub(crate) fn lends(self) -> bool {
        matches!(
            self,
            Self::LargeText
                | Self::LargeParameter
                | Self::LongData
                | Self::LargePipeline
                | Self::LocalInfile
        )
    }

    fn has_rows(self) -> bool {
        let has_small = matches!(
            self,
            Self::BorrowedRows
                | Self::BinaryRows
                | Self::MappedRows
                | Self::AllMappedRows
                | Self::Transaction
                | Self::Pipeline
                | Self::Cursor
                | Self::Bulk
        );
        has_small || self.has_large_rows()
    }

    fn has_large_rows(self) -> bool {
        matches!(self, Self::OwnedRows | Self::ReusedRows | Self::StreamedRow)
    }
}

/// Where a call was when it was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Point {
    NotBegun,
    Writing,
    Waiting,
    Rows,
    LargeRow,
}

/// How many of each kind stayed usable, and how many closed their connection.
#[derive(Debug, Default)]
struct Counts {
    by_point: BTreeMap<Point, (usize, usize)>,
    done: usize,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        for (point, (usable, closed)) in &other.by_point {
            let sum = self.by_point.entry(*point).or_default();
            *sum = (sum.0 + usable, sum.1 + closed);
        }
        self.done += other.done;
    }

    fn dropped(&self) -> usize {
        let counts = self.by_point.values();
        counts.map(|(usable, closed)| usable + closed).sum()
    }

    fn assert_most_stay_usable(&self, name: &str) {
        println!(
            "{name}: {} were done before they could be dropped",
            self.done
        );
        let (mut usable, mut closed) = (0, 0);
        for (point, counts) in &self.by_point {
            println!(
                "{name}: dropped {point:?}: {} stayed usable, {} closed",
                counts.0, counts.1
            );
            (usable, closed) = (usable + counts.0, closed + counts.1);
        }
        println!(
            "{name}: {} dropped, {usable} stayed usable, {closed} closed, 0 wrong answers",
            usable + closed
        );
        // A write that was dropped half way closes the connection: how many those are is up to what lies between, a proxy's
        // socket takes less at a time than a server's.
        assert!(
            usable >= 4 * closed,
            "{closed} of {} closed",
            usable + closed
        );
        for point in [Point::Writing, Point::Waiting, Point::Rows, Point::LargeRow] {
            let (usable, closed) = self.by_point.get(&point).copied().unwrap_or_default();
            assert!(
                (usable + closed) * 50 > self.dropped(),
                "only {} were dropped {point:?}",
                usable + closed
            );
            // Only what was borrowed and half sent closes its connection.
            assert!(closed == 0 || point == Point::Writing, "{point:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_futures_dropped_anywhere_leave_the_next_command_its_own_result() {
    let rounds = std::env::var("ONECOPY_DROPS")
        .map_or(count(10_000, 1_000_000), |number| number.parse().unwrap());
    let seed = seed();
    let mut conn = Connection::connect(&url()).await.unwrap();
    let has_infile = create_tables(&mut conn).await;
    let mut tasks = Vec::new();
    for (worker, url) in urls().into_iter().cycle().take(WORKERS).enumerate() {
        let random = Random::new(worker_seed(seed, worker));
        tasks.push(tokio::spawn(async move {
            let mut worker = Worker::new(url, worker, random).await;
            worker.has_infile = has_infile;
            while worker.dropped() < rounds / WORKERS {
                worker.round().await;
            }
            worker.counts
        }));
    }
    let mut counts = Counts::default();
    for task in tasks {
        counts.add(&task.await.unwrap());
    }
    counts.assert_most_stay_usable("futures");
    assert_nothing_runs("of drop worker");
    assert_tables(&mut conn).await;
}

/// Rows that only transactions have inserted that were dropped.
const TABLE: &str = "rows_of_dropped_transactions";

/// Rows of bulks and files, so many in each batch, all of which are stored or none.
const BULK_TABLE: &str = "rows_of_dropped_bulks";
const BATCH: u64 = 16;

/// Makes both tables; gives whether the server takes local files, and says so where it does not.
pub(crate) async fn create_tables(conn: &mut Connection) -> bool {
    for (table, columns) in [(TABLE, "worker INT"), (BULK_TABLE, "id INT, text LONGTEXT")] {
        conn.run(format!("DROP TABLE IF EXISTS {table}"))
            .await
            .unwrap();
        conn.run(format!("CREATE TABLE {table} ({columns}) ENGINE=InnoDB"))
            .await
            .unwrap();
    }
    let is_on: u8 = conn.query_scalar("SELECT @@local_infile").await.unwrap();
    if is_on == 0 {
        lacks("LOAD DATA LOCAL INFILE", "local_infile is OFF");
    }
    is_on == 1
}

/// No transaction that was dropped has stored anything, and what was dropped in batches is there in whole batches.
pub(crate) async fn assert_tables(conn: &mut Connection) {
    // What the server is still rolling back holds locks, for which this waits.
    for (table, of_each) in [(TABLE, u64::MAX), (BULK_TABLE, BATCH)] {
        let deleted = conn.run(format!("DELETE FROM {table}")).await.unwrap();
        println!("{} rows in {table}", deleted.affected_rows);
        assert_eq!(deleted.affected_rows % of_each, 0, "{table}");
    }
}

fn worker_seed(seed: u64, worker: usize) -> u64 {
    (seed + worker as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

struct Worker {
    url: String,
    /// Tells its statements from those of others.
    number: usize,
    round: u64,
    random: Random,
    conn: Connection,
    statements: Option<Statements>,
    counts: Counts,
    has_infile: bool,
}

/// Prepared once a connection: one that is dropped with its execution would stay on the server.
#[derive(Clone)]
pub(crate) struct Statements {
    rows: Statement,
    parameters: Statement,
}

impl Statements {
    pub(crate) async fn prepare(conn: &mut Connection) -> Result<Self, Error> {
        let rows = "SELECT seq, ?, REPEAT('b', 300) FROM seq_1_to_1000";
        Ok(Self {
            rows: conn.prepare(rows).await?,
            parameters: conn.prepare("SELECT LENGTH(?), ?").await?,
        })
    }
}

impl Worker {
    async fn new(url: String, number: usize, random: Random) -> Self {
        // Fewer statements than there are texts.
        let url = with_option(&url, "statement-cache=5&local-infile=true");
        let conn = Connection::connect(&url).await.unwrap();
        Self {
            url,
            number,
            round: 0,
            random,
            conn,
            statements: None,
            counts: Counts::default(),
            has_infile: true,
        }
    }

    fn dropped(&self) -> usize {
        self.counts.dropped()
    }

    async fn round(&mut self) {
        self.round += 1;
        let pick = self.random.below(BEGUN.len() as u64);
        let begun = BEGUN[usize::try_from(pick).unwrap()];
        if begun == Begun::LocalInfile && !self.has_infile {
            return;
        }
        let statements = self.statements().await;
        let token = self.token();
        let (stage, written) = (AtomicU8::new(0), self.conn.meter().bytes_written);
        let begin = begin(&mut self.conn, begun, &statements, &token, &stage);
        let ended = dropped_anywhere(&mut self.random, begun, begin).await;
        let written = self.conn.meter().bytes_written - written;
        let result = self.own_result().await;
        let status = self.conn.status();
        let is_open = result.is_ok() && status.contains(StatusFlags::IN_TRANS);
        assert!(!is_open, "{begun:?}");
        let Some(ended) = ended else {
            let point = point(begun, written, stage.into_inner());
            self.count(begun, point, result).await;
            return;
        };
        self.counts.done += 1;
        match ended {
            Err(error) if error.protocol() == Some(&ProtocolError::StatementClosed) => {
                self.statements = None;
            }
            Err(error) if is_deadlock(begun, &error) => {}
            ended => ended.unwrap_or_else(|error| panic!("{begun:?}: {error}")),
        }
        result.unwrap_or_else(|error| panic!("{begun:?}: {error}"));
    }

    async fn count(&mut self, begun: Begun, point: Point, result: Result<(), Error>) {
        let counts = self.counts.by_point.entry(point).or_default();
        match result {
            Ok(()) => counts.0 += 1,
            Err(error) if error.is_closed() && begun.lends() => {
                counts.1 += 1;
                assert!(self.own_result().await.unwrap_err().is_closed());
                self.conn = Connection::connect(&self.url).await.unwrap();
                self.statements = None;
            }
            Err(error) => panic!("round {}, {begun:?}, {point:?}: {error}", self.round),
        }
        if begun == Begun::Reset {
            self.statements = None;
        }
    }

    fn token(&self) -> String {
        format!("{} of drop worker {}", self.round, self.number)
    }

    /// The handle's own answer, of one of several commands.
    async fn own_result(&mut self) -> Result<(), Error> {
        let own = self.token();
        if self.random.below(8) == 0 {
            self.conn.ping().await?;
        }
        let mut rows = self.conn.query(&format!("SELECT 'own', '{own}'")).await?;
        assert_eq!(rows.columns().unwrap().len(), 2, "{own}");
        let row = rows.next().await?.unwrap();
        assert_eq!((row.get::<&str>(0)?, row.get::<&str>(1)?), ("own", &*own));
        assert!(rows.next().await?.is_none(), "{own}");
        rows.finish().await.map(drop)
    }

    async fn statements(&mut self) -> Statements {
        if let Some(statements) = &self.statements {
            return statements.clone();
        }
        let statements = Statements::prepare(&mut self.conn).await.unwrap();
        self.statements = Some(statements.clone());
        statements
    }
}

/// Ends a future after a number of polls, or some time; `None` if it was not done by then. Most are done after two or
/// three polls, which are waits for the first reply; rows and large parts take some tens.
pub(crate) async fn dropped_anywhere<T>(
    random: &mut Random,
    begun: Begun,
    future: impl Future<Output = T>,
) -> Option<T> {
    let many = if begun.has_rows() || begun.lends() {
        30
    } else {
        2
    };
    match random.below(8) {
        0 => {
            let time = Duration::from_micros(random.below(4_000));
            tokio::time::timeout(time, future).await.ok()
        }
        1..4 => within(1, future).await,
        4..7 => within(1 + random.below(many / 4 + 1), future).await,
        _ => within(1 + random.below(many), future).await,
    }
}

/// The large parts' bytes tell whether all was written; the call itself, whether rows came.
fn point(begun: Begun, written: u64, stage: u8) -> Point {
    match stage {
        0 if written == 0 => Point::NotBegun,
        0 if begun.lends() && written < LARGE as u64 => Point::Writing,
        0 => Point::Waiting,
        _ if matches!(
            begun,
            Begun::OwnedRows | Begun::ReusedRows | Begun::StreamedRow
        ) =>
        {
            Point::LargeRow
        }
        _ => Point::Rows,
    }
}

/// Whether the server has chosen the transaction to end a deadlock: its own answer too. MySQL does so where transactions that only insert
/// roll back beside each other.
pub(crate) fn is_deadlock(begun: Begun, error: &Error) -> bool {
    begun == Begun::Transaction && error.server().is_some_and(|error| error.code == 1213)
}

pub(crate) async fn begin(
    conn: &mut Connection,
    begun: Begun,
    statements: &Statements,
    token: &str,
    stage: &AtomicU8,
) -> Result<(), Error> {
    let many = format!("SELECT seq, '{token}', REPEAT('x', 300) FROM seq_1_to_1000");
    let large = format!(
        "SELECT n, REPEAT('z', 300000), '{token}' FROM (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3) AS three"
    );
    let rows_come = || stage.store(1, Ordering::Relaxed);
    match begun {
        Begun::Short => {
            let short = format!("SELECT '{token}'");
            conn.query(&short).await?.finish().await.map(drop)
        }
        // Longer than what is abandoned is waited for, at times.
        Begun::Sleep => {
            let sleep = format!("SELECT SLEEP(IF(RAND() < 0.2, 0.05, 0.002)), '{token}'");
            conn.query(&sleep).await?.finish().await.map(drop)
        }
        Begun::Finish => conn.query(&many).await?.finish().await.map(drop),
        Begun::BorrowedRows => {
            let mut rows = conn.query(&many).await?;
            rows_come();
            while rows.next().await?.is_some() {
                pause().await;
            }
            Ok(())
        }
        Begun::BinaryRows => {
            let params = [Param::from(token)];
            let mut rows = conn.execute(&statements.rows, &params).await?;
            rows_come();
            while rows.next().await?.is_some() {
                pause().await;
            }
            Ok(())
        }
        Begun::OwnedRows => {
            let mut rows = conn.query(&large).await?;
            rows_come();
            while rows.next_owned().await?.is_some() {
                pause().await;
            }
            Ok(())
        }
        Begun::ReusedRows => {
            let mut value = Vec::with_capacity(300_000);
            let mut rows = conn.query(&large).await?;
            rows_come();
            while rows.next_into(1, &mut value).await?.is_some() {
                assert_eq!(value.len(), 300_000);
                pause().await;
            }
            Ok(())
        }
        Begun::MappedRows => {
            let params = [Param::from(token)];
            let mut rows = conn.execute(&statements.rows, &params).await?;
            rows_come();
            let mut seen = 0;
            while let Some((seq, own, filler)) = rows.next_as::<(i64, &str, &str)>().await? {
                seen += 1;
                assert_eq!((seq, own, filler.len()), (seen, token, 300));
                pause().await;
            }
            Ok(())
        }
        Begun::AllMappedRows => {
            let all: Vec<(i64, String, String)> = conn.query_as(&many).await?;
            rows_come();
            assert_eq!(all.len(), 1000);
            assert!(all.iter().all(|(_, own, _)| own == token), "{token}");
            Ok(())
        }
        Begun::StreamedRow => {
            let mut rows = conn.query(&large).await?;
            rows_come();
            let mut slice = vec![0; 30_000];
            while let Some(mut row) = rows.next_streaming().await? {
                while let Some(mut column) = row.next_column().await? {
                    while column.read(&mut slice).await.map_err(own_error)? > 0 {
                        pause().await;
                    }
                }
            }
            Ok(())
        }
        Begun::Results => {
            let mut rows = conn.query("SHOW STATUS LIKE 'Threads%'").await?;
            rows_come();
            while rows.next().await?.is_some() {
                pause().await;
            }
            while rows.next_result().await? {}
            Ok(())
        }
        Begun::LargeText => {
            let text = std::str::from_utf8(letters().first(LARGE)).unwrap();
            let sql = format!("SELECT LENGTH('{text}'), '{token}'");
            conn.query(&sql).await?.finish().await.map(drop)
        }
        Begun::LargeParameter => {
            let params = [Param::Bytes(binary().first(LARGE)), Param::from(token)];
            let rows = conn.execute(&statements.parameters, &params).await?;
            rows.finish().await.map(drop)
        }
        Begun::LongData => {
            let reader = Dribble::new(binary().first(LARGE), 100_000).that_pauses();
            conn.send_long_data(&statements.parameters, 0, reader)
                .await?;
            let params = [Param::LongData, Param::from(token)];
            let rows = conn.execute(&statements.parameters, &params).await?;
            rows.finish().await.map(drop)
        }
        Begun::Prepare => {
            let statement = conn.prepare(&format!("SELECT ?, '{token}'")).await?;
            conn.close_statement(statement).await
        }
        Begun::Ping => conn.ping().await,
        Begun::UseDatabase => {
            let url = url();
            let database = Config::from_url(&url)?.database.unwrap_or_default();
            conn.use_database(&database).await
        }
        Begun::Reset => conn.reset().await,
        Begun::Transaction => {
            let insert = format!("INSERT INTO {TABLE} VALUES (1)");
            let mut tx = conn.transaction().await?;
            rows_come();
            tx.run(&insert).await?;
            let mut inner = tx.savepoint().await?;
            inner.exec(&insert, &[]).await?.finish().await?;
            pause().await;
            drop(inner);
            let mut inner = tx.savepoint().await?;
            inner.run(&insert).await?;
            inner.rollback().await?;
            tx.run(&insert).await?;
            pause().await;
            Ok(())
        }
        Begun::Exec => {
            // One of some texts, most of which are not in the cache.
            let text = token.len()
                + token
                    .as_bytes()
                    .iter()
                    .map(|&b| usize::from(b))
                    .sum::<usize>();
            let sql = format!("SELECT ?, {}", text % 16);
            let params = [Param::from(token)];
            let mut rows = conn.exec(&sql, &params).await?;
            let row = rows.next().await?.unwrap();
            assert_eq!(row.get::<&str>(0)?, token);
            assert_eq!(row.get::<usize>(1)?, text % 16);
            rows.finish().await.map(drop)
        }
        Begun::Pipeline => {
            let mut pipeline = conn.pipeline();
            for number in 0..40 {
                pipeline.exec(format!("SELECT ?, {}", number % 8), &[token.into()])?;
                pipeline.query(format!("SELECT seq, {number} FROM seq_1_to_100"))?;
                pipeline.query("SELEKT")?;
            }
            let mut results = pipeline.send().await?;
            rows_come();
            for number in 0..40_i64 {
                let mut rows = results.next().await?.unwrap();
                let row = rows.next().await?.unwrap();
                let got = (row.get::<&str>(0)?, row.get::<i64>(1)?);
                assert_eq!(got, (token, number % 8));
                pause().await;
                let mut rows = results.next().await?.unwrap();
                for seq in 1..=number {
                    let row = rows.next().await?.unwrap();
                    let got = (row.get::<i64>(0)?, row.get::<i64>(1)?);
                    assert_eq!(got, (seq, number));
                }
                let error = results.next().await.map(drop).unwrap_err();
                assert!(error.server().is_some(), "{error}");
            }
            Ok(())
        }
        Begun::LargePipeline => {
            let large = [Param::Bytes(binary().first(LARGE)), Param::from(token)];
            let mut pipeline = conn.pipeline();
            pipeline.execute(&statements.parameters, &large)?;
            pipeline.exec("SELECT ?, 0", &[token.into()])?;
            let mut results = pipeline.send().await?;
            let mut rows = results.next().await?.unwrap();
            assert_eq!(rows.next().await?.unwrap().get::<usize>(0)?, LARGE);
            let mut rows = results.next().await?.unwrap();
            assert_eq!(rows.next().await?.unwrap().get::<&str>(0)?, token);
            Ok(())
        }
        Begun::Cursor => {
            let params = [Param::from(token)];
            let mut cursor = conn.cursor(&statements.rows, &params, 100).await?;
            rows_come();
            let mut seen = 0;
            while let Some(mut rows) = cursor.next_batch().await? {
                while let Some(row) = rows.next().await? {
                    seen += 1;
                    let got = (row.get::<i64>(0)?, row.get::<&str>(1)?);
                    assert_eq!(got, (seen, token));
                    pause().await;
                }
            }
            assert_eq!(seen, 1000);
            Ok(())
        }
        Begun::Bulk => {
            let mut options = BulkOptions::default();
            options.max_rows = BATCH;
            let insert = format!("INSERT INTO {BULK_TABLE} VALUES (?, ?)");
            let mut bulk = conn.bulk_with(&insert, &options).await?;
            for id in 0..4 * BATCH {
                bulk.push(&[id.into(), token.into()]).await?;
                pause().await;
            }
            let done = bulk.finish().await?;
            assert_eq!(done.affected_rows, 4 * BATCH);
            Ok(())
        }
        Begun::LocalInfile => {
            let load = format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {BULK_TABLE}");
            let line = format!("7\t{token} {}\n", "x".repeat(300));
            let lines = line.repeat(usize::try_from(10 * BATCH).unwrap());
            let reader = Dribble::new(lines.as_bytes(), 8_000).that_pauses();
            let done = conn.load_infile(&load, reader).await?;
            assert_eq!(done.affected_rows, 10 * BATCH);
            Ok(())
        }
    }
}

/// A place to be dropped at although more has arrived already: what the caller does between two rows.
async fn pause() {
    tokio::task::yield_now().await;
}

/// The error that a reader's error holds.
fn own_error(error: std::io::Error) -> Error {
    let own = error.into_inner().and_then(|own| own.downcast().ok());
    *own.expect("the reader's own error")
}

/// Statements that are dropped while they are prepared, before they are in the cache, or while they make room.
#[tokio::test]
async fn texts_dropped_anywhere_leave_the_servers_statements_bounded() {
    let server = Server::builder()
        .argument("--max-prepared-stmt-count=8")
        .start()
        .unwrap();
    let url = with_option(&server.url(), "statement-cache=3");
    let mut random = Random::new(seed());
    let mut conn = Connection::connect(&url).await.unwrap();
    for round in 0..count(2_000, 100_000) {
        let sql = format!("SELECT ? + {round}");
        let polls = 1 + random.below(4);
        let result = match random.below(3) {
            0 => within(polls, conn.exec(&sql, &[Param::from(1)]))
                .await
                .map(|rows| rows.map(drop)),
            1 => within(polls, conn.prepare(&sql))
                .await
                .map(|statement| statement.map(drop)),
            _ => within(polls, some_texts(&mut conn, round)).await,
        };
        if let Some(result) = result {
            result.unwrap();
        }
        if random.below(4) == 0 {
            let mut rows = conn
                .exec("SELECT ?", &[Param::from(round as u64)])
                .await
                .unwrap();
            let row = rows.next().await.unwrap().unwrap();
            assert_eq!(row.get::<usize>(0).unwrap(), round);
        }
    }
    let status = "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'";
    let mut rows = conn.query(status).await.unwrap();
    let open: u64 = rows
        .next()
        .await
        .unwrap()
        .unwrap()
        .get::<&str>(1)
        .unwrap()
        .parse()
        .unwrap();
    assert!(open <= 3, "{open}");
}

async fn some_texts(conn: &mut Connection, round: usize) -> Result<(), Error> {
    let mut pipeline = conn.pipeline();
    for number in 0..3 {
        pipeline.exec(format!("SELECT ? + {round} - {number}"), &[Param::from(1)])?;
    }
    pipeline.send().await?.finish().await
}

/// A cancel is a future too. Dropped anywhere, the order is given or not, and the next statement is not hit.
#[tokio::test]
async fn a_cancel_dropped_anywhere_never_hits_the_following_statement() {
    let mut random = Random::new(seed());
    for url in urls() {
        let mut conn = Connection::connect(&url).await.unwrap();
        let token = conn.cancel_token();
        let (mut dropped, mut delivered) = (0, 0);
        for round in 0..count(500, 20_000) {
            let sql = format!("SELECT SLEEP({}e-6)", random.below(20_000));
            let _ = within(1, conn.query(&sql)).await;
            // Nobody reads the statement's end, so that a whole cancel takes its third of a second.
            let polls = match random.below(50) {
                0 => u64::MAX,
                _ => random.below(16),
            };
            match within(polls, token.cancel()).await {
                None => dropped += 1,
                Some(cancelled) => {
                    delivered += usize::from(cancelled.unwrap() == Cancelled::Delivered);
                }
            }
            // At times the command that finds the order is dropped too.
            if random.below(4) == 0 {
                let _ = within(random.below(6), conn.ping()).await;
            }
            let following = format!("SELECT SLEEP(0.001), {round}");
            let mut rows = conn.query(&following).await.unwrap();
            let row = rows.next().await.unwrap().unwrap();
            let got = (row.get::<i64>(0).unwrap(), row.get::<usize>(1).unwrap());
            assert_eq!(got, (0, round));
            rows.finish().await.unwrap();
        }
        println!("cancels: {dropped} dropped, {delivered} delivered");
        assert!(dropped > 0 && delivered > 0, "{dropped} and {delivered}");
    }
}

/// Two tasks drive the same order, one of which goes away.
#[tokio::test]
async fn an_order_goes_on_when_one_of_those_who_wait_for_it_is_gone() {
    let mut conn = Connection::connect(&url()).await.unwrap();
    let token = conn.cancel_token();
    for polls in 0..count(20, 40) as u64 {
        let _ = within(1, conn.query("SELECT SLEEP(600)")).await;
        let other = token.clone();
        let cancelling = tokio::spawn(async move { other.cancel().await });
        for _ in 0..polls {
            tokio::task::yield_now().await;
        }
        let _ = within(1 + polls % 3, conn.ping()).await;
        // Nobody polls the connection meanwhile.
        let cancelled = tokio::time::timeout(Duration::from_secs(10), cancelling).await;
        cancelled.expect("the order stands still").unwrap().unwrap();
        conn.ping().await.unwrap();
    }
}

/// What a drop is to a future, a deadline and rows that are dropped are to a call that blocks.
#[test]
fn calls_that_time_out_anywhere_leave_the_next_command_its_own_result() {
    let seed = seed();
    let rounds = count(2_000, 100_000) / WORKERS;
    std::thread::scope(|scope| {
        for (worker, url) in urls().into_iter().cycle().take(WORKERS).enumerate() {
            let random = Random::new(worker_seed(seed, worker));
            scope.spawn(move || time_out(&url, worker, rounds, random));
        }
    });
}

fn time_out(url: &str, worker: usize, rounds: usize, mut random: Random) {
    let mut conn = blocking::Connection::connect(url).unwrap();
    let (mut late, mut closed) = (0, 0);
    for round in 0..rounds {
        let token = format!("{round} of blocking worker {worker}");
        conn.set_call_timeout(Some(Duration::from_micros(50 + random.below(2_000))));
        let result = match random.below(4) {
            0 => conn
                .run(format!("SELECT SLEEP(0.004), '{token}'"))
                .map(drop),
            1 => {
                let text = std::str::from_utf8(letters().first(LARGE)).unwrap();
                conn.run(format!("SELECT LENGTH('{text}'), '{token}'"))
                    .map(drop)
            }
            2 => some_rows(&mut conn, &token, random.below(900)),
            _ => conn
                .prepare(format!("SELECT '{token}'"))
                .and_then(|statement| conn.close_statement(statement)),
        };
        match result {
            Ok(()) => {}
            Err(error) if error.is_timeout() => late += 1,
            Err(error) => panic!("{token}: {error}"),
        }
        conn.set_call_timeout(Some(Duration::from_secs(60)));
        let sql = format!("SELECT 'own', '{token}'");
        let own = conn.query(&sql).and_then(|mut rows| {
            let row = rows.next()?.unwrap();
            assert_eq!((row.get::<&str>(0)?, row.get::<&str>(1)?), ("own", &*token));
            rows.finish()
        });
        match own {
            Ok(_) => {}
            Err(error) if error.is_closed() => {
                closed += 1;
                conn = blocking::Connection::connect(url).unwrap();
            }
            Err(error) => panic!("{token}: {error}"),
        }
    }
    assert!(late > rounds / 50, "{late} of {rounds} were late");
    // To compress a large text takes longer than most of the deadlines, and what is half sent closes.
    let most = if conn.compression() == Compression::Uncompressed {
        rounds / 4
    } else {
        rounds / 2
    };
    assert!(closed < most, "{closed} of {rounds} closed");
    if !soak() {
        println!("blocking worker {worker}: {rounds} calls, {late} late, {closed} closed");
    }
}

fn some_rows(conn: &mut blocking::Connection, token: &str, count: u64) -> Result<(), Error> {
    let sql = format!("SELECT seq, '{token}', REPEAT('x', 300) FROM seq_1_to_1000");
    let mut rows = conn.query(&sql)?;
    for _ in 0..count {
        rows.next()?;
    }
    Ok(())
}
