//! What a connection keeps between two calls, and when it gives that back.

use super::Link;

/// What is kept for writing between the calls of a connection that is busy: four chunks. It goes with the rest of what none
/// of the next calls needs.
const WRITING_KEPT: usize = 64 << 10;

/// What a connection at rest holds at most after small commands: the write queue's first chunk, a read buffer of 512
/// bytes, and up to 16 nodes of 16 bytes.
const AT_REST: usize = 1 << 10;

/// After this many calls, memory that none of them needed is returned.
const QUIET: u32 = 32;

impl Link {
    /// A connection that may wait for long now keeps what a pipeline's next go is likely to need for writing, and no more.
    #[inline]
    pub(super) fn rest(&mut self) {
        if self.core.in_flight() == 0 {
            self.buffers.output().shrink(WRITING_KEPT);
        }
    }

    /// The memory that the last reply was borrowed from is not needed any more. Memory above what a connection is to keep is
    /// freed at once, the rest
    /// once it has not been needed for some calls: to give it back after each would cost a busy connection a call of the
    /// allocator and a fill with zeros each.
    #[inline]
    pub(super) fn give_back(&mut self) {
        self.buffers.recycle_homes();
        self.buffers.release();
        if self.capacity() > AT_REST {
            self.give_back_slowly();
        }
    }

    #[cold]
    fn give_back_slowly(&mut self) {
        if self.capacity() > self.idle_keep {
            self.core.release();
        }
        let moved = self.buffers.bytes_read() + self.buffers.output().sent();
        let used = usize::try_from(moved - self.moved_before).unwrap_or(usize::MAX);
        self.moved_before = moved;
        self.largest = self.largest.max(used);
        if self.largest > self.capacity() / 8 {
            (self.quiet, self.largest) = (0, used);
            return;
        }
        self.quiet += 1;
        if self.quiet == QUIET {
            self.core.release();
            if self.buffers.capacity() > AT_REST {
                let keep = if self.largest <= AT_REST {
                    0
                } else {
                    2 * self.largest
                };
                self.buffers.release_to(keep);
            }
            (self.quiet, self.largest) = (0, 0);
        }
    }

    /// Bytes of memory that are held: by the buffers, and by the core's lists of where the values of a reply lie.
    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.buffers.capacity() + self.core.capacity()
    }

    /// Gives memory back until at most `keep` bytes stay.
    pub(crate) fn release(&mut self, keep: usize) {
        if !self.is_in_home() {
            self.buffers.recycle_homes();
        }
        self.core.release();
        // Of a reply that has come in part what is known stays.
        self.buffers
            .release_to(keep.saturating_sub(self.core.capacity()));
    }

    /// Gives memory back of a connection whose replies are all detached: all of it, or where it is in use what is above that
    /// which one may keep. A reply or a push may be in flight.
    #[cfg(feature = "tokio")]
    pub(crate) fn trim(&mut self, is_idle: bool) {
        let keep = if is_idle { 0 } else { self.idle_keep };
        if self.capacity() > keep && !self.is_in_home() {
            self.core.release();
            self.buffers.release_to(keep);
        }
    }

    fn is_in_home(&self) -> bool {
        self.buffers.home_missing() > 0 || self.buffers.has_cut()
    }
}
