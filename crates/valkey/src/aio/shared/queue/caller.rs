//! The callers' side: a place in the line, room, the answer.

use std::task::{Poll, Waker};
use std::time::Instant;

use onecopy_resp_proto::OwnedReply;
use onecopy_wire::{WireError, WriteQueue};

use super::super::failure::Failure;
use super::super::limits::Offline;
use super::super::slab::Index;
use super::entry::{Encode, Entry, Outcome, Place, Told};
use super::{Link, Queue};

impl Queue {
    /// Asks on behalf of a caller, whose place is in `index` once it has one.
    #[inline]
    pub(in super::super) fn poll(
        &mut self,
        index: &mut Option<Index>,
        command: &impl Encode,
        waker: &Waker,
        clock: impl Fn() -> Instant,
    ) -> Poll<Result<Outcome, Failure>> {
        match *index {
            None => self.enter(index, command, waker, clock),
            Some(known) => self.ask(index, known, command, waker, clock),
        }
    }

    #[inline]
    pub(super) fn enter(
        &mut self,
        index: &mut Option<Index>,
        command: &impl Encode,
        waker: &Waker,
        clock: impl Fn() -> Instant,
    ) -> Poll<Result<Outcome, Failure>> {
        let is_open = matches!(self.link, Link::Up) && !self.is_closing;
        if !is_open && let Some(refusal) = self.refusal() {
            self.miss();
            return Poll::Ready(Err(refusal));
        }
        let timeout = self.limits.command_timeout;
        let deadline = timeout.and_then(|timeout| clock().checked_add(timeout));
        let is_atomic = command.is_atomic();
        let entry = Entry::new(self.next_ticket, waker.clone(), is_atomic, deadline);
        self.next_ticket += 1;
        let new = self.entries.insert(entry)?;
        let joined = if self.waiting.is_empty() && self.has_room() {
            self.write(new, command)
        } else {
            self.wait(new, command, clock)
        };
        if let Err(failure) = joined {
            self.entries.remove(new);
            return Poll::Ready(Err(failure));
        }
        if deadline.is_some() {
            self.timed.push_back(&mut self.entries, new);
            if self.timed.len() == 1 {
                self.force_driver();
            }
        }
        *index = Some(new);
        Poll::Pending
    }

    /// Why no command is taken.
    #[cold]
    pub(super) fn refusal(&self) -> Option<Failure> {
        match &self.link {
            Link::Up if !self.is_closing => None,
            Link::Closed(failure) => Some(failure.clone()),
            _ if self.is_closing => Some(Failure::Closed),
            Link::Down(cause) if self.limits.offline.is_none() => {
                Some(Failure::Offline(cause.clone()))
            }
            _ => None,
        }
    }

    /// A command was refused for want of a connection: there is use for one.
    #[cold]
    pub(super) fn miss(&mut self) {
        if matches!(self.link, Link::Down(_)) && !self.is_missed {
            self.is_missed = true;
            self.force_driver();
        }
    }

