//! What memory a queue holds between two commands, and when it goes back.

use super::{BorrowedPart, CHUNK, Chunk, WriteQueue};

/// Largest chunk, of a queue whose commands need several again and again: 64 KiB.
pub(super) const LARGEST: usize = 4 * CHUNK;

/// Smallest first chunk: any field that can be patched fits.
const SMALLEST: usize = 64;

/// Borrowed parts whose list is kept: some kilobytes, and more than an ordinary command has.
const PARTS_KEPT: usize = 64;

impl WriteQueue {
    /// From the next one on the first chunk, which is kept, has `bytes` bytes instead of [`CHUNK`]: for connections of which
    /// there are many, and whose commands are small. At least 64, at most [`CHUNK`].
    pub fn set_first_chunk(&mut self, bytes: usize) {
        self.first = bytes.clamp(SMALLEST, CHUNK);
    }

    /// Bytes of memory that the queue holds.
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

    /// Everything has left, out of several chunks. Where that was so before, and one would have held it, there is one in their
    /// place from here on: a pipeline like the last one then finds its room in one place, and leaves in one piece.
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

    /// Gives chunks back until at most `keep` bytes of them stay, or one of the first's size alone, and a list of borrowed parts
    /// that has become long. Nothing while something waits.
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

    /// Gives back all memory. Nothing while something waits.
    pub fn release(&mut self) {
        if self.is_empty() {
            (self.tail, self.chunks) = (Chunk::default(), Vec::new());
            self.capacity = 0;
            self.was_long = false;
            self.borrowed = Vec::new();
        }
    }
}
