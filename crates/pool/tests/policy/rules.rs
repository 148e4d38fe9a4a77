//! One rule a test.

use std::time::Duration;

use onecopy_pool::{CloseReason, PoolConfig, Wait, WaitError};

use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn waiters_are_served_in_the_order_of_arrival() {
    let mut world = World::new(|config| config.max = 1);
    let held = world.acquire();
    let tickets = [1, 2, 3].map(|waiter| world.wait(waiter));
    world.woken.clear();
    world.give_back(held);
    assert_eq!(world.woken, [1]);
    assert_eq!(world.pool.stats().idle, 0);
    let [first, second, third] = tickets;
    let held = world.take(first);
    world.give_back(held);
    let held = world.take(second);
    world.give_back(held);
    assert_eq!(world.woken, [1, 2, 3]);
    let held = world.take(third);
    world.give_back(held);
    assert_eq!(world.pool.stats().idle, 1);
}

#[test]
fn the_connection_that_was_used_last_is_taken_first() {
    let mut world = World::new(|_| {});
    let [one, two] = [world.acquire(), world.acquire()];
    let last = two.conn;
    world.give_back(one);
    world.give_back(two);
    assert_eq!(world.acquire().conn, last);
}

#[test]
fn a_waiter_who_leaves_passes_its_turn_on() {
    let mut world = World::new(|config| config.max = 1);
    let held = world.acquire();
    let [first, second, third] = [1, 2, 3].map(|waiter| world.wait(waiter));
    world.woken.clear();
    // From the middle, before it is its turn.
    world.pool.leave(second, world.now);
    world.give_back(held);
    assert_eq!(world.woken, [1]);
    // With a connection that it has not taken yet.
    world.pool.leave(first, world.now);
    world.act();
    assert_eq!(world.woken, [1, 3]);
    world.take(third);
}

#[test]
fn a_waiter_at_the_front_is_served_next() {
    let mut world = World::new(|config| config.max = 1);
    let held = world.acquire();
    let _later = world.wait(1);
    let again = world.pool.wait(world.now, world.now, 2, true);
    world.woken.clear();
    world.give_back(held);
    assert_eq!(world.woken, [2]);
    world.take(again);
}

#[test]
fn no_more_connections_are_made_than_the_maximum() {
    let mut world = World::new(|config| (config.max, config.max_connecting) = (3, 10));
    let _tickets: Vec<_> = (0..10).map(|waiter| world.wait(waiter)).collect();
    assert_eq!(world.connecting.len(), 3);
    world.connect();
    assert_eq!(world.connecting.len(), 2);
    assert_eq!(world.pool.stats().size, 3);
}

#[test]
fn connects_under_way_are_bounded() {
    let mut world = World::new(|config| (config.max, config.max_connecting) = (100, 4));
    let _tickets: Vec<_> = (0..100).map(|waiter| world.wait(waiter)).collect();
    assert_eq!(world.connecting.len(), 4);
    world.connect();
    assert_eq!(world.connecting.len(), 4);
}

#[test]
fn a_waiter_makes_one_connect_and_no_more() {
    let mut world = World::new(|_| {});
    let _ticket = world.wait(0);
    world.pass(10 * SECOND);
    assert_eq!(world.connecting.len(), 1);
}

#[test]
fn after_a_failure_connects_come_one_at_a_time_and_ever_later() {
    let mut world = World::new(|config| config.acquire_timeout = None);
    let _tickets: Vec<_> = (0..10).map(|waiter| world.wait(waiter)).collect();
    assert_eq!(world.connecting.len(), 4);
    for _ in 0..4 {
        world.fail(false);
    }
    assert_eq!(world.connecting.len(), 0);
    let mut pauses = Vec::new();
    for _ in 0..10 {
        let start = world.now;
        while world.connecting.is_empty() {
            world.pass(Duration::from_millis(1));
        }
        pauses.push(world.now - start);
        assert_eq!(world.connecting.len(), 1);
        world.fail(false);
    }
    // Four failures have doubled 100 ms three times, and up to a half is jitter.
    assert!(pauses[0] >= 400 * SECOND / 1000, "{pauses:?}");
    assert!(pauses[9] >= 5 * SECOND / 2, "{pauses:?}");
    assert!(
        pauses.iter().all(|pause| *pause <= 5 * SECOND),
        "{pauses:?}"
    );
    // One success, and there is no limit but the usual one.
    world.pass(5 * SECOND);
    world.connect();
    assert_eq!(world.connecting.len(), 4);
}

#[test]
fn a_failing_server_is_not_tried_more_than_twice_a_second_for_long() {
    let mut world = World::new(|config| config.min = 5);
    let mut attempts = 0;
    for _ in 0..600 {
        world.pass(Duration::from_millis(100));
        while !world.connecting.is_empty() {
            attempts += 1;
            world.fail(false);
        }
    }
    // A minute: the pauses end at 2.5 to 5 seconds.
    assert!((12..40).contains(&attempts), "{attempts}");
}

