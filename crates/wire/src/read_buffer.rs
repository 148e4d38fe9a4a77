//! The read buffer: one contiguous allocation in three parts.
//!
//! ```text
//!            start          end              capacity
//!   |  spent  |   pending    |     spare        |
//!   |  lent   | not yet read | next read's home |
//!   |<------- initialised: bytes.len() --->|     |
//! ```
//!
//! Bytes move in [`ReadBuffer::reserve`] only, just before a read. When nothing is pending the buffer resets for free.

use crate::{BufferConfig, Meter, STEP, Span, WireError};

/// Moving this much is cheaper than any way around it: one or two cache lines' misses.
const CHEAP: usize = 1 << 10;

#[derive(Debug)]
pub(crate) struct ReadBuffer {
    /// `len()` is the initialised part; what was reserved beyond it is address space only.
    bytes: Vec<u8>,
    /// Legal size, `<= bytes.capacity()`; a power of two or `max`.
    capacity: usize,
    /// `start <= end <= bytes.len()`.
    start: usize,
    end: usize,
    max: usize,
    /// Adaptive: doubles after a full read, halves after two small ones.
    read_size: usize,
    min_read: usize,
    max_read: usize,
    small_reads: u8,
    /// What the next commit may take at the most.
    planned: usize,
    /// Largest message consumed since the last reserve.
    largest: usize,
    /// Largest message lately: decays by a quarter a read.
    expected: usize,
    /// Bytes that may still be moved: a quarter of what was received, less what was moved.
    credit: usize,
    epoch: u32,
}

impl ReadBuffer {
    pub(crate) fn new(config: &BufferConfig) -> Self {
        let min_read = config.initial_read.clamp(16, config.max_buffer);
        Self {
            bytes: Vec::new(),
            capacity: 0,
            start: 0,
            end: 0,
            max: config.max_buffer.min(u32::MAX as usize),
            read_size: min_read,
            min_read,
            max_read: config.max_read.clamp(min_read, config.max_buffer),
            small_reads: 0,
            planned: 0,
            largest: 0,
            expected: 0,
            credit: 0,
            epoch: 0,
        }
    }

