//! What all users of a pool share, and who does what its policy asks for.
//!
//! | work                                    | done by                                            |
//! |-----------------------------------------|----------------------------------------------------|
//! | a connect, a restore                    | a task each                                        |
//! | idle timeout, lifetime, end of a pause  | one task, the keeper, which ends with the pool     |
//! | waking, closing                         | the task whose call made it necessary              |

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Waker;
use std::time::Instant;

use ::tokio::runtime::Handle;
use ::tokio::sync::Notify;
use ::tokio::time::timeout_at;
use onecopy_pool::{Action, CloseReason, Lease};

use super::super::Connection;
use super::connect::Attempt;
use super::restore::Restoring;
use crate::pool::{Core, Returned, Slot};
use crate::{Config, Error};

/// A pool without its users.
#[derive(Debug)]
pub(in crate::aio) struct Shared {
    config: Config,
    core: Mutex<Core<Connection, Waker>>,
    /// Of the first use.
    runtime: OnceLock<Handle>,
    /// Something is due earlier than the keeper knows.
    earlier: Arc<Notify>,
    drained: Notify,
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
            runtime: OnceLock::new(),
            earlier: Arc::default(),
            drained: Notify::new(),
        }))
    }

    pub(in crate::aio) fn config(&self) -> &Config {
        &self.config
    }

    /// Nothing that can panic runs under this lock but the policy.
    #[inline]
    pub(super) fn core(&self) -> MutexGuard<'_, Core<Connection, Waker>> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the keeper, within a runtime.
    pub(super) fn start(self: &Arc<Self>) {
        self.runtime.get_or_init(|| {
            let runtime = Handle::current();
            runtime.spawn(keep(Arc::downgrade(self), Arc::clone(&self.earlier)));
            runtime
        });
    }

    /// A borrower is done with its connection.
    pub(in crate::aio) fn put_back(
        self: &Arc<Self>,
        lease: Lease,
        mut slot: Box<Slot<Connection>>,
    ) {
        let now = Instant::now();
        let returned = slot.returned(&self.config);
        let mut core = self.core();
        if returned == Returned::Broken {
            drop(core);
            drop(slot);
            return self.lost(lease, CloseReason::Broken);
        }
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
        self.spawn(Restoring::new(self, lease, slot).run());
        self.act();
    }

    /// A connection is gone.
    pub(in crate::aio) fn lost(self: &Arc<Self>, lease: Lease, reason: CloseReason) {
        self.core().policy.lost(lease, reason);
        self.act();
    }

    pub(super) fn close(self: &Arc<Self>) {
        self.core().policy.close();
        self.act();
    }

    /// Waits until a closed pool has no connection any more.
    pub(super) async fn drained(&self) {
        loop {
            let mut drained = pin!(self.drained.notified());
            drained.as_mut().enable();
            if self.core().policy.is_drained() {
                return;
            }
            drained.await;
        }
    }

    /// Does what the policy asks for, and tells the keeper if something is due earlier.
    pub(super) fn act(self: &Arc<Self>) {
        self.act_now();
        let core = self.core();
        let is_late = core.policy.is_late();
        let is_drained = core.policy.is_drained();
        drop(core);
        if is_late {
            self.earlier.notify_one();
        }
        if is_drained {
            self.drained.notify_waiters();
        }
    }

    fn act_now(self: &Arc<Self>) {
        loop {
            // The lock is not held while others' code runs.
            let action = self.core().policy.poll_action(Instant::now());
            match action {
                None => return,
                Some(Action::Wake(waker)) => waker.wake(),
                // Says goodbye if that does not block.
                Some(Action::Close(slot, _)) => drop(slot),
                Some(Action::Connect(connecting)) => {
                    self.spawn(Attempt::new(self, connecting).run());
                }
                Some(_) => {}
            }
        }
    }

    /// Does what is due, and returns when something is due next.
    fn tend(self: &Arc<Self>) -> Option<Instant> {
        let now = Instant::now();
        self.core().policy.handle_timeout(now);
        self.act_now();
        let mut core = self.core();
        let due = core.policy.poll_timeout(now);
        let is_drained = core.policy.is_drained();
        drop(core);
        if is_drained {
            self.drained.notify_waiters();
        }
        due
    }

    /// If the runtime has ended, the task is dropped, and reports that.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = self.runtime.get() {
            runtime.spawn(task);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.earlier.notify_one();
    }
}

/// The keeper: calls the policy when it asks for it.
async fn keep(shared: Weak<Shared>, earlier: Arc<Notify>) {
    loop {
        let Some(due) = shared.upgrade().map(|shared| shared.tend()) else {
            return;
        };
        let notified = earlier.notified();
        match due {
            None => notified.await,
            // Something is earlier, or due: the next round looks at both.
            Some(due) => timeout_at(due.into(), notified).await.unwrap_or_default(),
        }
    }
}
