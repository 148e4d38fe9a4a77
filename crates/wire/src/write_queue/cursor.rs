//! How far a queue has left, and what leaves next.

/// What has left: all before byte `at` of a chunk, all parts before the `part`-th, `offset` bytes of that one.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Cursor {
    pub(super) chunk: usize,
    pub(super) at: usize,
    pub(super) part: usize,
    pub(super) offset: usize,
}

/// Bytes that leave together.
#[derive(Debug, Clone, Copy)]
pub(super) enum Piece {
    Chunk {
        chunk: usize,
        start: usize,
        end: usize,
    },
    Borrowed {
        index: u32,
        start: usize,
        end: usize,
    },
}

impl Cursor {
    /// `n` bytes of the piece at the cursor have left.
    #[inline]
    pub(super) fn pass(&mut self, piece: Piece, n: usize) {
        match piece {
            Piece::Chunk { .. } => self.at += n,
            Piece::Borrowed { .. } if n == piece.len() => {
                (self.part, self.offset) = (self.part + 1, 0)
            }
            Piece::Borrowed { .. } => self.offset += n,
        }
    }
}

impl Piece {
    #[inline]
    pub(super) fn len(self) -> usize {
        match self {
            Self::Chunk { start, end, .. } | Self::Borrowed { start, end, .. } => end - start,
        }
    }
}
