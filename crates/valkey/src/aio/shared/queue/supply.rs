//! The driver's side: what is to be sent, and what has arrived.

use std::task::Waker;

use bytes::Bytes;
use onecopy_resp_proto::OwnedReply;
use onecopy_wire::{Meter, WireError, WriteQueue};

use super::super::failure::Failure;
use super::super::slab::Index;
use super::Queue;
use super::entry::{Encode, Entry, Outcome, Place, Probe, Told};
use crate::pubsub::Asked;

/// A reply that has arrived; `None` where it was passed over, an error where there was no memory for it.
pub(in super::super) type Came = Option<Result<OwnedReply, WireError>>;

impl Queue {
    #[inline]
    pub(super) fn wake_driver(&mut self) {
        if !self.is_driver_awake {
            self.force_driver();
        }
    }

    #[cold]
    #[inline(never)]
    pub(in super::super) fn force_driver(&mut self) {
        self.is_driver_awake = true;
        if let Some(driver) = &self.driver {
            // A task of the runtime: waking it runs nothing here.
            driver.wake_by_ref();
        }
    }

    /// Whether anybody is to be woken.
    #[inline]
    pub(in super::super) fn has_wakers(&self) -> bool {
        !self.wakers.is_empty()
    }

    /// Who is to be woken, once the lock is released.
    #[inline]
    pub(in super::super) fn take_wakers(&mut self, into: &mut Vec<Waker>) {
        if !self.wakers.is_empty() {
            std::mem::swap(&mut self.wakers, into);
        }
    }

    /// The driver looks, and will look again when `waker` says so: when there is something new to be sent, or at once where
    /// `is_busy` says that it has enough to do.
    #[inline]
    pub(in super::super) fn attend(&mut self, waker: &Waker, is_busy: bool) {
        self.is_driver_awake = is_busy;
        match &self.driver {
            Some(driver) if driver.will_wake(waker) => {}
            _ => self.driver = Some(waker.clone()),
        }
    }

    /// Hands replies to those who asked, in the stream's order; `None` is one that was passed over.
    #[inline]
    pub(in super::super) fn deliver(&mut self, replies: &mut Vec<Came>) {
        for reply in replies.drain(..) {
            let Some(index) = self.flight.first() else {
                return; // the core lets none pass that nobody asked for
            };
            self.requests -= 1;
            let Some(entry) = self.entries.get_mut(index) else {
                return;
            };
            entry.missing -= 1;
            let Some(reply) = reply else {
                self.pass_over(index);
                continue;
            };
            if entry.is_group {
                self.deliver_to_group(index, reply);
                continue;
            }
            entry.place = Place::Over;
            self.flight.remove(&mut self.entries, index);
            self.settle(index, reply.map(Outcome::One).map_err(Failure::Reply));
        }
        self.grant();
    }

    /// A reply that nobody waits for was not kept.
    #[cold]
    fn pass_over(&mut self, index: Index) {
        if let Some(entry) = self.entries.get_mut(index)
            && entry.missing == 0
        {
            entry.place = Place::Over;
            self.flight.remove(&mut self.entries, index);
            self.release(index);
        }
    }

    /// Whether nobody waits for the reply that comes next: it need not be kept.
    #[inline]
    pub(in super::super) fn is_first_forsaken(&self) -> bool {
        let first = self
            .flight
            .first()
            .and_then(|first| self.entries.get(first));
        first.is_some_and(|entry| !entry.has_caller && !entry.is_order || entry.outcome.is_some())
    }

    /// The reply that comes next is large: its caller hears of it before it has arrived. Nothing where all replies that have arrived
    /// were not delivered, or where it is told already.
    #[cold]
    pub(in super::super) fn announce_large(&mut self) {
        let first = self.flight.first();
        let Some(entry) = first.and_then(|first| self.entries.get_mut(first)) else {
            return;
        };
        if entry.large == Told::Nothing
            && !entry.is_group
            && let Some(waker) = &entry.waker
        {
            entry.large = Told::Soon;
            self.wakers.push(waker.clone());
        }
    }

