//! With a real cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use onecopy_testkit::valkey;
use onecopy_valkey::aio::{Cached, Cluster, SharedOptions};
use onecopy_valkey::caching::CacheOptions;
use onecopy_valkey::cluster::{ClusterConfig, key_slot};
use onecopy_valkey::command::{generic, string};

use crate::common::{LONG, count, until, within};

const COUNTER: &str = "{moving}counter";

fn own(primaries: usize, replicas: usize) -> valkey::Cluster {
    match valkey::Cluster::start(primaries, replicas) {
        Ok(cluster) => cluster,
        Err(why) => panic!("this test needs a cluster: {why}"),
    }
}

async fn connect(nodes: &valkey::Cluster) -> Cached<Cluster> {
    let mut config = ClusterConfig::from_url(&nodes.url()).unwrap();
    config.max_wait = LONG;
    let (options, caching) = (SharedOptions::default(), CacheOptions::default());
    let connecting = Cached::connect_cluster_with(&config, options, caching);
    within(connecting).await.unwrap()
}

async fn counter(cached: &Cached<Cluster>) -> i64 {
    let reply = cached.read(&string::get(COUNTER)).await.unwrap();
    reply.reply().as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_reader_sees_an_older_value_while_a_slot_moves() {
    let nodes = own(2, 0);
    let cached = connect(&nodes).await;
    let writer = connect(&nodes).await;
    writer.run(&string::set(COUNTER, 1)).await.unwrap();
    let (is_over, written) = (Arc::<AtomicBool>::default(), Arc::new(AtomicI64::new(1)));
    let writing = tokio::spawn({
        let (is_over, written) = (Arc::clone(&is_over), Arc::clone(&written));
        async move {
            while !is_over.load(Ordering::SeqCst) {
                let reply = writer.run(&string::incr(COUNTER)).await.unwrap();
                written.store(reply.get().unwrap(), Ordering::SeqCst);
                // Between two changes there is time for hits.
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        }
    });
    let readers = (0..4).map(|_| {
        let (cached, is_over) = (cached.clone(), Arc::clone(&is_over));
        tokio::spawn(async move {
            let mut last = 0;
            while !is_over.load(Ordering::SeqCst) {
                let value = counter(&cached).await;
                assert!(value >= last, "{value} behind {last}");
                last = value;
                tokio::task::yield_now().await;
            }
        })
    });
    let readers: Vec<_> = readers.collect();
    let slot = key_slot(COUNTER.as_bytes());
    let port = cached.cluster().primary_of(COUNTER).unwrap().port();
    let first = nodes.position(port).unwrap();
    for round in 0..count(6, 200) {
        let from = if round % 2 == 0 { first } else { 1 - first };
        tokio::task::block_in_place(|| nodes.move_slot(slot, from, 1 - from, || {})).unwrap();
        // It is cached again where the slot is now.
        let port = nodes.node(1 - from).port();
        until(|| cached.cluster().primary_of(COUNTER).unwrap().port() == port).await;
        let (hits, writes) = (cached.stats().hits, written.load(Ordering::SeqCst));
        until(|| cached.stats().hits > hits && written.load(Ordering::SeqCst) > writes + 20).await;
    }
    is_over.store(true, Ordering::SeqCst);
    within(writing).await.unwrap();
    for reader in readers {
        within(reader).await.unwrap();
    }
    let written = written.load(Ordering::SeqCst);
    within(async {
        while counter(&cached).await != written {
            tokio::task::yield_now().await;
        }
    })
    .await;
    println!("{written} writes, {:?}", cached.stats());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_made_where_its_slot_went_is_read() {
    let nodes = own(2, 0);
    let cached = connect(&nodes).await;
    let key = "moving";
    let from = nodes
        .position(cached.cluster().primary_of(key).unwrap().port())
        .unwrap();
    for _ in 0..3 {
        let reply = cached.read(&generic::exists(key)).await.unwrap();
        assert_eq!(reply.get().unwrap(), 0);
    }
    let slot = key_slot(key.as_bytes());
    tokio::task::block_in_place(|| nodes.move_slot(slot, from, 1 - from, || {})).unwrap();
    // The old node has never had the key, and says nothing of it.
    nodes.ask(1 - from, "SET moving here").unwrap();
    let reply = cached.read(&string::get(key)).await.unwrap();
    assert_eq!(reply.get().unwrap(), Some(&b"here"[..]));
    let reply = cached.read(&generic::exists(key)).await.unwrap();
    assert_eq!(reply.get().unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_hands_over_is_not_believed_any_more() {
    let nodes = own(3, 1);
    let cached = connect(&nodes).await;
    let mut key = String::new();
    // A key of the first node, whose replica is the fourth one.
    for number in 0.. {
        key = format!("key{number}");
        let primary = cached.cluster().primary_of(&key).unwrap();
        if nodes.position(primary.port()) == Some(0) {
            break;
        }
    }
    cached.run(&string::set(&key, "old")).await.unwrap();
    while cached.stats().hits == 0 {
        cached.read(&string::get(&key)).await.unwrap();
    }
    nodes.ask(3, "CLUSTER FAILOVER").unwrap();
    let port = nodes.node(3).port();
    until(|| {
        cached.cluster().refresh();
        cached
            .cluster()
            .primary_of(&key)
            .is_some_and(|primary| primary.port() == port)
    })
    .await;
    until(|| cached.stats().entries == 0).await;
    cached.run(&string::set(&key, "new")).await.unwrap();
    let hits = cached.stats().hits;
    while cached.stats().hits == hits {
        let reply = cached.read(&string::get(&key)).await.unwrap();
        assert_eq!(reply.get().unwrap(), Some(&b"new"[..]));
    }
}
