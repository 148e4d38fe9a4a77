//! Entries that were delivered before.

use std::time::Duration;

use onecopy_valkey::command::stream;
use onecopy_valkey::command::word::Trim;
use onecopy_valkey::streams::Poison;

use super::{Consumer, add, empty, id, next, nothing_comes, options, pending};
use crate::common::{url, urls};

#[tokio::test]
async fn a_consumer_that_starts_again_continues_with_its_own() {
    for (number, url) in urls().iter().enumerate() {
        let key = &format!("{}:{number}", face_name!("streams:again"));
        let mut conn = empty(url, key).await;
        add(&mut conn, key, 1, 50).await;
        let mut options = options(key, "a");
        options.batch = 8;
        let mut consumer = wait!(Consumer::connect(url, options.clone())).unwrap();
        for n in 1..=30 {
            assert_eq!(next(&mut consumer).await, n);
        }
        wait!(consumer.ack(id(3))).unwrap();
        drop(consumer);
        let mut consumer = wait!(Consumer::connect(url, options)).unwrap();
        for n in (1..=32).filter(|n| *n != 3) {
            let entry = wait!(consumer.next()).unwrap();
            assert_eq!((entry.id, entry.deliveries), (id(n), 2));
        }
        let entry = wait!(consumer.next()).unwrap();
        assert_eq!((entry.id, entry.deliveries), (id(33), 1));
        assert_eq!(consumer.stats().resumed, 31);
    }
}

#[tokio::test]
async fn what_others_left_is_claimed_page_by_page() {
    let key = face_name!("streams:claim");
    let url = url();
    let mut conn = empty(&url, key).await;
    add(&mut conn, key, 1, 250).await;
    let mut first = options(key, "first");
    first.batch = 240;
    let mut first = wait!(Consumer::connect(&url, first)).unwrap();
    for n in 1..=240 {
        assert_eq!(next(&mut first).await, n);
    }
    wait!(first.ack(id(100))).unwrap();
    let mut options = options(key, "second");
    options.batch = 7;
    options.claim_min_idle = Some(Duration::ZERO);
    options.claim_interval = Duration::from_secs(3600);
    let mut second = wait!(Consumer::connect(&url, options)).unwrap();
    for n in (1..=240).filter(|n| *n != 100) {
        let entry = wait!(second.next()).unwrap();
        assert_eq!((entry.id, entry.deliveries), (id(n), 2));
        wait!(second.ack(id(n))).unwrap();
    }
    for n in 241..=250 {
        assert_eq!(next(&mut second).await, n);
        wait!(second.ack(id(n))).unwrap();
    }
    assert!(nothing_comes(&mut second).await);
    assert_eq!(second.stats().claimed, 239);
    assert_eq!(pending(&mut conn, key).await, 0);
}

#[tokio::test]
async fn claims_are_repeated_and_leave_alone_what_is_in_hand() {
    let key = face_name!("streams:repeat");
    let url = url();
    let mut conn = empty(&url, key).await;
    add(&mut conn, key, 1, 3).await;
    let mut other = wait!(Consumer::connect(&url, options(key, "other"))).unwrap();
    let mut options = options(key, "own");
    options.claim_min_idle = Some(Duration::ZERO);
    options.claim_interval = Duration::from_millis(10);
    options.batch = 1;
    let mut own = wait!(Consumer::connect(&url, options)).unwrap();
    assert_eq!(next(&mut own).await, 1);
    // In the hands of its caller, it does not come again.
    assert_eq!(next(&mut own).await, 2);
    assert_eq!(next(&mut other).await, 3);
    assert_eq!(next(&mut own).await, 3, "claimed from the other one");
    assert!(nothing_comes(&mut own).await);
    // Released, it does.
    assert!(own.release(id(2)));
    let entry = wait!(own.next()).unwrap();
    assert_eq!(entry.id, id(2));
    assert!(entry.deliveries > 1, "{entry:?}");
    for n in 1..=3 {
        wait!(own.ack(id(n))).unwrap();
    }
    assert!(nothing_comes(&mut own).await);
    assert_eq!(pending(&mut conn, key).await, 0);
}

