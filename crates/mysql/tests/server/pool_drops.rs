//! Everything that a connection can do, dropped anywhere on a borrowed connection that then goes back: the next borrower has its own
//! answers, no transaction and no statement of another's.

use std::sync::atomic::AtomicU8;

use onecopy_mysql::aio::{Connection, Pool};
use onecopy_mysql::{Config, ProtocolError, StatusFlags};
use onecopy_testkit::server::Server;

use crate::common::{Random, count, make_sequences, seed};
use crate::drops::{
    BEGUN, Begun, Statements, assert_tables, begin, create_tables, dropped_anywhere, is_deadlock,
};

/// Connections, and tasks that share them.
const MAX: usize = 4;
const TASKS: usize = 12;

/// Statements of a connection in the cache, and of one that is borrowed: two of its own, and those of a pipeline.
const CACHED: usize = 5;
const BORROWED: usize = 2 + 16;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_dropped_on_a_borrowed_connection_is_not_the_next_borrowers() {
    let most = MAX * (CACHED + BORROWED);
    let server = Server::builder()
        .argument(format!("--max-prepared-stmt-count={most}"))
        .start()
        .unwrap();
    make_sequences(&server.url()).unwrap();
    let mut admin = Connection::connect(&server.url()).await.unwrap();
    let has_infile = create_tables(&mut admin).await;
    let mut config = Config::from_url(&server.url()).unwrap();
    config.pool.max = MAX;
    config.statement_cache = CACHED;
    config.local_infile = true;
    let pool = Pool::new(config).unwrap();
    let seed = seed();
    let rounds = count(1_500, 1_000_000) / TASKS;
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let random = Random::new((seed + task as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            tokio::spawn(borrow(pool.clone(), task, rounds, random, has_infile))
        })
        .collect();
    let mut dropped = 0;
    for task in tasks {
        dropped += task.await.unwrap();
    }
    let stats = pool.stats();
    println!("{dropped} dropped, {stats:?}");
    assert!(dropped > rounds * TASKS / 3, "{dropped}");
    assert!(stats.size <= MAX);
    let sql = "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'";
    let (_, open): (String, String) = admin.query_one(sql).await.unwrap();
    assert!(open.parse::<usize>().unwrap() <= most, "{open}");
    pool.close().await;
    assert_eq!(pool.stats().size, 0);
    assert_tables(&mut admin).await;
}

/// Borrows, begins something, drops it and then the connection; gives how often it was dropped.
async fn borrow(
    pool: Pool,
    task: usize,
    rounds: usize,
    mut random: Random,
    has_infile: bool,
) -> usize {
    let mut dropped = 0;
    for round in 0..rounds {
        let pick = random.below(BEGUN.len() as u64);
        let begun = BEGUN[usize::try_from(pick).unwrap()];
        if begun == Begun::UseDatabase || (begun == Begun::LocalInfile && !has_infile) {
            continue;
        }
        let mut conn = pool.get().await.unwrap();
        let token = format!("{round} of pool task {task}");
        let own: (String, u8) = conn
            .query_one(format!("SELECT '{token}', @left IS NULL"))
            .await
            .unwrap();
        assert_eq!(own, (token.clone(), 1), "{begun:?}");
        assert!(!conn.status().contains(StatusFlags::IN_TRANS), "{token}");
        conn.run("SET @left = 1").await.unwrap();
        let statements = Statements::prepare(&mut conn).await.unwrap();
        let stage = AtomicU8::new(0);
        let work = begin(&mut conn, begun, &statements, &token, &stage);
        match dropped_anywhere(&mut random, begun, work).await {
            None => dropped += 1,
            Some(Err(error)) if error.protocol() == Some(&ProtocolError::StatementClosed) => {}
            Some(Err(error)) if is_deadlock(begun, &error) => {}
            Some(ended) => ended.unwrap_or_else(|error| panic!("{begun:?}: {error}")),
        }
        // At times it is asked before it goes back.
        if random.below(2) == 0 {
            match conn.query_scalar::<u64>(format!("SELECT {round}")).await {
                Ok(answer) => assert_eq!(answer, round as u64, "{begun:?}"),
                Err(error) => assert!(error.is_closed() && begun.lends(), "{begun:?}: {error}"),
            }
        }
    }
    dropped
}
