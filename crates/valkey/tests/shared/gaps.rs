//! Connections that are cut at random under messages and readers that come, go and give up: no message is lost without a gap,
//! and none comes to the wrong reader. `ONECOPY_SOAK=1` runs 10^6 messages, else 10^4.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use onecopy_valkey::aio::{Connection, Shared, SharedOptions, Subscriber};
use onecopy_valkey::command::pubsub;
use onecopy_valkey::pubsub::{Delivery, Message, SubscriberOptions};
use onecopy_valkey::{Config, Protocol};

use crate::common::{LONG, Random, connect_with, count, options, url, within};
use crate::relay::Relay;

const CHANNELS: u64 = 8;

/// Messages of one round, behind which all readers are waited for.
const ROUND: u64 = 40;

/// What one reader may hear: numbers that follow each other, except behind a gap.
#[derive(Debug, Default)]
struct Check {
    last: HashMap<u64, u64>,
    /// Channels of which something may be missing.
    gaps: Option<u64>,
    forgiven: HashMap<u64, u64>,
}

impl Check {
    fn gap(&mut self) {
        self.gaps = Some(self.gaps.map_or(1, |gaps| gaps + 1));
    }

    /// A message `channel:number`; gives the number.
    fn message(&mut self, way: &str, message: Message<'_>) -> u64 {
        let channel: u64 = channel_number(message.channel());
        let text = std::str::from_utf8(message.payload()).unwrap();
        let (named, number) = text.split_once(':').unwrap();
        assert_eq!(
            named.parse(),
            Ok(channel),
            "{way}: another channel's message"
        );
        let number: u64 = number.parse().unwrap();
        let gaps = self.gaps.unwrap_or_default();
        let forgiven = self.forgiven.insert(channel, gaps).unwrap_or_default();
        if let Some(last) = self.last.insert(channel, number) {
            let is_next = number == last + 1;
            let is_behind_gap = number > last && gaps > forgiven;
            assert!(is_next || is_behind_gap, "{way}: {number} behind {last}");
        }
        number
    }
}

fn channel_number(channel: &[u8]) -> u64 {
    let channel = std::str::from_utf8(channel).unwrap();
    channel.rsplit(':').next().unwrap().parse().unwrap()
}

fn name(way: &str, channel: u64) -> String {
    format!("gaps:{way}:{channel}")
}

fn quick(options: &mut SharedOptions) {
    options.backoff.base = Duration::from_millis(2);
    options.backoff.cap = Duration::from_millis(10);
}

/// The newest number that each steady reader has seen.
type Seen = Arc<Vec<AtomicU64>>;

/// Reads all channels of a way over a shared handle.
async fn read(shared: Shared, way: &'static str, reader: usize, seen: Seen, done: Arc<AtomicBool>) {
    let names: Vec<String> = (0..CHANNELS).map(|channel| name(way, channel)).collect();
    let mut subscription = shared.subscribe(&names).await.unwrap();
    let mut check = Check::default();
    let mut random = Random::new(reader as u64 + 77);
    seen[reader].store(1, Ordering::SeqCst);
    while !done.load(Ordering::SeqCst) {
        // Waits that are given up lose nothing.
        let wait = Duration::from_micros(random.below(3_000));
        match tokio::time::timeout(wait, subscription.next()).await {
            Err(_) => {}
            Ok(Ok(Delivery::Gap(_))) => check.gap(),
            Ok(Ok(Delivery::Message(message))) => {
                let number = check.message(way, message.as_message());
                seen[reader].store(number, Ordering::SeqCst);
            }
            Ok(Err(error)) => panic!("{way}: {error}"),
        }
    }
}

/// Subscribes to one channel for a while, again and again, and gives up at any moment.
async fn visit(shared: Shared, way: &'static str, seed: u64, done: Arc<AtomicBool>) {
    let mut random = Random::new(seed);
    while !done.load(Ordering::SeqCst) {
        let channel = random.below(CHANNELS);
        let wait = Duration::from_micros(random.below(5_000));
        let joining = shared.subscribe(name(way, channel));
        let Ok(joined) = tokio::time::timeout(wait, joining).await else {
            continue;
        };
        let mut subscription = joined.unwrap();
        let mut check = Check::default();
        for _ in 0..random.below(20) {
            let wait = Duration::from_millis(20);
            match tokio::time::timeout(wait, subscription.next()).await {
                Err(_) => break,
                Ok(Ok(Delivery::Gap(_))) => check.gap(),
                Ok(Ok(Delivery::Message(message))) => {
                    assert_eq!(channel_number(message.channel()), channel);
                    check.message(way, message.as_message());
                }
                Ok(Err(error)) => panic!("{way}: {error}"),
            }
        }
    }
}

