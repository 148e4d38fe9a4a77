use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::*;

fn begun() -> (Turn, u64) {
    let turn = Turn::new(false);
    assert_eq!(turn.begin(), Begin::Ready);
    let generation = turn.under_way().unwrap();
    (turn, generation)
}

#[test]
fn nothing_is_under_way_before_a_statement_and_after_it() {
    let turn = Turn::new(false);
    assert_eq!(turn.under_way(), None);
    let (turn, generation) = begun();
    turn.end();
    assert_eq!(turn.under_way(), None);
    assert_eq!(turn.start(generation), Start::Over);
}

#[test]
fn an_order_is_not_for_the_following_statement() {
    let (turn, generation) = begun();
    assert_eq!(turn.begin(), Begin::Ready);
    assert_eq!(turn.start(generation), Start::Over);
    assert_eq!(turn.start(generation + 1), Start::Started);
}

#[test]
fn nothing_begins_while_an_order_is_delivered_and_not_before_a_barrier() {
    let (turn, generation) = begun();
    assert_eq!(turn.start(generation), Start::Started);
    assert_eq!(turn.start(generation), Start::Busy);
    turn.end();
    assert_eq!(turn.begin(), Begin::Delivering);
    assert!(!turn.start_barrier());
    turn.delivered(Outcome::Killed);
    assert_eq!(turn.begin(), Begin::Late);
    assert!(turn.start_barrier());
    assert_eq!(turn.start(generation), Start::Over);
    turn.end_barrier();
    assert_eq!(turn.begin(), Begin::Ready);
    assert_eq!(turn.under_way(), Some(generation + 1));
}

#[test]
fn a_statement_that_goes_on_can_be_cancelled_again() {
    let (turn, generation) = begun();
    for _ in 0..2 {
        assert_eq!(turn.start(generation), Start::Started);
        turn.delivered(Outcome::Killed);
    }
    assert_eq!(turn.begin(), Begin::Late);
}

#[test]
fn a_refused_order_is_in_nobodys_way_and_a_lost_one_for_ever() {
    let (turn, generation) = begun();
    assert_eq!(turn.start(generation), Start::Started);
    turn.delivered(Outcome::Refused);
    assert_eq!(turn.begin(), Begin::Ready);
    assert_eq!(turn.start(generation + 1), Start::Started);
    turn.delivered(Outcome::Lost);
    assert_eq!(turn.begin(), Begin::Lost);
    assert_eq!(turn.start(generation + 1), Start::Over);
}

/// The rule itself, with threads: while an order is started, the number of statements begun does not change.
#[test]
fn no_statement_begins_during_an_order() {
    let turn = Turn::new(false);
    let (begun, orders) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while orders.load(Ordering::SeqCst) < 20_000 {
                match turn.begin() {
                    Begin::Ready => {
                        begun.fetch_add(1, Ordering::SeqCst);
                        turn.end();
                    }
                    Begin::Late if turn.start_barrier() => turn.end_barrier(),
                    Begin::Lost => unreachable!(),
                    _ => thread::yield_now(),
                }
                let _ = turn.begin() == Begin::Ready && begun.fetch_add(1, Ordering::SeqCst) > 0;
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while orders.load(Ordering::SeqCst) < 20_000 {
                    let started = turn
                        .under_way()
                        .is_some_and(|generation| turn.start(generation) == Start::Started);
                    if started {
                        // A statement that had begun just before may still be being counted.
                        let generation = turn.0.load(Ordering::SeqCst) / GENERATION;
                        thread::yield_now();
                        assert_eq!(turn.0.load(Ordering::SeqCst) / GENERATION, generation);
                        turn.delivered(Outcome::Killed);
                        orders.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    assert!(begun.load(Ordering::SeqCst) > 0);
}

#[test]
fn an_order_is_being_delivered_until_its_outcome_is_known_and_may_be_lost() {
    for outcome in [Outcome::Killed, Outcome::Refused, Outcome::Lost] {
        let turn = Turn::new(true);
        assert!(!turn.is_delivering() && !turn.is_lost());
        assert_eq!(turn.start(0), Start::Started);
        assert!(turn.is_delivering() && !turn.is_lost());
        turn.delivered(outcome);
        assert!(!turn.is_delivering());
        assert_eq!(turn.is_lost(), outcome == Outcome::Lost);
    }
}