    /// One of the replies of a group, whose first in flight it is.
    fn deliver_to_group(&mut self, index: Index, reply: Result<OwnedReply, WireError>) {
        let Some(entry) = self.entries.get_mut(index) else {
            return;
        };
        let is_last = entry.missing == 0;
        // None is kept for nobody, or behind one for which there was no memory.
        let is_kept = entry.has_caller && entry.outcome.is_none();
        let outcome = match reply {
            Ok(reply) if is_kept => {
                // There is room for all of them.
                entry.replies.push(reply);
                is_last.then(|| Ok(Outcome::Group(std::mem::take(&mut entry.replies))))
            }
            Ok(_) => None,
            Err(error) => Some(Err(Failure::Reply(error))),
        };
        if is_last {
            entry.place = Place::Over;
            self.flight.remove(&mut self.entries, index);
        }
        match outcome {
            Some(outcome) => self.settle(index, outcome),
            None if is_last => self.release(index),
            None => {}
        }
    }

    /// Whether the oldest request has left whole, when so many bytes have left in all.
    pub(in super::super) fn has_first_left(&self, sent: u64) -> bool {
        let first = self
            .flight
            .first()
            .and_then(|first| self.entries.get(first));
        first.is_some_and(|entry| entry.end <= sent)
    }

    /// Sends a PING that nobody waits for, when `sent` bytes have left: not where others wait to be sent, which are as good.
    #[cold]
    pub(in super::super) fn probe(&mut self, sent: u64) {
        if self.written > sent {
            return;
        }
        // Without memory for it there is no probe.
        let _ = self.write_own(Entry::probe(self.next_ticket), &Probe);
    }

    /// Writes a subscription command behind all others, with its PING where it has one. Gives its number among the requests that the
    /// driver takes next.
    ///
    /// # Errors
    /// Memory that could not be had.
    #[cold]
    pub(in super::super) fn order(&mut self, asked: &Asked) -> Result<u64, Failure> {
        let number = self.fresh;
        self.write_own(Entry::order(self.next_ticket), asked)?;
        if asked.has_ping() {
            self.write_own(Entry::probe(self.next_ticket), &Probe)?;
        }
        Ok(number)
    }

    /// Writes a request of the driver's own.
    #[cold]
    fn write_own(&mut self, entry: Entry, request: &impl Encode) -> Result<(), Failure> {
        self.next_ticket += 1;
        let index = self.entries.insert(entry)?;
        let written = self.write(index, request);
        if written.is_err() {
            self.entries.remove(index);
        }
        written
    }

    /// So many bytes of the connection's output have left in all.
    #[inline]
    pub(in super::super) fn note_sent(&mut self, sent: u64) {
        self.sent = sent;
        self.grant();
    }

    /// What the connection's bytes have cost.
    #[inline]
    pub(in super::super) fn note(&mut self, meter: Meter) {
        self.meter = meter;
    }

    /// Takes what was written. `output` and `parts` are empty ones. Gives the requests that it holds.
    #[inline]
    pub(in super::super) fn take(
        &mut self,
        output: &mut WriteQueue,
        parts: &mut Vec<Bytes>,
    ) -> u64 {
        std::mem::swap(&mut self.output, output);
        std::mem::swap(&mut self.parts, parts);
        std::mem::take(&mut self.fresh)
    }

    /// Gives back memory that a burst has needed.
    #[inline]
    pub(in super::super) fn shrink(&mut self) {
        self.output.release();
    }

    /// Whether nothing is in flight, so that the connection is idle.
    #[inline]
    pub(in super::super) fn is_idle(&self) -> bool {
        self.flight.is_empty()
    }

    /// Whether anybody has needed a connection since this was last asked.
    pub(in super::super) fn is_wanted(&mut self) -> bool {
        std::mem::take(&mut self.is_missed) || !self.waiting.is_empty() || self.granted > 0
    }

    /// Whether the driver is to end: nobody is left, or it is closed and everything is finished or had its time.
    #[inline]
    pub(in super::super) fn is_over(&self) -> bool {
        self.is_forsaken
            || self.is_closing
                && self.flight.is_empty()
                && self.waiting.is_empty()
                && self.granted == 0
    }

    pub(super) fn look_for_the_end(&mut self) {
        if self.is_closing && self.is_over() {
            self.force_driver();
        }
    }
}
