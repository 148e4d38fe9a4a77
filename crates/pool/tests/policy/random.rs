//! Random histories: what must hold after every step.

use std::collections::BTreeMap;
use std::time::Duration;

use onecopy_pool::{Checkout, CloseReason, Ticket, Wait};
use proptest::prelude::*;

use crate::world::World;

#[derive(Debug, Clone, Copy)]
enum Step {
    Acquire,
    /// The waiter of this rank leaves.
    Leave(usize),
    /// A borrower returns its connection.
    Return(usize),
    /// A borrower returns it, and it is restored later.
    Restore(usize),
    /// Its restoring ends.
    Restored(usize),
    Lose(usize),
    Connect,
    Fail(bool),
    Pass(u64),
    Close,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => Just(Step::Acquire),
        2 => (0..20_usize).prop_map(Step::Leave),
        5 => (0..20_usize).prop_map(Step::Return),
        3 => (0..20_usize).prop_map(Step::Restore),
        3 => (0..20_usize).prop_map(Step::Restored),
        1 => (0..20_usize).prop_map(Step::Lose),
        5 => Just(Step::Connect),
        1 => any::<bool>().prop_map(Step::Fail),
        3 => (0..60_000_u64).prop_map(Step::Pass),
    ];
    let steps = proptest::collection::vec(step, 0..200);
    (steps, any::<bool>()).prop_map(|(mut steps, closes)| {
        if closes {
            steps.push(Step::Close);
        }
        steps
    })
}

/// The pool and what its users hold.
struct History {
    world: World,
    /// By the waiter's number: in the order of arrival.
    waiting: BTreeMap<u32, Ticket>,
    held: Vec<Checkout<u32>>,
    restoring: Vec<Checkout<u32>>,
    waiters: u32,
    max: usize,
    max_connecting: usize,
}

impl History {
    fn step(&mut self, step: Step) {
        let now = self.world.now;
        match step {
            Step::Acquire => match self.world.pool.try_acquire(now) {
                Some(checkout) => {
                    assert!(self.waiting.is_empty(), "somebody waited already");
                    self.held.push(checkout);
                }
                None => {
                    self.waiters += 1;
                    let ticket = self.world.wait(self.waiters);
                    self.waiting.insert(self.waiters, ticket);
                }
            },
            Step::Leave(rank) => {
                let waiter = self.waiting.keys().nth(rank).copied();
                if let Some(ticket) = waiter.and_then(|waiter| self.waiting.remove(&waiter)) {
                    self.world.pool.leave(ticket, now);
                }
            }
            Step::Return(rank) if rank < self.held.len() => {
                let held = self.held.swap_remove(rank);
                self.world.give_back(held);
            }
            Step::Restore(rank) if rank < self.held.len() => {
                let mut held = self.held.swap_remove(rank);
                self.world.pool.begin_restore(&mut held.lease, now);
                self.restoring.push(held);
            }
            Step::Restored(rank) if rank < self.restoring.len() => {
                let held = self.restoring.swap_remove(rank);
                self.world.give_back(held);
            }
            Step::Lose(rank) if rank < self.held.len() => {
                let held = self.held.swap_remove(rank);
                self.world.pool.lost(held.lease, CloseReason::Broken);
            }
            Step::Connect if !self.world.connecting.is_empty() => {
                self.world.connect();
            }
            Step::Fail(is_final) if !self.world.connecting.is_empty() => self.world.fail(is_final),
            Step::Pass(millis) => self.world.pass(Duration::from_millis(millis)),
            Step::Close => self.world.pool.close(),
            _ => {}
        }
        self.world.act();
        self.wake();
        self.check();
    }

    /// Those who were woken take what they got, in that order.
    fn wake(&mut self) {
        let mut last = 0;
        for waiter in std::mem::take(&mut self.world.woken) {
            let Some(ticket) = self.waiting.remove(&waiter) else {
                continue; // it left
            };
            assert!(waiter > last, "{waiter} was woken after {last}");
            last = waiter;
            match self.world.pool.poll_wait(ticket, self.world.now) {
                Wait::Ready(checkout) => {
                    let earlier = self.waiting.keys().next();
                    assert!(earlier.is_none_or(|earlier| *earlier > waiter));
                    self.held.push(checkout);
                }
                Wait::Failed(_) => {}
                Wait::Pending(..) => panic!("{waiter} was woken for nothing"),
            }
        }
    }

    fn check(&self) {
        let stats = self.world.pool.stats();
        assert!(stats.size <= self.max, "{stats:?}");
        assert!(stats.connecting <= self.max_connecting, "{stats:?}");
        assert_eq!(stats.in_use, self.held.len());
        assert_eq!(stats.restoring, self.restoring.len());
        assert_eq!(stats.connecting, self.world.connecting.len());
        assert_eq!(stats.waiting, self.waiting.len());
        assert_eq!(
            stats.size,
            stats.idle + stats.in_use + stats.restoring + stats.connecting
        );
        assert_eq!(
            stats.connects,
            stats.closed.total() + (stats.size - stats.connecting) as u64
        );
        assert!(stats.idle == 0 || stats.waiting == 0, "{stats:?}");
        let mut all: Vec<_> = self
            .held
            .iter()
            .chain(&self.restoring)
            .map(|held| held.conn)
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(
            all.len(),
            stats.in_use + stats.restoring,
            "one connection twice"
        );
    }

    /// The users give everything back and the server answers: then everybody who waits is served.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            if self.waiting.is_empty() {
                break;
            }
            while let Some(held) = self.held.pop().or_else(|| self.restoring.pop()) {
                self.world.give_back(held);
            }
            if self.world.connecting.is_empty() {
                self.step(Step::Pass(5_000));
            } else {
                self.step(Step::Connect);
            }
        }
        assert!(
            self.waiting.is_empty(),
            "{} are forgotten",
            self.waiting.len()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_history_breaks_the_rules(
        steps in steps(),
        max in 1..6_usize,
        min in 0..3_usize,
        max_connecting in 1..4_usize,
    ) {
        let world = World::new(|config| {
            (config.max, config.min) = (max, min.min(max));
            config.max_connecting = max_connecting;
            config.acquire_timeout = None;
            config.idle_timeout = Some(Duration::from_secs(100));
            config.lifetime = Some(Duration::from_secs(200));
        });
        let mut history = History {
            world,
            waiting: BTreeMap::new(),
            held: Vec::new(),
            restoring: Vec::new(),
            waiters: 0,
            max,
            max_connecting,
        };
        for step in steps {
            history.step(step);
        }
        history.settle();
    }
}
