//! New entries, acknowledgements, and groups.

use std::time::Duration;

use onecopy_testkit::valkey::Server;
use onecopy_valkey::command::{server, stream, string};
use onecopy_valkey::streams::{ConsumerOptions, GroupStart};

use super::{Connection, Consumer, add, empty, id, next, nothing_comes, options, pending};
use crate::common::{url, urls};

#[tokio::test]
async fn entries_come_in_order_and_are_pending_until_they_are_acknowledged() {
    for (number, url) in urls().iter().enumerate() {
        let key = &format!("{}:{number}", face_name!("streams:order"));
        let mut conn = empty(url, key).await;
        let mut consumer = wait!(Consumer::connect(url, options(key, "a"))).unwrap();
        assert!(nothing_comes(&mut consumer).await);
        add(&mut conn, key, 1, 5).await;
        let fields = [("n", "6"), ("text", "six"), ("empty", "")];
        wait!(conn.run(&stream::xadd(key, "6-0", fields))).unwrap();
        for n in 1..=5 {
            assert_eq!(next(&mut consumer).await, n);
        }
        let sixth = wait!(consumer.next()).unwrap();
        assert_eq!((sixth.id, sixth.deliveries), (id(6), 1));
        assert_eq!(sixth.get("text"), Some(&b"six"[..]));
        assert_eq!(
            (sixth.get("empty"), sixth.get("none")),
            (Some(&b""[..]), None)
        );
        assert_eq!(sixth.fields().len(), 3);
        assert_eq!(pending(&mut conn, key).await, 6);
        assert_eq!(consumer.unacknowledged(), 6);
        for n in 1..=6 {
            wait!(consumer.ack(id(n))).unwrap();
            assert_eq!(pending(&mut conn, key).await, 6 - i64::try_from(n).unwrap());
        }
        let stats = consumer.stats();
        assert_eq!((stats.delivered, stats.acknowledged), (6, 6));
        assert_eq!((stats.resumed, stats.claimed, stats.reconnects), (0, 0, 0));
        assert!(nothing_comes(&mut consumer).await);
        wait!(consumer.close()).unwrap();
    }
}

#[tokio::test]
async fn acknowledgements_are_sent_together() {
    let key = face_name!("streams:batch");
    let url = url();
    let mut conn = empty(&url, key).await;
    add(&mut conn, key, 1, 25).await;
    let mut options = options(key, "a");
    (options.batch, options.ack_batch) = (20, 10);
    let mut consumer = wait!(Consumer::connect(&url, options)).unwrap();
    let mut writes = 0;
    for n in 1..=20 {
        assert_eq!(next(&mut consumer).await, n);
        if n == 1 {
            writes = consumer.meter().writes;
        }
        wait!(consumer.ack(id(n))).unwrap();
        assert_eq!(
            pending(&mut conn, key).await,
            20 - i64::try_from(n / 10 * 10).unwrap()
        );
    }
    assert_eq!(consumer.meter().writes - writes, 2, "two for 20 of them");
    // With the next read, in one write.
    for n in 21..=23 {
        assert_eq!(next(&mut consumer).await, n);
        wait!(consumer.ack(id(n))).unwrap();
    }
    assert_eq!(pending(&mut conn, key).await, 5);
    wait!(consumer.flush()).unwrap();
    assert_eq!(pending(&mut conn, key).await, 2);
    wait!(consumer.flush()).unwrap();
    assert_eq!(
        (next(&mut consumer).await, next(&mut consumer).await),
        (24, 25)
    );
    wait!(consumer.ack(id(25))).unwrap();
    assert!(nothing_comes(&mut consumer).await);
    assert_eq!(pending(&mut conn, key).await, 1);
    assert_eq!(consumer.stats().acknowledged, 24);
}

#[tokio::test]
async fn a_slow_caller_holds_one_batch() {
    let key = face_name!("streams:slow");
    let url = url();
    let mut conn = empty(&url, key).await;
    add(&mut conn, key, 1, 30).await;
    let mut options = options(key, "a");
    options.batch = 7;
    let mut consumer = wait!(Consumer::connect(&url, options)).unwrap();
    for n in 1..=21 {
        assert_eq!(next(&mut consumer).await, n);
        let batches = i64::try_from(n.div_ceil(7)).unwrap();
        assert_eq!(pending(&mut conn, key).await, 7 * batches);
    }
}

