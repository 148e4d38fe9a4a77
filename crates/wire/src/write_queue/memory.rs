//! What memory a queue keeps between two commands, and when it is released.

use super::{BorrowedPart, CHUNK, Chunk, WriteQueue};

/// The size of the largest chunk, used if commands repeatedly need several chunks: 64 KiB.
pub(super) const LARGEST: usize = 4 * CHUNK;

/// Smallest first chunk: any field that can be patched fits.
const SMALLEST: usize = 64;

/// Borrowed parts whose list is kept: some kilobytes, and more than an ordinary command has.
const PARTS_KEPT: usize = 64;

impl WriteQueue {
    /// Sets the size of the first chunk, which is kept, to `bytes` instead of [`CHUNK`], from the next one on. It is limited to
    /// 64 bytes up to [`CHUNK`], and is for many connections with small commands.
    pub fn set_first_chunk(&mut self, bytes: usize) {
        self.first = bytes.clamp(SMALLEST, CHUNK);
    }

    /// Returns the number of bytes of memory that the queue holds.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity + self.borrowed.capacity() * size_of::<BorrowedPart>()
    }

    /// Bytes of the first chunk as it is made.
    pub(super) fn first_size(&self) -> usize {
        match self.first {
            0 => CHUNK,
            first => first,
        }
    }

    /// Called when everything has been sent from several chunks. If that happened before, and one chunk of at most [`LARGEST`]
    /// bytes would have been enough, it replaces them with one chunk: a pipeline like the last one is then contiguous and sent as
    /// one piece.
    #[cold]
    pub(super) fn gather(&mut self) {
        let used = (0..=self.current).map(|number| self.chunk(number).len());
        let size = used.sum::<usize>().next_multiple_of(CHUNK);
        if std::mem::replace(&mut self.was_long, true)
            && size <= LARGEST
            && let Ok(chunk) = Chunk::new(size)
        {
            self.chunks.truncate(1);
            self.cut_back(0, 0);
            self.tail = chunk;
            self.capacity = size;
        }
    }

    /// Releases chunks until at most `keep` bytes of them are held, or a single chunk of the first one's size, and releases a
    /// list of borrowed parts that has become long. Does nothing while something waits to be sent.
    #[inline]
    pub fn shrink(&mut self, keep: usize) {
        let is_long = self.borrowed.capacity() > PARTS_KEPT;
        if (is_long || self.capacity > keep.max(self.first_size())) && self.is_empty() {
            self.shrink_slow(keep.max(self.first_size()));
        }
    }

    #[cold]
    fn shrink_slow(&mut self, keep: usize) {
        while self.capacity > keep
            && self.chunks.len() > 1
            && let Some(chunk) = self.chunks.pop()
        {
            self.capacity -= chunk.capacity();
        }
        self.was_long &= self.chunks.len() > 1;
        if self.capacity > keep {
            // One that is as large as several.
            self.release();
        }
        if self.borrowed.capacity() > PARTS_KEPT {
            self.borrowed = Vec::new();
        }
    }

    /// Releases all memory. Does nothing while something waits to be sent.
    pub fn release(&mut self) {
        if self.is_empty() {
            (self.tail, self.chunks) = (Chunk::default(), Vec::new());
            self.capacity = 0;
            self.was_long = false;
            self.borrowed = Vec::new();
        }
    }
}
