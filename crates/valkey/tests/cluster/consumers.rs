//! Members of a consumer group that follow the slot of their stream.

use std::time::{Duration, Instant};

use onecopy_testkit::valkey;
use onecopy_valkey::cluster::{ClusterError, key_slot};
use onecopy_valkey::command::stream;
use onecopy_valkey::streams::Poison;
use onecopy_valkey::{aio, blocking};

use crate::common::{connect, count, own, until, within};
use crate::fake::only_node;
use crate::workers::{Face, Workers, options};

const KEY: &str = "{jobs}stream";

/// Adds entries with these numbers. What they hold.
async fn add(cluster: &aio::Cluster, numbers: std::ops::Range<usize>) -> Vec<String> {
    let mut texts = Vec::new();
    for number in numbers {
        let text = format!("job {number}");
        let add = stream::xadd(KEY, "*", ("n", text.as_str()));
        let added = within(cluster.run(&add)).await;
        added.unwrap_or_else(|error| panic!("{text}: {error}; {:?}", cluster.stats()));
        drop(add);
        texts.push(text);
    }
    texts
}

/// The number of entries that are pending.
async fn pending(cluster: &aio::Cluster) -> i64 {
    let reply = within(cluster.run(&stream::xpending(KEY, "group")))
        .await
        .unwrap();
    reply.get().unwrap().0
}

