//! Logins without a client that sessions leave behind until their servers have refused them.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

use mio::Token;
use mio::event::Event;

use super::Worker;
use super::aside::Waiting;
use crate::session::UnfinishedLogin;

/// The first one's token; sessions' are below, those of sockets that listen above.
const FIRST: usize = usize::MAX / 4;

pub(super) struct Unfinished {
    /// Servers that have not greeted are waited for at so many connections: a backend that hangs gets one for each attempt.
    most_ungreeted: usize,
    /// Those that sessions have left behind in this turn.
    pub(super) left: Vec<UnfinishedLogin>,
    logins: Vec<Option<Box<UnfinishedLogin>>>,
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
            free: Vec::new(),
            freed: Vec::new(),
        }
    }

    /// Whether none is there that stands for a session.
    pub(super) fn is_empty(&self) -> bool {
        let mut all = self.left.iter().chain(self.all());
        !all.any(|login| login.is_counted)
    }

    fn ungreeted(&self) -> usize {
        self.all().filter(|login| !login.has_greeted()).count()
    }

    fn all(&self) -> impl Iterator<Item = &UnfinishedLogin> {
        self.logins.iter().flatten().map(|login| &**login)
    }
}

impl Worker {
    /// Goes on with those that sessions have left behind.
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
            unfinished.logins[index] = Some(Box::new(login));
            if is_registered {
                self.go_on_unfinished(index, now);
            } else {
                self.end_unfinished(index);
            }
        }
        self.unfinished.free.append(&mut self.unfinished.freed);
    }

    /// An event of one of them, or of something that is over.
    #[cold]
    pub(super) fn note_unfinished(&mut self, token: usize, event: &Event) {
        let Some(index) = token.checked_sub(FIRST) else {
            return;
        };
        if let Some(Some(login)) = self.unfinished.logins.get_mut(index) {
            login.note(event);
            self.aside.push(Waiting::Unfinished(index));
        }
    }

    /// Those whose servers have had their time go.
    pub(super) fn tick_unfinished(&mut self, now: Instant) {
        for index in 0..self.unfinished.logins.len() {
            let login = self.unfinished.logins[index].as_ref();
            if login.is_some_and(|login| login.is_overdue(now)) {
                self.end_unfinished(index);
            }
        }
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
        let is_counted = login.is_counted;
        login.leave(&mut self.pool);
        if is_counted {
            self.count.fetch_sub(1, SeqCst);
            self.gate.leave(1);
        }
        self.unfinished.freed.push(index);
    }
}
