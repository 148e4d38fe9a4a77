//! Numbered messages of sharded channels, while slots move and a primary is killed: none is lost without a gap, none comes twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onecopy_valkey::aio::{Cluster, ClusterSubscription};
use onecopy_valkey::cluster::key_slot;
use onecopy_valkey::command::pubsub;
use onecopy_valkey::pubsub::{Delivery, SubscriptionOptions};
use tokio::sync::RwLock;

use crate::common::{connect, count, own, until, within};

/// The numbers of each channel that somebody has received, as the servers say.
type Received = Arc<Mutex<BTreeMap<String, BTreeSet<u64>>>>;

/// Publishes numbers until it is ended. A slot that moves is for a moment at two nodes, of which only one has the reader: the
/// publisher rests then.
async fn publish(cluster: Cluster, channel: String, rests: Arc<RwLock<()>>, received: Received) {
    for number in 1_u64.. {
        let _moves = rests.read().await;
        // A primary that is killed may have had it. Nobody has received what is answered with 0.
        if let Ok(readers) = cluster
            .run(&pubsub::spublish(&channel, number.to_string()))
            .await
            && readers.get().unwrap() > 0
        {
            let mut received = received.lock().unwrap();
            received.entry(channel.clone()).or_default().insert(number);
        }
    }
}

/// What the reader has heard of each channel: numbers, and whether a gap stood before each.
#[derive(Default)]
struct Heard {
    channels: BTreeMap<String, Vec<(u64, u64)>>,
    gaps: u64,
    messages: u64,
}

impl Heard {
    async fn hear(&mut self, reader: &mut ClusterSubscription) {
        match within(reader.next()).await.unwrap() {
            Delivery::Gap(_) => self.gaps += 1,
            Delivery::Message(message) => {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                let number = text(message.payload()).parse().unwrap();
                let channel = self.channels.entry(text(message.channel())).or_default();
                channel.push((number, self.gaps));
                self.messages += 1;
            }
        }
    }

    async fn hear_more(&mut self, reader: &mut ClusterSubscription, messages: u64) {
        let end = self.messages + messages;
        while self.messages < end {
            self.hear(reader).await;
        }
    }

    /// Between two messages without a gap nothing is missing that somebody has received.
    fn check(&self, received: &BTreeMap<String, BTreeSet<u64>>) {
        for (channel, heard) in &self.channels {
            let received = &received[channel];
            for pair in heard.windows(2) {
                let [(before, gaps), (number, gaps_then)] = *pair else {
                    unreachable!()
                };
                assert!(number > before, "{channel}: {number} behind {before}");
                let missing: Vec<_> = received.range(before + 1..number).collect();
                assert!(
                    missing.is_empty() || gaps_then > gaps,
                    "{channel}: {missing:?} are missing between {before} and {number}"
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_is_lost_without_a_gap_while_slots_move_and_a_primary_is_killed() {
    let mut nodes = own(3, 1);
    let cluster = connect(&nodes).await;
    let channels: Vec<String> = (0..6).map(|number| format!("gaps:{number}")).collect();
    // Room for all: a gap is to tell of nothing but servers.
    let mut options = SubscriptionOptions::default();
    (options.max_messages, options.max_bytes) = (1 << 24, 1 << 31);
    let mut reader = cluster.subscription(options);
    within(reader.ssubscribe(&channels)).await.unwrap();
    let rests = Arc::<RwLock<()>>::default();
    let received = Received::default();
    // Over connections of their own, as other programs would.
    let publisher = connect(&nodes).await;
    let publishers: Vec<_> = channels
        .iter()
        .map(|channel| {
            tokio::spawn(publish(
                publisher.clone(),
                channel.clone(),
                Arc::clone(&rests),
                Arc::clone(&received),
            ))
        })
        .collect();
    let mut heard = Heard::default();
    let some = u64::try_from(count(300, 20_000)).unwrap();
    heard.hear_more(&mut reader, some).await;
    assert_eq!(heard.gaps, 0);
    for round in 0..count(6, 30) {
        let channel = &channels[round % channels.len()];
        let slot = key_slot(channel.as_bytes());
        let port = cluster.primary_of(channel).unwrap().port();
        let from = nodes.position(port).unwrap();
        let to = (from + 1) % 3;
        let moves = rests.write().await;
        nodes.move_slot(slot, from, to, || {}).unwrap();
        drop(moves);
        heard.hear_more(&mut reader, some).await;
        let to = nodes.node(to).port();
        until(|| {
            cluster.refresh();
            cluster.primary_of(channel).unwrap().port() == to
        })
        .await;
    }
    // One for each move at least, behind what had come before.
    let all = async {
        while heard.gaps < u64::try_from(count(6, 30)).unwrap() {
            heard.hear(&mut reader).await;
        }
    };
    within(all).await;
    let moved = heard.gaps;

    let port = nodes.node(1).port();
    let is_there = |channel: &&String| cluster.primary_of(channel).unwrap().port() == port;
    assert!(channels.iter().any(|channel| is_there(&channel)));
    nodes.node_mut(1).kill();
    let replica = nodes.node(4).port();
    let is_primary = || {
        cluster
            .primaries()
            .iter()
            .any(|node| node.port() == replica)
    };
    while !is_primary() {
        // The other channels go on.
        let _ = tokio::time::timeout(Duration::from_millis(50), heard.hear(&mut reader)).await;
    }
    while heard.gaps == moved {
        heard.hear(&mut reader).await;
    }
    heard.hear_more(&mut reader, 3 * some).await;
    for publisher in publishers {
        publisher.abort();
        let _ = publisher.await;
    }
    println!("{} messages, {} gaps", heard.messages, heard.gaps);
    assert_eq!(heard.channels.len(), channels.len());
    heard.check(&received.lock().unwrap());
}
