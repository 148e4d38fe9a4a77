//! What all users of a pool share, and who does what its policy asks for.
//!
//! | work                                            | done by                        |
//! |-------------------------------------------------|--------------------------------|
//! | connects, restores                              | [workers](super::worker)       |
//! | idle timeout, lifetime, end of a pause          | an idle worker                 |
//! | waking, closing                                 | the thread that caused it      |

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::Thread;
use std::time::Instant;

use onecopy_pool::{Action, CloseReason, Lease};

use super::super::Connection;
use super::connect::Attempt;
use super::restore::Restoring;
use super::worker::{Job, Workers};
use crate::pool::{Core, Returned, Slot};
use crate::{Config, Error};

/// A pool without its users.
#[derive(Debug)]
pub(in crate::blocking) struct Shared {
    config: Config,
    core: Mutex<Core<Connection, Thread>>,
    pub(super) workers: Mutex<Workers>,
    /// For idle workers: there is a job, something is due earlier, or the pool is closed.
    pub(super) work: Condvar,
    /// With the lock of the core.
    drained: Condvar,
}

/// What the clones of a pool have in common: with the last one the pool is closed.
#[derive(Debug)]
pub(super) struct User(Weak<Shared>);

impl User {
    pub(super) fn of(shared: &Arc<Shared>) -> Arc<Self> {
        Arc::new(Self(Arc::downgrade(shared)))
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if let Some(shared) = self.0.upgrade() {
            shared.close();
        }
    }
}

impl Shared {
    pub(super) fn new(config: Config) -> Result<Arc<Self>, Error> {
        Ok(Arc::new(Self {
            core: Mutex::new(Core::new(&config)?),
            config,
            workers: Mutex::default(),
            work: Condvar::new(),
            drained: Condvar::new(),
        }))
    }

    pub(in crate::blocking) fn config(&self) -> &Config {
        &self.config
    }

    /// Nothing that can panic runs under this lock but the policy.
    #[inline]
    pub(super) fn core(&self) -> MutexGuard<'_, Core<Connection, Thread>> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A borrower is done with its connection.
    pub(in crate::blocking) fn put_back(
        self: &Arc<Self>,
        lease: Lease,
        mut slot: Box<Slot<Connection>>,
    ) {
        let now = Instant::now();
        let returned = slot.returned(&self.config);
        if returned == Returned::Broken {
            drop(slot);
            return self.lost(lease, CloseReason::Broken);
        }
        let mut core = self.core();
        // Nobody needs the session of one that is closed now.
        if returned == Returned::Clean || !core.policy.is_wanted(&lease, now) {
            slot.trim(&self.config);
            core.policy.give_back(lease, slot, now);
            let has_work = core.policy.has_work(now);
            drop(core);
            if has_work {
                self.act();
            }
            return;
        }
        let mut lease = lease;
        core.policy.begin_restore(&mut lease, now);
        drop(core);
        self.queue(Job::Restore(Restoring::new(self, lease, slot)));
        self.act();
    }

    /// A connection is gone.
    pub(in crate::blocking) fn lost(self: &Arc<Self>, lease: Lease, reason: CloseReason) {
        self.core().policy.lost(lease, reason);
        self.act();
    }

    pub(super) fn close(self: &Arc<Self>) {
        self.core().policy.close();
        self.act();
        self.work.notify_all();
    }

    /// Waits until a closed pool has no connection any more.
    pub(super) fn drained(&self) {
        let mut core = self.core();
        while !core.policy.is_drained() {
            core = self
                .drained
                .wait(core)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Does what the policy asks for, and wakes a worker if something is due earlier.
    pub(super) fn act(self: &Arc<Self>) {
        self.act_now();
        let core = self.core();
        let (is_late, is_drained) = (core.policy.is_late(), core.policy.is_drained());
        drop(core);
        if is_late {
            self.wake_worker();
        }
        if is_drained {
            self.drained.notify_all();
        }
    }

    pub(super) fn act_now(self: &Arc<Self>) {
        loop {
            // The lock is not held while others' code runs.
            let action = self.core().policy.poll_action(Instant::now());
            match action {
                None => return,
                Some(Action::Wake(caller)) => caller.unpark(),
                // Says goodbye if that does not block.
                Some(Action::Close(slot, _)) => drop(slot),
                Some(Action::Connect(connecting)) => {
                    self.queue(Job::Connect(Attempt::new(self, connecting)));
                }
                Some(_) => {}
            }
        }
    }

    /// Does what is due, and returns when something is due next.
    pub(super) fn tend(self: &Arc<Self>) -> Option<Instant> {
        let now = Instant::now();
        self.core().policy.handle_timeout(now);
        self.act_now();
        let mut core = self.core();
        let due = core.policy.poll_timeout(now);
        if core.policy.is_drained() {
            self.drained.notify_all();
        }
        due
    }
}
