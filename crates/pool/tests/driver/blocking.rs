//! The driver for threads. `aio` has the same tests.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use onecopy_pool::{Health, Returned, WaitError, blocking};

use crate::connection::{Config, Connection, Error, Restore};

type Pool = blocking::Pool<Connection>;

#[test]
fn a_connect_that_panics_has_failed_and_is_tried_again() {
    let config = Config::new(1);
    config.peer.panics.store(5, Ordering::SeqCst);
    let pool = Pool::new(config).unwrap();
    let conn = pool.get().unwrap();
    assert_eq!(conn.number, 1);
    let stats = pool.stats();
    assert_eq!((stats.connects, stats.connect_failures), (1, 5));
}

#[test]
fn a_refusal_is_the_callers_error() {
    let config = Config::new(1);
    config.peer.refusals.store(1, Ordering::SeqCst);
    let pool = Pool::new(config).unwrap();
    let failure = pool.get().unwrap_err();
    assert_eq!(failure.why(), WaitError::Refused);
    assert!(matches!(failure.last(), Some(Error("refused"))));
    assert_eq!(failure.to_string(), "the pool cannot connect: refused");
    assert_eq!(pool.get().unwrap().number, 1);
}

#[test]
fn a_used_connection_is_restored_before_the_next_borrower_has_it() {
    let pool = Pool::new(Config::new(1)).unwrap();
    let mut conn = pool.get().unwrap();
    conn.returned = Returned::Used;
    drop(conn);
    let conn = pool.get().unwrap();
    assert_eq!((conn.number, conn.restored), (1, 1));
}

#[test]
fn a_connection_that_cannot_be_restored_is_replaced() {
    let pool = Pool::new(Config::new(1)).unwrap();
    for (index, restore) in [Restore::Error, Restore::Panic].into_iter().enumerate() {
        let mut conn = pool.get().unwrap();
        assert_eq!(conn.number, index + 1);
        (conn.returned, conn.restore) = (Returned::Used, restore);
    }
    assert_eq!(pool.get().unwrap().number, 3);
    assert_eq!(pool.stats().closed.reset, 2);
}

#[test]
fn a_broken_one_and_a_dead_one_are_replaced() {
    let pool = Pool::new(Config::new(1)).unwrap();
    pool.get().unwrap().returned = Returned::Broken;
    let mut conn = pool.get().unwrap();
    assert_eq!(conn.number, 2);
    conn.health = Health::Dead;
    drop(conn);
    let mut conn = pool.get().unwrap();
    assert_eq!(conn.number, 3);
    conn.health = Health::Unsure;
    drop(conn);
    let mut conn = pool.get().unwrap();
    assert_eq!(conn.number, 3, "it answers a ping");
    conn.answers = false;
    drop(conn);
    assert_eq!(pool.get().unwrap().number, 4);
    let closed = pool.stats().closed;
    assert_eq!((closed.broken, closed.unhealthy), (1, 2));
}

#[test]
fn a_detached_connection_leaves_its_place() {
    let pool = Pool::new(Config::new(1)).unwrap();
    let conn = pool.get().unwrap().detach();
    assert_eq!((conn.number, pool.get().unwrap().number), (1, 2));
}

#[test]
fn a_closed_pool_has_no_connection_left() {
    let config = Config::new(2);
    let peer = Arc::clone(&config.peer);
    let pool = Pool::new(config).unwrap();
    let (one, two) = (pool.get().unwrap(), pool.get().unwrap());
    assert_eq!(peer.open.load(Ordering::SeqCst), 2);
    drop(one);
    thread::scope(|scope| {
        scope.spawn(|| pool.close());
        while !pool.is_closed() {
            thread::sleep(Duration::from_millis(1));
        }
        drop(two);
    });
    assert_eq!(peer.open.load(Ordering::SeqCst), 0);
    assert_eq!(pool.get().unwrap_err().why(), WaitError::Closed);
}

#[test]
fn the_last_handle_closes_the_pool() {
    let config = Config::new(2);
    let peer = Arc::clone(&config.peer);
    let pool = Pool::new(config).unwrap();
    let (one, two) = (pool.get().unwrap(), pool.get().unwrap());
    drop(one);
    drop(pool.clone());
    assert_eq!(peer.open.load(Ordering::SeqCst), 2);
    drop(pool);
    assert_eq!(
        peer.open.load(Ordering::SeqCst),
        1,
        "the idle one is closed"
    );
    drop(two);
    assert_eq!(peer.open.load(Ordering::SeqCst), 0);
}
