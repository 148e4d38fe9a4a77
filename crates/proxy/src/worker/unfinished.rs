//! Logins without a client that sessions leave behind until their servers have refused them.
//!
//! Thousands of clients may leave at once, and a server that refuses as many logins at once has no time for anybody else. So a few
//! are finished at a time, and the others wait.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use mio::Token;
use mio::event::Event;

use super::Worker;
use super::aside::Waiting;
use crate::session::UnfinishedLogin;

/// The first one's token; sessions' are below, those of sockets that listen above.
const FIRST: usize = usize::MAX / 4;

/// So many are finished at the same time by a server that is near.
const AT_ONCE: usize = 2;

/// How often one more is begun all the same, for a server that is far away, or has its hands full.
const PACE: Duration = Duration::from_millis(2);

/// No more than this in a turn, also where each is over at once.
const A_TURN: usize = 8;

pub(super) struct Unfinished {
    /// Servers that have not greeted are waited for at so many connections: a backend that hangs gets one for each attempt.
    most_ungreeted: usize,
    /// Those that sessions have left behind in this turn.
    pub(super) left: Vec<UnfinishedLogin>,
    logins: Vec<Option<Box<UnfinishedLogin>>>,
    /// Places of those that wait until their time has come, in the order in which they came.
    waiting: VecDeque<usize>,
    /// So many were begun, and are not over.
    under_way: usize,
    /// When the last one was begun.
    last: Option<Instant>,
    free: Vec<usize>,
    /// Places that were freed in this turn: events of the logins before may still be on the list.
    freed: Vec<usize>,
}

impl Unfinished {
    pub(super) fn new(most_ungreeted: usize) -> Self {
        Self {
            most_ungreeted,
            left: Vec::new(),
            logins: Vec::new(),
            waiting: VecDeque::new(),
            under_way: 0,
            last: None,
            free: Vec::new(),
            freed: Vec::new(),
        }
    }

    /// Whether none is there that stands for a session.
    pub(super) fn is_empty(&self) -> bool {
        let mut all = self.left.iter().chain(self.all());
        !all.any(|login| login.is_counted)
    }

    /// Whether the next one may be begun.
    fn has_room(&self, now: Instant) -> bool {
        self.under_way < AT_ONCE || self.next_at().is_none_or(|at| now >= at)
    }

    fn next_at(&self) -> Option<Instant> {
        self.last.and_then(|last| last.checked_add(PACE))
    }

    /// When the next one is to be begun at the latest; `None` where nobody waits.
    #[inline]
    pub(super) fn due_at(&self) -> Option<Instant> {
        if self.waiting.is_empty() {
            return None;
        }
        self.next_at()
    }

    fn ungreeted(&self) -> usize {
        self.all().filter(|login| !login.has_greeted()).count()
    }

    fn all(&self) -> impl Iterator<Item = &UnfinishedLogin> {
        self.logins.iter().flatten().map(|login| &**login)
    }
}

impl Worker {
    /// Continues with those that sessions have left behind.
    #[cold]
    pub(super) fn take_unfinished(&mut self, now: Instant) {
        for mut login in std::mem::take(&mut self.unfinished.left) {
            let unfinished = &mut self.unfinished;
            if !login.has_greeted() && unfinished.ungreeted() >= unfinished.most_ungreeted {
                login.leave(&mut self.pool);
                continue;
            }
            let index = unfinished.free.pop().unwrap_or_else(|| {
                unfinished.logins.push(None);
                unfinished.logins.len() - 1
            });
            let is_registered = login.register(self.poll.registry(), Token(FIRST + index));
            if login.is_counted {
                self.count.fetch_add(1, SeqCst);
                self.gate.enter_anyway();
            }
            let waits = is_registered && login.has_greeted();
            if waits {
                login.wait(now);
                unfinished.waiting.push_back(index);
            }
            unfinished.logins[index] = Some(Box::new(login));
            match is_registered {
                true if waits => {}
                true => self.go_on_unfinished(index, now),
                false => self.end_unfinished(index),
            }
        }
        self.begin_unfinished(now);
        self.unfinished.free.append(&mut self.unfinished.freed);
    }

    /// Begins to finish those that wait, as many as it is time for.
    pub(super) fn begin_unfinished(&mut self, now: Instant) {
        for _ in 0..A_TURN {
            if !self.unfinished.has_room(now) {
                break;
            }
            let Some(index) = self.unfinished.waiting.pop_front() else {
                break;
            };
            self.begin_one(index, now);
        }
        // A burst's memory is not kept.
        if self.unfinished.waiting.is_empty() {
            self.unfinished.waiting.shrink_to(AT_ONCE);
        }
    }

    /// One that has not been begun since it came into the line.
    fn begin_one(&mut self, index: usize, now: Instant) {
        if let Some(Some(login)) = self.unfinished.logins.get_mut(index)
            && login.waits()
        {
            login.begin(now);
            self.unfinished.under_way += 1;
            self.unfinished.last = Some(now);
            self.go_on_unfinished(index, now);
        }
    }

    /// An event of one of them, or of something that is over.
    #[cold]
    pub(super) fn note_unfinished(&mut self, token: usize, event: &Event) {
        let Some(index) = token.checked_sub(FIRST) else {
            return;
        };
        if let Some(Some(login)) = self.unfinished.logins.get_mut(index) {
            login.note(event);
            if !login.waits() {
                self.aside.push(Waiting::Unfinished(index));
            }
        }
    }

    /// Those whose servers have had their time go, and those that have waited for long enough are begun.
    pub(super) fn tick_unfinished(&mut self, now: Instant) {
        for index in 0..self.unfinished.logins.len() {
            match &self.unfinished.logins[index] {
                Some(login) if !login.is_overdue(now) => {}
                Some(login) if login.waits() => self.begin_one(index, now),
                Some(_) => self.end_unfinished(index),
                None => {}
            }
        }
        self.begin_unfinished(now);
        self.unfinished.free.append(&mut self.unfinished.freed);
    }

    pub(super) fn go_on_unfinished(&mut self, index: usize, now: Instant) {
        let login = self.unfinished.logins.get_mut(index);
        let login = login.and_then(Option::as_mut);
        if login.is_some_and(|login| login.go_on(now, &mut self.pool)) {
            self.end_unfinished(index);
        }
    }

    fn end_unfinished(&mut self, index: usize) {
        let Some(login) = self.unfinished.logins[index].take() else {
            return;
        };
        self.unfinished.under_way -= usize::from(login.is_under_way());
        let is_counted = login.is_counted;
        login.leave(&mut self.pool);
        if is_counted {
            self.count.fetch_sub(1, SeqCst);
            self.gate.leave(1);
        }
        self.unfinished.freed.push(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_server_has_two_at_a_time_and_a_slow_one_gets_another_at_each_pace() {
        let mut unfinished = Unfinished::new(1);
        let start = Instant::now();
        assert_eq!(unfinished.due_at(), None);
        assert!(unfinished.has_room(start));
        unfinished.waiting.push_back(0);
        unfinished.under_way = AT_ONCE - 1;
        unfinished.last = Some(start);
        assert!(unfinished.has_room(start), "one of two");
        unfinished.under_way = AT_ONCE;
        assert!(!unfinished.has_room(start));
        assert!(!unfinished.has_room(start + PACE - Duration::from_nanos(1)));
        assert_eq!(unfinished.due_at(), Some(start + PACE));
        assert!(unfinished.has_room(start + PACE));
        unfinished.waiting.clear();
        assert_eq!(unfinished.due_at(), None, "nobody waits");
    }
}