    /// Whether one more may be written.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        matches!(self.link, Link::Up)
            && self.requests + self.granted < self.limits.max_in_flight
            && self.has_room_for_bytes()
    }

    #[inline]
    pub(super) fn has_room_for_bytes(&self) -> bool {
        self.written - self.sent < self.limits.max_unsent_bytes
    }

    /// Writes a caller's command behind all others.
    #[inline]
    pub(super) fn write(&mut self, index: Index, command: &impl Encode) -> Result<(), Failure> {
        let replies = command.replies();
        let group = reserved(replies)?;
        command.encode(&mut self.output, &mut self.parts)?;
        let start = self.written;
        self.written += self.output.command_len() as u64;
        self.requests += u64::from(replies);
        self.fresh += u64::from(replies);
        self.flight.push_back(&mut self.entries, index);
        if let Some(entry) = self.entries.get_mut(index) {
            entry.place = Place::Flight;
            entry.missing = replies;
            (entry.start, entry.end) = (start, self.written);
            if let Some(group) = group {
                entry.is_group = true;
                entry.replies = group;
            }
        }
        self.wake_driver();
        Ok(())
    }

    /// Lines a caller up: for room, or for a connection.
    #[cold]
    pub(super) fn wait(
        &mut self,
        index: Index,
        command: &impl Encode,
        clock: impl Fn() -> Instant,
    ) -> Result<(), Failure> {
        if let (Link::Down(_), Some(offline)) = (&self.link, self.limits.offline) {
            let bytes = length(command)?;
            self.fit(&offline, bytes, 1)?;
            let until = clock() + offline.max_wait;
            self.offline_bytes += bytes;
            if let Some(entry) = self.entries.get_mut(index) {
                entry.offline_until = Some(until);
                (entry.start, entry.end) = (0, bytes);
            }
            self.force_driver();
        }
        self.line_up(index);
        Ok(())
    }

    /// Puts a caller among those who wait, by its ticket.
    pub(super) fn line_up(&mut self, index: Index) {
        let Some(entry) = self.entries.get_mut(index) else {
            return;
        };
        entry.place = Place::Waiting;
        let ticket = entry.ticket;
        // Newcomers have the last ticket; those who come back, one of the first.
        let last = self.waiting.last();
        let mut behind = None;
        if last.is_some_and(|last| self.ticket(last) > ticket) {
            behind = self.waiting.first();
            while let Some(next) = behind
                && self.ticket(next) < ticket
            {
                behind = self.waiting.behind(&mut self.entries, next);
            }
        }
        self.waiting.insert_before(&mut self.entries, index, behind);
    }

    pub(super) fn ticket(&self, index: Index) -> u64 {
        self.entries.get(index).map_or(0, |entry| entry.ticket)
    }

    /// Asks again for somebody who has a place.
    #[inline]
    pub(super) fn ask(
        &mut self,
        index: &mut Option<Index>,
        known: Index,
        command: &impl Encode,
        waker: &Waker,
        clock: impl Fn() -> Instant,
    ) -> Poll<Result<Outcome, Failure>> {
        let Some(entry) = self.entries.get_mut(known) else {
            return Poll::Ready(Err(Failure::Closed)); // a caller that asks after its answer
        };
        if let Some(outcome) = entry.outcome.take() {
            *index = None;
            self.leave_with(known);
            return Poll::Ready(outcome);
        }
        match &mut entry.waker {
            Some(known) if known.will_wake(waker) => {}
            stored => *stored = Some(waker.clone()),
        }
        if entry.large == Told::Soon {
            entry.large = Told::Yes;
            command.note_large();
        }
        match entry.place {
            Place::Granted => self.use_grant(index, known, command, clock),
            Place::Waiting if entry.is_uncounted => self.count(index, known, command),
            _ => Poll::Pending,
        }
    }

    /// Counts a command that waited for room when the connection was lost.
    #[cold]
    fn count(
        &mut self,
        index: &mut Option<Index>,
        known: Index,
        command: &impl Encode,
    ) -> Poll<Result<Outcome, Failure>> {
        // Where there is a connection again it waits for room, as before.
        if let (Link::Down(_), Some(offline)) = (&self.link, self.limits.offline) {
            let counted =
                length(command).and_then(|bytes| self.fit(&offline, bytes, 0).map(|()| bytes));
            match counted {
                Ok(bytes) => {
                    self.offline_bytes += bytes;
                    if let Some(entry) = self.entries.get_mut(known) {
                        (entry.start, entry.end) = (0, bytes);
                    }
                }
                // It comes back at once, and keeps its place.
                Err(Failure::NeedsCopy) => return Poll::Ready(Err(Failure::NeedsCopy)),
                Err(failure) => {
                    self.stop_waiting(known);
                    *index = None;
                    self.leave_with(known);
                    return Poll::Ready(Err(failure));
                }
            }
        }
        if let Some(entry) = self.entries.get_mut(known) {
            entry.is_uncounted = false;
        }
        Poll::Pending
    }

    /// Whether so many commands and bytes more may wait for a connection.
    fn fit(&self, offline: &Offline, bytes: u64, commands: u64) -> Result<(), Failure> {
        let waiting = self.waiting.len() as u64;
        if waiting + commands > offline.max_commands
            || self.offline_bytes + bytes > offline.max_bytes
        {
            return Err(Failure::OfflineFull {
                commands: waiting,
                bytes: self.offline_bytes,
            });
        }
        Ok(())
    }

    #[cold]
    pub(super) fn use_grant(
        &mut self,
        index: &mut Option<Index>,
        known: Index,
        command: &impl Encode,
        clock: impl Fn() -> Instant,
    ) -> Poll<Result<Outcome, Failure>> {
        self.granted -= 1;
        // Others may have filled it since, or the connection is gone.
        let is_up = matches!(self.link, Link::Up);
        let used = if is_up && self.has_room_for_bytes() {
            self.write(known, command)
        } else {
            match (&self.link, self.limits.offline) {
                (Link::Closed(failure), _) => Err(failure.clone()),
                (Link::Down(cause), None) => Err(Failure::Offline(cause.clone())),
                _ => self.wait(known, command, clock),
            }
        };
        let Err(failure) = used else {
            return Poll::Pending;
        };
        if matches!(failure, Failure::NeedsCopy) {
            self.granted += 1; // it comes back at once, and keeps its turn
            return Poll::Ready(Err(failure));
        }
        if let Some(entry) = self.entries.get_mut(known) {
            entry.place = Place::Over;
        }
        *index = None;
        self.leave_with(known);
        self.grant();
        Poll::Ready(Err(failure))
    }

    /// A caller walks away.
    #[cold]
    pub(in super::super) fn leave(&mut self, index: Index) {
        let Some(entry) = self.entries.get_mut(index) else {
            return;
        };
        entry.waker = None;
        match entry.place {
            Place::Waiting => self.stop_waiting(index),
            Place::Granted => {
                entry.place = Place::Over;
                self.granted -= 1;
                self.grant();
            }
            Place::Flight | Place::Over => {}
        }
        self.leave_with(index);
        self.look_for_the_end();
    }

    /// A caller has its answer, or walks away: frees its entry, unless that holds a place in the stream.
    #[inline(always)] // or it depends on how many types of commands a program has
    pub(super) fn leave_with(&mut self, index: Index) {
        self.untime(index);
        if let Some(entry) = self.entries.get_mut(index) {
            entry.has_caller = false;
            entry.outcome = None;
            if entry.is_group {
                entry.replies = Vec::new();
            }
            self.release(index);
        }
    }

    #[inline]
    pub(super) fn untime(&mut self, index: Index) {
        if let Some(entry) = self.entries.get_mut(index)
            && entry.deadline.take().is_some()
        {
            self.timed.remove(&mut self.entries, index);
        }
    }

    pub(super) fn stop_waiting(&mut self, index: Index) {
        self.waiting.remove(&mut self.entries, index);
        if let Some(entry) = self.entries.get_mut(index) {
            entry.place = Place::Over;
            entry.is_uncounted = false;
            if entry.offline_until.take().is_some() {
                self.offline_bytes -= entry.end - entry.start;
            }
        }
    }

    /// Lets in as many of those who wait as there is room for.
    pub(super) fn grant(&mut self) {
        while self.has_room()
            && let Some(index) = self.waiting.first()
        {
            self.stop_waiting(index);
            self.granted += 1;
            if let Some(entry) = self.entries.get_mut(index) {
                entry.place = Place::Granted;
                self.wakers.extend(entry.waker.take());
            }
        }
    }

    /// Gives a caller what came of it. The first outcome counts: a reply behind a time-out is dropped.
    #[inline]
    pub(super) fn settle(&mut self, index: Index, outcome: Result<Outcome, Failure>) {
        self.untime(index);
        let Some(entry) = self.entries.get_mut(index) else {
            return;
        };
        if outcome.is_err() && entry.is_group {
            // Its caller may ask late.
            entry.replies = Vec::new();
        }
        if !entry.has_caller {
            self.release(index);
        } else if entry.outcome.is_none() {
            entry.outcome = Some(outcome);
            self.wakers.extend(entry.waker.take());
        }
    }

    /// Frees an entry that nobody asks for, when it is over.
    #[inline]
    pub(super) fn release(&mut self, index: Index) {
        let entry = self.entries.get(index);
        if entry.is_some_and(|entry| !entry.has_caller && entry.place == Place::Over) {
            self.entries.remove(index);
        }
    }
}

/// Room for the replies of a group.
#[inline]
fn reserved(replies: u32) -> Result<Option<Vec<OwnedReply>>, WireError> {
    if replies == 1 {
        return Ok(None);
    }
    let mut group = Vec::new();
    let failed = |_| WireError::OutOfMemory {
        bytes: replies as u64 * size_of::<OwnedReply>() as u64,
    };
    group.try_reserve_exact(replies as usize).map_err(failed)?;
    Ok(Some(group))
}

/// What a command takes in the queue, were it written: offline is not the fast path.
fn length(command: &impl Encode) -> Result<u64, Failure> {
    let mut scratch = WriteQueue::new();
    command.encode(&mut scratch, &mut Vec::new())?;
    Ok(scratch.command_len() as u64)
}
