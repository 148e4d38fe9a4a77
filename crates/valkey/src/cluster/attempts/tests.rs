use std::time::{Duration, Instant};

use super::{Attempts, Patience, Target};
use crate::Error;
use crate::cluster::address::NodeAddress;
use crate::cluster::error::ClusterError;
use crate::command::Flags;

const PATIENCE: Patience = Patience {
    max_redirects: 5,
    max_wait: Duration::from_secs(3),
};

fn node(port: u64) -> NodeAddress {
    NodeAddress::new(b"10.0.0.1", port).unwrap()
}

fn server(text: &str) -> Error {
    Error::server_error(text.as_bytes())
}

#[test]
fn a_moved_slot_is_followed_remembered_and_refreshed() {
    let mut attempts = Attempts::new(PATIENCE);
    let now = Instant::now();
    let again = attempts
        .failed(
            server("MOVED 7 10.0.0.1:2"),
            Some(&node(1)),
            Flags::WRITE,
            now,
        )
        .unwrap();
    assert_eq!(again.target, Target::Node(node(2)));
    assert_eq!(again.moved, Some((7, node(2))));
    assert!(again.wants_refresh && again.pause.is_zero());
    let again = attempts
        .failed(
            server("ASK 7 10.0.0.1:3"),
            Some(&node(2)),
            Flags::WRITE,
            now,
        )
        .unwrap();
    assert_eq!(again.target, Target::Asking(node(3)));
    assert!(!again.wants_refresh && again.moved.is_none());
}

#[test]
fn endless_redirections_end_after_the_bound() {
    for text in ["MOVED 7 10.0.0.1:1", "ASK 7 10.0.0.1:1", "MOVED 7 :9"] {
        let mut attempts = Attempts::new(PATIENCE);
        let mut followed = 0;
        let error = loop {
            match attempts.failed(server(text), Some(&node(1)), Flags::NONE, Instant::now()) {
                Ok(_) => followed += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(followed, 5);
        assert!(matches!(
            error.cluster(),
            Some(ClusterError::TooManyRedirects { redirects: 5, .. })
        ));
        assert!(!error.maybe_executed());
    }
}

#[test]
fn a_cluster_that_stays_down_is_waited_for_no_longer_than_allowed() {
    for text in [
        "CLUSTERDOWN x",
        "TRYAGAIN x",
        "LOADING x",
        "MASTERDOWN x",
        "READONLY x",
        "UNBLOCKED force unblock",
    ] {
        let mut attempts = Attempts::new(PATIENCE);
        let start = Instant::now();
        let mut now = start;
        let error = loop {
            match attempts.failed(server(text), Some(&node(1)), Flags::WRITE, now) {
                Ok(again) => now += again.pause + Duration::from_millis(1),
                Err(error) => break error,
            }
        };
        assert!(now - start <= PATIENCE.max_wait + Duration::from_secs(1));
        assert_eq!(
            error.server().unwrap().code(),
            text.split(' ').next().unwrap()
        );
    }
}

#[test]
fn a_command_that_may_have_been_executed_is_repeated_only_if_it_reads() {
    let lost = || Error::closed("lost");
    let now = Instant::now();
    let failed = |error, flags| Attempts::new(PATIENCE).failed(error, Some(&node(1)), flags, now);
    let error = failed(lost().after_sending(true), Flags::WRITE).unwrap_err();
    assert!(error.maybe_executed() && error.is_closed());
    assert!(failed(lost().after_sending(true), Flags::NONE).is_err());
    assert!(failed(lost().after_sending(true), Flags::READONLY).is_ok());
    assert!(failed(lost(), Flags::WRITE).is_ok());
    assert!(failed(Error::offline(None), Flags::WRITE).is_ok());
}

#[test]
fn the_commands_own_errors_are_final() {
    let now = Instant::now();
    for error in [
        server("WRONGTYPE x"),
        server("ERR unknown command"),
        server("CROSSSLOT Keys in request don't hash to the same slot"),
        Error::misuse("no"),
        Error::cluster_error(ClusterError::cross_slot(b"a", b"b")),
    ] {
        assert!(
            Attempts::new(PATIENCE)
                .failed(error, Some(&node(1)), Flags::READONLY, now)
                .is_err()
        );
    }
    // WAIT, which would be answered at once by a connection that has written nothing.
    let wait = Flags::BLOCKING.with(Flags::KEYLESS);
    let unblocked = server("UNBLOCKED force unblock");
    let ended = Attempts::new(PATIENCE).failed(unblocked, Some(&node(1)), wait, now);
    assert!(ended.is_err());
    let bad =
        Attempts::new(PATIENCE).failed(server("MOVED x y"), Some(&node(1)), Flags::WRITE, now);
    assert!(matches!(
        bad.unwrap_err().cluster(),
        Some(ClusterError::BadRedirect { .. })
    ));
}

/// Whatever errors come, in whatever order: a command ends, within its redirections and its time.
#[test]
fn every_sequence_of_failures_ends() {
    let texts = [
        "MOVED 1 10.0.0.1:2",
        "ASK 1 10.0.0.1:3",
        "TRYAGAIN",
        "CLUSTERDOWN",
        "LOADING",
        "MASTERDOWN",
        "READONLY",
    ];
    let mut random = 1_u64;
    for _ in 0..500 {
        let mut attempts = Attempts::new(PATIENCE);
        let start = Instant::now();
        let (mut now, mut steps) = (start, 0);
        loop {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let choice = usize::try_from(random >> 33).unwrap() % (texts.len() + 1);
            let error = texts
                .get(choice)
                .map_or_else(|| Error::offline(None), |text| server(text));
            match attempts.failed(error, Some(&node(1)), Flags::WRITE, now) {
                Ok(again) => now += again.pause + Duration::from_millis(5),
                Err(_) => break,
            }
            steps += 1;
            assert!(steps < 1_000, "it does not end");
        }
        assert!(now - start < PATIENCE.max_wait + Duration::from_secs(1));
    }
}

/// A command with two keys, of which one has moved and the other does not exist: each node sends it to the other.
#[test]
fn keys_that_are_apart_are_waited_for_however_often_that_redirects() {
    let mut attempts = Attempts::new(PATIENCE);
    let mut now = Instant::now();
    for _ in 0..20 {
        for text in [
            "ASK 7 10.0.0.1:2",
            "TRYAGAIN Multiple keys request during rehashing of slot",
        ] {
            let again = attempts.failed(server(text), Some(&node(1)), Flags::WRITE, now);
            again.unwrap();
            now += Duration::from_millis(50);
        }
    }
}
