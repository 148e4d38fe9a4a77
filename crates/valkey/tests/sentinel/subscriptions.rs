//! Subscriptions that follow the primary.

use std::time::Duration;

use onecopy_valkey::aio::{FailoverSubscription, Sentinel};
use onecopy_valkey::command::pubsub;
use onecopy_valkey::pubsub::Delivery;

use crate::common::{config, connect, own, within};
use crate::failover::{follow, hand_over, successor};

/// Publishes until a reader hears of it, and reads up to there: the gaps on the way.
async fn renewed(sentinel: &Sentinel, reader: &mut FailoverSubscription, last: &str) -> usize {
    let publishes = tokio::spawn({
        let (sentinel, last) = (sentinel.clone(), last.to_owned());
        async move {
            loop {
                // A primary that is killed may have had it.
                if let Ok(readers) = sentinel.run(&pubsub::publish("room:1", &last)).await
                    && readers.as_i64() == Some(1)
                {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    });
    let mut gaps = 0;
    loop {
        match within(reader.next()).await.unwrap() {
            Delivery::Gap(_) => gaps += 1,
            Delivery::Message(message) if message.payload() == last.as_bytes() => {
                within(publishes).await.unwrap();
                return gaps;
            }
            Delivery::Message(_) => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_follows_the_primary_with_a_gap() {
    let mut group = own();
    let sentinel = connect(&config(&group)).await;
    let mut reader = within(sentinel.subscribe("news")).await.unwrap();
    within(reader.psubscribe("room:*")).await.unwrap();
    assert_eq!(renewed(&sentinel, &mut reader, "first").await, 0);

    let old = group.primary().unwrap();
    let port = hand_over(&group, old).await;
    follow(&sentinel, port).await;
    assert!(renewed(&sentinel, &mut reader, "handed over").await >= 1);

    group.wait_until_stable().unwrap();
    let old = group.primary().unwrap();
    group.server_mut(old).kill();
    let port = successor(&group, old).await;
    follow(&sentinel, port).await;
    assert!(renewed(&sentinel, &mut reader, "killed").await >= 1);
    sentinel.close().await;
    assert!(within(reader.next()).await.unwrap_err().is_closed());
}
