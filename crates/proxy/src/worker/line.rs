//! The queue of sessions that wait for buffers, and the sessions that hold those buffers.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::Worker;
use crate::buffers::OF_NO_USE;
use crate::session::{Progress, Session};

/// Who waits, and who makes them wait.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// By their places, in the order in which they came.
    waiting: VecDeque<usize>,
    /// Who has kept buffers since others wait, and how far it is.
    holders: HashMap<usize, Marks>,
    /// For so long one may be kept.
    pub(super) stall_timeout: Duration,
}

/// How far somebody was with each thing that he keeps, and since when.
#[derive(Debug, Default)]
struct Marks([Option<Mark>; 4]);

#[derive(Debug, Clone, Copy)]
struct Mark {
    progress: u64,
    since: Instant,
}

/// A session that reads and writes no more bytes than this while others wait counts as one that blocks its buffers.
const HARDLY: u64 = 1 << 10;

impl Mark {
    /// Whether nothing to speak of has moved since.
    fn is_hardly_behind(&self, progress: u64) -> bool {
        let moved = progress.wrapping_sub(self.progress);
        // It may have been given more by its other side than it has passed on.
        moved.min(moved.wrapping_neg()) <= HARDLY
    }
}

impl Marks {
    /// What is kept now, each since it has hardly moved.
    fn after(before: &Self, progress: Progress, now: Instant) -> Self {
        let mut marks = Self::default();
        for ((mark, before), progress) in marks.0.iter_mut().zip(before.0).zip(progress) {
            let Some(progress) = progress else { continue };
            let known = before.filter(|mark| mark.is_hardly_behind(progress));
            *mark = Some(known.unwrap_or(Mark {
                progress,
                since: now,
            }));
        }
        marks
    }

    /// Since when the first of them is kept; `None` where nothing is.
    fn since(&self) -> Option<Instant> {
        self.0.iter().flatten().map(|mark| mark.since).min()
    }
}

impl Line {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

impl Worker {
    /// Adds the session to the queue.
    #[cold]
    pub(super) fn line_up(&mut self, index: usize) {
        self.line.waiting.push_back(index);
        self.pool.set_waiting(self.line.len());
    }

    /// Whether a queued session can be served without an event.
    pub(super) fn can_serve_line(&self) -> bool {
        self.pool.can_serve()
    }

    /// Each once, and only while there is something to give: those that get nothing keep waiting in their order.
    #[cold]
    pub(super) fn serve_line(&mut self, now: Instant) {
        let mut is_in_vain = true;
        for _ in 0..self.line.len() {
            if !self.pool.can_lend() {
                is_in_vain = false;
                break;
            }
            if let Some(index) = self.line.waiting.pop_front() {
                self.pool.serve(true);
                self.go_on(index, now, Session::go_on_fed);
                self.pool.serve(false);
                let session = self.sessions.get(index).and_then(Option::as_ref);
                is_in_vain &= session.is_some_and(|session| session.waits_since_before(now));
            }
        }
        self.pool.set_waiting(self.line.len());
        if is_in_vain {
            self.pool.note_in_vain();
        }
    }

    /// Removes a session that is over from the queue: its place may soon be used by another session.
    #[cold]
    fn leave_line(&mut self, index: usize) {
        self.line.waiting.retain(|waiting| *waiting != index);
        self.pool.set_waiting(self.line.len());
    }

    /// Where the line does not move: has all give up what they can do without, and ends those that have kept what they have for
    /// too long, at most as many as are queued. One byte now and then changes nothing about that. The same, one at a
    /// time, where what is not borrowed, and can't be taken back so, is too much by itself.
    pub(super) fn relieve(&mut self, now: Instant) {
        if !self.pool.is_short() && !self.pool.is_crowded() {
            return self.line.holders.clear();
        }
        let mut before = std::mem::take(&mut self.line.holders);
        let mut stalled = Vec::new();
        for index in 0..self.sessions.len() {
            self.go_on(index, now, Session::press_on);
            let Some(Some(session)) = self.sessions.get_mut(index) else {
                continue;
            };
            let progress = session.give_up(&mut self.pool);
            let marks = Marks::after(&before.remove(&index).unwrap_or_default(), progress, now);
            let Some(since) = marks.since() else {
                continue;
            };
            // Those that it waits for itself are ended first.
            let patience = self.line.stall_timeout * (1 + u32::from(session.only_waits()));
            if now.saturating_duration_since(since) >= patience {
                stalled.push((since, index, session.beside_loans()));
            }
            self.line.holders.insert(index, marks);
        }
        let is_short = self.pool.is_short();
        // Without a line it helps only to end those that hold something beside loans.
        stalled.retain(|(_, _, beside)| is_short || *beside > OF_NO_USE);
        let most = match (is_short, self.pool.is_crowded()) {
            (false, false) => 0,
            (_, true) => self.line.len().max(1),
            (true, false) => self.line.len(),
        };
        // Those that have kept theirs for the longest time come first.
        stalled.sort_unstable();
        for (_, index, _) in stalled.into_iter().take(most) {
            self.go_on(index, now, Session::stop_stalled);
        }
    }

    /// A session is over: what its place is marked with is not the next one's.
    #[cold]
    pub(super) fn forget(&mut self, index: usize, was_in_line: bool) {
        self.line.holders.remove(&index);
        if was_in_line {
            self.leave_line(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_now_and_then_is_no_progress() {
        let mark = Mark {
            progress: u64::MAX,
            since: Instant::now(),
        };
        for (moved, is_behind) in [(0, true), (1, true), (HARDLY, true), (HARDLY + 1, false)] {
            assert_eq!(
                mark.is_hardly_behind(u64::MAX.wrapping_add(moved)),
                is_behind
            );
            assert_eq!(mark.is_hardly_behind(u64::MAX - moved), is_behind);
        }
    }

    #[test]
    fn what_moves_does_not_hide_what_does_not() {
        let start = Instant::now();
        let mut marks = Marks::default();
        for second in 0..10 {
            let now = start + Duration::from_secs(second);
            // One direction has something now and then, one moves, and one does not.
            let other = (second % 2 == 0).then_some(second);
            marks = Marks::after(&marks, [other, Some(second << 20), Some(7), None], now);
            assert_eq!(marks.since(), Some(start));
        }
        let now = start + Duration::from_secs(10);
        marks = Marks::after(&marks, [None, Some(10 << 20), None, None], now);
        assert_eq!(marks.since(), Some(now));
        marks = Marks::after(&marks, [None; 4], now);
        assert_eq!(marks.since(), None);
    }
}