#[tokio::test]
async fn a_caller_that_acknowledges_nothing_is_stopped() {
    let key = face_name!("streams:taken");
    let url = url();
    let mut conn = empty(&url, key).await;
    add(&mut conn, key, 1, 5).await;
    let mut options = options(key, "a");
    options.max_unacknowledged = 2;
    let mut consumer = wait!(Consumer::connect(&url, options)).unwrap();
    assert_eq!(
        (next(&mut consumer).await, next(&mut consumer).await),
        (1, 2)
    );
    let error = wait!(consumer.next()).unwrap_err();
    assert!(
        error.is_misuse() && error.to_string().contains("call ack or release"),
        "{error}"
    );
    wait!(consumer.ack(id(1))).unwrap();
    assert_eq!(next(&mut consumer).await, 3);
    assert!(consumer.release(id(2)));
    assert!(!consumer.release(id(2)));
    assert_eq!(next(&mut consumer).await, 4);
}

#[tokio::test]
async fn a_group_begins_where_the_options_say() {
    let key = face_name!("streams:start");
    let url = url();
    let mut conn = empty(&url, key).await;
    add(&mut conn, key, 1, 4).await;
    for (group, start, first) in [
        ("beginning", GroupStart::Beginning, 1),
        ("after", GroupStart::After(id(2)), 3),
        ("end", GroupStart::End, 5),
    ] {
        let mut options = ConsumerOptions::new(key, group, "a");
        options.create = Some(start);
        options.claim_min_idle = None;
        let mut consumer = wait!(Consumer::connect(&url, options.clone())).unwrap();
        if start == GroupStart::End {
            add(&mut conn, key, 5, 5).await;
        }
        assert_eq!(next(&mut consumer).await, first, "{group}");
        // It exists now: nothing is created, and nothing begins again.
        let mut other = wait!(Consumer::connect(&url, options)).unwrap();
        assert!(wait!(other.next_timeout(Duration::from_millis(1))).is_ok());
    }
}

#[tokio::test]
async fn what_cannot_be_consumed_is_an_error() {
    let key = face_name!("streams:wrong");
    let url = url();
    let mut conn = empty(&url, key).await;
    let mut options = options(key, "a");
    options.create = None;
    let mut consumer = wait!(Consumer::connect(&url, options.clone())).unwrap();
    let error = wait!(consumer.next()).unwrap_err();
    assert!(error.is_no_group() && !error.is_closed(), "{error}");
    wait!(conn.run(&string::set(key, "a string"))).unwrap();
    let error = wait!(consumer.next()).unwrap_err();
    assert_eq!(error.server().unwrap().code(), "WRONGTYPE");
    options.create = Some(GroupStart::Beginning);
    let error = wait!(Consumer::connect(&url, options.clone())).unwrap_err();
    assert_eq!(error.server().unwrap().code(), "WRONGTYPE");
    // Once it can be, it goes on.
    let mut conn = empty(&url, key).await;
    add(&mut conn, key, 1, 1).await;
    drop(wait!(Consumer::connect(&url, options)).unwrap());
    assert_eq!(next(&mut consumer).await, 1);
}

#[tokio::test]
async fn a_group_that_disappears_is_an_error_or_created_again() {
    let server = Server::start().unwrap();
    let (url, key) = (server.url(), "stream");
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    add(&mut conn, key, 1, 3).await;
    let mut strict = wait!(Consumer::connect(&url, options(key, "strict"))).unwrap();
    let mut options = options(key, "lenient");
    options.recreate = true;
    let mut lenient = wait!(Consumer::connect(&url, options)).unwrap();
    assert_eq!(next(&mut lenient).await, 1);
    assert!(nothing_comes(&mut strict).await);
    // While both wait at the server.
    assert_eq!(next(&mut lenient).await, 2);
    assert_eq!(next(&mut lenient).await, 3);
    assert!(nothing_comes(&mut lenient).await);
    wait!(conn.run(&server::flushall())).unwrap();
    let error = loop {
        match wait!(strict.next_timeout(super::PATIENCE)) {
            Ok(None) => {}
            Ok(Some(entry)) => panic!("{entry:?}"),
            Err(error) => break error,
        }
    };
    assert!(error.is_no_group(), "{error}");
    // IDs that were there before are new entries now.
    add(&mut conn, key, 1, 4).await;
    for n in 1..=4 {
        assert_eq!(next(&mut lenient).await, n);
        wait!(lenient.ack(id(n))).unwrap();
    }
    assert_eq!(pending(&mut conn, key).await, 0);
    assert_eq!(lenient.stats().recreated, 1);
    // It is there for the other one too.
    add(&mut conn, key, 5, 5).await;
    assert_eq!(next(&mut strict).await, 5);
}
