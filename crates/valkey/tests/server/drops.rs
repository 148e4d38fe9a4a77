//! Thousands of futures dropped at random points: the next command on the same connection has its own reply, or says that
//! the connection is closed.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use onecopy_valkey::aio::Connection;
use onecopy_valkey::command::string;
use onecopy_valkey::{Config, Error, raw};
use tokio::io::AsyncReadExt;

use crate::common::{Random, count, sample, seed, urls};

/// Polls a future some times, and drops it where it is not done by then.
async fn polled<T>(times: u64, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut left = times;
    std::future::poll_fn(move |context| match future.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

/// Begins something, and may drop it; gives whether a value of 16 KiB and more was borrowed to it.
async fn begin(
    conn: &mut Connection,
    random: &mut Random,
    number: u64,
    large: &[u8],
) -> Result<bool, Error> {
    let times = random.below(4);
    let key = format!("drops:{}", number % 50);
    match random.below(8) {
        0 => drop(polled(times, conn.run(&raw("ECHO").arg(number))).await),
        1 => {
            let set = string::set(&key, large);
            drop(polled(times, conn.run(&set)).await);
            return Ok(true);
        }
        2 => drop(polled(times, conn.run(&string::get(&key))).await),
        3 => drop(polled(times, conn.run_owned(&string::get(&key))).await),
        4 => {
            let get = string::get(&key);
            let streaming = conn.run_streaming(&get);
            if let Some(Ok(Some(mut reader))) = polled(times + 2, streaming).await {
                let len = usize::try_from(1 + random.below(200_000)).unwrap();
                let mut piece = vec![0; len];
                drop(polled(times, reader.read_exact(&mut piece)).await);
            }
        }
        5 => {
            let len = random.below(large.len() as u64);
            let set = raw("SET").arg(&key);
            drop(polled(times, conn.run_from(&set, len, large)).await);
            return Ok(true);
        }
        6 => {
            let mut transaction = conn.transaction()?;
            transaction.push(&raw("ECHO").arg(number))?;
            transaction.push(&string::set(&key, "text"))?;
            drop(polled(times, transaction.exec()).await);
        }
        _ => {
            let mut pipeline = conn.pipeline()?;
            for _ in 0..random.below(40) {
                pipeline.push(&raw("ECHO").arg(number))?;
                pipeline.push(&string::get(&key))?;
            }
            let mut replies = pipeline.replies();
            for _ in 0..random.below(20) {
                drop(polled(times, replies.next_reply()).await);
            }
        }
    }
    Ok(false)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_command_has_its_own_reply() {
    let seed = seed();
    let large = sample(700_000);
    let each = count(400, 5_000);
    let mut workers = Vec::new();
    for (worker, url) in urls().into_iter().enumerate() {
        let large = large.clone();
        workers.push(tokio::spawn(async move {
            let mut random = Random::new(seed ^ ((worker as u64 + 1) << 32));
            let mut config = Config::from_url(&url).unwrap();
            // A machine that is busy is no reason to fail.
            config.connect_timeout = Some(Duration::from_secs(120));
            let mut conn = Connection::connect_with(&config).await.unwrap();
            conn.set_command_timeout(Some(Duration::from_secs(120)));
            let mut closed = 0;
            for number in 0..each as u64 {
                let lends = begin(&mut conn, &mut random, number, &large).await;
                let mine = format!("{worker}-{number}");
                let asked = raw("ECHO").arg(&mine);
                let reply = conn.run(&asked).await.map(|reply| reply.bytes().to_vec());
                match reply {
                    Ok(reply) => assert_eq!(reply, mine.as_bytes(), "{url}, ONECOPY_SEED={seed}"),
                    Err(error) => {
                        assert!(
                            error.is_closed() && lends.unwrap(),
                            "{error}, ONECOPY_SEED={seed}"
                        );
                        closed += 1;
                        conn.reconnect().await.unwrap();
                    }
                }
            }
            (closed, each)
        }));
    }
    for worker in workers {
        let (closed, all) = worker.await.unwrap();
        println!("{closed} of {all} closed their connection");
        assert!(closed < all / 2);
    }
}

/// What a runtime of several threads needs.
#[test]
fn connections_and_their_futures_can_go_to_other_threads() {
    fn assert_send<T: Send>(_: &T) {}
    fn assert_sync<T: Sync>() {}
    async fn all(conn: &mut Connection) -> Result<(), Error> {
        conn.run(&string::get("k")).await?;
        conn.run_owned(&string::get("k")).await?;
        conn.run_into(&string::get("k"), &mut Vec::new()).await?;
        conn.run_streaming(&string::get("k")).await?;
        conn.run_from(&raw("SET").arg("k"), 1, &b"v"[..]).await?;
        let mut replies = conn.pipeline()?.replies();
        replies.next::<string::Get>().await?;
        drop(replies);
        conn.transaction()?.exec().await?;
        let mut pipe = conn.pipe(|_| {})?;
        pipe.push(&string::get("k")).await?;
        pipe.finish().await?;
        conn.reconnect().await
    }
    fn check(conn: &mut Connection) {
        assert_send(&all(conn));
    }
    let _: fn(&mut Connection) = check;
    assert_sync::<Connection>();
}

#[tokio::test]
async fn a_copy_that_is_dropped_loses_no_byte_and_writes_none_twice() {
    let value = sample(1_000_000);
    for url in urls() {
        let mut conn = Connection::connect(&url).await.unwrap();
        conn.run(&string::set("drops:copied", &value))
            .await
            .unwrap();
        let get = string::get("drops:copied");
        let mut reader = conn.run_streaming(&get).await.unwrap().unwrap();
        let mut got = Vec::new();
        for room in [1, 10_000, 100_000, 500_000] {
            // It takes so many bytes, and nobody reads.
            let (near, mut far) = tokio::io::duplex(room);
            let dropped = tokio::time::timeout(Duration::from_millis(20), reader.copy_to(near));
            assert!(dropped.await.is_err(), "it can't end");
            far.read_to_end(&mut got).await.unwrap();
            let gone = value.len() as u64 - reader.left();
            assert_eq!(gone, got.len() as u64, "{room}, {url}");
        }
        assert!(reader.left() > 0, "it was never dropped half way");
        reader.copy_to(&mut got).await.unwrap();
        assert!(got == value, "{url}");
    }
}
