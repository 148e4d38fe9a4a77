//! What waits while sessions that are logged in have their turn: logins, last words, and logins that have no client any more.

use std::collections::VecDeque;
use std::time::Instant;

use super::Worker;
use crate::session::Session;

/// How much of it is done in a turn: each takes some tens of microseconds, most of them in the kernel.
const A_TURN: usize = 8;

/// With so many waiting nobody else is accepted: those that come wait with the kernel, at no cost.
const FULL: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    /// A session, by its place.
    Session(usize),
    /// A login without a client, by its place.
    Unfinished(usize),
}

/// First come, first served, each once.
#[derive(Debug, Default)]
pub(super) struct Aside(VecDeque<Waiting>);

impl Aside {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= FULL
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        self.0.push_back(waiting);
    }

    /// What is served now.
    fn turn(&mut self) -> impl Iterator<Item = Waiting> {
        self.0.drain(..self.0.len().min(A_TURN))
    }
}

impl Worker {
    /// A session that is not logged in continues when its turn comes.
    #[cold]
    pub(super) fn set_aside(&mut self, index: usize) {
        if let Some(Some(session)) = self.sessions.get_mut(index)
            && !session.note_aside()
        {
            self.aside.push(Waiting::Session(index));
        }
    }

    /// Some of what waits.
    #[cold]
    pub(super) fn take_from_aside(&mut self, now: Instant) {
        let turn: Vec<_> = self.aside.turn().collect();
        for waiting in turn {
            match waiting {
                // Its place may be another session's by now, which is then served a little early.
                Waiting::Session(index) => self.go_on(index, now, Session::go_on_from_aside),
                Waiting::Unfinished(index) => self.go_on_unfinished(index, now),
            }
        }
        if self.aside.is_empty() {
            // A burst's memory is not kept.
            self.aside.0.shrink_to(FULL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_turn_takes_a_little_in_the_order_in_which_it_came() {
        let mut aside = Aside::default();
        (0..FULL).for_each(|index| aside.push(Waiting::Session(index)));
        assert!(aside.is_full());
        let turn: Vec<_> = aside.turn().collect();
        assert_eq!(turn.len(), A_TURN);
        assert_eq!(turn[0], Waiting::Session(0));
        assert!(!aside.is_full() && !aside.is_empty());
        let turns = std::iter::repeat_with(|| aside.turn().count());
        assert_eq!(
            turns.take(FULL).filter(|&count| count > 0).count(),
            FULL / A_TURN - 1
        );
        assert!(aside.is_empty());
    }
}
