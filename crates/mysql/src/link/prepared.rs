//! The prepared statements of a connection, and those that were dropped since its last command.
//!
//! A handle may be dropped on any thread, while its connection is in use on another one. It then pushes its number onto a
//! stack, without a lock and without an allocation; before a command the connection takes the whole stack and closes those
//! statements:
//!
//! ```text
//!   last dropped      links         numbers
//!   +-----------+     +---+---+---+---+---+
//!   | number 4  |---> |   | - |   |   | 1 |    4, then 1
//!   +-----------+     +---+---+---+---+---+
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::client::StatementId;

/// What a connection has once it has prepared a statement. Tests have ids of their own.
#[derive(Debug)]
pub(crate) struct Prepared<I = StatementId> {
    /// A statement of which long data was sent in part: what arrived must not be taken for its value's beginning.
    pub(super) long_data: Option<I>,
    dropped: Arc<Stack>,
    slots: Vec<Slot<I>>,
    /// Numbers of slots that no handle has.
    free: Vec<u32>,
    /// Of what was taken from the stack, the link to the next one.
    closing: u32,
}

/// Links are numbers plus one.
const NONE: u32 = 0;

/// The link to the statement that was dropped last.
#[derive(Debug, Default)]
struct Stack(AtomicU32);

/// The link to the statement that was dropped before this one.
#[derive(Debug, Default)]
struct Link(AtomicU32);

#[derive(Debug)]
struct Slot<I> {
    id: I,
    link: Arc<Link>,
}

/// A statement's number, for as long as somebody may use the statement.
#[derive(Debug)]
pub(crate) struct Handle {
    number: u32,
    link: Arc<Link>,
    dropped: Arc<Stack>,
    /// The statement was closed by a call: its number may be another's by now.
    is_closed: AtomicBool,
}

impl<I> Default for Prepared<I> {
    fn default() -> Self {
        Self {
            long_data: None,
            dropped: Arc::default(),
            slots: Vec::new(),
            free: Vec::new(),
            closing: NONE,
        }
    }
}

impl<I: Copy> Prepared<I> {
    /// Whether nothing is to be done before the next command.
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        // A drop that happened on another thread meanwhile is seen by a later command.
        let links = self.dropped.0.load(Ordering::Relaxed) | self.closing;
        links == NONE && self.long_data.is_none()
    }

    /// A handle for a new statement.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn handle(&mut self, id: I) -> Result<Arc<Handle>, ProtocolError> {
        let number = match self.free.pop() {
            Some(number) => number,
            None => self.add_slot(id)?,
        };
        let slot = &mut self.slots[number as usize];
        slot.id = id;
        Ok(Arc::new(Handle {
            number,
            link: Arc::clone(&slot.link),
            dropped: Arc::clone(&self.dropped),
            is_closed: AtomicBool::new(false),
        }))
    }

    fn add_slot(&mut self, id: I) -> Result<u32, ProtocolError> {
        let bytes = size_of::<Slot<I>>() as u64;
        let out_of_memory = |_| ProtocolError::OutOfMemory { bytes };
        self.slots.try_reserve(1).map_err(out_of_memory)?;
        // To give a number back must not need memory.
        let numbers = self.slots.len() + 1;
        self.free.try_reserve(numbers).map_err(out_of_memory)?;
        let number = u32::try_from(numbers).map_err(|_| ProtocolError::OutOfMemory { bytes })? - 1;
        self.slots.push(Slot {
            id,
            link: Arc::default(),
        });
        Ok(number)
    }

    /// A call has closed the statement: its handle has nothing to say any more.
    pub(super) fn closed(&mut self, handle: &Handle) {
        if !handle.is_closed.swap(true, Ordering::Relaxed) {
            self.free.push(handle.number);
        }
    }

    /// A statement that was dropped; the same one until it [is closed](Self::close_next).
    pub(super) fn next_dropped(&mut self) -> Option<I> {
        if self.closing == NONE {
            self.closing = self.dropped.0.swap(NONE, Ordering::Acquire);
        }
        let number = self.closing.checked_sub(1)?;
        Some(self.slots.get(number as usize)?.id)
    }

    /// That statement is closed, and its number is free.
    pub(super) fn close_next(&mut self) {
        if let Some(number) = self.closing.checked_sub(1) {
            let link = &self.slots[number as usize].link;
            self.closing = link.0.load(Ordering::Relaxed);
            self.free.push(number);
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // The drop of the last clone must see what was done through the other clones.
        if self.is_closed.load(Ordering::Relaxed) {
            return;
        }
        let mut last = self.dropped.0.load(Ordering::Relaxed);
        loop {
            self.link.0.store(last, Ordering::Relaxed);
            let pushed = self.dropped.0.compare_exchange_weak(
                last,
                self.number + 1,
                Ordering::Release,
                Ordering::Relaxed,
            );
            match pushed {
                Ok(_) => return,
                Err(found) => last = found,
            }
        }
    }
}

#[cfg(test)]
mod tests;
