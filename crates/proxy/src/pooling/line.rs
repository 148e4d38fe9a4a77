//! The sessions that wait for connections of one pool, fair between users.
//!
//! ```text
//!   user a, 3 connections:  | 1 | 4 | 5 | 6 | ...      in order of arrival
//!   user b, 1 connection:   | 2 |                      <-- next: has fewest, of those that wait
//!   user c, 1 connection:   | 3 | 7 |                  then this one: served longer ago than b by then
//! ```
//!
//! Connections belong to a user, so what is fair is how many each has. A place for a new connection goes to the user that waits with the
//! fewest; among equals it goes round. A free connection stays with its user, in order of arrival, as long as nobody who waits has two
//! fewer: a connection that changes its user has to be made anew, which takes as long as some hundred statements. Where there are fewer
//! places than users, each keeps a place for [`QUANTUM`] at least.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::pool::Key;

/// How long somebody waits who has no connection that fits, and for how long a connection has been there, before it is closed for that
/// one. And how long a connection of somebody who does not wait stays idle then.
pub(crate) const QUANTUM: Duration = Duration::from_millis(20);

/// Sessions that came within such a time of each other may be served in another order.
const MOMENT: Duration = Duration::from_millis(1);

/// So many of the line are looked at for one that is cheaper to serve.
const LOOKED_AT: usize = 16;

/// Who waits. `T` is where somebody is found.
#[derive(Debug)]
pub(crate) struct Line<T> {
    users: Vec<User<T>>,
    /// Those of the users that wait, by their places.
    waiting_users: Vec<usize>,
    len: usize,
    /// Counts whenever somebody is served.
    turns: u64,
}

/// A user of the pool.
#[derive(Debug)]
struct User<T> {
    name: Box<[u8]>,
    /// Connections that it has, or that are being made for it.
    held: usize,
    /// When somebody of it was served last.
    turn: u64,
    /// It gets no new connections before that: its logins are refused.
    blocked_until: Option<Instant>,
    waiting: VecDeque<Waiting<T>>,
    counts: UserCounts,
}

/// What was counted of one user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UserCounts {
    /// How often a session had to wait, and how long in all.
    pub(crate) waits: u64,
    pub(crate) wait_micros: u64,
    /// Sessions that waited in vain.
    pub(crate) timeouts: u64,
    /// Statements that were more than it may send in a time.
    pub(crate) limited: u64,
}

/// A user, to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserInfo {
    pub(crate) name: Box<[u8]>,
    pub(crate) held: usize,
    pub(crate) waiting: usize,
    pub(crate) counts: UserCounts,
}

impl UserInfo {
    /// What there is of the same user elsewhere.
    pub(crate) fn add(&mut self, other: &Self) {
        self.held += other.held;
        self.waiting += other.waiting;
        let (counts, more) = (&mut self.counts, other.counts);
        counts.waits += more.waits;
        counts.wait_micros = counts.wait_micros.saturating_add(more.wait_micros);
        counts.timeouts += more.timeouts;
        counts.limited += more.limited;
    }
}

/// A session that waits.
#[derive(Debug)]
pub(crate) struct Waiting<T> {
    /// Smaller ones are served first.
    pub(crate) number: u64,
    pub(crate) key: Arc<Key>,
    pub(crate) since: Instant,
    pub(crate) place: T,
}

/// A connection that is free.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Free {
    /// How long ago it was made, and last used.
    pub(crate) age: Duration,
    pub(crate) idle: Duration,
    /// Without it there is room for a new one, which may be made now.
    pub(crate) makes_room: bool,
}

/// What becomes of it.
#[derive(Debug)]
pub(crate) enum Next<T> {
    /// It stays idle.
    Nobody,
    /// It makes room for one of another kind.
    Close,
    Session(Waiting<T>),
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self {
            users: Vec::new(),
            waiting_users: Vec::new(),
            len: 0,
            turns: 0,
        }
    }
}

