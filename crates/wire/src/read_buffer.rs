//! The read buffer: one contiguous allocation in three parts.
//!
//! ```text
//!            start          end              capacity
//!   |  spent  |   pending    |     spare        |
//!   |  borrowed   | not yet read | next read's home |
//!   |<------- initialised: bytes.len() --->|     |
//! ```
//!
//! Bytes move in [`ReadBuffer::reserve`] only, just before a read. When nothing is pending the buffer resets for free.

use crate::{BufferConfig, Meter, STEP, Span, WireError};
use std::fmt;

/// Moving this much is cheaper than any way around it: one or two cache lines' misses.
const CHEAP: usize = 1 << 10;

/// Smallest read and buffer, whatever is configured: the longest header is below it.
const SMALLEST: usize = 16;

/// At least what a state machine consumes in front of a message, as a piece by itself.
const FRAMING: usize = 16;

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
    /// Largest message lately: decays by a thirty-second with each read that ended a smaller one.
    expected: usize,
    /// Bytes that may still be moved: a quarter of what was received, less what was moved.
    credit: usize,
    epoch: u32,
}

impl ReadBuffer {
    pub(crate) fn new(config: &BufferConfig) -> Self {
        let max = config.max_buffer.clamp(SMALLEST, u32::MAX as usize);
        let min_read = config.initial_read.clamp(SMALLEST, max);
        Self {
            bytes: Vec::new(),
            capacity: 0,
            start: 0,
            end: 0,
            max,
            read_size: min_read,
            min_read,
            max_read: config.max_read.clamp(min_read, max),
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

    /// The memory in which the pending bytes begin, and how many they are. What is behind them was there before.
    #[inline]
    pub(crate) fn pending_in_place(&self) -> (&[u8], usize) {
        (&self.bytes[self.start..], self.pending_len())
    }

    pub(crate) fn pending_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.end]
    }

    #[inline]
    pub(crate) fn pending_len(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Overwrites what was consumed.
    #[cold]
    pub(crate) fn wipe_spent(&mut self) {
        self.bytes[..self.start].fill(0);
        // Nobody reads these again, so that the compiler could leave the zeros out.
        std::hint::black_box(&self.bytes);
    }

    /// Turns the first `n` pending bytes into a message; they stay readable until the next reserve.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) -> Span {
        self.largest = self.largest.max(n);
        self.consume_piece(n)
    }

