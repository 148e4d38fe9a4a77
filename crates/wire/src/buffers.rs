//! One connection's buffers, and the plan of each read.
//!
//! A read fills, in this order, by one vectored call:
//!
//! ```text
//!   | large home ... | side slot | ... large home | spare part of the read buffer |
//!                     ^ a header or trailer that must not enter the value
//! ```

mod large;
mod targets;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::home::Homes;
use crate::read_buffer::ReadBuffer;
use crate::{Borrowed, BufferConfig, Meter, STEP, Span, WireError, WriteQueue};
pub use targets::Targets;

/// Longest header or trailer that a side slot takes.
const SIDE_MAX: usize = 8;

/// How far a read goes on behind a large home: 4 KiB. Where one value is large the next one often is, and what is read
/// ahead of its home has to be copied there. Enough for headers and the small columns between the two.
const BEHIND_HOME: usize = 4 << 10;

/// Bytes of framing that lie inside or behind the bytes under way, and are kept out of them.
#[derive(Debug, Default, Clone, Copy)]
struct Side {
    bytes: [u8; SIDE_MAX],
    /// 0: there is no slot.
    size: usize,
    filled: usize,
    /// Body bytes that still come before it.
    distance: usize,
}

impl Side {
    /// `n` bytes have come; gives how many of them went into the slot.
    #[inline]
    fn commit(&mut self, n: usize) -> usize {
        if self.size == 0 {
            return 0;
        }
        let before = n.min(self.distance);
        let slot = (n - before).min(self.size - self.filled);
        self.distance -= before;
        self.filled += slot;
        slot
    }
}

/// What the next commit is distributed by.
#[derive(Debug, Default, Clone, Copy)]
struct Plan {
    /// Bytes that go to the large home, or to the caller's slice.
    home: usize,
    /// Whether `home` is the caller's slice.
    external: bool,
    /// Bytes that go to the spare part.
    spare: usize,
}

/// Read buffer, large homes, side slot, write queue and meter of one connection.
///
/// Cores call [`pending`](Self::pending), [`consume`](Self::consume), [`need`](Self::need), [`cut`](Self::cut) and
/// [`begin_home`](Self::begin_home); drivers [`prepare`](Self::prepare), [`targets`](Self::targets) and
/// [`commit`](Self::commit), and the write queue's counterparts.
///
/// `Debug` shows sizes, never bytes: there are rows, statements and passwords among them.
#[derive(Debug)]
pub struct Buffers {
    input: ReadBuffer,
    homes: Homes,
    side: Side,
    output: WriteQueue,
    meter: Meter,
    /// Relaxed loads and stores: as cheap as a plain field, and rows stay `Sync`.
    owned: AtomicU64,
    metadata: AtomicU64,
    min: usize,
    until_end: usize,
    arrived: usize,
    plan: Plan,
    config: BufferConfig,
}

impl Buffers {
    /// Buffers that hold no memory yet.
    pub fn new(config: BufferConfig) -> Self {
        Self {
            input: ReadBuffer::new(&config),
            homes: Homes::default(),
            side: Side::default(),
            output: WriteQueue::new(),
            meter: Meter::default(),
            owned: AtomicU64::new(0),
            metadata: AtomicU64::new(0),
            min: 1,
            until_end: 0,
            arrived: 0,
            plan: Plan::default(),
            config,
        }
    }

    /// The sizes and limits in force.
    pub fn config(&self) -> &BufferConfig {
        &self.config
    }

    /// Bounds the read buffer again, but not below what it holds: for memory that many connections share, where each asks
    /// before it grows. Below [`BufferConfig::max_read`] it is the bound of reads as well; messages that must be contiguous
    /// and are larger than it are an error, and what of a larger one is pending may be moved before each read.
    pub fn set_max_buffer(&mut self, bytes: usize) {
        self.config.max_buffer = bytes;
        self.input.set_max(bytes);
    }

    // ---- for cores: what has come

