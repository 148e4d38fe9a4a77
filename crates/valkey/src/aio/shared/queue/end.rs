//! What ends otherwise than by a reply: time that is over, a connection that is lost, the end of all.

use std::time::Instant;

use onecopy_wire::{Meter, WriteQueue};

use super::super::failure::Failure;
use super::super::limits::Offline;
use super::super::slab::Index;
use super::entry::Place;
use super::{Link, Queue};
use crate::Error;

impl Queue {
    /// Ends what is out of time by `now`; gives when to look again.
    #[inline]
    pub(in super::super) fn expire(&mut self, now: impl Fn() -> Instant) -> Option<Instant> {
        if self.timed.is_empty() && matches!(self.link, Link::Up) && !self.is_closing {
            return None;
        }
        self.expire_by(now())
    }

    #[inline(never)]
    pub(super) fn expire_by(&mut self, now: Instant) -> Option<Instant> {
        let mut next = self.close_by;
        if next.is_some_and(|close_by| close_by <= now) {
            self.is_forsaken = true;
            return None;
        }
        while let Some(index) = self.timed.first() {
            let deadline = self.entries.get(index).and_then(|entry| entry.deadline);
            if let Some(deadline) = deadline.filter(|deadline| *deadline > now) {
                next = Some(sooner(next, deadline));
                break;
            }
            self.time_out(index);
        }
        if matches!(self.link, Link::Up) {
            return next;
        }
        while let Some(index) = self.waiting.first() {
            let until = self
                .entries
                .get(index)
                .and_then(|entry| entry.offline_until);
            match until {
                Some(until) if until > now => {
                    return Some(sooner(next, until));
                }
                Some(_) => self.fail_waiting(index),
                None => break,
            }
        }
        next
    }

    /// Its place in the stream stays where it has one: the late reply goes there.
    pub(super) fn time_out(&mut self, index: Index) {
        let Some(entry) = self.entries.get_mut(index) else {
            return;
        };
        let maybe_executed = entry.place == Place::Flight && entry.is_begun(self.sent);
        match entry.place {
            Place::Waiting => self.stop_waiting(index),
            Place::Granted => {
                entry.place = Place::Over;
                self.granted -= 1;
            }
            Place::Flight | Place::Over => {}
        }
        self.settle(index, Err(Failure::Timeout { maybe_executed }));
        self.grant();
    }

    pub(super) fn fail_waiting(&mut self, index: Index) {
        let cause = match &self.link {
            Link::Down(cause) => cause.clone(),
            _ => None,
        };
        self.stop_waiting(index);
        self.settle(index, Err(Failure::Offline(cause)));
    }

    /// There is a connection.
    pub(in super::super) fn connected(&mut self) {
        self.link = Link::Up;
        self.connects += 1;
        self.written = 0;
        self.sent = 0;
        self.grant();
    }

    /// A connection was tried for and not had.
    pub(in super::super) fn still_offline(&mut self, cause: Error) {
        self.link = Link::Down(Some(cause));
    }

    /// The connection is lost, after `sent` bytes have left. Callers whose commands the server may have received get the error; all
    /// others wait for the next connection, or get the error too if the options say so.
    pub(in super::super) fn lost(&mut self, cause: Error, sent: u64, now: Instant) {
        self.sent = sent;
        let meter = std::mem::take(&mut self.meter);
        self.past = self.past.plus(&Meter {
            capacity_now: 0,
            ..meter
        });
        self.link = Link::Down(Some(cause.clone()));
        self.output.clear();
        self.parts.clear();
        self.requests = 0;
        self.fresh = 0;
        while let Some(index) = self.flight.last() {
            self.flight.remove(&mut self.entries, index);
            self.lose(index, &cause);
        }
        let Some(offline) = self.limits.offline else {
            while let Some(index) = self.waiting.first() {
                self.fail_waiting(index);
            }
            return;
        };
        self.count_offline(&offline, now);
    }

    /// Holds those who wait against what may wait for a connection, in their order, as if they came now.
    fn count_offline(&mut self, offline: &Offline, now: Instant) {
        let mut next = self.waiting.first();
        let mut commands = 0;
        while let Some(index) = next {
            next = self.waiting.behind(&mut self.entries, index);
            let Some(entry) = self.entries.get_mut(index) else {
                continue;
            };
            if entry.offline_until.is_none() {
                let bytes = entry.end - entry.start;
                self.offline_bytes += bytes;
                entry.is_uncounted = bytes == 0;
                if entry.is_uncounted {
                    self.wakers.extend(entry.waker.take());
                }
            }
            entry.offline_until = Some(now + offline.max_wait);
            if commands < offline.max_commands && self.offline_bytes <= offline.max_bytes {
                commands += 1;
                continue;
            }
            self.stop_waiting(index);
            let failure = Failure::OfflineFull {
                commands,
                bytes: self.offline_bytes,
            };
            self.settle(index, Err(failure));
        }
    }

    /// One command of a lost connection.
    pub(super) fn lose(&mut self, index: Index, cause: &Error) {
        let Some(entry) = self.entries.get_mut(index) else {
            return;
        };
        entry.place = Place::Over;
        let begun = entry.is_begun(self.sent);
        if begun || !entry.has_caller || entry.outcome.is_some() {
            let lost = Failure::Lost {
                cause: cause.clone(),
                maybe_executed: begun,
            };
            return self.settle(index, Err(lost));
        }
        entry.replies = Vec::new();
        self.line_up(index);
    }

    /// It is over for good: everybody hears of it, and whether the server may have his command.
    pub(in super::super) fn end(&mut self, failure: &Failure) {
        if matches!(self.link, Link::Closed(_)) {
            return;
        }
        self.past.bytes_copied_to_output += self.output.copied();
        self.output = WriteQueue::new();
        self.parts = Vec::new();
        while let Some(index) = self.flight.first() {
            self.flight.remove(&mut self.entries, index);
            let Some(entry) = self.entries.get_mut(index) else {
                continue;
            };
            entry.place = Place::Over;
            let failure = match entry.is_begun(self.sent) {
                true => Failure::Lost {
                    cause: failure.clone().into(),
                    maybe_executed: true,
                },
                false => failure.clone(),
            };
            self.settle(index, Err(failure));
        }
        while let Some(index) = self.waiting.first() {
            self.stop_waiting(index);
            self.settle(index, Err(failure.clone()));
        }
        self.requests = 0;
        self.link = Link::Closed(failure.clone());
        self.wakers.append(&mut self.closers);
    }
}

fn sooner(one: Option<Instant>, other: Instant) -> Instant {
    one.map_or(other, |one| one.min(other))
}