impl<T> Line<T> {
    /// The place of a user, which it keeps: there are as many as accounts.
    pub(crate) fn user(&mut self, name: &[u8]) -> usize {
        let known = self.users.iter().position(|user| *user.name == *name);
        known.unwrap_or_else(|| {
            self.users.push(User {
                name: name.into(),
                held: 0,
                turn: 0,
                blocked_until: None,
                waiting: VecDeque::new(),
                counts: UserCounts::default(),
            });
            self.users.len() - 1
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Connections of a user.
    pub(crate) fn held(&self, user: usize) -> usize {
        self.users.get(user).map_or(0, |user| user.held)
    }

    pub(crate) fn info(&self) -> Vec<UserInfo> {
        let info = |user: &User<T>| UserInfo {
            name: user.name.clone(),
            held: user.held,
            waiting: user.waiting.len(),
            counts: user.counts,
        };
        self.users.iter().map(info).collect()
    }

    /// A session waits, or takes the place again that it had.
    pub(crate) fn enter(&mut self, waiting: Waiting<T>, is_new: bool) {
        let at = waiting.key.user_at;
        let Some(user) = self.users.get_mut(at) else {
            return;
        };
        user.counts.waits += u64::from(is_new);
        if user.waiting.is_empty() {
            self.waiting_users.push(at);
        }
        let place = user
            .waiting
            .partition_point(|one| one.number < waiting.number);
        user.waiting.insert(place, waiting);
        self.len += 1;
    }

    /// A session does not wait any more. Whether it was the first of its user, so that others may have to
    /// look again.
    pub(crate) fn leave(&mut self, at: usize, number: u64) -> bool {
        let Some(user) = self.users.get_mut(at) else {
            return false;
        };
        let found = user.waiting.binary_search_by_key(&number, |one| one.number);
        let Ok(place) = found else {
            return false;
        };
        self.remove(at, place);
        place == 0
    }

    /// A session was served, or went in vain: how long it has waited.
    pub(crate) fn note_wait(&mut self, at: usize, waited: Duration, is_in_vain: bool) {
        if let Some(user) = self.users.get_mut(at) {
            let waited = u64::try_from(waited.as_micros()).unwrap_or(u64::MAX);
            user.counts.wait_micros = user.counts.wait_micros.saturating_add(waited);
            user.counts.timeouts += u64::from(is_in_vain);
        }
    }

    /// A statement of a user was more than it may send in a time.
    pub(crate) fn note_limited(&mut self, at: usize) {
        if let Some(user) = self.users.get_mut(at) {
            user.counts.limited += 1;
        }
    }

    /// A connection is made for a user.
    pub(crate) fn takes(&mut self, at: usize) {
        self.turns += 1;
        if let Some(user) = self.users.get_mut(at) {
            (user.held, user.turn) = (user.held + 1, self.turns);
        }
    }

    /// One of its connections is gone.
    pub(crate) fn gives_back(&mut self, at: usize) {
        if let Some(user) = self.users.get_mut(at) {
            user.held = user.held.saturating_sub(1);
        }
    }

    /// No new connections can be made for a user before that.
    pub(crate) fn block(&mut self, at: usize, until: Instant) {
        if let Some(user) = self.users.get_mut(at) {
            user.blocked_until = Some(until);
        }
    }

    /// They can again.
    pub(crate) fn unblock(&mut self, at: Option<usize>) {
        match at {
            Some(at) => {
                if let Some(user) = self.users.get_mut(at) {
                    user.blocked_until = None;
                }
            }
            None => (self.users.iter_mut()).for_each(|user| user.blocked_until = None),
        }
    }

    /// The session that a new connection is for.
    pub(crate) fn first(&self, now: Instant) -> Option<&Waiting<T>> {
        let at = self.neediest(None, now)?;
        self.users.get(at)?.waiting.front()
    }

    /// Whether a session may make a connection where there is a place: nobody else is to have it. `number`: where it waits.
    pub(crate) fn may_connect(&self, number: Option<u64>, now: Instant) -> bool {
        self.len == 0
            || self
                .first(now)
                .is_none_or(|first| Some(first.number) == number)
    }

    /// Whether a session may take an idle connection of its kind: nobody waits for that one before it.
    pub(crate) fn may_take(&self, key: &Arc<Key>, number: Option<u64>) -> bool {
        let Some(user) = self.users.get(key.user_at) else {
            return true;
        };
        let mut same = user.waiting.iter().filter(|one| Arc::ptr_eq(&one.key, key));
        same.next()
            .is_none_or(|first| number.is_some_and(|number| number <= first.number))
    }

    /// Whether an idle connection of one user may be closed for another one, which waits.
    pub(crate) fn may_replace(&self, owner: usize, needy: usize, idle: Duration) -> bool {
        owner == needy || self.held(owner) > self.held(needy) || idle >= QUANTUM
    }

    /// Who gets a connection that is free. `is_near`: whether somebody is cheaper to serve than others.
    pub(crate) fn next_for(
        &mut self,
        key: &Arc<Key>,
        free: Free,
        is_near: impl Fn(&T) -> bool,
        now: Instant,
    ) -> Next<T> {
        let at = key.user_at;
        if self.len == 0 {
            return Next::Nobody;
        }
        if free.makes_room && self.is_due_to_another(at, free, now) {
            return Next::Close;
        }
        let Some(user) = self.users.get(at) else {
            return Next::Nobody;
        };
        let Some(first) = user.waiting.front() else {
            return Next::Nobody;
        };
        let has_waited = now.saturating_duration_since(first.since) >= QUANTUM;
        let is_same = |one: &Waiting<T>| Arc::ptr_eq(&one.key, key);
        let is_due = !is_same(first) && has_waited && free.age >= QUANTUM;
        let found = match is_due && free.makes_room {
            true => None,
            false => user.waiting.iter().position(is_same),
        };
        let Some(found) = found else {
            return match free.makes_room {
                true => Next::Close,
                false => Next::Nobody,
            };
        };
        let since = user.waiting.get(found).map(|one| one.since);
        let is_of_the_moment = |one: &Waiting<T>| {
            since.is_some_and(|since| one.since.saturating_duration_since(since) < MOMENT)
        };
        let some = user.waiting.iter().enumerate().skip(found).take(LOOKED_AT);
        let mut some = some.take_while(|(_, one)| is_of_the_moment(one));
        let near = some.find(|(_, one)| is_same(one) && is_near(&one.place));
        let found = near.map_or(found, |(near, _)| near);
        match self.remove(at, found) {
            Some(one) => {
                self.turns += 1;
                if let Some(user) = self.users.get_mut(at) {
                    user.turn = self.turns;
                }
                self.note_wait(at, now.saturating_duration_since(one.since), false);
                Next::Session(one)
            }
            None => Next::Nobody,
        }
    }

    /// Whether a user is to give a free connection up for another one.
    fn is_due_to_another(&self, at: usize, free: Free, now: Instant) -> bool {
        let rival = self.neediest(Some(at), now);
        let rival = rival.and_then(|rival| self.users.get(rival));
        let (Some(rival), Some(own)) = (rival, self.users.get(at)) else {
            return false;
        };
        let Some(first) = rival.waiting.front() else {
            return false;
        };
        let has_waited = now.saturating_duration_since(first.since) >= QUANTUM;
        let is_uneven = own.held > rival.held + 1;
        let is_turn = rival.held == 0 && has_waited && free.age >= QUANTUM;
        let is_unused = own.waiting.is_empty() && (own.held > rival.held || free.idle >= QUANTUM);
        is_uneven || is_turn || is_unused
    }

    /// The user that is next for a new connection, other than one.
    fn neediest(&self, but: Option<usize>, now: Instant) -> Option<usize> {
        let needs = |at: usize| {
            let user = self.users.get(at)?;
            let first = user.waiting.front()?;
            // Those of its connections that there are will do.
            let is_blocked = user.blocked_until.is_some_and(|until| now < until) && user.held > 0;
            (Some(at) != but && !is_blocked).then_some((user.held, user.turn, first.number, at))
        };
        let waiting = self.waiting_users.iter();
        let (.., at) = waiting.filter_map(|&at| needs(at)).min()?;
        Some(at)
    }

    fn remove(&mut self, at: usize, place: usize) -> Option<Waiting<T>> {
        let user = self.users.get_mut(at)?;
        let removed = user.waiting.remove(place)?;
        self.len -= 1;
        if user.waiting.is_empty() {
            user.waiting.shrink_to(LOOKED_AT);
            self.waiting_users.retain(|one| *one != at);
        }
        Some(removed)
    }
}

#[cfg(test)]
mod tests;
