//! Who waits for what on the shared connection. No IO, and the clock is the caller's: all of it runs under one short lock.
//!
//! ```text
//!   callers: full or offline          written, in the stream's order                        on the wire
//!   | waiting -> ... -> granted |  -> | flight: ... not taken | ... being sent | ... sent | -> replies, in order
//! ```
//!
//! A reply belongs to the first of the flight, whatever is in it: nothing that a server sends names a caller. Who walks
//! away leaves a place in the flight behind, and the reply to it is dropped.
//!
//! Who waits holds its command itself and writes it when it is granted. So what waits costs no copy, is gone without a
//! trace when its caller is, and was certainly not executed. After a loss those go back to waiting of whose commands the
//! server can't have all.

mod caller;
mod end;
mod entry;
mod supply;

use std::task::{Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use onecopy_wire::{Meter, WriteQueue};

use super::failure::Failure;
use super::limits::Limits;
use super::slab::{List, Slab};
use super::stats::SharedStats;
use crate::Error;

use entry::Entry;
pub(super) use entry::{Encode, Outcome};
pub(super) use supply::Came;

/// Whether there is a connection.
#[derive(Debug, Clone)]
enum Link {
    Up,
    /// Why not, where that is known.
    Down(Option<Error>),
    /// For good.
    Closed(Failure),
}

/// Callers, and what they have written.
#[derive(Debug)]
pub(super) struct Queue {
    limits: Limits,
    link: Link,
    entries: Slab<Entry>,
    /// By ticket.
    waiting: List<0>,
    /// In the order of the stream.
    flight: List<0>,
    /// Those with a deadline and no outcome, by ticket: as all have the same time, the first is the first to pass.
    timed: List<1>,
    granted: u64,
    /// Requests in flight.
    requests: u64,
    /// Requests written since the driver took some last.
    fresh: u64,
    output: WriteQueue,
    parts: Vec<Bytes>,
    /// Bytes of the connection's output: written by callers, and sent by the driver.
    written: u64,
    sent: u64,
    /// Bytes of commands that wait for a connection.
    offline_bytes: u64,
    next_ticket: u64,
    driver: Option<Waker>,
    /// Whether the driver will look without being woken.
    is_driver_awake: bool,
    /// To be woken once the lock is released.
    wakers: Vec<Waker>,
    /// No more commands are taken; those that are there are finished.
    is_closing: bool,
    /// When the handle is closed whatever is not finished then.
    close_by: Option<Instant>,
    /// Nobody is there any more to ask anything, or the time to close is over.
    is_forsaken: bool,
    closers: Vec<Waker>,
    /// Of the connection that there is.
    meter: Meter,
    /// Of those that are lost.
    past: Meter,
    /// Bytes that callers have copied into groups before these came here.
    copied_to_groups: u64,
    /// Replies to nothing on the connections that are lost.
    unexpected_replies: u64,
    /// Whether a connection would have been used since the last attempt to make one.
    is_missed: bool,
    /// Connections that were made.
    connects: u64,
}

impl Queue {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            link: Link::Down(None),
            entries: Slab::new(),
            waiting: List::new(),
            flight: List::new(),
            timed: List::new(),
            granted: 0,
            requests: 0,
            fresh: 0,
            output: WriteQueue::new(),
            parts: Vec::new(),
            written: 0,
            sent: 0,
            offline_bytes: 0,
            next_ticket: 0,
            driver: None,
            is_driver_awake: true,
            wakers: Vec::new(),
            is_closing: false,
            close_by: None,
            is_forsaken: false,
            closers: Vec::new(),
            meter: Meter::default(),
            past: Meter::default(),
            copied_to_groups: 0,
            unexpected_replies: 0,
            is_missed: false,
            connects: 0,
        }
    }

    /// No more commands are taken, and the driver ends when those that are there are finished, or at `close_by`. Where it was
    /// closed before, the time that was set then stays.
    pub(super) fn close(&mut self, close_by: Option<Instant>) {
        if !self.is_closing {
            self.close_by = close_by;
        }
        self.is_closing = true;
        self.force_driver();
    }

    /// Whether it has ended; else `waker` hears of it.
    pub(super) fn poll_closed(&mut self, waker: &Waker) -> Poll<()> {
        if matches!(self.link, Link::Closed(_)) {
            return Poll::Ready(());
        }
        if !self.closers.iter().any(|known| known.will_wake(waker)) {
            self.closers.push(waker.clone());
        }
        Poll::Pending
    }

    /// The last handle is gone: the driver ends.
    pub(super) fn forsake(&mut self) {
        self.is_forsaken = true;
        self.force_driver();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closing || matches!(self.link, Link::Closed(_))
    }

    pub(super) fn is_up(&self) -> bool {
        matches!(self.link, Link::Up)
    }

    /// What the driver has noted, and what callers have copied since.
    pub(super) fn meter(&self) -> Meter {
        let mut meter = self.meter.plus(&self.past);
        meter.bytes_copied_to_output += self.output.copied() + self.copied_to_groups;
        meter
    }

    /// A caller has copied so many bytes into a group, which comes now.
    pub(super) fn count_copied(&mut self, bytes: u64) {
        self.copied_to_groups += bytes;
    }

    /// So many replies to nothing have arrived on a connection that is lost.
    pub(super) fn count_unexpected(&mut self, replies: u64) {
        self.unexpected_replies += replies;
    }

    pub(super) fn unexpected_replies(&self) -> u64 {
        self.unexpected_replies
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// What is known here of what it has done and does.
    pub(super) fn stats(&self) -> SharedStats {
        let (in_flight, waiting) = self.load();
        SharedStats {
            is_connected: self.is_up(),
            connects: self.connects,
            calls: self.next_ticket,
            in_flight,
            waiting,
            unsent_bytes: self.written.saturating_sub(self.sent),
            offline_bytes: self.offline_bytes,
            meter: self.meter(),
            ..SharedStats::default()
        }
    }

    /// Requests in flight, and callers who wait.
    pub(super) fn load(&self) -> (u64, u64) {
        (self.requests, self.waiting.len() as u64 + self.granted)
    }
}

#[cfg(test)]
mod tests;
