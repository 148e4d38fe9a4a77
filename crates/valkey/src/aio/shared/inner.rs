//! What handles and driver have in common.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use super::limits::Limits;
use super::queue::Queue;
use super::registry::Registry;
use super::subscriptions::Subscriptions;
use crate::observe::System;

/// The queue under its lock, which nobody holds over an await or a system call.
#[derive(Debug)]
pub(super) struct Inner {
    queue: Mutex<Queue>,
    pub(super) subscriptions: Subscriptions,
    pub(super) system: System,
}

impl Inner {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            queue: Mutex::new(Queue::new(limits)),
            subscriptions: Subscriptions::default(),
            system: System::default(),
        }
    }

    /// Does something under the lock; then wakes whom that concerns, without it.
    #[inline]
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Queue) -> T) -> T {
        let mut queue = self.lock();
        let done = act(&mut queue);
        if queue.has_wakers() {
            let mut wakers = Vec::new();
            queue.take_wakers(&mut wakers);
            drop(queue);
            wake(&mut wakers);
        }
        done
    }

    /// Changes who is subscribed to what; then whoever sends commands for that is woken.
    pub(super) fn subscribe<T>(&self, act: impl FnOnce(&mut Registry, &mut Vec<Waker>) -> T) -> T {
        let (done, has_orders) = self.subscriptions.with(act);
        // Without a connection the driver may wait for somebody to need one.
        if has_orders || self.subscriptions.is_any() {
            self.with(Queue::force_driver);
        }
        done
    }

    /// The same for the driver, which has a list for wakers.
    #[inline]
    pub(super) fn drive<T>(&self, wakers: &mut Vec<Waker>, act: impl FnOnce(&mut Queue) -> T) -> T {
        let done = {
            let mut queue = self.lock();
            let done = act(&mut queue);
            queue.take_wakers(wakers);
            done
        };
        wake(wakers);
        done
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing in the queue panics; a foreign waker's clone that does leaves it whole.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes outside of the lock, because a woken task may take it at once.
fn wake(wakers: &mut Vec<Waker>) {
    wakers.drain(..).for_each(Waker::wake);
}
