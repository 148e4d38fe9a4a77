//! What all users of a pool share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::{Attempt, Borrowed, Health, NoConnection, Poolable, Restoring, Returned, Runner};
use crate::{Action, Checkout, CloseReason, Lease, Policy, WaitError};

/// A pool without its users.
pub struct Shared<C: Poolable, R: Runner<C>> {
    config: C::Config,
    core: Mutex<Core<C, R::Waiter>>,
    pub(crate) runner: R,
}

/// What a pool decides by, and why its last attempt to connect failed. Of one lock.
pub(crate) struct Core<C: Poolable, W> {
    pub(crate) policy: Policy<Box<C>, W>,
    /// Of the attempts since the last success.
    pub(super) last_error: Option<Arc<C::Error>>,
}

impl<C: Poolable, R: Runner<C>> Shared<C, R> {
    pub(super) fn new(config: C::Config, runner: R) -> Self {
        let policy = Policy::new(C::pool_config(&config).clone(), seed());
        Self {
            core: Mutex::new(Core {
                policy,
                last_error: None,
            }),
            config,
            runner,
        }
    }

    #[inline]
    pub(crate) fn config(&self) -> &C::Config {
        &self.config
    }

    /// Nothing that can panic runs under this lock but the policy.
    #[inline]
    pub(crate) fn core(&self) -> MutexGuard<'_, Core<C, R::Waiter>> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an idle connection, if there is one.
    #[inline]
    pub(crate) fn idle(self: &Arc<Self>, now: Instant) -> Option<(Borrowed<C, R>, Health)> {
        let checkout = self.core().policy.try_acquire(now)?;
        Some(self.lend(checkout))
    }

    #[inline]
    pub(crate) fn lend(self: &Arc<Self>, checkout: Checkout<Box<C>>) -> (Borrowed<C, R>, Health) {
        let mut borrowed = Borrowed::new(self, checkout.lease, checkout.conn);
        let health = borrowed.check(checkout.needs_ping);
        (borrowed, health)
    }

    /// A borrower is done with its connection.
    pub(super) fn put_back(self: &Arc<Self>, lease: Lease, mut conn: Box<C>) {
        let now = Instant::now();
        let returned = conn.returned(&self.config);
        if returned == Returned::Broken {
            drop(conn);
            return self.lost(lease, CloseReason::Broken);
        }
        if returned == Returned::Used {
            return self.put_back_used(lease, conn, now);
        }
        conn.trim(&self.config);
        let mut core = self.core();
        core.policy.give_back(lease, conn, now);
        let has_work = core.policy.has_work(now);
        drop(core);
        if has_work {
            self.act();
        }
    }

    fn put_back_used(self: &Arc<Self>, mut lease: Lease, conn: Box<C>, now: Instant) {
        let mut core = self.core();
        if core.policy.is_wanted(&lease, now) {
            core.policy.begin_restore(&mut lease, now);
            drop(core);
            R::restore(self, Restoring::new(self, lease, conn));
        } else {
            // It is closed now, so nobody needs its session.
            core.policy.give_back(lease, conn, now);
            drop(core);
        }
        self.act();
    }

    /// A connection is gone.
    #[cold]
    pub(super) fn lost(self: &Arc<Self>, lease: Lease, reason: CloseReason) {
        self.core().policy.lost(lease, reason);
        self.act();
    }

    pub(crate) fn close(self: &Arc<Self>) {
        self.core().policy.close();
        self.act();
        self.runner.closed();
    }

    /// The error of a caller that gets no connection.
    #[cold]
    pub(crate) fn no_connection(
        &self,
        why: WaitError,
        since: Instant,
    ) -> Box<NoConnection<C::Error>> {
        let core = self.core();
        Box::new(NoConnection {
            why,
            waited: since.elapsed(),
            stats: core.policy.stats(),
            max: core.policy.config().max,
            last: core.last_error.clone(),
        })
    }

    /// Does what the policy asks for, and tells the runner if something is due earlier.
    pub(crate) fn act(self: &Arc<Self>) {
        self.act_now();
        let mut core = self.core();
        let (is_late, is_drained) = (core.policy.take_late(), core.policy.is_drained());
        drop(core);
        if is_late {
            R::is_due_earlier(self);
        }
        if is_drained {
            self.runner.drained();
        }
    }

    fn act_now(self: &Arc<Self>) {
        loop {
            // The lock is not held while others' code runs.
            let action = self.core().policy.poll_action(Instant::now());
            match action {
                None => return,
                Some(Action::Wake(waiter)) => R::wake(waiter),
                // Says goodbye if that does not block.
                Some(Action::Close(conn, _)) => drop(conn),
                Some(Action::Connect(connecting)) => {
                    R::connect(self, Attempt::new(self, connecting));
                }
            }
        }
    }

    /// Does what is due, and returns when something is due next.
    pub(crate) fn tend(self: &Arc<Self>) -> Option<Instant> {
        let now = Instant::now();
        self.core().policy.handle_timeout(now);
        self.act_now();
        let mut core = self.core();
        let due = core.policy.poll_timeout(now);
        let is_drained = core.policy.is_drained();
        drop(core);
        if is_drained {
            self.runner.drained();
        }
        due
    }
}

/// Pools of many processes that start together must not have the same jitter.
fn seed() -> u64 {
    static POOLS: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = now.map_or(0, |now| now.subsec_nanos());
    let number = POOLS.fetch_add(1, Ordering::Relaxed);
    (u64::from(std::process::id()) << 32 | u64::from(nanos)).wrapping_add(number)
}