#[test]
fn a_waiter_gives_up_after_the_acquire_timeout() {
    let mut world = World::new(|config| config.acquire_timeout = Some(SECOND));
    let ticket = world.wait(0);
    let start = world.now;
    let Wait::Pending(ticket, until) = world.pool.poll_wait(ticket, world.now) else {
        panic!("it waits");
    };
    assert_eq!(until, Some(start + SECOND));
    world.pass(SECOND);
    assert_eq!(world.error(ticket), WaitError::Timeout);
    assert_eq!(world.pool.stats().timed_out, 1);
    assert_eq!(world.pool.stats().waiting, 0);
}

#[test]
fn a_refused_login_fails_the_waiters_if_there_is_no_connection() {
    let mut world = World::new(|config| config.max_connecting = 1);
    let [one, two] = [0, 1].map(|waiter| world.wait(waiter));
    world.fail(true);
    assert_eq!(world.error(one), WaitError::Refused);
    assert_eq!(world.error(two), WaitError::Refused);
    // With a connection there is hope for the others.
    world.pass(10 * SECOND);
    let held = world.acquire();
    let ticket = world.wait(2);
    world.fail(true);
    world.give_back(held);
    world.take(ticket);
}

#[test]
fn the_minimum_is_opened_at_once_and_kept() {
    let mut world = World::new(|config| (config.min, config.max_connecting) = (3, 2));
    for _ in 0..3 {
        world.connect();
    }
    assert!(world.connecting.is_empty());
    world.pass(601 * SECOND);
    assert_eq!(world.pool.stats().idle, 3);
    let held = world.acquire();
    world.pool.lost(held.lease, CloseReason::Broken);
    world.act();
    assert_eq!(world.connecting.len(), 1);
}

#[test]
fn connections_that_nobody_uses_are_closed_after_the_idle_timeout() {
    let mut world = World::new(|config| (config.min, config.lifetime) = (1, None));
    world.connect();
    let [one, two, three] = [world.acquire(), world.acquire(), world.acquire()];
    let kept = three.conn;
    let first = one.conn;
    world.give_back(one);
    world.pass(300 * SECOND);
    world.give_back(two);
    world.give_back(three);
    world.pass(301 * SECOND);
    assert_eq!(world.closed, [(first, CloseReason::Idle)]);
    world.pass(600 * SECOND);
    assert_eq!(world.closed.len(), 2);
    assert_eq!(world.acquire().conn, kept);
}

#[test]
fn a_connection_that_reached_its_lifetime_is_replaced() {
    let mut world = World::new(|config| {
        (config.min, config.idle_timeout) = (2, None);
        config.lifetime = Some(800 * SECOND);
    });
    let [one, two] = [world.connect(), world.connect()];
    world.pass(699 * SECOND);
    assert!(world.closed.is_empty());
    world.pass(102 * SECOND);
    let mut closed: Vec<_> = world.closed.iter().map(|(conn, _)| *conn).collect();
    closed.sort_unstable();
    assert_eq!(closed, [one, two]);
    assert!(
        world
            .closed
            .iter()
            .all(|(_, reason)| *reason == CloseReason::Lifetime)
    );
    assert_eq!(world.connecting.len(), 2);
}

#[test]
fn lifetimes_differ() {
    let mut world = World::new(|config| {
        (config.lifetime, config.idle_timeout) = (Some(800 * SECOND), None);
    });
    let held: Vec<_> = (0..10).map(|_| world.acquire()).collect();
    held.into_iter().for_each(|held| world.give_back(held));
    let mut ends = Vec::new();
    while world.closed.len() < 10 {
        let before = world.closed.len();
        world.pass(SECOND);
        if world.closed.len() > before {
            ends.push(world.now);
        }
    }
    assert!(ends.len() > 5, "{} different ends", ends.len());
}

#[test]
fn a_connection_that_is_in_use_outlives_its_lifetime() {
    let mut world = World::new(|config| config.lifetime = Some(SECOND));
    let held = world.acquire();
    world.pass(10 * SECOND);
    assert!(world.closed.is_empty());
    world.give_back(held);
    assert_eq!(world.closed[0].1, CloseReason::Lifetime);
}

#[test]
fn a_connection_is_pinged_only_after_it_was_idle_for_long() {
    let mut world = World::new(|_| {});
    let held = world.acquire();
    world.give_back(held);
    world.pass(29 * SECOND);
    let held = world.acquire();
    assert!(!held.needs_ping);
    world.give_back(held);
    world.pass(30 * SECOND);
    assert!(world.acquire().needs_ping);
}

