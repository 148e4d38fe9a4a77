//! Large replies: the next ones of the same command go where they hold nobody up.

use std::time::Duration;

use onecopy_valkey::aio::{Connection, Shared, SharedOptions};
use onecopy_valkey::command::{Command, generic, list, string};
use onecopy_valkey::raw;

use crate::common::{config, connect_with, connections, options, sample, within};

/// Four times what is large.
const LEN: usize = 4 << 20;

/// A handle whose connections have this name, and a large value under it.
async fn handle(name: &str, options: SharedOptions) -> (Shared, Vec<u8>) {
    let mut config = config();
    config.client_name = Some(name.into());
    let shared = connect_with(&config, options).await;
    let value = sample(LEN, 7);
    within(shared.run(&string::set(name, bytes::Bytes::from(value.clone()))))
        .await
        .unwrap();
    (shared, value)
}

/// Whether the reply to this command came on the shared connection, and the reply's bytes.
async fn on_shared<C: Command + Sync>(shared: &Shared, command: &C) -> (bool, Vec<u8>) {
    let before = shared.meter();
    let response = within(shared.run(command)).await.unwrap();
    let bytes = response.into_bytes().unwrap_or_default();
    let came = shared.meter().since(&before).bytes_read;
    (came >= bytes.len() as u64, bytes)
}

