//! Servers whose clocks differ: roles, reads and failovers go by none of them, and what servers say of their lag is an alarm and no more.

use std::time::Duration;

use onecopy_proxy::config::ReplicaReads;
use onecopy_testkit::OtherClock;

use crate::load::Load;
use crate::pair::{CONNECTIONS, Pair, connect, connects, metric_of, number, state_of};
use crate::replication::{direct, is_mariadb, run_all, until};

const HOUR: i64 = 3_600;

/// Pieces of work before and after.
const SOME: u64 = 200;

/// Less than an hour by far, and more than a replica here ever needs.
fn reads() -> ReplicaReads {
    ReplicaReads {
        max_lag: Some(Duration::from_secs(60)),
        ..ReplicaReads::default()
    }
}

fn start(ahead: [i64; 2]) -> (Pair, [OtherClock; 2]) {
    let clocks = [(); 2].map(|()| OtherClock::new().unwrap());
    let pair = Pair::start_with_clocks(reads(), [(&clocks[0], ahead[0]), (&clocks[1], ahead[1])]);
    (pair, clocks)
}

fn time_of(server: &onecopy_testkit::server::Server) -> i64 {
    number(&mut direct(server), "SELECT UNIX_TIMESTAMP()")
}

/// Writes and reads of one client, of which each read has to see the write before it.
fn write_and_read(pair: &Pair, ids: std::ops::Range<i64>) {
    let mut conn = connect(&pair.proxy);
    for id in ids {
        let written = format!("INSERT INTO done VALUES ({id}, 7)");
        conn.run(written).unwrap();
        let sql = format!("SELECT COUNT(*) FROM done WHERE id = {id} AND part = 7");
        assert_eq!(number(&mut conn, &sql), 1, "{id}");
    }
}

/// The primary is killed under load, and the replica promoted: nothing is lost, and only what was under way fails.
fn fail_over(mut pair: Pair, load: Load) {
    let before = connects(&mut pair.admin());
    pair.primary.kill();
    pair.promote();
    load.await_more(SOME);
    let outcome = load.end();
    run_all(
        &mut direct(&pair.replica),
        &["DELETE FROM test.done WHERE part = 7"],
    );
    outcome.check(&pair.replica);
    let errors = outcome.errors();
    let lost = |error: &&str| error.contains("Lost connection to backend 'one'");
    assert!(errors.iter().all(lost), "{errors:?}");
    assert!(errors.len() <= CONNECTIONS, "{}", errors.len());
    // Those to the new primary, and attempts to reach the old one before it was known to be down.
    let connects = connects(&mut pair.admin()) - before;
    assert!(connects <= 4 * CONNECTIONS as u64, "{connects} connects");
}

fn differ(ahead: [i64; 2]) {
    let (pair, _clocks) = start(ahead);
    let difference = time_of(&pair.replica) - time_of(&pair.primary);
    let wanted = ahead[1] - ahead[0];
    assert!((difference - wanted).abs() < 60, "{difference}");
    let load = Load::start(&pair);
    load.await_more(SOME);
    write_and_read(&pair, 0..100);
    // The replica knew of the difference when it connected: it is as close as on one clock.
    let mut admin = pair.admin();
    until("it serves reads", || {
        state_of(&mut admin, "two") == "replica"
    });
    assert!(metric_of(&pair.proxy, "two", "replication_lag_seconds") < 60.);
    let mut conn = connect(&pair.proxy);
    until("it is read from", || {
        number(&mut conn, "SELECT @@server_id") == 2
    });
    fail_over(pair, load);
}

#[test]
fn a_replica_whose_clock_is_ahead_serves_reads_and_takes_over() {
    differ([0, HOUR]);
}

#[test]
fn a_replica_whose_clock_is_behind_serves_reads_and_takes_over() {
    differ([HOUR, 0]);
}

/// A replica measures its lag by its own clock, and by the difference that it has found when it connected.
#[test]
fn a_clock_that_is_set_is_a_lag_that_is_seen_and_no_other_harm() {
    let (pair, clocks) = start([0, 0]);
    let mut admin = pair.admin();
    let load = Load::start(&pair);
    load.await_more(SOME);
    let before = connects(&mut admin);
    clocks[1].set(HOUR).unwrap();
    until("the lag is seen", || {
        metric_of(&pair.proxy, "two", "replication_lag_seconds") > 3_000.
    });
    until("it serves no reads", || {
        state_of(&mut admin, "two") == "lagging"
    });
    write_and_read(&pair, 0..100);
    // The difference is found anew.
    let again: [&str; 2] = match is_mariadb(&pair.replica) {
        true => ["STOP SLAVE IO_THREAD", "START SLAVE IO_THREAD"],
        false => ["STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD"],
    };
    run_all(&mut direct(&pair.replica), &again);
    until("it serves reads again", || {
        state_of(&mut admin, "two") == "replica"
    });
    write_and_read(&pair, 100..200);
    // And back: a lag below zero is none.
    clocks[1].set(-HOUR).unwrap();
    write_and_read(&pair, 200..300);
    until("it still serves reads", || {
        state_of(&mut admin, "two") == "replica"
    });
    let made = connects(&mut admin) - before;
    assert!(made <= 4 * CONNECTIONS as u64, "{made} connects");
    fail_over(pair, load);
}
