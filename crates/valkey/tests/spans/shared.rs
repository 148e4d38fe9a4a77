//! A shared connection: spans, and the numbers for metrics.

use std::time::Duration;

use onecopy_testkit::valkey::{Server, test_server};
use onecopy_valkey::aio::{Cached, Shared, SharedOptions};
use onecopy_valkey::caching::CacheOptions;
use onecopy_valkey::command::{list, string};
use onecopy_valkey::{Config, raw};

use crate::collect::{KEY, VALUE, collect};

#[tokio::test]
async fn each_call_of_a_shared_connection_is_one_span() {
    let server = test_server();
    let shared = Shared::connect(&server.url()).await.unwrap();
    let collected = collect();
    shared.run(&string::set(KEY, VALUE)).await.unwrap();
    let span = collected.one();
    let Config {
        database, endpoint, ..
    } = Config::from_url(&server.url()).unwrap();
    assert_eq!(span.operation(), "SET");
    assert_eq!(
        span.field("db.namespace"),
        Some(database.to_string().as_str())
    );
    let address = span.field("server.address").unwrap();
    assert!(format!("{endpoint:?}").contains(address));

    // On a connection of its own.
    shared.run(&list::blpop("spans:none", 0.01)).await.unwrap();
    shared.run_dedicated(&string::get(KEY)).await.unwrap();
    let mut own = shared.acquire().await.unwrap();
    own.run(&string::get(KEY)).await.unwrap();
    drop(own);
    assert_eq!(collected.operations(), ["BLPOP", "GET", "GET"]);

    shared
        .run(&raw("HGET").arg(KEY).arg("a"))
        .await
        .unwrap_err();
    assert_eq!(collected.one().field("error.type"), Some("WRONGTYPE"));
    let refused = shared.run(&raw("SELECT").arg("1")).await.unwrap_err();
    assert!(refused.is_misuse());
    assert_eq!(collected.one().field("error.type"), Some("misuse"));

    let mut pipeline = shared.pipeline();
    for _ in 0..3 {
        pipeline.push(&string::get(KEY)).unwrap();
    }
    pipeline.run().await.unwrap();
    let span = collected.one();
    assert_eq!(span.operation(), "PIPELINE GET");
    assert_eq!(span.field("db.operation.batch.size"), Some("3"));

    let mut transaction = shared.transaction();
    transaction.push(&string::get(KEY)).unwrap();
    transaction.push(&string::set(KEY, VALUE)).unwrap();
    transaction.exec().await.unwrap();
    assert_eq!(collected.one().operation(), "MULTI");

    let blocked = list::blpop("spans:none", 0.0);
    let timed = tokio::time::timeout(Duration::from_millis(20), shared.run(&blocked));
    timed.await.unwrap_err();
    assert_eq!(collected.one().field("error.type"), Some("cancelled"));
}

#[tokio::test]
async fn a_cached_read_is_a_span_only_if_the_server_is_asked() {
    let config = Config::from_url(&test_server().url()).unwrap();
    let (options, cache) = (SharedOptions::default(), CacheOptions::default());
    let cached = Cached::connect_with(&config, options, cache).await.unwrap();
    cached.run(&string::set("spans:cached", "1")).await.unwrap();
    let collected = collect();
    for _ in 0..3 {
        cached.read(&string::get("spans:cached")).await.unwrap();
    }
    assert_eq!(collected.operations(), ["GET"]);
}

#[tokio::test]
async fn the_numbers_of_a_shared_connection_are_those_of_what_it_did() {
    let mut server = Server::start().unwrap();
    let shared = Shared::connect(&server.url()).await.unwrap();
    for _ in 0..10 {
        shared.run(&string::incr("n")).await.unwrap();
    }
    let stats = shared.stats();
    assert!(stats.is_connected);
    assert_eq!((stats.connects, stats.calls), (1, 10));
    assert_eq!((stats.in_flight, stats.waiting), (0, 0));
    assert_eq!((stats.unsent_bytes, stats.offline_bytes), (0, 0));
    assert!(stats.meter.bytes_written > 100);

    let own = shared.acquire().await.unwrap();
    assert_eq!(shared.stats().dedicated_in_use, 1);
    drop(own);
    let stats = shared.stats();
    assert_eq!((stats.dedicated_in_use, stats.dedicated_idle), (0, 1));

    server.restart().unwrap();
    let _ = shared.run(&string::incr("n")).await;
    shared.run(&string::incr("n")).await.unwrap();
    assert_eq!(shared.stats().connects, 2);
}
