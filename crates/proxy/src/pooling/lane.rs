//! The sessions that wait for one part of the servers, and how many they are.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::line::Line;
use super::pool::Recipient;

/// Where a session is that waits: its worker, and its place there.
pub(super) type Seat = (Arc<dyn Recipient>, usize);

/// Who waits for connections of one part: those that wait for replicas wait for nobody else.
#[derive(Debug, Default)]
pub(super) struct Lane {
    line: Mutex<Line<Seat>>,
    waiting: AtomicUsize,
}

impl Lane {
    pub(super) fn line(&self) -> MutexGuard<'_, Line<Seat>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how many wait, after a change.
    pub(super) fn count(&self, line: &Line<Seat>) {
        self.waiting.store(line.len(), SeqCst);
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(SeqCst)
    }

    /// There may be room for another connection.
    pub(super) fn call(&self) {
        if self.waiting() == 0 {
            return;
        }
        if let Some(first) = self.line().first(Instant::now()) {
            let (recipient, session) = &first.place;
            recipient.look_again(*session, first.number);
        }
    }
}
