//! Members of a consumer group that follow the primary of their stream.

use onecopy_testkit::valkey::Sentinels;
use onecopy_valkey::aio::Sentinel;
use onecopy_valkey::command::stream;
use onecopy_valkey::raw;

use crate::common::{config, connect, count, own, until, within};
use crate::failover::{follow, hand_over, successor};
use crate::workers::{Face, Workers, options};

/// Adds entries with these numbers, which both replicas have then. What they hold.
async fn add(sentinel: &Sentinel, numbers: std::ops::Range<u64>) -> Vec<String> {
    let primary = within(sentinel.on_primary()).await.unwrap();
    let mut connection = primary.acquire().await.unwrap();
    let texts: Vec<String> = numbers.map(|number| format!("job {number}")).collect();
    for text in &texts {
        let add = stream::xadd("{jobs}stream", "*", ("n", text.as_str()));
        within(connection.run(&add)).await.unwrap();
    }
    let wait = raw("WAIT").args(["2", "0"]);
    within(connection.run(&wait)).await.unwrap();
    texts
}

async fn crash(group: &mut Sentinels, sentinel: &Sentinel) -> usize {
    let old = group.primary().unwrap();
    group.server_mut(old).kill();
    let port = successor(group, old).await;
    follow(sentinel, port).await;
    old
}

async fn follows_the_primary(face: Face) {
    let mut group = own();
    let sentinel = connect(&config(&group)).await;
    let both = vec![options("one"), options("two")];
    let workers = Workers::start(face, &group.url(), both);
    let mut number = 0;
    for _ in 0..count(1, 10) {
        workers
            .wait_for(&add(&sentinel, number..number + 20).await)
            .await;
        // In order.
        let old = group.primary().unwrap();
        let port = hand_over(&group, old).await;
        follow(&sentinel, port).await;
        group.wait_until_stable().unwrap();
        workers
            .wait_for(&add(&sentinel, number + 20..number + 40).await)
            .await;

        // By a crash.
        let texts = add(&sentinel, number + 40..number + 60).await;
        let old = crash(&mut group, &sentinel).await;
        workers.wait_for(&texts).await;
        group.server_mut(old).restart().unwrap();
        group.wait_until_stable().unwrap();
        number += 60;
    }
    let (processed, stats) = workers.end().await;
    println!("{face:?}: {stats:?}");
    assert_eq!(processed.len() as u64, number);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_consumer_follows_the_primary() {
    follows_the_primary(Face::Blocking).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_follows_the_primary() {
    follows_the_primary(Face::Aio).await;
}

/// Its reads wait for a thousand seconds: it is left by what the sentinels say.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_leaves_a_primary_that_stops() {
    let mut group = own();
    let sentinel = connect(&config(&group)).await;
    let workers = Workers::start(Face::Aio, &group.url(), vec![options("one")]);
    workers.wait_for(&add(&sentinel, 0..10).await).await;
    until(|| sentinel.searches() >= 2).await; // the listener is there
    let old = group.primary().unwrap();
    group.server_mut(old).pause();
    let port = successor(&group, old).await;
    follow(&sentinel, port).await;
    // One of the replicas has stopped now.
    let mut texts = Vec::new();
    for number in 10..20 {
        let text = format!("job {number}");
        let add = stream::xadd("{jobs}stream", "*", ("n", text.as_str()));
        within(sentinel.run(&add)).await.unwrap();
        drop(add);
        texts.push(text);
    }
    workers.wait_for(&texts).await;
    group.server_mut(old).resume();
    let (processed, stats) = workers.end().await;
    assert_eq!(processed.len(), 20);
    assert!(stats[0].reconnects >= 1, "{stats:?}");
}
