//! Channels and patterns of a cluster, whose nodes are killed and change their roles.

use std::time::Duration;

use onecopy_valkey::aio::{FailoverSubscription, Shared};
use onecopy_valkey::command::{generic, pubsub, string};
use onecopy_valkey::pubsub::SubscriptionOptions;
use onecopy_valkey::raw;

use crate::common::{connect, next_text, own, shared, until, within};

/// The payload of the next message, and the gaps before it.
async fn next(reader: &mut FailoverSubscription) -> (String, usize) {
    next_text(async || reader.next().await).await
}

async fn publish(shared: &Shared, channel: &str, text: &str) {
    within(shared.run(&pubsub::publish(channel, text)))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_of_any_node_goes_to_another_one_when_its_own_is_killed() {
    let mut nodes = own(3, 1);
    let cluster = connect(&nodes).await;
    let mut reader = within(cluster.subscribe(["news", "weather"]))
        .await
        .unwrap();
    within(reader.psubscribe("room:*")).await.unwrap();
    let count = |nodes: &onecopy_testkit::valkey::Cluster, at: usize| -> bool {
        nodes.ask(at, "PUBSUB NUMSUB news").unwrap().contains('1')
    };
    let at = (0..3).find(|&at| count(&nodes, at)).unwrap();
    let other = nodes.node((at + 1) % 3).port();
    let other = connect_to(other).await;
    for (channel, text) in [("news", "n"), ("weather", "w"), ("room:1", "r")] {
        publish(&other, channel, text).await;
        assert_eq!(next(&mut reader).await, (text.to_owned(), 0));
    }
    reader.unsubscribe("weather");

    nodes.node_mut(at).kill();
    let publishes = tokio::spawn({
        let other = other.clone();
        async move {
            for number in 0_u64.. {
                publish(&other, "room:1", &number.to_string()).await;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });
    let (first, gaps) = next(&mut reader).await;
    assert!(gaps >= 1, "{first}");
    let first: u64 = first.parse().unwrap();
    for number in first + 1..first + 100 {
        assert_eq!(next(&mut reader).await, (number.to_string(), 0));
    }
    publishes.abort();
    let _ = publishes.await;
    // What was left is left there too.
    publish(&other, "weather", "nobody").await;
    publish(&other, "news", "last").await;
    while next(&mut reader).await.0 != "last" {}
    cluster.close().await;
    assert!(within(reader.next()).await.unwrap_err().is_closed());
}

async fn connect_to(port: u16) -> Shared {
    within(Shared::connect(&format!("redis://127.0.0.1:{port}")))
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_keys_come_from_all_primaries_and_from_new_ones() {
    let nodes = own(3, 1);
    for at in 0..nodes.len() {
        nodes
            .ask(at, "CONFIG SET notify-keyspace-events KEA")
            .unwrap();
    }
    let cluster = connect(&nodes).await;
    let mut reader = cluster.primaries_subscription(SubscriptionOptions::default());
    within(reader.psubscribe("__keyevent@0__:set"))
        .await
        .unwrap();
    let mut keys: Vec<String> = (0..60).map(|number| format!("event:{number}")).collect();
    for key in &keys {
        within(cluster.run(&string::set(key, 1))).await.unwrap();
    }
    let mut told = Vec::new();
    for _ in &keys {
        let (key, gaps) = next(&mut reader).await;
        assert_eq!(gaps, 0);
        told.push(key);
    }
    told.sort();
    keys.sort();
    assert_eq!(told, keys);

    // A replica takes over.
    let port = nodes.node(3).port();
    nodes.ask(3, "CLUSTER FAILOVER").unwrap();
    until(|| {
        cluster.refresh();
        cluster.primaries().iter().any(|node| node.port() == port)
    })
    .await;
    let of_it = |key: &&String| cluster.primary_of(key).unwrap().port() == port;
    let key = keys.iter().find(of_it).unwrap().clone();
    let sets = tokio::spawn({
        let cluster = cluster.clone();
        async move {
            loop {
                within(cluster.run(&string::set(&key, 1))).await.unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    });
    // A replica tells of what its primary sets, so some may come from the old one still.
    while next(&mut reader).await.1 == 0 {}
    sets.abort();
    let _ = sets.await;
}

/// A new primary that the reader has not looked at yet is subscribed to all of it, not only to what is added.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_added_behind_a_failover_hides_nothing_of_the_new_primary() {
    let nodes = own(3, 1);
    for at in 0..nodes.len() {
        nodes
            .ask(at, "CONFIG SET notify-keyspace-events KEA")
            .unwrap();
    }
    let cluster = connect(&nodes).await;
    let mut reader = cluster.primaries_subscription(SubscriptionOptions::default());
    within(reader.psubscribe("__keyevent@0__:set"))
        .await
        .unwrap();
    let port = nodes.node(3).port();
    nodes.ask(3, "CLUSTER FAILOVER").unwrap();
    until(|| {
        cluster.refresh();
        cluster.primaries().iter().any(|node| node.port() == port)
    })
    .await;
    within(reader.psubscribe("__keyevent@0__:del"))
        .await
        .unwrap();
    let keys = (0..).map(|number| format!("event:{number}"));
    let mut of_it = keys.filter(|key| cluster.primary_of(key).unwrap().port() == port);
    let key = of_it.next().unwrap();
    within(cluster.run(&string::set(&key, 1))).await.unwrap();
    within(cluster.run(&generic::del(&key))).await.unwrap();
    let (first, gaps) = next(&mut reader).await;
    assert_eq!(first, key);
    assert!(gaps >= 1);
    let (second, _) = next(&mut reader).await;
    assert_eq!(second, key);
}

#[tokio::test]
async fn a_subscription_that_is_refused_is_none() {
    let nodes = shared();
    let admin = connect(nodes).await;
    let rules = [
        "SETUSER",
        "nosub",
        "on",
        "nopass",
        "~*",
        "+@all",
        "resetchannels",
        "&allowed",
    ];
    for (_, done) in admin.on_all_primaries(&raw("ACL").args(rules)).await {
        done.unwrap();
    }
    let mut config = crate::common::config(nodes);
    config.node.user = Some("nosub".into());
    config.node.password = "any".into();
    let cluster = crate::common::connect_with(&config).await;
    let mut reader = cluster.node_subscription(SubscriptionOptions::default());
    let error = within(reader.subscribe(["allowed", "other"]))
        .await
        .unwrap_err();
    assert_eq!(error.server().map(|server| server.code()), Some("NOPERM"));
    within(reader.subscribe("allowed")).await.unwrap();
    let text = format!("{reader:?}");
    assert!(text.contains("servers: 1, subscriptions: 1"), "{text}");
}
