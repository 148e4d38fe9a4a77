//! Sessions that stand in line for buffers, and those that keep them from the line.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::Worker;
use crate::session::Session;

/// Who waits, and who makes them wait.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// By their places, in the order in which they came.
    waiting: VecDeque<usize>,
    /// Who has kept buffers since others wait, and how far it is.
    holders: HashMap<usize, Mark>,
    /// For so long one may be kept.
    pub(super) stall_timeout: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    progress: u64,
    since: Instant,
}

impl Line {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

impl Worker {
    /// The session stands in line from now on.
    #[cold]
    pub(super) fn line_up(&mut self, index: usize) {
        self.line.waiting.push_back(index);
        self.pool.set_waiting(self.line.len());
    }

    /// Whether somebody in line need not wait for an event.
    pub(super) fn can_serve_line(&self) -> bool {
        self.pool.has_line() && self.pool.can_lend()
    }

    /// Each once, and only while there is something to give: those that get nothing go on waiting in their order.
    #[cold]
    pub(super) fn serve_line(&mut self, now: Instant) {
        for _ in 0..self.line.len() {
            if !self.pool.can_lend() {
                break;
            }
            if let Some(index) = self.line.waiting.pop_front() {
                self.pool.serve(true);
                self.go_on(index, now, Session::go_on_fed);
                self.pool.serve(false);
            }
        }
        self.pool.set_waiting(self.line.len());
    }

    /// Where the line does not move: has all give up what they can do without, and ends those that have kept the same bytes
    /// for too long, no more of them than there are in line.
    pub(super) fn relieve(&mut self, now: Instant) {
        if !self.pool.is_short() {
            return self.line.holders.clear();
        }
        let before = std::mem::take(&mut self.line.holders);
        let mut stalled = Vec::new();
        for (index, session) in self.sessions.iter_mut().enumerate() {
            let Some(session) = session else { continue };
            let Some(progress) = session.give_up(&mut self.pool) else {
                continue;
            };
            let known = before.get(&index);
            let mark = match known.filter(|mark| mark.progress == progress) {
                Some(mark) => *mark,
                None => Mark {
                    progress,
                    since: now,
                },
            };
            if now.saturating_duration_since(mark.since) >= self.line.stall_timeout {
                stalled.push((mark.since, index));
            }
            self.line.holders.insert(index, mark);
        }
        // Those that have kept theirs for the longest time come first.
        stalled.sort_unstable();
        for (_, index) in stalled.into_iter().take(self.line.len()) {
            self.go_on(index, now, Session::stop_stalled);
        }
    }
}
