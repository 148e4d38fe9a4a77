//! Sharded channels of the blocking face, whose slots move and whose primaries are killed.

use std::time::{Duration, Instant};

use onecopy_valkey::blocking::{Cluster, ClusterSubscriber};
use onecopy_valkey::cluster::key_slot;
use onecopy_valkey::command::pubsub;
use onecopy_valkey::pubsub::{Delivery, SubscriberOptions};

use crate::common::{LONG, config, own, shared};

fn publish(cluster: &mut Cluster, channel: &str, text: &str) -> i64 {
    let publish = pubsub::spublish(channel, text);
    cluster.run(&publish).unwrap().get().unwrap()
}

/// The next message, and the gaps before it.
fn next(reader: &mut ClusterSubscriber) -> (String, usize) {
    let mut gaps = 0;
    loop {
        match reader.next_timeout(LONG).unwrap().expect("it hangs") {
            Delivery::Gap(_) => gaps += 1,
            Delivery::Message(message) => {
                let payload = String::from_utf8(message.payload().to_vec()).unwrap();
                return (payload, gaps);
            }
        }
    }
}

/// Publishes until the reader of the channel is heard of, and reads up to there. The gaps before the first message.
fn renewed(cluster: &mut Cluster, reader: &mut ClusterSubscriber, channel: &str) -> usize {
    let end = Instant::now() + LONG;
    let (mut gaps, mut first) = (0, None);
    loop {
        assert!(Instant::now() < end, "it hangs");
        let publish = pubsub::spublish(channel, "try");
        let readers = cluster
            .run(&publish)
            .ok()
            .and_then(|readers| readers.as_i64());
        match reader.next_timeout(Duration::from_millis(10)).unwrap() {
            Some(Delivery::Gap(_)) => gaps += 1,
            Some(Delivery::Message(_)) => {
                first.get_or_insert(gaps);
            }
            None => {}
        }
        if let (Some(1), Some(first)) = (readers, first) {
            assert_eq!(self::publish(cluster, channel, "last"), 1);
            while next(reader).0 != "last" {}
            return first;
        }
    }
}

#[test]
fn sharded_channels_follow_their_slots() {
    let mut nodes = own(3, 1);
    let config = config(&nodes);
    let mut cluster = Cluster::connect_with(&config).unwrap();
    let mut reader =
        ClusterSubscriber::connect_with(&config, &SubscriberOptions::default()).unwrap();
    let channels = ["room:1", "room:2", "room:3", "room:4"];
    reader.ssubscribe(channels).unwrap();
    // Again is no news.
    reader.ssubscribe("room:1").unwrap();
    assert_eq!(reader.subscriptions(), 4);
    for channel in channels {
        assert_eq!(publish(&mut cluster, channel, channel), 1);
        assert_eq!(next(&mut reader), (channel.to_owned(), 0));
    }
    reader.sunsubscribe("room:4").unwrap();

    // Its slot goes to another primary.
    let slot = key_slot(b"room:1");
    let port = cluster.primary_of("room:1").unwrap().port();
    let from = nodes.position(port).unwrap();
    let taken = (from + 1) % 3;
    nodes.move_slot(slot, from, taken, || {}).unwrap();
    assert!(renewed(&mut cluster, &mut reader, "room:1") >= 1);
    // The others have noticed nothing.
    for channel in ["room:2", "room:3"] {
        assert_eq!(publish(&mut cluster, channel, channel), 1);
        assert_eq!(next(&mut reader), (channel.to_owned(), 0));
    }

    // The node that has it now is killed: its replica takes over.
    nodes.node_mut(taken).kill();
    assert!(renewed(&mut cluster, &mut reader, "room:1") >= 1);
    // One that was left is left on all nodes.
    assert_eq!(publish(&mut cluster, "room:4", "nobody"), 0);
}

#[test]
fn without_subscriptions_there_is_nothing_to_wait_for() {
    let config = config(shared());
    let options = SubscriberOptions::default();
    let mut reader = ClusterSubscriber::connect_with(&config, &options).unwrap();
    assert!(reader.next().unwrap_err().is_misuse());
    reader.ssubscribe(["left", "right"]).unwrap();
    let waited = reader.next_timeout(Duration::from_millis(5)).unwrap();
    assert_eq!(waited, None);
    reader.sunsubscribe(["left", "right", "never"]).unwrap();
    assert_eq!((reader.subscriptions(), reader.connections()), (0, 0));
    assert!(reader.next().unwrap_err().is_misuse());
}

#[test]
fn a_channel_that_must_not_be_read_leaves_none_of_a_call() {
    let nodes = shared();
    for position in 0..nodes.len() {
        nodes
            .ask(
                position,
                "ACL SETUSER reader on >secret +@all resetchannels &room:*",
            )
            .unwrap();
    }
    let mut config = config(nodes);
    config.node.user = Some("reader".into());
    config.node.password = "secret".into();
    let options = SubscriberOptions::default();
    let mut reader = ClusterSubscriber::connect_with(&config, &options).unwrap();
    let error = reader
        .ssubscribe(["room:1", "room:2", "other"])
        .unwrap_err();
    assert_eq!(error.server().unwrap().code(), "NOPERM");
    assert_eq!(error.channel(), Some(&b"other"[..]));
    assert_eq!((reader.subscriptions(), reader.connections()), (0, 0));
    reader.ssubscribe("room:1").unwrap();
    let mut cluster = Cluster::connect_with(&crate::common::config(nodes)).unwrap();
    assert_eq!(publish(&mut cluster, "room:2", "nobody"), 0);
    assert_eq!(publish(&mut cluster, "room:1", "one"), 1);
    assert_eq!(next(&mut reader), ("one".to_owned(), 0));
}