#[tokio::test]
async fn entries_that_were_deleted_or_trimmed_while_pending_are_passed_over() {
    let key = face_name!("streams:deleted");
    let url = url();
    let mut conn = empty(&url, key).await;
    add(&mut conn, key, 1, 10).await;
    let mut consumer = wait!(Consumer::connect(&url, options(key, "a"))).unwrap();
    for n in 1..=10 {
        assert_eq!(next(&mut consumer).await, n);
    }
    drop(consumer);
    wait!(conn.run(&stream::xdel(key, ["5-0", "10-0"]))).unwrap();
    let trim = stream::xtrim(key, Trim::Minid, "3-0").equal();
    wait!(conn.run(&trim)).unwrap();
    let mut consumer = wait!(Consumer::connect(&url, options(key, "a"))).unwrap();
    for n in [3, 4, 6] {
        assert_eq!(next(&mut consumer).await, n);
    }
    drop(consumer);
    // The rest by another one.
    wait!(conn.run(&stream::xdel(key, ["7-0"]))).unwrap();
    let mut options = options(key, "b");
    options.claim_min_idle = Some(Duration::ZERO);
    options.claim_interval = Duration::from_secs(3600);
    let mut consumer = wait!(Consumer::connect(&url, options)).unwrap();
    for n in [3, 4, 6, 8, 9] {
        assert_eq!(next(&mut consumer).await, n);
        wait!(consumer.ack(id(n))).unwrap();
    }
    assert!(nothing_comes(&mut consumer).await);
    assert_eq!(consumer.stats().deleted, 1);
    assert_eq!(pending(&mut conn, key).await, 0);
}

#[tokio::test]
async fn poison_is_moved_or_discarded_after_so_many_deliveries() {
    let (key, to) = (face_name!("streams:poison"), face_name!("streams:poisoned"));
    let url = url();
    for is_moved in [false, true] {
        let mut conn = empty(&url, key).await;
        let mut conn2 = empty(&url, to).await;
        add(&mut conn, key, 1, 3).await;
        let mut options = options(key, "a");
        options.max_deliveries = Some(3);
        if is_moved {
            options.poison = Poison::MoveTo(to.into());
        }
        for round in 1..=3 {
            let mut consumer = wait!(Consumer::connect(&url, options.clone())).unwrap();
            // One that was acknowledged is not delivered again.
            let last = if round == 1 { 3 } else { 2 };
            for n in 1..=last {
                let entry = wait!(consumer.next()).unwrap();
                assert_eq!((entry.id, entry.deliveries), (id(n), round));
            }
            if round == 1 {
                wait!(consumer.ack(id(3))).unwrap();
            }
        }
        add(&mut conn, key, 4, 4).await;
        let mut consumer = wait!(Consumer::connect(&url, options.clone())).unwrap();
        assert_eq!(next(&mut consumer).await, 4);
        wait!(consumer.ack(id(4))).unwrap();
        assert!(nothing_comes(&mut consumer).await);
        assert_eq!(pending(&mut conn, key).await, 0);
        assert_eq!(consumer.stats().poisoned, 2);
        let moved = wait!(conn2.run(&stream::xrange(to, "-", "+"))).unwrap();
        if !is_moved {
            assert!(moved.is_empty());
            continue;
        }
        for (n, entry) in (1..=2).zip(moved.iter()) {
            let fields = entry.fields.unwrap();
            assert_eq!(fields.get("n").unwrap(), n.to_string().as_bytes());
            assert_eq!(
                fields.get("onecopy-id").unwrap(),
                format!("{n}-0").as_bytes()
            );
            assert_eq!(fields.get("onecopy-stream").unwrap(), key.as_bytes());
            assert_eq!(fields.get("onecopy-group").unwrap(), b"group");
            assert_eq!(fields.get("onecopy-deliveries").unwrap(), b"4");
        }
        assert_eq!(moved.len(), 2);
    }
}

#[tokio::test]
async fn poison_that_cannot_be_moved_stays_pending() {
    let (key, to) = (face_name!("streams:kept"), face_name!("streams:no-stream"));
    let url = url();
    let mut conn = empty(&url, key).await;
    wait!(conn.run(&onecopy_valkey::command::string::set(to, "a string"))).unwrap();
    add(&mut conn, key, 1, 1).await;
    let mut options = options(key, "a");
    options.max_deliveries = Some(1);
    options.poison = Poison::MoveTo(to.into());
    let mut consumer = wait!(Consumer::connect(&url, options.clone())).unwrap();
    assert_eq!(next(&mut consumer).await, 1);
    drop(consumer);
    let mut consumer = wait!(Consumer::connect(&url, options)).unwrap();
    for _ in 0..2 {
        let error = wait!(consumer.next()).unwrap_err();
        assert_eq!(error.server().unwrap().code(), "WRONGTYPE");
        assert_eq!(pending(&mut conn, key).await, 1);
    }
    wait!(conn.run(&onecopy_valkey::command::generic::del([to]))).unwrap();
    assert!(nothing_comes(&mut consumer).await);
    assert_eq!(pending(&mut conn, key).await, 0);
    assert_eq!(wait!(conn.run(&stream::xlen(to))).unwrap(), 1);
}