async fn follows_its_slot(face: Face) {
    let nodes = own(2, 0);
    let cluster = connect(&nodes).await;
    let slot = key_slot(KEY.as_bytes());
    let port = cluster.primary_of(KEY).unwrap().port();
    let from = nodes.position(port).unwrap();
    let to = 1 - from;
    let workers = Workers::start(face, &nodes.url(), vec![options("one"), options("two")]);
    workers.wait_for(&add(&cluster, 0..20).await).await;

    // The slot begins to move, and the stream goes: the old node answers ASK.
    nodes.begin_move(slot, from, to).unwrap();
    let port = nodes.node(to).port();
    let migrate = format!("MIGRATE 127.0.0.1 {port} {KEY} 0 5000");
    nodes.ask(from, &migrate).unwrap();
    workers.wait_for(&add(&cluster, 20..40).await).await;
    let length = nodes.ask(to, &format!("CLUSTER COUNTKEYSINSLOT {slot}"));
    assert_eq!(length.unwrap(), "1");

    // Then it is there: MOVED from the old node.
    nodes.move_slot(slot, from, to, || {}).unwrap();
    workers.wait_for(&add(&cluster, 40..60).await).await;

    // And back, with entries that nobody has taken yet.
    let moved = add(&cluster, 60..100).await;
    nodes.move_slot(slot, to, from, || {}).unwrap();
    workers.wait_for(&moved).await;
    workers.wait_for(&add(&cluster, 100..120).await).await;
    within(async {
        while pending(&cluster).await > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let (processed, stats) = workers.end().await;
    assert_eq!(processed.len(), 120);
    println!("{face:?}: {stats:?}");
    // There and back.
    let reconnects: u64 = stats.iter().map(|stats| stats.reconnects).sum();
    assert!(reconnects >= 2, "{stats:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_consumer_follows_its_slot() {
    follows_its_slot(Face::Blocking).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_follows_its_slot() {
    follows_its_slot(Face::Aio).await;
}

async fn follows_failovers(face: Face) {
    let mut nodes = own(3, 1);
    let cluster = connect(&nodes).await;
    let primary = nodes.position(cluster.primary_of(KEY).unwrap().port());
    let primary = primary.unwrap();
    let replica = primary + 3;
    let workers = Workers::start(face, &nodes.url(), vec![options("one"), options("two")]);
    let rounds = count(2, 20);
    let mut number = 0;
    let (mut old, mut new) = (primary, replica);
    for _ in 0..rounds {
        // In order.
        workers
            .wait_for(&add(&cluster, number..number + 50).await)
            .await;
        hand_over(&nodes, new).await;
        nodes.wait_until_stable().unwrap();
        workers
            .wait_for(&add(&cluster, number + 50..number + 100).await)
            .await;
        number += 100;
        std::mem::swap(&mut old, &mut new);
    }
    // By a crash. The replica has all that was added.
    let texts = add(&cluster, number..number + 50).await;
    let offset = |position: usize, name: &str| {
        let info = nodes.ask(position, "INFO replication").unwrap();
        let line = info.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().to_owned()
    };
    until(|| offset(old, "master_repl_offset:") == offset(new, "slave_repl_offset:")).await;
    nodes.node_mut(old).kill();
    until(|| is_primary(&nodes, new)).await;
    workers.wait_for(&texts).await;
    workers
        .wait_for(&add(&cluster, number + 50..number + 100).await)
        .await;
    let (processed, stats) = workers.end().await;
    assert_eq!(processed.len(), number + 100);
    println!("{face:?}: {stats:?}, {} refreshes", cluster.refreshes());
}

fn is_primary(nodes: &valkey::Cluster, position: usize) -> bool {
    nodes.ask(position, "ROLE").unwrap().starts_with("master")
}

/// Has a replica take over. It may not have become one yet, and an attempt ends after 5 seconds: it is asked again.
async fn hand_over(nodes: &valkey::Cluster, new: usize) {
    let mut asks_at = Instant::now();
    until(|| {
        if Instant::now() >= asks_at && nodes.ask(new, "CLUSTER FAILOVER").is_ok() {
            asks_at = Instant::now() + Duration::from_secs(6);
        }
        is_primary(nodes, new)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_consumer_follows_failovers() {
    follows_failovers(Face::Blocking).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_follows_failovers() {
    follows_failovers(Face::Aio).await;
}

/// Nodes that send it to and fro for ever: it gives up after so many attempts, and does not connect faster than it is to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_is_redirected_for_ever_gives_up() {
    for kind in ["MOVED", "ASK"] {
        let fake = only_node(move |request, port| match request {
            "ASKING" => "+OK\r\n".to_owned(),
            _ => format!("-{kind} 1 127.0.0.1:{port}\r\n"),
        });
        let mut options = options("one");
        options.max_attempts = Some(5);
        let url = format!(
            "redis+cluster://127.0.0.1:{}?client-info=false",
            fake.port()
        );
        let error = within(aio::Consumer::connect(&url, options.clone()))
            .await
            .unwrap_err();
        assert_eq!(error.server().unwrap().code(), kind);
        let connecting = move || blocking::Consumer::connect(&url, options).unwrap_err();
        let error = tokio::task::spawn_blocking(connecting).await.unwrap();
        assert_eq!(error.server().unwrap().code(), kind);
        // Some for the slots, and one for each redirection that is followed and each attempt.
        assert!(
            fake.connections() < 2 * (5 + 5 + 5),
            "{}",
            fake.connections()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_attempt_ends_after_max_wait() {
    for answer in ["-CLUSTERDOWN The cluster is down", "-MOVED 1 127.0.0.1:1"] {
        let fake = only_node(move |_, _| format!("{answer}\r\n"));
        let url = format!(
            "redis+cluster://127.0.0.1:{}?client-info=false&max-wait=0.3&connect-timeout=0.1",
            fake.port()
        );
        within(aio::Consumer::connect(&url, options("one")))
            .await
            .unwrap_err();
        let connecting = move || blocking::Consumer::connect(&url, options("one")).unwrap_err();
        within(tokio::task::spawn_blocking(connecting))
            .await
            .unwrap();
    }
}

/// Entries that nobody can process are moved to another stream, of the same slot, while that moves: each once, and no other is lost.
async fn poison_is_moved(face: Face) {
    let nodes = own(2, 0);
    let cluster = connect(&nodes).await;
    let slot = key_slot(KEY.as_bytes());
    let port = cluster.primary_of(KEY).unwrap().port();
    let from = nodes.position(port).unwrap();
    let (to, failed) = (1 - from, "{jobs}failed");
    add(&cluster, 0..3).await;
    // Somebody takes them, and never acknowledges them.
    cluster
        .run(&stream::xgroup_create(KEY, "group", "0"))
        .await
        .unwrap();
    let mut other = cluster.acquire(KEY).await.unwrap();
    let read = stream::xreadgroup("group", "lost", KEY, ">");
    other.run(&read).await.unwrap();
    // The stream is here still; a key that is not here is asked for at the other node.
    nodes.begin_move(slot, from, to).unwrap();
    let mut options = options("one");
    options.claim_min_idle = Some(Duration::ZERO);
    options.max_deliveries = Some(1);
    options.poison = Poison::MoveTo(failed.into());
    let workers = Workers::start(face, &nodes.url(), vec![options]);
    tokio::time::sleep(Duration::from_millis(300)).await;
    nodes.move_slot(slot, from, to, || {}).unwrap();
    workers.wait_for(&add(&cluster, 10..13).await).await;
    let length = || async {
        within(cluster.run(&stream::xlen(failed)))
            .await
            .unwrap()
            .get()
            .unwrap()
    };
    within(async {
        while length().await < 3 || pending(&cluster).await > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let (processed, stats) = workers.end().await;
    println!("{face:?}: {stats:?}");
    assert_eq!(processed.len(), 3, "{processed:?}");

    // A stream of another slot can't take them.
    let mut apart = crate::workers::options("one");
    apart.poison = Poison::MoveTo("elsewhere".into());
    let error = aio::Consumer::connect(&nodes.url(), apart)
        .await
        .unwrap_err();
    let cross = matches!(error.cluster(), Some(ClusterError::CrossSlot { .. }));
    assert!(cross, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_consumer_moves_poison_while_its_slot_moves() {
    poison_is_moved(Face::Blocking).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_moves_poison_while_its_slot_moves() {
    poison_is_moved(Face::Aio).await;
}
