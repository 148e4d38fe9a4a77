//! Who waits, in the order of arrival.
//!
//! A waiter may leave at any time, from anywhere in the queue, so the queue is a doubly linked list in a vector. The places of those
//! who left are used again: the memory follows the largest number that waited at once.
//!
//! ```text
//!   first --> [waiting] <--> [waiting] <--> [waiting] <-- last      [granted]   [free] --> [free]
//! ```

use std::time::Instant;

use crate::{Checkout, WaitError};

/// A place in the queue. Give it back with [`Policy::poll_wait`](crate::Policy::poll_wait) or
/// [`Policy::leave`](crate::Policy::leave).
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a connection granted to it stays out of use until it is given back"]
pub struct Ticket(usize);

#[derive(Debug)]
pub(crate) struct Waiters<C, W> {
    slots: Vec<Slot<C, W>>,
    free: Vec<usize>,
    first: Option<usize>,
    last: Option<usize>,
    waiting: usize,
}

#[derive(Debug)]
enum Slot<C, W> {
    Free,
    Waiting(Waiting<W>),
    Granted(Checkout<C>, Instant),
    Failed(WaitError),
}

#[derive(Debug)]
struct Waiting<W> {
    waiter: W,
    since: Instant,
    before: Option<usize>,
    behind: Option<usize>,
}

/// What became of a waiter.
#[derive(Debug)]
pub(crate) enum Outcome<C> {
    Waiting(Ticket, Instant),
    Granted(Checkout<C>, Instant),
    Failed(WaitError),
}

impl<C, W> Default for Waiters<C, W> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            first: None,
            last: None,
            waiting: 0,
        }
    }
}

impl<C, W> Waiters<C, W> {
    /// Those that have got nothing yet.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// When the first one came.
    pub(crate) fn first_since(&self) -> Option<Instant> {
        match self.slots.get(self.first?)? {
            Slot::Waiting(waiting) => Some(waiting.since),
            _ => None,
        }
    }

    pub(crate) fn push(&mut self, waiter: W, since: Instant, at_front: bool) -> Ticket {
        let (before, behind) = if at_front {
            (None, self.first)
        } else {
            (self.last, None)
        };
        let waiting = Slot::Waiting(Waiting {
            waiter,
            since,
            before,
            behind,
        });
        let index = match self.free.pop() {
            Some(index) => {
                self.slots[index] = waiting;
                index
            }
            None => {
                self.slots.push(waiting);
                self.slots.len() - 1
            }
        };
        self.link(before, Some(index), behind);
        self.waiting += 1;
        Ticket(index)
    }

    /// Gives the first one what `granted` is, and returns whom to wake. Gives it back if nobody waits.
    pub(crate) fn grant(&mut self, granted: Checkout<C>) -> Result<W, Checkout<C>> {
        let Some(index) = self.first else {
            return Err(granted);
        };
        let Some((waiter, since)) = self.unlink(index) else {
            return Err(granted);
        };
        self.slots[index] = Slot::Granted(granted, since);
        Ok(waiter)
    }

    /// Fails the first one, and returns whom to wake.
    pub(crate) fn fail_first(&mut self, error: WaitError) -> Option<W> {
        let index = self.first?;
        let (waiter, _) = self.unlink(index)?;
        self.slots[index] = Slot::Failed(error);
        Some(waiter)
    }

    /// Takes what the waiter got; one that still waits stays where it is.
    pub(crate) fn take(&mut self, ticket: Ticket) -> Outcome<C> {
        let slot = &mut self.slots[ticket.0];
        if let Slot::Waiting(waiting) = slot {
            return Outcome::Waiting(ticket, waiting.since);
        }
        let taken = std::mem::replace(slot, Slot::Free);
        self.free.push(ticket.0);
        match taken {
            Slot::Granted(checkout, since) => Outcome::Granted(checkout, since),
            Slot::Failed(error) => Outcome::Failed(error),
            // A ticket is given out once and taken back once.
            Slot::Free | Slot::Waiting(_) => Outcome::Failed(WaitError::Closed),
        }
    }

    pub(crate) fn waiter_mut(&mut self, ticket: &Ticket) -> Option<&mut W> {
        match self.slots.get_mut(ticket.0)? {
            Slot::Waiting(waiting) => Some(&mut waiting.waiter),
            _ => None,
        }
    }

    /// Removes the waiter, and returns what was granted to it.
    pub(crate) fn remove(&mut self, ticket: Ticket) -> Option<Checkout<C>> {
        self.unlink(ticket.0);
        match self.take(ticket) {
            Outcome::Granted(checkout, _) => Some(checkout),
            _ => None,
        }
    }

    /// Takes a waiter out of the list. Its slot is free until it is given another meaning.
    fn unlink(&mut self, index: usize) -> Option<(W, Instant)> {
        let slot = self.slots.get_mut(index)?;
        if !matches!(slot, Slot::Waiting(_)) {
            return None;
        }
        let Slot::Waiting(waiting) = std::mem::replace(slot, Slot::Free) else {
            return None;
        };
        self.link(waiting.before, None, waiting.behind);
        self.waiting -= 1;
        Some((waiting.waiter, waiting.since))
    }

    /// Makes neighbours of what stands before and behind, with `index` between them if there is one.
    fn link(&mut self, before: Option<usize>, index: Option<usize>, behind: Option<usize>) {
        match before {
            None => self.first = index.or(behind),
            Some(before) => {
                if let Slot::Waiting(waiting) = &mut self.slots[before] {
                    waiting.behind = index.or(behind);
                }
            }
        }
        match behind {
            None => self.last = index.or(before),
            Some(behind) => {
                if let Slot::Waiting(waiting) = &mut self.slots[behind] {
                    waiting.before = index.or(before);
                }
            }
        }
    }
}
