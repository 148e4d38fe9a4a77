//! Connections that are lost, and servers that are gone for a while.

use std::time::Duration;

use onecopy_testkit::valkey::Server;
use onecopy_valkey::raw;

use super::{Connection, Consumer, add, empty, id, next, nothing_comes, options, pending};
use crate::common::url;

/// Closes all connections but that one.
async fn kill_others(conn: &mut Connection) {
    let kill = raw("CLIENT").args(["KILL", "TYPE", "normal", "SKIPME", "yes"]);
    wait!(conn.run(&kill)).unwrap();
}

#[tokio::test]
async fn a_lost_connection_loses_no_entry_and_no_acknowledgement() {
    let server = Server::start().unwrap();
    let (url, key) = (server.url(), "stream");
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    add(&mut conn, key, 1, 20).await;
    let mut options = options(key, "a");
    (options.batch, options.ack_batch) = (10, 100);
    let mut consumer = wait!(Consumer::connect(&url, options)).unwrap();
    for n in 1..=5 {
        assert_eq!(next(&mut consumer).await, n);
        wait!(consumer.ack(id(n))).unwrap();
    }
    kill_others(&mut conn).await;
    // What has arrived is delivered, then what was taken is not asked for again.
    for n in 6..=20 {
        assert_eq!(next(&mut consumer).await, n);
    }
    assert_eq!(consumer.stats().reconnects, 1);
    assert_eq!(pending(&mut conn, key).await, 15, "five are acknowledged");
    kill_others(&mut conn).await;
    for n in 6..=20 {
        wait!(consumer.ack(id(n))).unwrap();
    }
    wait!(consumer.flush()).unwrap();
    assert_eq!(pending(&mut conn, key).await, 0);
    assert!(nothing_comes(&mut consumer).await);
    assert_eq!(consumer.stats().delivered, 20);
}

#[tokio::test]
async fn a_server_that_starts_again_without_its_data_is_survived() {
    let mut server = Server::start().unwrap();
    let (url, key) = (server.url(), "stream");
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    add(&mut conn, key, 1, 2).await;
    let mut options = options(key, "a");
    options.recreate = true;
    options.backoff.cap = Duration::from_millis(50);
    let mut consumer = wait!(Consumer::connect(&url, options.clone())).unwrap();
    assert_eq!(next(&mut consumer).await, 1);
    server.kill();
    assert_eq!(next(&mut consumer).await, 2, "it had arrived");
    assert!(nothing_comes(&mut consumer).await);
    assert!(!consumer.is_connected() && consumer.last_error().is_some());
    server.restart().unwrap();
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    add(&mut conn, key, 1, 3).await;
    for n in 1..=3 {
        assert_eq!(next(&mut consumer).await, n);
        wait!(consumer.ack(id(n))).unwrap();
    }
    assert_eq!(pending(&mut conn, key).await, 0);
    // A limit of attempts.
    options.max_attempts = Some(3);
    let mut limited = wait!(Consumer::connect(&url, options)).unwrap();
    server.kill();
    let error = wait!(limited.next()).unwrap_err();
    assert!(error.is_retryable(), "{error}");
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up() {
    let mut server = Server::start().unwrap();
    let key = "stream";
    let url = format!("{}?command-timeout=0.2&connect-timeout=0.2", server.url());
    let mut options = options(key, "a");
    options.max_attempts = Some(2);
    options.block = Duration::from_millis(10);
    options.backoff.cap = Duration::from_millis(10);
    let mut consumer = wait!(Consumer::connect(&url, options)).unwrap();
    assert!(nothing_comes(&mut consumer).await);
    server.pause();
    let error = wait!(consumer.next()).unwrap_err();
    assert!(error.is_timeout() || error.is_closed(), "{error}");
    server.resume();
    let mut conn = wait!(Connection::connect(&server.url())).unwrap();
    add(&mut conn, key, 1, 1).await;
    // The pause may have cost more attempts.
    let entry = loop {
        if let Ok(entry) = wait!(consumer.next()) {
            break entry.id;
        }
    };
    assert_eq!(entry, id(1));
}

/// Many reads that time out at the server, between which the caller leaves: none is lost.
#[tokio::test]
async fn a_wait_that_ends_in_between_loses_nothing() {
    let key = face_name!("streams:between");
    let url = url();
    let mut conn = empty(&url, key).await;
    let mut consumer = wait!(Consumer::connect(&url, options(key, "a"))).unwrap();
    for n in 1..=30 {
        let short = Duration::from_millis(1);
        assert!(wait!(consumer.next_timeout(short)).unwrap().is_none());
        add(&mut conn, key, n, n).await;
        assert_eq!(next(&mut consumer).await, n);
        // Behind the read that waits.
        wait!(consumer.ack(id(n))).unwrap();
    }
    assert_eq!(pending(&mut conn, key).await, 0);
    assert_eq!(consumer.stats().delivered, 30);
}
