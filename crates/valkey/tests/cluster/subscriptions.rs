//! Sharded channels, whose slots move and whose primaries are killed.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use onecopy_valkey::aio::{Cluster, ClusterSubscription};
use onecopy_valkey::cluster::key_slot;
use onecopy_valkey::command::pubsub;
use onecopy_valkey::pubsub::SubscriptionOptions;

use crate::common::{config, connect, connect_with, next_text, own, shared, until, within};

async fn publish(cluster: &Cluster, channel: &str, text: &str) -> i64 {
    within(cluster.run(&pubsub::spublish(channel, text)))
        .await
        .unwrap()
        .get()
        .unwrap()
}

/// The next message, and the gaps before it.
async fn next(reader: &mut ClusterSubscription) -> (String, usize) {
    next_text(async || reader.next().await).await
}

/// Publishes until the reader of the channel is heard of, and reads up to there.
async fn renewed(cluster: &Cluster, reader: &mut ClusterSubscription, channel: &str) -> usize {
    let (own, name) = (cluster.clone(), channel.to_owned());
    let publishes = tokio::spawn(async move {
        let mut number = 0;
        loop {
            number += 1;
            if let Ok(readers) = own
                .run(&pubsub::spublish(&name, format!("try:{number}")))
                .await
                && readers.as_i64() == Some(1)
            {
                own.run(&pubsub::spublish(&name, "last")).await.unwrap();
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let mut gaps = 0;
    loop {
        let (text, before) = next(reader).await;
        gaps += before;
        if text == "last" {
            within(publishes).await.unwrap();
            return gaps;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sharded_channels_follow_their_slots() {
    let mut nodes = own(3, 1);
    let cluster = connect(&nodes).await;
    let channels = ["room:1", "room:2", "room:3", "room:4"];
    let mut reader = within(cluster.ssubscribe(channels)).await.unwrap();
    for channel in channels {
        assert_eq!(publish(&cluster, channel, channel).await, 1);
        assert_eq!(next(&mut reader).await, (channel.to_owned(), 0));
    }
    reader.sunsubscribe("room:4");

    // Its slot goes to the other primary.
    let slot = key_slot(b"room:1");
    let from = nodes
        .position(cluster.primary_of("room:1").unwrap().port())
        .unwrap();
    let taken = (from + 1) % 3;
    nodes.move_slot(slot, from, taken, || {}).unwrap();
    assert!(renewed(&cluster, &mut reader, "room:1").await >= 1);

    // The node that has it now is killed: its replica takes over.
    let replica = nodes.node(taken + 3).port();
    nodes.node_mut(taken).kill();
    until(|| {
        cluster.refresh();
        cluster.primary_of("room:1").unwrap().port() == replica
    })
    .await;
    assert!(renewed(&cluster, &mut reader, "room:1").await >= 1);
    // One that was left is left on all nodes.
    assert_eq!(publish(&cluster, "room:4", "nobody").await, 0);
}

/// A message would come twice, or be missing, where the channel that is added had a subscription of its own beside the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_that_is_added_to_a_slot_disturbs_no_other() {
    let nodes = shared();
    let cluster = connect(nodes).await;
    let first = "adds:{tag}:0";
    let mut reader = within(cluster.ssubscribe(first)).await.unwrap();
    let publisher = tokio::spawn({
        let cluster = cluster.clone();
        async move {
            for number in 0..2_000 {
                assert_eq!(publish(&cluster, first, &number.to_string()).await, 1);
            }
        }
    });
    let mut added = Vec::new();
    for number in 0..2_000 {
        if number % 20 == 0 {
            let name = format!("adds:{{tag}}:{}", 1 + added.len());
            within(reader.ssubscribe(&name)).await.unwrap();
            added.push(name);
        }
        assert_eq!(next(&mut reader).await, (number.to_string(), 0));
    }
    within(publisher).await.unwrap();
    for name in &added {
        assert_eq!(publish(&cluster, name, name).await, 1);
        assert_eq!(next(&mut reader).await, (name.clone(), 0));
    }
    // What was given up is not subscribed to, and the others stay.
    {
        let mut given_up = pin!(reader.ssubscribe("adds:{tag}:late"));
        let polled = poll_fn(|context| Poll::Ready(given_up.as_mut().poll(context).is_pending()));
        assert!(polled.await);
    }
    reader.sunsubscribe(&added[0]);
    for name in ["adds:{tag}:late", &added[0]] {
        while publish(&cluster, name, "nobody").await > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    assert_eq!(publish(&cluster, &added[1], "last").await, 1);
    assert_eq!(next(&mut reader).await, ("last".to_owned(), 0));
}

/// The node of the slot stops: what is added waits for another one, and not for that one for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_is_added_while_its_node_is_dead() {
    let mut nodes = own(3, 1);
    let cluster = connect(&nodes).await;
    let (first, second) = ("{dead}:1", "{dead}:2");
    let mut reader = within(cluster.ssubscribe(first)).await.unwrap();
    let mut other = cluster.subscription(SubscriptionOptions::default());
    let at = nodes
        .position(cluster.primary_of(first).unwrap().port())
        .unwrap();
    nodes.node_mut(at).kill();
    // One reader that is there and one that is new, before anybody knows.
    let (added, joined) =
        within(async { tokio::join!(reader.ssubscribe(second), other.ssubscribe(first)) }).await;
    added.unwrap();
    joined.unwrap();
    // The new one may have joined the dead node before its loss was noticed: it moves on behind a gap, like any other.
    heard(&cluster, &mut other, first, "one").await;
    assert_eq!(publish(&cluster, second, "two").await, 1);
    let (mut text, gaps) = next(&mut reader).await;
    assert!(gaps >= 1, "{gaps}");
    while text == "one" {
        text = next(&mut reader).await.0;
    }
    assert_eq!(text, "two");
}

/// Publishes a text until the reader gets it.
async fn heard(cluster: &Cluster, reader: &mut ClusterSubscription, channel: &str, text: &str) {
    let publishes = async {
        loop {
            publish(cluster, channel, text).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        (next, _) = next(reader) => assert_eq!(next, text),
        () = publishes => {}
    }
}

/// A reader that must not go on at the new node says so at each call, and goes on once it may.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_is_refused_elsewhere_says_so_again_and_goes_on_when_it_may() {
    let nodes = own(3, 0);
    let allow = |at: usize, channels: &str| {
        let rules = format!("ACL SETUSER reader on nopass ~* +@all resetchannels {channels}");
        nodes.ask(at, &rules).unwrap();
    };
    let (channel, other) = ("{refused}:1", "{allowed}:1");
    for at in 0..3 {
        allow(at, "&*");
    }
    let admin = connect(&nodes).await;
    let mut config = config(&nodes);
    config.node.user = Some("reader".into());
    config.node.password = "any".into();
    let cluster = connect_with(&config).await;
    let mut reader = within(cluster.ssubscribe([channel, other])).await.unwrap();
    let from = nodes
        .position(admin.primary_of(channel).unwrap().port())
        .unwrap();
    let taken = nodes
        .position(admin.primary_of(other).unwrap().port())
        .unwrap();
    // One that has no reader yet, as a right that is taken away ends connections.
    let to = (0..3).find(|at| *at != from && *at != taken).unwrap();
    allow(to, "&{allowed}*");
    nodes
        .move_slot(key_slot(channel.as_bytes()), from, to, || {})
        .unwrap();
    for _ in 0..3 {
        let error = within(async {
            loop {
                if let Err(error) = reader.next().await {
                    return error;
                }
            }
        })
        .await;
        assert_eq!(error.server().map(|server| server.code()), Some("NOPERM"));
    }
    allow(to, "&*");
    within(reader.ssubscribe(format!("{channel}:more")))
        .await
        .unwrap();
    assert_eq!(publish(&admin, channel, "again").await, 1);
    let (text, gaps) = next(&mut reader).await;
    assert_eq!((&*text, gaps), ("again", 1));
}
