//! A server that is killed and started again while many callers use a pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use onecopy_testkit::valkey::Server;
use onecopy_valkey::Error;
use onecopy_valkey::aio::Pool;
use onecopy_valkey::command::string;

use crate::common::{count, with_option};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_survives_restarts_of_its_server() {
    let mut server = Server::start().unwrap();
    let pool = Pool::from_url(&with_option(&server.url(), "pool-max=4")).unwrap();
    let (is_over, done) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let (pool, is_over, done) = (pool.clone(), Arc::clone(&is_over), Arc::clone(&done));
            tokio::spawn(async move {
                let key = format!("outage:{task}");
                let mut round = 0;
                while !is_over.load(Ordering::Relaxed) {
                    round += 1;
                    match exchange(&pool, &key, round).await {
                        Ok(()) => {
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => assert!(error.is_closed() || error.is_timeout(), "{error}"),
                    }
                }
            })
        })
        .collect();
    for _ in 0..count(3, 20) {
        progress(&done).await;
        server.kill();
        tokio::time::sleep(Duration::from_millis(50)).await;
        server.restart().unwrap();
        progress(&done).await;
    }
    is_over.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap();
    }
    let stats = pool.stats();
    println!("{} exchanges, {stats:?}", done.load(Ordering::Relaxed));
    assert!(stats.size <= 4);
    pool.close().await;
}

/// Until some exchanges more have succeeded.
async fn progress(done: &AtomicUsize) {
    let (before, begun) = (done.load(Ordering::Relaxed), Instant::now());
    while done.load(Ordering::Relaxed) < before + 50 {
        assert!(begun.elapsed() < PATIENCE, "nothing succeeds any more");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A value is written and read by one borrower.
async fn exchange(pool: &Pool, key: &str, round: u64) -> Result<(), Error> {
    let mut conn = pool.get().await?;
    conn.run(&string::set(key, round)).await?;
    let value = conn.run(&string::get(key)).await?;
    assert_eq!(value, Some(round.to_string().as_bytes()));
    Ok(())
}
