//! A primary that is lost without notice, and a replica that is promoted.

use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::Mode;
use onecopy_testkit::own_network::{self, OtherHost};
use onecopy_testkit::server::lacks;

use crate::load::Load;
use crate::pair::{CONNECTIONS, Pair, connects, metric_of, server, state_of};
use crate::replication::until;

pub(crate) fn is_soak() -> bool {
    std::env::var_os("ONECOPY_SOAK").is_some_and(|value| value == "1")
}

/// Of each of three ways to lose a primary: a thousand in all.
pub(crate) fn rounds() -> usize {
    match is_soak() {
        true => 334,
        false => 1,
    }
}

/// Pieces of work before and after.
const SOME: u64 = 200;

/// `returns`: whether the old primary comes back, as one that takes writes.
fn lose(mode: Mode, how: &str, returns: bool, lose: impl FnMut(&mut Pair)) {
    lose_one_of(&|| Pair::start(mode), how, returns, lose);
}

fn lose_one_of(
    start: &dyn Fn() -> Pair,
    how: &str,
    returns: bool,
    mut lose: impl FnMut(&mut Pair),
) {
    let mut slowest = Duration::ZERO;
    for _ in 0..rounds() {
        let mut pair = start();
        let load = Load::start(&pair);
        load.await_more(SOME);
        lose(&mut pair);
        pair.promote();
        let promoted = Instant::now();
        load.await_more(SOME);
        if returns {
            let port = pair.primary.port();
            pair.primary = server(1, &[&format!("--port={port}")]);
            let mut admin = pair.admin();
            until("the old primary is seen", || {
                state_of(&mut admin, "one") == "second primary"
            });
            assert_eq!(metric_of(&pair.proxy, "one", "second_primary"), 1.);
            load.await_more(SOME);
        }
        let outcome = load.end();
        outcome.check(&pair.replica);
        let errors = outcome.errors();
        // Those that were under way: one of each connection.
        assert!(
            errors.len() <= CONNECTIONS,
            "{} errors: {}",
            errors.len(),
            errors[0]
        );
        let lost = |error: &&str| error.contains("Lost connection to backend 'one'");
        assert!(errors.iter().all(lost), "{errors:?}");
        slowest = slowest.max(outcome.first_after(promoted));
        // So that it ends at once.
        pair.primary.resume();
        pair.primary.kill();
    }
    // How long that takes depends on the machine.
    assert!(
        !is_soak() || slowest < Duration::from_secs(1),
        "primary {how}: {slowest:?}"
    );
    println!(
        "primary {how}: the first new transaction came at most {slowest:?} after the promotion"
    );
}

#[test]
fn a_primary_that_is_killed_loses_no_commit_and_no_session_that_waits() {
    lose(Mode::Transaction, "killed", true, |pair| {
        pair.primary.kill()
    });
}

#[test]
fn a_primary_that_is_stopped_loses_no_commit_and_keeps_nobody() {
    lose(Mode::Transaction, "stopped", false, |pair| {
        pair.primary.pause()
    });
}

/// Nothing is refused there, and nothing answered.
#[test]
fn a_primary_whose_network_is_lost_loses_no_commit_and_keeps_nobody() {
    if !own_network::is_here(
        "lost::a_primary_whose_network_is_lost_loses_no_commit_and_keeps_nobody",
    ) {
        return;
    }
    let Some(host) = OtherHost::new() else {
        return lacks(
            "a network that can be cut",
            "the system has no virtual cables (veth)",
        );
    };
    let start = || {
        host.reconnect();
        Pair::start_over_cable(&host)
    };
    lose_one_of(&start, "out of reach", false, |_| host.cut());
}

/// Nobody knows yet what to greet clients with.
#[test]
fn the_first_client_waits_for_a_promotion_too() {
    let mut pair = Pair::start(Mode::Transaction);
    pair.primary.kill();
    let mut admin = pair.admin();
    until("it is seen to be down", || {
        state_of(&mut admin, "one") == "down"
    });
    let config = pair.client();
    assert_eq!(pair.proxy.snapshot(false).sessions, 0);
    std::thread::scope(|scope| {
        let client = scope.spawn(|| Connection::connect_with(&config));
        until("it waits", || pair.proxy.snapshot(false).sessions == 1);
        pair.promote();
        let mut conn = client.join().unwrap().unwrap();
        let port = conn.query_one::<(u16,)>("SELECT @@port").unwrap();
        assert_eq!(port, (pair.replica.port(),));
    });
}

/// Up and down again and again: sessions wait for it, and come back without a storm of connects.
#[test]
fn a_primary_that_flaps_is_waited_for_each_time() {
    let flaps = if rounds() > 1 { 60 } else { 3 };
    let mut pair = Pair::start(Mode::Transaction);
    let mut admin = pair.admin();
    let load = Load::start(&pair);
    load.await_more(SOME);
    let before = connects(&mut admin);
    for _ in 0..flaps {
        pair.primary.pause();
        until("it is seen to be down", || {
            state_of(&mut admin, "one") == "down"
        });
        assert_eq!(metric_of(&pair.proxy, "one", "up"), 0.);
        pair.primary.resume();
        pair.await_states(["up", "standby"]);
        load.await_more(SOME);
    }
    assert!(metric_of(&pair.proxy, "one", "failed_checks_total") >= flaps as f64);
    let outcome = load.end();
    outcome.check(&pair.primary);
    let errors = outcome.errors();
    let lost = |error: &&str| error.contains("Lost connection to backend 'one'");
    assert!(errors.iter().all(lost), "{errors:?}");
    assert!(errors.len() <= flaps * CONNECTIONS, "{}", errors.len());
    let connects = connects(&mut admin) - before;
    // Each of the pool's eight anew, and some that are given up when it is down again.
    let most = flaps * 3 * CONNECTIONS;
    assert!(connects <= most as u64, "{connects} connects");
    println!(
        "{flaps} flaps: {} statements lost, {connects} connects",
        errors.len()
    );
}
