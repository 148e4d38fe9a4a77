//! Sessions that wait for a place on a backend, first come, first served.
//!
//! Whoever gives a place back calls the first; who is called and gets a place leaves the queue, which calls the next.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::worker::Mailbox;

/// How long one waits, and how many may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patience {
    /// Zero: nobody waits.
    pub(crate) timeout: Duration,
    pub(crate) length: usize,
}

/// The queue of one listener.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<VecDeque<Waiting>>,
    /// How many there are, for those who only want to know whether to call.
    count: AtomicUsize,
}

/// A session of a worker.
#[derive(Debug)]
struct Waiting {
    number: Arc<()>,
    worker: Arc<Mailbox>,
    index: usize,
}

/// A place in the queue; given up when it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    queue: Arc<Queue>,
    number: Arc<()>,
}

impl Queue {
    /// The last place; `None` where `most` wait already.
    pub(crate) fn enter(
        self: &Arc<Self>,
        most: usize,
        worker: &Arc<Mailbox>,
        index: usize,
    ) -> Option<Ticket> {
        let mut waiting = self.lock();
        if waiting.len() >= most {
            return None;
        }
        let number = Arc::new(());
        waiting.push_back(Waiting {
            number: Arc::clone(&number),
            worker: Arc::clone(worker),
            index,
        });
        self.count.store(waiting.len(), SeqCst);
        Some(Ticket {
            queue: Arc::clone(self),
            number,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(SeqCst) == 0
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
        first.is_some_and(|first| Arc::ptr_eq(&first.number, &self.number))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        {
            let mut waiting = self.queue.lock();
            waiting.retain(|one| !Arc::ptr_eq(&one.number, &self.number));
            self.queue.count.store(waiting.len(), SeqCst);
        }
        self.queue.call();
    }
}
