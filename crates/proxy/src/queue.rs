//! Sessions that wait for a place on a backend, first come, first served.
//!
//! A session that gives its place back calls the first waiter. A called waiter that gets a place leaves the queue, which calls the
//! next. If its server then reports that it is full, the session returns to its old position.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long one waits, and how many may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patience {
    /// Zero: nobody waits.
    pub(crate) timeout: Duration,
    pub(crate) length: usize,
}

/// Who has sessions that wait.
pub(crate) trait Waiter: fmt::Debug + Send + Sync {
    /// Has one of them look whether it can continue.
    fn go_on(&self, session: usize);
}

/// The queue of one listener.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<VecDeque<Waiting>>,
    /// How many there are, for those who only want to know whether to call.
    count: AtomicUsize,
    next: AtomicU64,
}

/// A session of a worker.
#[derive(Debug)]
struct Waiting {
    /// As they came first.
    number: u64,
    worker: Arc<dyn Waiter>,
    index: usize,
}

/// A place in the queue; given up when it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    queue: Arc<Queue>,
    pub(crate) number: u64,
}

impl Queue {
    /// The last place; `None` where `most` wait already. `again`: the place of a ticket with this number.
    pub(crate) fn enter(
        self: &Arc<Self>,
        most: usize,
        (worker, index): (&Arc<dyn Waiter>, usize),
        again: Option<u64>,
    ) -> Option<Ticket> {
        let mut waiting = self.lock();
        if waiting.len() >= most && again.is_none() {
            return None;
        }
        let number = again.unwrap_or_else(|| self.next.fetch_add(1, SeqCst));
        let at = waiting.partition_point(|one| one.number < number);
        let session = Waiting {
            number,
            worker: Arc::clone(worker),
            index,
        };
        waiting.insert(at, session);
        self.count.store(waiting.len(), SeqCst);
        Some(Ticket {
            queue: Arc::clone(self),
            number,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.count.load(SeqCst)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Has the first session look again whether there is a place.
    #[inline]
    pub(crate) fn call(&self) {
        if !self.is_empty() {
            self.call_first();
        }
    }

    #[cold]
    fn call_first(&self) {
        if let Some(first) = self.lock().front() {
            first.worker.go_on(first.index);
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    pub(crate) fn is_first(&self) -> bool {
        let waiting = self.queue.lock();
        let first = waiting.front();
        first.is_some_and(|first| first.number == self.number)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        {
            let mut waiting = self.queue.lock();
            waiting.retain(|one| one.number != self.number);
            self.queue.count.store(waiting.len(), SeqCst);
        }
        self.queue.call();
    }
}
