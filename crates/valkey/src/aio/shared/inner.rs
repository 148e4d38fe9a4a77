//! What handles and driver have in common.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use super::limits::Limits;
use super::queue::Queue;

/// The queue under its lock, which nobody holds over an await or a system call.
#[derive(Debug)]
pub(super) struct Inner {
    queue: Mutex<Queue>,
}

impl Inner {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            queue: Mutex::new(Queue::new(limits)),
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
