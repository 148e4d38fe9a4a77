//! Orders in which replies and news of changes come, forced by a server that is a script: no value that is out of date is ever cached.

use onecopy_valkey::aio::Cached;
use onecopy_valkey::command::string;

use crate::common::{Peer, until, within};

const GET: &str = "*2 $3 GET $1 k";
const CHANGED: &str = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n";
const FLUSHED: &str = ">2\r\n$10\r\ninvalidate\r\n_\r\n";

type Reading = tokio::task::JoinHandle<String>;

/// Reads the key in a task of its own.
fn read(cached: &Cached) -> Reading {
    let cached = cached.clone();
    tokio::spawn(async move {
        let reply = cached.read(&string::get("k")).await.unwrap();
        String::from_utf8(reply.get().unwrap().unwrap().to_vec()).unwrap()
    })
}

/// Reads the key, which has to be asked for.
async fn read_from(peer: &Peer, cached: &Cached, says: &str) -> String {
    let reading = read(cached);
    assert_eq!(peer.request(), GET);
    peer.say(says);
    within(reading).await.unwrap()
}

fn bulk(value: &str) -> String {
    format!("${}\r\n{value}\r\n", value.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_is_asked_for_once_until_it_changes() {
    let peer = Peer::start();
    let cached = peer.connect().await;
    assert_eq!(read_from(&peer, &cached, &bulk("one")).await, "one");
    for _ in 0..10 {
        assert_eq!(within(read(&cached)).await.unwrap(), "one");
    }
    assert!(peer.is_quiet());
    peer.say(CHANGED);
    until(|| cached.stats().invalidations == 1).await;
    assert_eq!(read_from(&peer, &cached, &bulk("two")).await, "two");
    peer.say(FLUSHED);
    until(|| cached.stats().flushes == 1).await;
    assert_eq!(read_from(&peer, &cached, &bulk("three")).await, "three");
    let stats = cached.stats();
    assert_eq!((stats.hits, stats.misses, stats.entries), (10, 3, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_in_one_piece_with_the_reply_leaves_no_old_value() {
    let peer = Peer::start();
    let cached = peer.connect().await;
    for round in 1..=20 {
        // The reply is handed out behind the push, which comes after it in the stream.
        let says = bulk("old") + CHANGED;
        assert_eq!(read_from(&peer, &cached, &says).await, "old");
        until(|| cached.stats().invalidations == round).await;
        assert_eq!(cached.stats().entries, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_before_the_reply_leaves_no_value() {
    let peer = Peer::start();
    let cached = peer.connect().await;
    let reading = read(&cached);
    assert_eq!(peer.request(), GET);
    peer.say(CHANGED);
    until(|| cached.stats().invalidations == 1).await;
    // Whoever comes now does not wait for the read that began before.
    let later = read(&cached);
    assert_eq!(peer.request(), GET);
    peer.say(&(bulk("old") + &bulk("new")));
    assert_eq!(within(reading).await.unwrap(), "old");
    assert_eq!(within(later).await.unwrap(), "new");
    assert_eq!(within(read(&cached)).await.unwrap(), "new");
    assert!(peer.is_quiet());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_come_together_are_served_by_one_read() {
    let peer = Peer::start();
    let cached = peer.connect().await;
    let mut readings: Vec<Reading> = (0..20).map(|_| read(&cached)).collect();
    // One that goes away takes nobody's reply with it.
    assert_eq!(peer.request(), GET);
    readings.remove(0).abort();
    until(|| cached.stats().misses == 20).await;
    peer.say(&bulk("one"));
    for reading in readings {
        assert_eq!(within(reading).await.unwrap(), "one");
    }
    assert!(peer.is_quiet());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn own_writes_are_read_before_the_server_says_that_they_are_changes() {
    let peer = Peer::start();
    let cached = peer.connect().await;
    assert_eq!(read_from(&peer, &cached, &bulk("one")).await, "one");
    let own = cached.clone();
    let writing = tokio::spawn(async move { own.run(&string::set("k", "two")).await.map(drop) });
    assert_eq!(peer.request(), "*3 $3 SET $1 k $3 two");
    peer.say("+OK\r\n");
    within(writing).await.unwrap().unwrap();
    assert_eq!(read_from(&peer, &cached, &bulk("two")).await, "two");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_takes_all_values_with_it() {
    let peer = Peer::start();
    let cached = peer.connect().await;
    assert_eq!(read_from(&peer, &cached, &bulk("one")).await, "one");
    peer.cut();
    until(|| cached.stats().flushes > 0).await;
    assert_eq!(cached.stats().entries, 0);
    until(|| peer.connections() == 2 && cached.shared().is_connected()).await;
    // The new connection was told to track before.
    assert_eq!(read_from(&peer, &cached, &bulk("two")).await, "two");
    assert_eq!(within(read(&cached)).await.unwrap(), "two");
    cached.shared().close().await;
    let error = cached.read(&string::get("k")).await.unwrap_err();
    assert!(error.is_closed(), "{error}");
}