#[test]
fn nothing_is_connected_for_a_waiter_whose_connection_is_being_restored() {
    let mut world = World::new(|_| {});
    let mut held = world.acquire();
    world.pool.begin_restore(&mut held.lease, world.now);
    let ticket = world.wait(1);
    assert!(world.connecting.is_empty());
    assert_eq!(world.pool.stats().restoring, 1);
    world.give_back(held);
    assert!(!world.take(ticket).needs_ping);
}

#[test]
fn a_restore_that_takes_long_is_not_waited_for() {
    let mut world = World::new(|_| {});
    let mut held = world.acquire();
    world.pool.begin_restore(&mut held.lease, world.now);
    let _ticket = world.wait(1);
    world.pass(Duration::from_millis(19));
    assert!(world.connecting.is_empty());
    world.pass(Duration::from_millis(1));
    assert_eq!(world.connecting.len(), 1);
}

#[test]
fn a_closed_pool_fails_its_waiters_and_waits_for_borrowers() {
    let mut world = World::new(|config| config.max = 2);
    let [one, two] = [world.acquire(), world.acquire()];
    world.give_back(one);
    let one = world.acquire();
    let ticket = world.wait(5);
    world.pool.close();
    world.act();
    assert_eq!(world.error(ticket), WaitError::Closed);
    assert!(!world.pool.is_drained());
    world.give_back(two);
    world.pool.lost(one.lease, CloseReason::Broken);
    assert!(world.pool.is_drained());
    assert_eq!(world.closed.len(), 1);
    assert!(world.connecting.is_empty());
    let ticket = world.wait(6);
    assert_eq!(world.error(ticket), WaitError::Closed);
}

#[test]
fn a_connection_that_is_made_for_a_closed_pool_is_closed() {
    let mut world = World::new(|_| {});
    let _ticket = world.wait(5);
    world.pool.close();
    assert!(!world.pool.is_drained());
    let conn = world.connect();
    assert_eq!(world.closed, [(conn, CloseReason::Shutdown)]);
    assert!(world.pool.is_drained());
}

#[test]
fn waits_are_counted() {
    let mut world = World::new(|config| config.max = 1);
    let held = world.acquire();
    let ticket = world.wait(1);
    world.pass(Duration::from_micros(1000));
    world.give_back(held);
    let held = world.take(ticket);
    world.give_back(held);
    world.acquire();
    let stats = world.pool.stats();
    assert_eq!((stats.acquired, stats.waited), (3, 2));
    assert_eq!(stats.wait_total, Duration::from_millis(1));
    assert_eq!(stats.wait_max, Duration::from_millis(1));
    // The first one did not have to wait for its connect at all, on this clock.
    assert_eq!((stats.wait_histogram[0], stats.wait_histogram[10]), (1, 1));
    assert_eq!(stats.wait_quantile(0.99), Duration::from_millis(1));
    assert_eq!(stats.wait_quantile(0.5), Duration::from_micros(1));
    assert_eq!((stats.connects, stats.in_use, stats.size), (1, 1, 1));
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let mut config = PoolConfig::default();
    assert!(config.check().is_ok());
    config.max = 0;
    let error = config.check().unwrap_err();
    assert_eq!(
        error.to_string(),
        "pool-max is 0; a pool needs at least 1 connection"
    );
    (config.max, config.min) = (2, 3);
    let error = config.check().unwrap_err();
    assert_eq!(
        error.to_string(),
        "pool-min 3 is greater than pool-max 2; raise pool-max"
    );
    (config.min, config.max_connecting) = (0, 0);
    assert!(config.check().is_err());
}

#[test]
fn that_something_is_due_earlier_is_told_once() {
    let mut world = World::new(|config| config.lifetime = None);
    let held = world.acquire();
    assert_eq!(world.pool.poll_timeout(world.now), None);
    world.give_back(held);
    assert!(world.pool.take_late(), "the idle timeout");
    for _ in 0..2 {
        let held = world.acquire();
        world.give_back(held);
        assert!(!world.pool.has_work(world.now));
        assert!(!world.pool.take_late(), "it was told");
    }
    let idle_timeout = PoolConfig::default().idle_timeout.unwrap();
    assert_eq!(
        world.pool.poll_timeout(world.now),
        Some(world.now + idle_timeout)
    );
}

#[test]
fn who_comes_during_a_pause_is_served_when_it_ends() {
    let mut world = World::new(|_| {});
    let refused = world.wait(1);
    world.fail(true);
    assert_eq!(world.error(refused), WaitError::Refused);
    assert!(world.pool.take_late());
    assert_eq!(world.pool.poll_timeout(world.now), None, "nobody waits");
    let ticket = world.wait(2);
    assert!(world.pool.take_late(), "the end of the pause");
    world.pass(PoolConfig::default().backoff_min);
    world.connect();
    world.take(ticket);
}