/// Reads all channels of a way over a connection of its own.
async fn read_own(
    config: Config,
    way: &'static str,
    reader: usize,
    seen: Seen,
    done: Arc<AtomicBool>,
) {
    let mut options = SubscriberOptions::default();
    options.backoff.base = Duration::from_millis(2);
    options.backoff.cap = Duration::from_millis(10);
    let mut subscriber = Subscriber::connect_with(&config, &options).await.unwrap();
    let names: Vec<String> = (0..CHANNELS).map(|channel| name(way, channel)).collect();
    // The connection may be cut meanwhile.
    while subscriber.subscribe(&names).await.is_err() {}
    let mut check = Check::default();
    let mut random = Random::new(reader as u64 + 99);
    seen[reader].store(1, Ordering::SeqCst);
    while !done.load(Ordering::SeqCst) {
        let wait = Duration::from_micros(500 + random.below(5_000));
        match tokio::time::timeout(wait, subscriber.next()).await {
            Err(_) => {}
            Ok(Ok(Delivery::Gap(_))) => check.gap(),
            Ok(Ok(Delivery::Message(message))) => {
                let number = check.message(way, message);
                seen[reader].store(number, Ordering::SeqCst);
            }
            Ok(Err(error)) => panic!("{way}: {error}"),
        }
    }
}

/// Publishes until `total` messages have gone out, and cuts connections; ends when all readers are up to date.
async fn drive(way: &'static str, relay: &Relay, total: u64, seen: Seen) {
    let mut publisher = Connection::connect(&url()).await.unwrap();
    let mut random = Random::new(way.len() as u64);
    let mut number = 1;
    while number * CHANNELS < total {
        let cuts = random.below(3) == 0;
        let at = random.below(ROUND);
        for step in 0..ROUND / CHANNELS {
            number += 1;
            let mut pipeline = publisher.pipeline().unwrap();
            for channel in 0..CHANNELS {
                let publish = pubsub::publish(name(way, channel), format!("{channel}:{number}"));
                pipeline.push(&publish).unwrap();
            }
            let mut replies = pipeline.replies();
            while replies.next_reply().await.unwrap().is_some() {}
            if cuts && step == at / CHANNELS {
                relay.cut();
            }
        }
        // Until every reader hears something new, whatever was lost.
        let target = number;
        while seen.iter().any(|seen| seen.load(Ordering::SeqCst) < target) {
            tokio::time::sleep(Duration::from_millis(1)).await;
            number += 1;
            for channel in 0..CHANNELS {
                let publish = pubsub::publish(name(way, channel), format!("{channel}:{number}"));
                publisher.run(&publish).await.unwrap();
            }
        }
    }
}

fn seen(readers: usize) -> Seen {
    Arc::new((0..readers).map(|_| AtomicU64::new(0)).collect())
}

async fn until_all_read(seen: &Seen) {
    within(async {
        while seen.iter().any(|seen| seen.load(Ordering::SeqCst) == 0) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

async fn shared_readers(way: &'static str, change: impl Fn(&mut Config, &mut SharedOptions)) {
    const READERS: usize = 4;
    let relay = Relay::to(&url());
    let (mut config, mut options) = (relay.config(), options(quick));
    change(&mut config, &mut options);
    let shared = connect_with(&config, options).await;
    let (seen, done) = (seen(READERS), Arc::new(AtomicBool::new(false)));
    let mut tasks: Vec<_> = (0..READERS)
        .map(|reader| {
            let (seen, done) = (Arc::clone(&seen), Arc::clone(&done));
            tokio::spawn(read(shared.clone(), way, reader, seen, done))
        })
        .collect();
    for seed in 1..4 {
        let done = Arc::clone(&done);
        tasks.push(tokio::spawn(visit(shared.clone(), way, seed, done)));
    }
    until_all_read(&seen).await;
    let total = count(10_000, 1_000_000) as u64;
    let long = LONG * if total > 10_000 { 60 } else { 1 };
    let driven = tokio::time::timeout(long, drive(way, &relay, total, seen));
    driven.await.expect("a reader hears nothing any more");
    done.store(true, Ordering::SeqCst);
    for task in tasks {
        within(task).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_is_lost_without_a_gap_on_the_shared_connection() {
    shared_readers("shared", |_, _| {}).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_is_lost_without_a_gap_on_the_second_connection_of_resp2() {
    shared_readers("resp2", |config, _| config.protocol = Some(Protocol::Resp2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_is_lost_without_a_gap_by_subscribers() {
    let relay = Relay::to(&url());
    let (seen, done) = (seen(2), Arc::new(AtomicBool::new(false)));
    let mut tasks = Vec::new();
    for (reader, protocol) in [Protocol::Resp2, Protocol::Resp3].into_iter().enumerate() {
        let mut config = relay.config();
        config.protocol = Some(protocol);
        let (seen, done) = (Arc::clone(&seen), Arc::clone(&done));
        tasks.push(tokio::spawn(read_own(config, "own", reader, seen, done)));
    }
    until_all_read(&seen).await;
    let total = count(10_000, 1_000_000) as u64;
    let long = LONG * if total > 10_000 { 60 } else { 1 };
    let driven = tokio::time::timeout(long, drive("own", &relay, total, seen));
    driven.await.expect("a reader hears nothing any more");
    done.store(true, Ordering::SeqCst);
    for task in tasks {
        within(task).await.unwrap();
    }
}
