//! Futures that are dropped.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use onecopy_valkey::aio::{Connection, Consumer};
use onecopy_valkey::command::{generic, stream};
use onecopy_valkey::streams::ConsumerOptions;

use crate::common::{Random, count, seed, url};

/// A read that waits at the server goes on when its future is dropped, and what it returns is delivered once.
#[tokio::test]
async fn no_entry_is_lost_or_repeated_when_waits_are_dropped_anywhere() {
    let key = "streams:drops";
    let mut conn = Connection::connect(&url()).await.unwrap();
    conn.run(&generic::del([key])).await.unwrap();
    let mut options = ConsumerOptions::new(key, "group", "a");
    options.batch = 10;
    options.ack_batch = 5;
    options.claim_min_idle = Some(Duration::from_secs(3600));
    options.claim_interval = Duration::from_millis(5);
    let mut consumer = Consumer::connect(&url(), options).await.unwrap();
    let mut random = Random::new(seed());
    let entries = count(2_000, 200_000);
    let (mut added, mut expected, mut dropped) = (0, 0, 0);
    while expected < entries {
        if added < entries && random.below(2) == 0 {
            for _ in 0..=random.below(20) {
                conn.run(&stream::xadd(key, "*", ("n", added)))
                    .await
                    .unwrap();
                added += 1;
            }
        }
        let id = match polled(consumer.next(), random.below(150)).await {
            None => {
                dropped += 1;
                continue;
            }
            Some(entry) => {
                let entry = entry.unwrap();
                assert_eq!(entry.get("n").unwrap(), expected.to_string().as_bytes());
                assert_eq!(entry.deliveries, 1);
                entry.id
            }
        };
        expected += 1;
        if let Some(done) = polled(consumer.ack(id), random.below(150)).await {
            done.unwrap();
        }
    }
    assert!(dropped > 0);
    consumer.flush().await.unwrap();
    let stats = consumer.stats();
    assert_eq!(stats.delivered, u64::try_from(entries).unwrap());
    assert_eq!((stats.acknowledged, stats.reconnects), (stats.delivered, 0));
    // What is left was added and not yet taken.
    let (pending, ..) = conn.run(&stream::xpending(key, "group")).await.unwrap();
    assert!(
        pending <= i64::try_from(added - entries).unwrap(),
        "{pending}"
    );
}

/// Polls a future at most so many times and once more, and drops it then.
async fn polled<F: Future>(future: F, mut most: u64) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if most == 0 => Poll::Ready(None),
        Poll::Pending => {
            most -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}