#[tokio::test]
async fn the_next_read_of_a_large_value_has_a_connection_of_its_own() {
    let (shared, value) = handle("large:own", SharedOptions::default()).await;
    for run in 0..4 {
        let (is_shared, got) = on_shared(&shared, &string::get("large:own")).await;
        assert!(got == value, "{run}");
        assert_eq!(is_shared, run == 0, "{run}");
        let beside = shared.dedicated_meter();
        assert_eq!(beside.bytes_read / LEN as u64, run, "{beside}");
        // Read straight into its place, but for the beginning.
        assert_eq!((beside.large_values, beside.capacity_now), (run, 0));
        assert!(beside.copied() < 64 << 10, "{beside}");
    }
    // By name and key: neither another command nor another key is meant.
    assert_eq!(connections(&shared, "large:own").await, 2);
    assert!(on_shared(&shared, &string::get("large:none")).await.0);
    let mut known = Vec::new();
    for name in ["GET", "get", "GeT"] {
        known.push(on_shared(&shared, &raw(name).arg("large:own")).await.0);
    }
    assert_eq!(known, [true, false, false]);
    within(shared.run(&generic::del("large:own")))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_long_reply_of_small_values_is_large_too() {
    let (shared, _) = handle("large:list", SharedOptions::default()).await;
    let key = "large:list:long";
    let push = list::rpush(key, vec!["0123456789"; 100_000]);
    within(shared.run(&push)).await.unwrap();
    for run in 0..3 {
        let before = shared.meter();
        let reply = within(shared.run(&list::lrange(key, 0, -1))).await.unwrap();
        assert_eq!(reply.reply().len(), 100_000);
        let came = shared.meter().since(&before).bytes_read;
        assert_eq!(came > 1 << 20, run == 0, "{came}");
    }
    within(shared.run(&generic::del([key, "large:list"])))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_smaller_reply_is_on_the_shared_connection_again() {
    let (shared, _) = handle("large:less", SharedOptions::default()).await;
    let get = string::get("large:less");
    assert!(on_shared(&shared, &get).await.0);
    // What was awaited is seen on any connection.
    for value in ["small", "smaller"] {
        within(shared.run(&string::set("large:less", value)))
            .await
            .unwrap();
        let (is_shared, got) = on_shared(&shared, &get).await;
        assert_eq!(got, value.as_bytes());
        assert_eq!(is_shared, value == "smaller");
    }
    within(shared.run(&generic::del("large:less")))
        .await
        .unwrap();
}

#[tokio::test]
async fn what_writes_is_never_anywhere_else() {
    let (shared, value) = handle("large:writes", SharedOptions::default()).await;
    let set = string::set("large:writes", bytes::Bytes::from(value.clone())).get();
    for _ in 0..3 {
        assert!(on_shared(&shared, &string::getex("large:writes")).await.0);
        let getex = raw("GETEX").arg("large:writes").arg("PERSIST");
        assert!(on_shared(&shared, &getex).await.0);
        assert!(on_shared(&shared, &set).await.0);
    }
    assert_eq!(connections(&shared, "large:writes").await, 1);
    // Nor is what is sent together.
    assert!(on_shared(&shared, &string::get("large:writes")).await.0);
    let before = shared.meter();
    let mut pipeline = shared.pipeline();
    pipeline.push(&string::get("large:writes")).unwrap();
    within(pipeline.run()).await.unwrap();
    assert!(shared.meter().since(&before).bytes_read >= LEN as u64);
    assert_eq!(connections(&shared, "large:writes").await, 1);
    within(shared.run(&generic::del("large:writes")))
        .await
        .unwrap();
}

#[tokio::test]
async fn where_no_connection_is_free_nobody_waits_for_one() {
    let options = options(|options| options.max_dedicated = 1);
    let (shared, value) = handle("large:full", options).await;
    let get = string::get("large:full");
    assert!(on_shared(&shared, &get).await.0);
    let borrowed = shared.acquire().await.unwrap();
    assert!(on_shared(&shared, &get).await == (true, value));
    drop(borrowed);
    assert!(!on_shared(&shared, &get).await.0);
    within(shared.run(&generic::del("large:full")))
        .await
        .unwrap();
}

#[tokio::test]
async fn never_means_never() {
    let options = options(|options| options.large_reply = usize::MAX);
    let (shared, _) = handle("large:never", options).await;
    for _ in 0..3 {
        assert!(on_shared(&shared, &string::get("large:never")).await.0);
    }
    assert_eq!(connections(&shared, "large:never").await, 1);
    within(shared.run(&generic::del("large:never")))
        .await
        .unwrap();
}

#[tokio::test]
async fn it_is_the_same_where_commands_have_a_time() {
    let mut config = config();
    config.command_timeout = Some(Duration::from_secs(30));
    let options = options(|options| options.large_reply = 1000);
    let shared = connect_with(&config, options).await;
    let set = string::set("large:time", vec![b'x'; 1000]);
    within(shared.run(&set)).await.unwrap();
    for is_first in [true, false] {
        let (is_shared, got) = on_shared(&shared, &string::get("large:time")).await;
        assert_eq!((is_shared, got.len()), (is_first, 1000));
    }
    within(shared.run(&generic::del("large:time")))
        .await
        .unwrap();
}

#[tokio::test]
async fn what_a_borrowed_connection_costs_counts_where_it_was_made_anew() {
    let (shared, value) = handle("large:anew", SharedOptions::default()).await;
    for round in 1..=3 {
        // From the second round on it is one that has rested.
        let mut borrowed = shared.acquire().await.unwrap();
        let get = string::get("large:anew");
        assert!(within(borrowed.run(&get)).await.unwrap() == Some(&value[..]));
        within(borrowed.reconnect()).await.unwrap();
        assert!(within(borrowed.run(&get)).await.unwrap() == Some(&value[..]));
        drop(borrowed);
        assert_eq!(shared.dedicated_meter().large_values, 2 * round);
    }
    within(shared.run(&generic::del("large:anew")))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_borrower_may_give_back_another_connection() {
    let (shared, value) = handle("large:swapped", SharedOptions::default()).await;
    drop(shared.acquire().await.unwrap());
    // One that has rested, and so has cost something, for one that has cost less of most.
    let mut borrowed = shared.acquire().await.unwrap();
    let get = string::get("large:swapped");
    assert!(within(borrowed.run(&get)).await.unwrap() == Some(&value[..]));
    drop(borrowed);
    let mut borrowed = shared.acquire().await.unwrap();
    let mut own = Connection::connect_with(&config()).await.unwrap();
    std::mem::swap(&mut *borrowed, &mut own);
    drop(borrowed);
    assert_eq!(shared.dedicated_meter().large_values, 1);
    within(shared.run(&generic::del("large:swapped")))
        .await
        .unwrap();
}

#[tokio::test]
async fn run_dedicated_takes_a_large_reply_off_the_shared_connection() {
    let (shared, value) = handle("large:asked", SharedOptions::default()).await;
    let get = string::get("large:asked");
    let before = shared.meter();
    for _ in 0..2 {
        let response = within(shared.run_dedicated(&get)).await.unwrap();
        assert!(response.get().unwrap() == Some(&value[..]));
        assert!(response.into_bytes().unwrap() == value);
    }
    assert_eq!(shared.meter().since(&before).bytes_read, 0);
    // One connection has served both.
    assert_eq!(connections(&shared, "large:asked").await, 2);
    within(shared.run(&generic::del("large:asked")))
        .await
        .unwrap();
}
