//! Futures that are dropped: of `get`, and of commands on a borrowed connection.

use std::time::Duration;

use onecopy_valkey::aio::{Connection, Pool};
use onecopy_valkey::command::{connection, generic, list, string};
use onecopy_valkey::{Config, raw};
use tokio::time::timeout;

use crate::common::{Random, count, sample, seed, url, with_option};

#[tokio::test]
async fn a_blocking_command_that_was_dropped_takes_no_element() {
    let key = "pool:dropped:blpop";
    let pool = Pool::from_url(&with_option(&url(), "pool-max=1")).unwrap();
    let mut admin = Connection::connect(&url()).await.unwrap();
    admin.run(&generic::del([key])).await.unwrap();
    let mut conn = pool.get().await.unwrap();
    let own: i64 = conn.run(&connection::client_id()).await.unwrap();
    {
        let pop = list::blpop([key], 0.0);
        let blocked = conn.run(&pop);
        tokio::pin!(blocked);
        // Until the server has blocked it.
        while !is_blocked(&mut admin, own).await {
            assert!(
                timeout(Duration::from_millis(5), &mut blocked)
                    .await
                    .is_err()
            );
        }
    }
    drop(conn);
    assert_eq!(pool.stats().closed.broken, 1, "at once");
    while is_blocked(&mut admin, own).await {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    admin.run(&list::rpush(key, ["kept"])).await.unwrap();
    let mut conn = pool.get().await.unwrap();
    assert_eq!(conn.run(&list::llen(key)).await.unwrap(), 1);
}

async fn is_blocked(admin: &mut Connection, id: i64) -> bool {
    let list = raw("CLIENT").args(["LIST", "ID"]).arg(id);
    let reply = admin.run(&list).await.unwrap();
    String::from_utf8_lossy(reply.bytes()).contains("flags=b")
}

/// Connections, and tasks that share them.
const MAX: usize = 4;
const TASKS: usize = 16;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_dropped_on_a_borrowed_connection_is_not_the_next_borrowers() {
    let mut config = Config::from_url(&url()).unwrap();
    config.pool.max = MAX;
    let pool = Pool::new(config).unwrap();
    let seed = seed();
    let rounds = count(3_000, 300_000) / TASKS;
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let random = Random::new((seed + task as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            tokio::spawn(borrow(pool.clone(), task, rounds, random))
        })
        .collect();
    let mut dropped = 0;
    for task in tasks {
        dropped += task.await.unwrap();
    }
    let stats = pool.stats();
    println!("{dropped} dropped, {stats:?}");
    assert!(dropped > rounds * TASKS / 10, "{dropped}");
    assert!(stats.size <= MAX);
    pool.close().await;
    assert_eq!(pool.stats().size, 0);
}

/// Borrows, begins something, drops it anywhere and then the connection; gives how often something was dropped.
async fn borrow(pool: Pool, task: usize, rounds: usize, mut random: Random) -> usize {
    let mut dropped = 0;
    let large = sample(60_000);
    for round in 0..rounds {
        if random.below(8) == 0 {
            // The wait itself.
            let wait = Duration::from_micros(random.below(300));
            dropped += usize::from(timeout(wait, pool.get()).await.is_err());
        }
        let mut conn = pool.get().await.unwrap();
        let token = format!("{round} of task {task}");
        let echo = raw("ECHO").arg(&token);
        assert_eq!(conn.run(&echo).await.unwrap().bytes(), token.as_bytes());
        assert!(!conn.has_transaction());
        if random.below(16) == 0 {
            let info = conn.run(&connection::client_info()).await.unwrap();
            let info = String::from_utf8_lossy(info);
            assert!(
                info.contains(" db=0 ") && info.contains(" name= "),
                "{info}"
            );
        }
        let key = format!("pool:drops:{task}");
        let wait = Duration::from_micros(random.below(400));
        let pick = random.below(7);
        let work = async {
            match pick {
                0 => conn.run(&string::set(&key, &token[..])).await.map(drop),
                1 => conn.run(&string::set(&key, &large[..])).await.map(drop),
                2 => conn.run(&string::get(&key)).await.map(drop),
                3 => {
                    conn.run(&raw("WATCH").arg(&key)).await?;
                    conn.run(&raw("MULTI")).await?;
                    conn.run(&raw("GET").arg(&key)).await.map(drop)
                }
                4 => {
                    conn.select(1 + round as u64 % 5).await?;
                    conn.set_client_name("borrower").await
                }
                5 => conn
                    .run(&list::blpop(["pool:drops:none"], 0.0))
                    .await
                    .map(drop),
                _ => {
                    let mut pipeline = conn.pipeline()?;
                    for _ in 0..10 {
                        pipeline.push(&string::get(&key))?;
                    }
                    let mut replies = pipeline.replies();
                    while replies.next::<string::Get<'_>>().await?.is_some() {}
                    Ok(())
                }
            }
        };
        let ended: Result<Result<(), onecopy_valkey::Error>, _> = timeout(wait, work).await;
        match ended {
            Err(_) => dropped += 1,
            Ok(ended) => ended.unwrap(),
        }
    }
    dropped
}
