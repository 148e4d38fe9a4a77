//! Primaries that hand over, and primaries that are killed, under load.

use std::time::Instant;

use onecopy_testkit::valkey;
use onecopy_valkey::aio::Cluster;
use onecopy_valkey::command::{list, string};

use crate::common::{connect, connect_hasty, count, own, until, within};
use crate::drops::Drops;
use crate::load::{Keeps, Load};

/// Waits until the node on a port is one.
async fn is_primary(cluster: &Cluster, port: u16) {
    until(|| {
        let primaries = cluster.primaries();
        primaries.iter().any(|primary| primary.port() == port)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_are_right_while_primaries_change() {
    let begun = Instant::now();
    let mut nodes = own(3, 1);
    let cluster = connect(&nodes).await;
    let load = Load::start(&cluster, 12, Keeps::WhatWasReplicated, |number| {
        format!("failover{number}")
    });
    let keys: Vec<String> = (0..4).map(|number| format!("dropped:{number}")).collect();
    let drops = Drops::start(&cluster, &connect_hasty(&nodes).await, &keys);
    let some = u64::try_from(count(100, 100_000)).unwrap();
    load.more(some).await;

    // In order: the primary waits until its replica has everything. It ends the commands that wait in it.
    let from = nodes.node(0).port();
    let names = (0..).map(|number| format!("waits:{number}"));
    let names = names.filter(|name| cluster.primary_of(name).unwrap().port() == from);
    let names: Vec<String> = names.take(3).collect();
    let waits = names.iter().map(|name| {
        let (own, name) = (cluster.clone(), name.clone());
        tokio::spawn(async move { own.run(&list::blpop(name, 0.0)).await })
    });
    let waits: Vec<_> = waits.collect();
    until(|| {
        nodes
            .ask(0, "INFO clients")
            .unwrap()
            .contains("blocked_clients:3")
    })
    .await;
    nodes.ask(3, "CLUSTER FAILOVER").unwrap();
    is_primary(&cluster, nodes.node(3).port()).await;
    load.more(some).await;
    for (name, waits) in names.iter().zip(waits) {
        assert!(!waits.is_finished(), "{:?}", waits.await);
        cluster.run(&list::rpush(name, "job")).await.unwrap();
        assert!(!within(waits).await.unwrap().unwrap().reply().is_null());
    }

    // By a crash: whose slots nobody has for some seconds.
    let connected = |nodes: &valkey::Cluster| {
        let info = nodes.ask(4, "INFO stats").unwrap();
        let count = info
            .lines()
            .find_map(|line| line.strip_prefix("total_connections_received:"));
        count.unwrap().parse::<u64>().unwrap()
    };
    let (before, refreshes) = (connected(&nodes), cluster.refreshes());
    nodes.node_mut(1).kill();
    is_primary(&cluster, nodes.node(4).port()).await;
    load.more(some).await;
    // One connection of each handle to the new primary, and at most one for each refresh; its replica has one, and so has this test.
    let (made, refreshes) = (connected(&nodes) - before, cluster.refreshes() - refreshes);
    println!("{made} connections to the new primary, {refreshes} refreshes");
    assert!(
        made <= 2 * (1 + 2 + refreshes) + 4,
        "{made} connections, {refreshes} refreshes"
    );
    let least = u64::try_from(count(20_000, 1_000_000)).unwrap();
    let (dropped, mut errors) = drops.end(least).await;
    println!("{dropped} calls were dropped or timed out");
    errors.extend(load.end().await);

    println!("{} errors, {} refreshes", errors.len(), cluster.refreshes());
    for error in &errors {
        // Only what was in flight on the connection that was lost, and is not repeated.
        assert!(error.is_closed() && error.maybe_executed(), "{error}");
    }
    assert!(errors.len() <= 12 + 8, "{errors:?}");
    let seconds = begun.elapsed().as_secs();
    assert!(
        cluster.refreshes() <= 2 + seconds,
        "{} in {seconds} s",
        cluster.refreshes()
    );
    for number in 0..30 {
        cluster
            .run(&string::set(format!("after:{number}"), number))
            .await
            .unwrap();
    }
    assert_eq!(cluster.primaries().len(), 3);
}