    /// Bytes that have come and were not consumed.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        self.input.pending()
    }

    /// The memory that begins with the pending bytes, and how many they are: a core may compare a word where fewer bytes are
    /// pending. Behind them is what was there before, which the core holds for nothing.
    #[inline]
    pub fn pending_in_place(&self) -> (&[u8], usize) {
        self.input.pending_in_place()
    }

    /// The same as [`pending`](Self::pending), to be changed in place: for what decrypts them.
    pub fn pending_mut(&mut self) -> &mut [u8] {
        self.input.pending_mut()
    }

    /// Turns the first `n` pending bytes into a span, valid until the next [`prepare`](Self::prepare).
    ///
    /// # Panics
    /// When fewer are pending: a core's bug, not a peer's doing.
    #[inline]
    pub fn consume(&mut self, n: usize) -> Span {
        self.input.consume(n)
    }

    /// The same for a piece of a larger message, which tells nothing about how large messages are.
    ///
    /// # Panics
    /// As [`consume`](Self::consume).
    #[inline]
    pub fn consume_piece(&mut self, n: usize) -> Span {
        self.input.consume_piece(n)
    }

    /// Overwrites what was consumed of the read buffer with zeros, which spans of it give from then on: for passwords, once
    /// they were taken from it.
    pub fn wipe_spent(&mut self) {
        self.input.wipe_spent();
    }

    /// The bytes of a span. One of no bytes never goes stale.
    #[inline]
    pub fn bytes(&self, span: Span) -> &[u8] {
        if span.home == 0 {
            self.input.bytes(span)
        } else {
            self.bytes_of_home(span)
        }
    }

    /// The memory that begins with a span's bytes, of whichever message what is behind them is: a copy of a few of them may be
    /// one of a word. None where the span lies in a large home.
    #[inline]
    pub fn bytes_in_place(&self, span: Span) -> &[u8] {
        if span.home == 0 {
            self.input.bytes_in_place(span)
        } else {
            &[]
        }
    }

    #[inline(never)]
    fn bytes_of_home(&self, span: Span) -> &[u8] {
        if span.is_empty() {
            return &[];
        }
        &self.homes.bytes(span.home)[span.start as usize..][..span.len as usize]
    }

    /// Says what is missing before the core can go on: at least `min` bytes, and `until_end` until the message under way
    /// ends (0 where that is not known). Reads may bring more.
    #[inline]
    pub fn need(&mut self, min: usize, until_end: usize) {
        self.min = min.max(1);
        self.until_end = until_end;
    }

    /// How many bytes the core asked for at least.
    #[inline]
    pub fn needed(&self) -> usize {
        self.min
    }

    /// The next reads bring as little ahead as at first: a large value goes on straight to the caller, and where one is large
    /// the next one often is, of which what was read ahead has to be copied.
    pub fn read_less(&mut self) {
        self.input.read_less();
    }

    /// Body bytes that have come since this was last asked, without what went to side slots.
    #[inline]
    pub fn take_arrived(&mut self) -> usize {
        std::mem::take(&mut self.arrived)
    }

    /// Keeps the `size` bytes that come `distance` body bytes from now out of everything: they go to the side slot.
    ///
    /// There is one slot, and one read may bring a whole [`STEP`](crate::STEP) of a home behind it: framing inside a home
    /// must lie further apart than that.
    ///
    /// # Panics
    /// When `size` is over 8: a core's bug.
    pub fn cut(&mut self, distance: usize, size: usize) {
        assert!(
            size <= SIDE_MAX,
            "a side slot takes at most {SIDE_MAX} bytes"
        );
        self.side = Side {
            bytes: [0; SIDE_MAX],
            size,
            filled: 0,
            distance,
        };
    }

    /// Whether a side slot waits for its bytes.
    #[inline]
    pub fn has_cut(&self) -> bool {
        self.side.size > 0
    }

    /// The side slot's bytes once all of them have come; the slot is then gone.
    pub fn take_side(&mut self) -> Option<[u8; SIDE_MAX]> {
        if self.side.size == 0 || self.side.filled < self.side.size {
            return None;
        }
        let bytes = self.side.bytes;
        self.side = Side::default();
        Some(bytes)
    }

    /// Gives the cut up: its bytes come as all others from now on. Gives those that have come, and how many they are.
    pub fn uncut(&mut self) -> ([u8; SIDE_MAX], usize) {
        let side = std::mem::take(&mut self.side);
        (side.bytes, side.filled)
    }

    /// Moves pending bytes to the front of their part, over bytes that a core needs no more: for parts of one value that
    /// framing stands between. `from` and `to` count from the first pending byte. Metered as moved.
    ///
    /// # Panics
    /// When the bytes are not pending: a core's bug.
    pub fn move_pending(&mut self, from: Range<usize>, to: usize) {
        self.meter.bytes_moved += from.len() as u64;
        self.input.pending_mut().copy_within(from, to);
    }

    /// Commands that wait to be sent.
    #[inline]
    pub fn output(&mut self) -> &mut WriteQueue {
        &mut self.output
    }

    // ---- for drivers: read

    /// Makes memory ready for the next read. All spans of the read buffer are stale afterwards.
    ///
    /// # Errors
    /// `LimitExceeded` or `OutOfMemory`; nothing has changed then.
    pub fn prepare(&mut self) -> Result<(), WireError> {
        let home = self.homes.plan();
        self.plan(home, self.homes.missing() - home, false)
    }

    /// The same, but the next body bytes go to a slice of `len` bytes that the caller passes to
    /// [`targets_into`](Self::targets_into), and `later` more of the same value are to follow it. Only where there are
    /// none does the read go on into the read buffer, so that a value is not split between the two.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub fn prepare_into(&mut self, len: usize, later: usize) -> Result<(), WireError> {
        // One read crosses one header at the most: a further one would need a second side slot.
        let step = len.min(STEP);
        self.plan(step, later.saturating_add(len - step), true)
    }

    fn plan(&mut self, home: usize, home_later: usize, external: bool) -> Result<(), WireError> {
        let mut spare = 0;
        if home_later == 0 {
            let min = self.min.saturating_sub(home);
            let until_end = self.until_end.saturating_sub(home);
            let most = if home > 0 { BEHIND_HOME } else { usize::MAX };
            self.input.reserve(min, until_end, most, &mut self.meter)?;
            spare = self.input.planned();
        }
        self.plan = Plan {
            home,
            external,
            spare,
        };
        self.note_capacity();
        Ok(())
    }

    /// Where the next read goes, in order; at most four slices, none of them empty.
    #[inline]
    pub fn targets(&mut self) -> Targets<'_> {
        if self.plan.home == 0 && self.side.size == 0 {
            return Targets::one(if self.plan.spare > 0 {
                self.input.target()
            } else {
                &mut []
            });
        }
        let home = if self.plan.external {
            0
        } else {
            self.plan.home
        };
        let home = self.homes.target(home, &mut self.meter);
        Targets::around(
            home,
            &mut self.side,
            if self.plan.spare > 0 {
                self.input.target()
            } else {
                &mut []
            },
        )
    }

    /// As [`targets`](Self::targets), with the caller's slice in the place of the large home. The slice must be as long as
    /// [`prepare_into`](Self::prepare_into) was told.
    pub fn targets_into<'a>(&'a mut self, into: &'a mut [u8]) -> Targets<'a> {
        let len = self.plan.home.min(into.len());
        self.plan.home = len;
        let spare = if self.plan.spare > 0 {
            self.input.target()
        } else {
            &mut []
        };
        Targets::around(&mut into[..len], &mut self.side, spare)
    }

    /// `n` bytes have come into the targets. Gives how many went to the large home or the caller's slice.
    ///
    /// # Panics
    /// When `n` is more than the targets hold: a driver's bug.
    pub fn commit(&mut self, n: usize) -> usize {
        let plan = std::mem::take(&mut self.plan);
        let body = n - self.side.commit(n);
        let home = body.min(plan.home);
        if home > 0 && !plan.external {
            self.homes.commit(home);
        }
        if plan.spare > 0 {
            self.input.commit(body - home, plan.home == 0);
        } else {
            assert_eq!(body, home, "committed more than was planned");
        }
        self.arrived += body;
        self.input.earn(n);
        self.meter.reads += u64::from(n > 0);
        self.meter.bytes_read += n as u64;
        home
    }

    /// Gives memory back until at most [`BufferConfig::idle_keep`] bytes stay. For the end of a command; free when there
    /// is nothing to give back.
    #[inline]
    pub fn release(&mut self) {
        if self.capacity() > self.config.idle_keep || !self.homes.is_empty() {
            self.release_to(self.config.idle_keep);
        }
    }

    /// Gives memory back until at most `keep` bytes stay (pending bytes and output always do). 0 gives all of it back, the
    /// write queue's included.
    #[cold]
    pub fn release_to(&mut self, keep: usize) {
        // A failed allocation leaves the larger buffer: nothing is lost, and the next release tries again.
        let _ = self.input.shrink(keep, &mut self.meter);
        self.homes
            .shrink(keep.saturating_sub(self.input.capacity()));
        if keep == 0 {
            self.output.release();
        } else {
            self.output.shrink(keep.saturating_sub(self.readable()));
        }
    }

    /// Bytes of memory that are held, by the write queue too.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.readable() + self.output.capacity()
    }

    /// Bytes that read buffer and large homes hold.
    #[inline]
    fn readable(&self) -> usize {
        let homes = if self.homes.is_empty() {
            0
        } else {
            self.homes.capacity()
        };
        self.input.capacity() + homes
    }

    #[inline]
    fn note_capacity(&mut self) {
        let capacity = self.readable() as u64;
        self.meter.peak_capacity = self.meter.peak_capacity.max(capacity);
    }

    /// Bytes that came since the buffers were made.
    #[inline]
    pub fn bytes_read(&self) -> u64 {
        self.meter.bytes_read
    }

    // ---- for drivers: write

    /// Whether anything waits to be sent.
    #[inline]
    pub fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// All that is to be sent, where it lies in one piece.
    #[inline]
    pub fn whole_output(&self) -> Option<&[u8]> {
        self.output.whole()
    }

    /// Fills `slices` with what is to be sent next, `borrowed` being the parts that the caller holds; gives how many.
    pub fn output_slices<'a>(
        &'a self,
        borrowed: &'a (impl Borrowed + ?Sized),
        slices: &mut [std::io::IoSlice<'a>],
    ) -> usize {
        self.output.slices(borrowed, slices)
    }

    /// `n` bytes have left.
    #[inline]
    pub fn commit_output(&mut self, n: usize) {
        self.output.advance(n);
        self.meter.writes += u64::from(n > 0);
        self.meter.bytes_written += n as u64;
    }

    /// The first `n` pending bytes were written to another peer from where they lie, without a copy: a relay.
    ///
    /// # Panics
    /// As [`consume`](Self::consume).
    #[inline]
    pub fn forward(&mut self, n: usize) {
        self.input.consume_piece(n);
        self.meter.writes += u64::from(n > 0);
        self.meter.bytes_written += n as u64;
    }

    // ---- the meter

    /// What this connection's bytes have cost since it was made.
    pub fn meter(&self) -> Meter {
        Meter {
            capacity_now: self.readable() as u64,
            bytes_copied_to_output: self.output.copied(),
            bytes_copied_to_owned: self.owned.load(Ordering::Relaxed),
            bytes_copied_to_metadata: self.metadata.load(Ordering::Relaxed),
            ..self.meter
        }
    }

    /// Counts `bytes` copied into a value that the caller owns.
    #[inline]
    pub fn count_owned(&self, bytes: usize) {
        add(&self.owned, bytes);
    }

    /// Counts `bytes` copied into metadata that is kept.
    #[inline]
    pub fn count_metadata(&self, bytes: usize) {
        add(&self.metadata, bytes);
    }
}

/// Not a locked instruction: a count may be lost only when two threads copy out of one row at the same instant.
#[inline]
fn add(counter: &AtomicU64, bytes: usize) {
    counter.store(
        counter.load(Ordering::Relaxed) + bytes as u64,
        Ordering::Relaxed,
    );
}

#[cfg(test)]
mod tests;