    #[inline]
    pub(crate) fn consume_piece(&mut self, n: usize) -> Span {
        assert!(n <= self.pending_len(), "consumed more than is pending");
        let span = self.span(self.start, n);
        self.start += n;
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

    /// One of no bytes may be of memory that was given back.
    #[inline]
    pub(crate) fn bytes(&self, span: Span) -> &[u8] {
        #[cfg(debug_assertions)]
        assert!(
            span.epoch == self.epoch || span.is_empty(),
            "a span was used after the next read was prepared"
        );
        let start = span.start as usize;
        match self.bytes.get(start..start + span.len as usize) {
            Some(bytes) => bytes,
            None => beyond(span),
        }
    }

    /// The memory in which a span begins.
    #[inline]
    pub(crate) fn bytes_in_place(&self, span: Span) -> &[u8] {
        #[cfg(debug_assertions)]
        assert!(
            span.epoch == self.epoch || span.is_empty(),
            "a span was used after the next read was prepared"
        );
        self.bytes.get(span.start as usize..).unwrap_or_default()
    }

    /// Bounds the capacity again, but not below what it is. Reads that were as large as the bound allowed keep growing.
    pub(crate) fn set_max(&mut self, max: usize) {
        let was_bound = self.read_size >= self.max;
        self.max = max.clamp(SMALLEST, u32::MAX as usize).max(self.capacity);
        if was_bound {
            self.read_size = (self.read_size * 2).min(self.max_read);
        }
        self.read_size = self.read_size.min(self.max).max(self.min_read);
    }

    /// Makes room for at least `min` more bytes, and for the whole message, `until_end` more bytes (0: not known), where
    /// that fits. The only place where bytes move. Plans a read of at least `min` bytes (of at least one step when `min`
    /// is larger than [`STEP`]), and of more than `most` only where `min` is.
    pub(crate) fn reserve(
        &mut self,
        min: usize,
        until_end: usize,
        most: usize,
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
        self.expect();
        if pending == 0 {
            self.start = 0;
            self.end = 0;
        }
        let whole = total.max(pending.saturating_add(until_end));
        let room = if whole <= self.capacity { whole } else { total };
        if self.start + room > self.capacity
            || (self.start > 0 && self.is_worth_moving(min, until_end))
        {
            self.make_room(total, whole, meter)?;
        } else if pending == 0 && self.capacity < self.ordinary(1) && self.capacity < self.max {
            self.grow(self.ordinary(1), meter)?;
        }
        self.epoch = self.epoch.wrapping_add(1);
        self.plan(min, until_end, most);
        self.lengthen(meter);
        Ok(())
    }

    /// Whether to move bytes although there is room enough: a few, to be spared a short read; or those of a message that
    /// might become too expensive to move before its end is known, once a growth is no way out.
    fn is_worth_moving(&self, min: usize, until_end: usize) -> bool {
        let pending = self.pending_len();
        if pending <= CHEAP && self.limit(min, until_end) < self.read_size / 2 {
            return true;
        }
        let affordable = self.affordable();
        self.is_settled()
            && self.is_endless(until_end)
            && pending.saturating_add(min) > affordable / 2
            && pending <= affordable
    }

    /// Compacts where that is cheap or saves a growth, else grows to a power of two.
    #[cold]
    fn make_room(
        &mut self,
        total: usize,
        whole: usize,
        meter: &mut Meter,
    ) -> Result<(), WireError> {
        let mut ordinary = self.ordinary(1).min(self.max);
        if total <= self.capacity {
            // The messages fit and still one is cut: a stream, whose next reads may as well meet the buffer's end
            // seldom. Growing copies no more than moving.
            ordinary = self.ordinary(4).min(self.max);
            let affordable = self.pending_len() <= self.affordable() || self.capacity >= self.max;
            if self.capacity >= ordinary && affordable {
                self.compact(meter);
                return Ok(());
            }
        }
        // Once for the whole message where its length is known: address space, not memory.
        let target = if whole <= self.max { whole } else { total };
        self.grow(target.max(ordinary).max(self.capacity + 1), meter)
    }

    /// The capacity that the traffic of late is worth: so many reads, and a message that begins at their very end.
    #[inline]
    fn ordinary(&self, reads: usize) -> usize {
        let expected = if self.expected > CHEAP {
            self.expected
        } else {
            0
        };
        self.read_size
            .saturating_mul(reads)
            .saturating_add(expected)
            .min(self.max_read)
    }

    /// Bytes that may be moved now without breaking the bound.
    fn affordable(&self) -> usize {
        self.credit + CHEAP
    }

    /// Whether the buffer has its ordinary size: it grows on for larger messages only, not to be spared a move.
    fn is_settled(&self) -> bool {
        self.capacity >= self.max_read
    }

    /// Whether the message under way may continue to the end of the buffer and beyond, as far as is known.
    fn is_endless(&self, until_end: usize) -> bool {
        until_end == 0 || until_end > self.capacity - self.end
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

    /// Learns from what was consumed since the last reserve. A single small message is no reason to forget the large ones.
    fn expect(&mut self) {
        if self.largest > 0 {
            self.expected = self.largest.max(self.expected - self.expected / 32);
            self.largest = 0;
        }
    }

    fn plan(&mut self, min: usize, until_end: usize, most: usize) {
        let spare = self.capacity - self.end;
        let want = self.read_size.min(self.limit(min, until_end)).min(most);
        self.planned = want.max(min).min(spare).min(STEP);
    }

    /// How far a read may go so that nothing large has to be moved after it.
    ///
    /// ```text
    ///   |   pending   |  rest of the message under way  |   ahead   |  expected  |
    ///                 end                               a message that begins here still fits
    /// ```
    fn limit(&self, min: usize, until_end: usize) -> usize {
        let spare = self.capacity - self.end;
        let is_endless = self.is_endless(until_end);
        let known = if is_endless { min } else { until_end.max(min) };
        let mut limit = spare;
        // A message larger than the buffer is consumed in pieces: there is nothing behind it in here.
        if self.expected > CHEAP && until_end <= spare {
            let floor = if until_end == 0 { self.min_read } else { known };
            limit = floor.max(spare.saturating_sub(self.expected + FRAMING));
        }
        if self.is_settled() {
            // Growing is no way out any more, so what may have to be moved after this read must be affordable.
            let movable = if is_endless && self.start > 0 {
                self.affordable().saturating_sub(self.pending_len())
            } else {
                known.saturating_add(self.affordable())
            };
            limit = limit.min(movable);
        }
        limit
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

    /// `n` bytes have arrived into [`target`](Self::target); `alone`: nothing else was read with it.
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

    /// What was read ahead had to be copied: the next reads bring less of it.
    pub(crate) fn read_less(&mut self) {
        self.read_size = self.min_read;
        self.small_reads = 0;
    }

    fn adapt(&mut self, n: usize) {
        if n == self.planned && n >= self.read_size {
            self.read_size = (self.read_size * 2).min(self.max_read).min(self.max);
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
        // Else the next read would make the buffer as large again.
        (self.expected, self.largest) = (self.expected.min(keep), 0);
        let pending = self.pending_len();
        if pending == 0 {
            self.bytes = Vec::new();
            (self.capacity, self.start, self.end) = (0, 0, 0);
            return Ok(());
        }
        // Not below what the next read would make of it at once, where that may be kept.
        let kept = keep.checked_ilog2().map_or(0, |log| 1 << log);
        let target = pending.max(self.min_read.min(kept));
        if target.next_power_of_two() < self.capacity {
            self.grow(target, meter)?;
        }
        Ok(())
    }
}

#[cold]
fn beyond(span: Span) -> &'static [u8] {
    assert!(
        span.is_empty(),
        "a span was used after its memory was given back"
    );
    &[]
}

/// Sizes only: the bytes are rows and logins.
impl fmt::Debug for ReadBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadBuffer")
            .field("pending", &self.pending_len())
            .field("capacity", &self.capacity)
            .field("read_size", &self.read_size)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
