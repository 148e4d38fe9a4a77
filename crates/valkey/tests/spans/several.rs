//! Clusters and sentinels: a call is one span, however many nodes it was sent to, and shows the last of them.

use onecopy_testkit::valkey;
use onecopy_valkey::cluster::key_slot;
use onecopy_valkey::command::{server, string};
use onecopy_valkey::{aio, blocking};

use crate::collect::{Collected, KEY, VALUE, collect};

fn check_node(collected: &Collected, operation: &str, port: u16, attempts: Option<&str>) {
    let span = collected.one();
    assert_eq!(span.operation(), operation);
    assert_eq!(span.field("server.address"), Some("127.0.0.1"));
    assert_eq!(span.field("server.port"), Some(port.to_string().as_str()));
    assert_eq!(span.field("onecopy.attempts"), attempts);
    assert_eq!(span.field("error.type"), None);
    let name = format!("{operation} 127.0.0.1:{port}");
    assert_eq!(span.field("otel.name"), Some(name.as_str()));
}

#[tokio::test]
async fn a_redirected_command_is_one_span_that_shows_the_node_that_answered() {
    let cluster = valkey::Cluster::start(2, 0).unwrap();
    let client = aio::Cluster::connect(&cluster.url()).await.unwrap();
    let mut blocking = blocking::Cluster::connect(&cluster.url()).unwrap();
    let set = string::set(KEY, VALUE);
    client.run(&set).await.unwrap();
    blocking.run(&set).unwrap();
    let slot = key_slot(KEY.as_bytes());
    let port = client.primary_of(KEY).unwrap().port();
    let from = cluster.position(port).unwrap();
    let to = 1 - from;

    let collected = collect();
    client.run(&set).await.unwrap();
    check_node(&collected, "SET", port, None);
    blocking.run(&set).unwrap();
    check_node(&collected, "SET", port, None);

    cluster.move_slot(slot, from, to, || {}).unwrap();
    let port = cluster.node(to).port();
    client.run(&set).await.unwrap();
    check_node(&collected, "SET", port, Some("2"));
    blocking.run(&set).unwrap();
    check_node(&collected, "SET", port, Some("2"));
    assert_eq!((client.stats().moved, blocking.stats().moved), (1, 1));

    let mut transaction = client.transaction();
    transaction.push(&set).unwrap();
    transaction.exec().await.unwrap();
    check_node(&collected, "MULTI SET", port, None);
    let mut transaction = blocking.transaction();
    transaction.push(&set).unwrap();
    transaction.exec().unwrap();
    check_node(&collected, "MULTI SET", port, None);

    let mut pipeline = client.pipeline();
    let mut other = blocking.pipeline();
    for number in 0..20 {
        let set = string::set(format!("spans:{number}"), VALUE);
        pipeline.push(&set).unwrap();
        other.push(&set).unwrap();
    }
    pipeline.run().await.unwrap();
    other.run().unwrap();
    let spans = collected.take();
    assert_eq!(spans.len(), 2);
    for span in spans {
        assert_eq!(span.operation(), "PIPELINE SET");
        assert_eq!(span.field("db.operation.batch.size"), Some("20"));
        assert_eq!(span.field("server.address"), None);
    }
    assert_eq!(client.on_all_primaries(&server::dbsize()).await.len(), 2);
    assert_eq!(collected.operations(), ["DBSIZE", "DBSIZE"]);
    let stats = client.stats();
    assert_eq!((stats.primaries, stats.connections, stats.asked), (2, 2, 0));
}

#[tokio::test]
async fn a_command_for_the_primary_of_sentinels_is_one_span() {
    let group = valkey::Sentinels::start(1, 1).unwrap();
    let client = aio::Sentinel::connect(&group.url()).await.unwrap();
    let mut blocking = blocking::Sentinel::connect(&group.url()).unwrap();
    let port = group.server(0).port();
    let collected = collect();
    client.run(&string::set(KEY, VALUE)).await.unwrap();
    check_node(&collected, "SET", port, None);
    blocking.run(&string::set(KEY, VALUE)).unwrap();
    check_node(&collected, "SET", port, None);
    let primary = client.on_primary().await.unwrap();
    primary.run(&string::get(KEY)).await.unwrap();
    check_node(&collected, "GET", port, None);
    blocking.refresh().unwrap();
    assert_eq!(collected.operations(), Vec::<String>::new());
}
