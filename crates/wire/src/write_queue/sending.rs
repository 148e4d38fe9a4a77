//! What is sent: one piece if it is contiguous, otherwise a list of pieces.

use std::io::IoSlice;

use super::cursor::{Cursor, Piece};
use super::{Borrowed, WriteQueue};

impl WriteQueue {
    /// The piece that begins at the cursor, which is moved on to the next chunk where that is due.
    #[inline]
    pub(super) fn piece(&self, cursor: &mut Cursor) -> Option<Piece> {
        let part = self.borrowed.get(cursor.part);
        loop {
            let until = match part {
                Some(part) if part.chunk == cursor.chunk => Some(part.at),
                _ => None,
            };
            if let (Some(part), Some(at)) = (part, until)
                && at == cursor.at
            {
                return Some(Piece::Borrowed {
                    index: part.index,
                    start: part.start + cursor.offset,
                    end: part.end,
                });
            }
            let end = until.unwrap_or(self.chunk(cursor.chunk).len());
            if cursor.at < end {
                return Some(Piece::Chunk {
                    chunk: cursor.chunk,
                    start: cursor.at,
                    end,
                });
            }
            if cursor.chunk >= self.current {
                return None;
            }
            (cursor.chunk, cursor.at) = (cursor.chunk + 1, 0);
        }
    }

    /// Returns all waiting bytes if they are one contiguous piece. Most commands are, and then need no list of pieces.
    #[inline]
    pub fn whole(&self) -> Option<&[u8]> {
        if self.is_one_chunk() {
            let waits = self.tail.as_slice().get(self.head.at..)?;
            return (!waits.is_empty()).then_some(waits);
        }
        None
    }

    /// Whether nothing waits but bytes of the first chunk.
    #[inline]
    fn is_one_chunk(&self) -> bool {
        self.current == 0 && self.borrowed.is_empty()
    }

    /// Fills `slices` with what is to be sent next, and returns the number of slices filled.
    pub fn slices<'a>(
        &'a self,
        borrowed: &'a (impl Borrowed + ?Sized),
        slices: &mut [IoSlice<'a>],
    ) -> usize {
        let mut cursor = self.head;
        for (count, slot) in slices.iter_mut().enumerate() {
            let Some(piece) = self.piece(&mut cursor) else {
                return count;
            };
            *slot = IoSlice::new(match piece {
                Piece::Chunk { chunk, start, end } => &self.chunk(chunk)[start..end],
                // A part that has become shorter would desynchronise the stream: the panic is the caller's bug.
                Piece::Borrowed { index, start, end } => &borrowed.part(index)[start..end],
            });
            cursor.pass(piece, slot.len());
        }
        slices.len()
    }

    /// Records that `n` bytes were sent.
    ///
    /// # Panics
    /// Panics if that is more than was queued, which is a bug of the I/O driver.
    #[inline]
    pub fn advance(&mut self, n: usize) {
        self.sent += n as u64;
        if self.is_one_chunk() {
            self.head.at += n;
            assert!(self.head.at <= self.tail.len(), "more left than was queued");
            if self.head.at == self.tail.len() {
                self.tail.clear();
                self.head.at = 0;
                self.failed = 0;
            }
            return;
        }
        self.advance_pieces(n);
    }

    fn advance_pieces(&mut self, n: usize) {
        let mut cursor = self.head;
        let mut left = n;
        while let Some(piece) = self.piece(&mut cursor) {
            if left < piece.len() {
                cursor.pass(piece, left);
                self.head = cursor;
                return;
            }
            cursor.pass(piece, piece.len());
            left -= piece.len();
        }
        assert_eq!(left, 0, "more left than was queued");
        if self.current > 0 {
            self.gather();
        }
        self.clear();
    }
}
