//! Threads as the runner of a pool.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::Thread;

use super::Connect;
use super::workers::{Job, Workers};
use crate::driver::{Attempt, Restoring, Runner, Shared};

/// Runs the jobs of a pool on threads of its own.
pub struct Threads<C: Connect> {
    pub(super) workers: Mutex<Workers<C>>,
    /// For idle workers: there is a job, something is due earlier, or the pool is closed.
    pub(super) work: Condvar,
    /// With the lock of the core.
    pub(super) drained: Condvar,
}

impl<C: Connect> Default for Threads<C> {
    fn default() -> Self {
        Self {
            workers: Mutex::default(),
            work: Condvar::new(),
            drained: Condvar::new(),
        }
    }
}

impl<C: Connect> fmt::Debug for Threads<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads").finish_non_exhaustive()
    }
}

impl<C: Connect> Runner<C> for Threads<C> {
    type Waiter = Thread;

    const DROPPED: &'static str = "no thread can be started to connect";
    const IS_OVER: bool = false;

    fn wake(caller: Thread) {
        caller.unpark();
    }

    fn connect(shared: &Arc<Shared<C, Self>>, attempt: Attempt<C, Self>) {
        shared.queue(Job::Connect(attempt));
    }

    fn restore(shared: &Arc<Shared<C, Self>>, restoring: Restoring<C, Self>) {
        shared.queue(Job::Restore(restoring));
    }

    fn is_due_earlier(shared: &Arc<Shared<C, Self>>) {
        shared.wake_worker();
    }

    fn closed(&self) {
        self.work.notify_all();
    }

    fn drained(&self) {
        self.drained.notify_all();
    }
}