    #[inline]
    pub(crate) fn pending(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    #[inline]
    pub(crate) fn pending_len(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Turns the first `n` pending bytes into a message; they stay readable until the next reserve.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) -> Span {
        assert!(n <= self.pending_len(), "consumed more than is pending");
        let span = self.span(self.start, n);
        self.start += n;
        self.largest = self.largest.max(n);
        span
    }

    /// Takes the last `n` pending bytes away again, for a copy that was just made of them.
    pub(crate) fn drop_tail(&mut self, n: usize) {
        self.end -= n.min(self.pending_len());
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // positions are below `max`, which is at most u32::MAX
    fn span(&self, start: usize, len: usize) -> Span {
        Span {
            home: 0,
            start: start as u32,
            len: len as u32,
            #[cfg(debug_assertions)]
            epoch: self.epoch,
        }
    }

    #[inline]
    pub(crate) fn bytes(&self, span: Span) -> &[u8] {
        #[cfg(debug_assertions)]
        assert!(
            span.is_empty() || span.epoch == self.epoch,
            "a span was used after the next read was prepared"
        );
        &self.bytes[span.start as usize..][..span.len as usize]
    }

    /// Makes room for at least `min` more bytes, and for the whole message, `until_end` more bytes (0: not known), where
    /// that fits. The only place where bytes move. Plans a read of at least `min` bytes (of at least one step when `min`
    /// is larger than [`STEP`]).
    pub(crate) fn reserve(
        &mut self,
        min: usize,
        until_end: usize,
        meter: &mut Meter,
    ) -> Result<(), WireError> {
        let pending = self.pending_len();
        let total = pending.saturating_add(min);
        if total > self.max {
            return Err(WireError::LimitExceeded {
                needed: total as u64,
                max: self.max as u64,
            });
        }
        self.expected = self.largest.max(self.expected - self.expected / 4);
        self.largest = 0;
        if pending == 0 {
            self.start = 0;
            self.end = 0;
        }
        let whole = pending.saturating_add(min.max(until_end));
        let room = if whole <= self.capacity { whole } else { total };
        if self.start + room > self.capacity {
            self.make_room(room, whole, meter)?;
        } else if pending == 0 && self.capacity < self.read_size {
            self.grow(self.read_size, meter)?;
        }
        self.epoch = self.epoch.wrapping_add(1);
        self.plan(min, until_end);
        self.lengthen(meter);
        Ok(())
    }

    /// Compacts where that is cheap or saves a growth, else grows to a power of two.
    #[cold]
    fn make_room(
        &mut self,
        total: usize,
        whole: usize,
        meter: &mut Meter,
    ) -> Result<(), WireError> {
        let pending = self.pending_len();
        let affordable = pending <= CHEAP || pending <= self.credit || self.capacity >= self.max;
        if total <= self.capacity && affordable {
            self.compact(meter);
            return Ok(());
        }
        // Once for the whole message where its length is known: address space, not memory.
        let target = if whole <= self.max { whole } else { total };
        self.grow(
            target
                .max(self.read_size)
                .max(self.capacity.saturating_add(1)),
            meter,
        )
    }

    fn compact(&mut self, meter: &mut Meter) {
        let pending = self.pending_len();
        self.bytes.copy_within(self.start..self.end, 0);
        self.start = 0;
        self.end = pending;
        self.credit = self.credit.saturating_sub(pending);
        meter.compactions += 1;
        meter.bytes_moved += pending as u64;
    }

    fn grow(&mut self, target: usize, meter: &mut Meter) -> Result<(), WireError> {
        let capacity = target
            .checked_next_power_of_two()
            .unwrap_or(self.max)
            .min(self.max);
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(capacity)
            .map_err(|_| WireError::OutOfMemory {
                bytes: capacity as u64,
            })?;
        bytes.extend_from_slice(self.pending());
        meter.growths += 1;
        meter.bytes_copied_by_growth += bytes.len() as u64;
        self.end = bytes.len();
        self.start = 0;
        self.bytes = bytes;
        self.capacity = capacity;
        Ok(())
    }

    /// How much to ask for: all the spare part in general, less where reading on would leave bytes to be moved.
    fn plan(&mut self, min: usize, until_end: usize) {
        let spare = self.capacity - self.end;
        let mut want = self.read_size.max(min).min(spare);
        if self.expected > CHEAP {
            if until_end > 0 {
                // Near the end of the buffer stop at the end of the message: nothing is pending then, the reset is free.
                if until_end <= spare && spare - until_end < self.expected {
                    want = want.min(until_end);
                }
            } else if let Some(messages @ 1..) = spare.checked_div(self.expected) {
                want = want.min(messages * self.expected);
            }
        }
        if self.capacity >= self.max {
            // Growing is no longer a way out, so what is read beyond this message must be affordable to move.
            let known = min.max(until_end.min(spare));
            want = want.min(known.saturating_add(self.credit + CHEAP));
        }
        self.planned = want.max(min.min(spare)).min(STEP);
    }

    /// Zeroes the part of the planned read that was never used. Safe Rust demands it; once for each buffer.
    fn lengthen(&mut self, meter: &mut Meter) {
        let until = self.end + self.planned;
        if until > self.bytes.len() {
            meter.bytes_zeroed += (until - self.bytes.len()) as u64;
            self.bytes.resize(until, 0);
        }
    }

    /// Where the planned read goes.
    #[inline]
    pub(crate) fn target(&mut self) -> &mut [u8] {
        &mut self.bytes[self.end..self.end + self.planned]
    }

    pub(crate) fn planned(&self) -> usize {
        self.planned
    }

    /// `n` bytes have come into [`target`](Self::target); `alone`: nothing else was read with it.
    pub(crate) fn commit(&mut self, n: usize, alone: bool) {
        assert!(n <= self.planned, "committed more than was planned");
        self.end += n;
        if alone {
            self.adapt(n);
        }
        self.planned = 0;
    }

    /// All bytes from the peer earn credit, also those that went straight home.
    pub(crate) fn earn(&mut self, received: usize) {
        self.credit = (self.credit + received / 4).min(self.max);
    }

    fn adapt(&mut self, n: usize) {
        if n == self.planned && n >= self.read_size {
            self.read_size = (self.read_size * 2).min(self.max_read);
            self.small_reads = 0;
        } else if n < self.read_size / 4 && self.planned >= self.read_size / 2 {
            self.small_reads += 1;
            if self.small_reads >= 2 {
                self.read_size = (self.read_size / 2).max(self.min_read);
                self.small_reads = 0;
            }
        } else {
            self.small_reads = 0;
        }
    }

    /// Gives memory back until at most `keep` bytes stay; pending bytes always stay.
    pub(crate) fn shrink(&mut self, keep: usize, meter: &mut Meter) -> Result<(), WireError> {
        if self.capacity <= keep {
            return Ok(());
        }
        self.epoch = self.epoch.wrapping_add(1);
        self.planned = 0;
        self.read_size = self.read_size.min(keep.max(self.min_read));
        let pending = self.pending_len();
        if pending == 0 {
            self.bytes = Vec::new();
            (self.capacity, self.start, self.end) = (0, 0, 0);
            return Ok(());
        }
        if pending.next_power_of_two() < self.capacity {
            self.grow(pending, meter)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
