//! One connection's buffers, and the plan of each read.
//!
//! A read fills the following targets in this order, with one vectored call:
//!
//! ```text
//!   | large-value buffer ... | side slot | ... large-value buffer | spare part of the read buffer |
//!                              ^ a header or trailer that must not enter the value
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

/// How far a read continues after a large-value buffer: 4 KiB. After a large value the next one is often large too, and bytes that
/// are read before its home is made must be copied there. This is enough for headers and the small columns between the two.
const BEHIND_HOME: usize = 4 << 10;

/// Framing bytes inside or after the current bytes, which are kept out of them.
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
    /// `n` bytes have arrived; gives how many of them went into the slot.
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
    /// Bytes that go to the large-value buffer, or to the caller's slice.
    home: usize,
    /// Whether `home` is the caller's slice.
    external: bool,
    /// Bytes that go to the spare part.
    spare: usize,
}

/// The read buffer, large-value buffers, side slot, write queue and meter of one connection.
///
/// State machines call [`pending`](Self::pending), [`consume`](Self::consume), [`need`](Self::need), [`cut`](Self::cut) and
/// [`begin_home`](Self::begin_home). I/O drivers call [`prepare`](Self::prepare), [`targets`](Self::targets) and
/// [`commit`](Self::commit), and the corresponding methods for the write queue.
///
/// A large-value buffer is the memory of one large value, into which reads put it directly. The side slot takes up to 8 bytes of
/// framing, such as a packet header, that must not become part of a value.
///
/// `Debug` shows sizes, never bytes, because they contain rows, statements and passwords.
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
    /// Creates buffers that hold no memory yet.
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

    /// Returns the sizes and limits in effect.
    pub fn config(&self) -> &BufferConfig {
        &self.config
    }

    /// Changes the limit of the read buffer, but not to less than its current capacity. It is for memory that many connections
    /// share, where each connection asks before it grows.
    ///
    /// A limit below [`BufferConfig::max_read`] limits the size of reads too. Messages that must be contiguous and exceed the
    /// limit fail, and pending bytes of a larger message may be moved before each read.
    pub fn set_max_buffer(&mut self, bytes: usize) {
        self.config.max_buffer = bytes;
        self.input.set_max(bytes);
    }

    // ---- for cores: what has arrived

    /// Returns the bytes that were received and not yet consumed.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        self.input.pending()
    }

    /// Returns the memory that begins with the pending bytes, and the number of pending bytes. A state machine can compare a whole
    /// word even if fewer bytes are pending. After the pending bytes comes old data, which the state machine must ignore.
    #[inline]
    pub fn pending_in_place(&self) -> (&[u8], usize) {
        self.input.pending_in_place()
    }

    /// Returns the [`pending`](Self::pending) bytes as a mutable slice, so that they can be decrypted in place.
    pub fn pending_mut(&mut self) -> &mut [u8] {
        self.input.pending_mut()
    }

    /// Turns the first `n` pending bytes into a span, valid until the next [`prepare`](Self::prepare).
    ///
    /// # Panics
    /// Panics if fewer bytes are pending, which is a bug of the state machine and cannot be caused by a peer.
    #[inline]
    pub fn consume(&mut self, n: usize) -> Span {
        self.input.consume(n)
    }

    /// Consumes `n` bytes like [`consume`](Self::consume), for a piece of a larger message. Its length does not count for the
    /// estimate of how large messages are.
    ///
    /// # Panics
    /// Panics like [`consume`](Self::consume).
    #[inline]
    pub fn consume_piece(&mut self, n: usize) -> Span {
        self.input.consume_piece(n)
    }

    /// Overwrites the consumed bytes of the read buffer with zeros, so that spans of it return zeros from now on. It is for
    /// passwords, after they have been taken from it.
    pub fn wipe_spent(&mut self) {
        self.input.wipe_spent();
    }

    /// Returns the bytes of a span. An empty span never becomes stale.
    #[inline]
    pub fn bytes(&self, span: Span) -> &[u8] {
        if span.home == 0 {
            self.input.bytes(span)
        } else {
            self.bytes_of_home(span)
        }
    }

    /// Returns the memory that begins with the bytes of a span, including the bytes after them, which may belong to another
    /// message. A short copy can thus copy a whole word. The result is empty if the span is in a large-value buffer.
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

    /// Declares what the state machine needs before it can continue: at least `min` bytes, and `until_end` bytes until the end of
    /// the current message (0 if that is unknown). Reads may return more.
    #[inline]
    pub fn need(&mut self, min: usize, until_end: usize) {
        self.min = min.max(1);
        self.until_end = until_end;
    }

    /// Returns the minimum number of bytes that the state machine asked for.
    #[inline]
    pub fn needed(&self) -> usize {
        self.min
    }

    /// Resets the read size, so that the next reads bring as little ahead as at first. It is for a large value that continues
    /// directly to the caller: the next value is often large too, and what was read ahead of it must be copied.
    pub fn read_less(&mut self) {
        self.input.read_less();
    }

    /// Returns the number of body bytes received since the last call, not counting those in side slots.
    #[inline]
    pub fn take_arrived(&mut self) -> usize {
        std::mem::take(&mut self.arrived)
    }

    /// Puts `size` bytes, which start after `distance` more body bytes, into the side slot instead of the buffers.
    ///
    /// There is only one slot, and one read may bring up to a whole [`STEP`](crate::STEP) of a home after it. Framing inside a
    /// home must therefore be further apart than that.
    ///
    /// # Panics
    /// Panics if `size` is over 8, which is a bug of the state machine.
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

    /// Returns whether a side slot is waiting for its bytes.
    #[inline]
    pub fn has_cut(&self) -> bool {
        self.side.size > 0
    }

    /// Returns the bytes of the side slot once all of them have been received, and removes the slot.
    pub fn take_side(&mut self) -> Option<[u8; SIDE_MAX]> {
        if self.side.size == 0 || self.side.filled < self.side.size {
            return None;
        }
        let bytes = self.side.bytes;
        self.side = Side::default();
        Some(bytes)
    }

    /// Removes the side slot: its remaining bytes are received like all others. Returns the slot's bytes received so far, and
    /// their number.
    pub fn uncut(&mut self) -> ([u8; SIDE_MAX], usize) {
        let side = std::mem::take(&mut self.side);
        (side.bytes, side.filled)
    }

    /// Moves pending bytes towards the front, over bytes that the state machine no longer needs. It joins the parts of one value
    /// that have framing between them. `from` and `to` count from the first pending byte. The bytes are metered as moved.
    ///
    /// # Panics
    /// Panics if the bytes are not pending, which is a bug of the state machine.
    pub fn move_pending(&mut self, from: Range<usize>, to: usize) {
        self.meter.bytes_moved += from.len() as u64;
        self.input.pending_mut().copy_within(from, to);
    }

    /// Returns the queue of commands that wait to be sent.
    #[inline]
    pub fn output(&mut self) -> &mut WriteQueue {
        &mut self.output
    }

    // ---- for drivers: read

    /// Prepares memory for the next read. All spans of the read buffer are stale after this.
    ///
    /// # Errors
    /// Fails with `LimitExceeded` or `OutOfMemory`; nothing has changed then.
    pub fn prepare(&mut self) -> Result<(), WireError> {
        let home = self.homes.plan();
        self.plan(home, self.homes.missing() - home, false)
    }

    /// Prepares the next read like [`prepare`](Self::prepare), but its body bytes go to a slice of `len` bytes, which the caller
    /// passes to [`targets_into`](Self::targets_into). `later` is the number of bytes of the same value that follow after that
    /// slice. The read continues into the read buffer only if `later` is 0, so that a value is not split between the two.
    ///
    /// # Errors
    /// Fails like [`prepare`](Self::prepare).
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

    /// Returns where the next read goes, in order: at most four slices, none of them empty.
    #[inline(always)] // two slices of known length, once inlined
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

    /// Returns the same as [`targets`](Self::targets), with the caller's slice in place of the large-value buffer. The slice must
    /// be as long as the `len` that was passed to [`prepare_into`](Self::prepare_into).
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

    /// Records that `n` bytes were received into the targets. Returns how many of them went to the large-value buffer or to the
    /// caller's slice.
    ///
    /// # Panics
    /// Panics if `n` is more than the targets hold, which is a bug of the I/O driver.
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

    /// Releases memory until at most [`BufferConfig::idle_keep`] bytes are held. It is for the end of a command, and costs
    /// nothing if there is nothing to release.
    #[inline]
    pub fn release(&mut self) {
        if self.capacity() > self.config.idle_keep || !self.homes.is_empty() {
            self.release_to(self.config.idle_keep);
        }
    }

    /// Releases memory until at most `keep` bytes are held. Pending bytes and output are always kept. 0 releases everything else,
    /// including the memory of the write queue.
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

    /// Returns the number of bytes of memory held, including those of the write queue.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.readable() + self.output.capacity()
    }

    /// Bytes that read buffer and large-value buffers hold.
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

    /// Returns the number of bytes received since the buffers were made.
    #[inline]
    pub fn bytes_read(&self) -> u64 {
        self.meter.bytes_read
    }

    // ---- for drivers: write

    /// Returns whether anything waits to be sent.
    #[inline]
    pub fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Returns everything that is to be sent, if it is one contiguous piece.
    #[inline]
    pub fn whole_output(&self) -> Option<&[u8]> {
        self.output.whole()
    }

    /// Fills `slices` with what is to be sent next, and returns the number of slices filled. `borrowed` holds the parts that were
    /// queued by reference.
    pub fn output_slices<'a>(
        &'a self,
        borrowed: &'a (impl Borrowed + ?Sized),
        slices: &mut [std::io::IoSlice<'a>],
    ) -> usize {
        self.output.slices(borrowed, slices)
    }

    /// Records that `n` bytes were sent.
    #[inline]
    pub fn commit_output(&mut self, n: usize) {
        self.output.advance(n);
        self.meter.writes += u64::from(n > 0);
        self.meter.bytes_written += n as u64;
    }

    /// Records that the first `n` pending bytes were written to another peer directly from the buffer, without a copy, as a relay
    /// does.
    ///
    /// # Panics
    /// Panics like [`consume`](Self::consume).
    #[inline]
    pub fn forward(&mut self, n: usize) {
        self.input.consume_piece(n);
        self.meter.writes += u64::from(n > 0);
        self.meter.bytes_written += n as u64;
    }

    // ---- the meter

    /// Returns the counters of this connection since it was made.
    pub fn meter(&self) -> Meter {
        Meter {
            capacity_now: self.readable() as u64,
            bytes_copied_to_output: self.output.copied(),
            bytes_copied_to_owned: self.owned.load(Ordering::Relaxed),
            bytes_copied_to_metadata: self.metadata.load(Ordering::Relaxed),
            ..self.meter
        }
    }

    /// Counts `bytes` copied into an owned value.
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
