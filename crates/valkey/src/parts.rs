//! The large arguments of one call, borrowed to the driver until they have left.

use bytes::Bytes;
use onecopy_wire::{Borrowed, WireError};

use crate::Error;

/// Parts that own their memory are numbered from here on.
const OWNED: u32 = 1 << 31;

/// The number of the piece under way of an argument that is sent in pieces.
pub(crate) const PIECE: u32 = u32::MAX;

/// An argument from a reader is sent in pieces of this size: 128 KiB.
const PIECE_LEN: usize = 128 << 10;

/// Large arguments by the numbers that they have in the write queue.
#[derive(Debug, Default)]
pub(crate) struct Parts<'a> {
    borrowed: Vec<&'a [u8]>,
    owned: Vec<Bytes>,
}

impl<'a> Parts<'a> {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self {
            borrowed: Vec::new(),
            owned: Vec::new(),
        }
    }

    /// Where a command that outlives the call puts its own.
    #[inline]
    pub(crate) fn borrowed(&mut self) -> &mut Vec<&'a [u8]> {
        &mut self.borrowed
    }

    /// Where any other puts its own, and the first one's number.
    #[inline]
    pub(crate) fn owned(&mut self) -> (&mut Vec<Bytes>, u32) {
        (&mut self.owned, OWNED)
    }
}

impl Parts<'_> {
    /// Forgets all of them: everything has left.
    pub(crate) fn clear(&mut self) {
        self.borrowed.clear();
        self.owned.clear();
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.borrowed.is_empty() && self.owned.is_empty()
    }
}

/// The parts of a call, and the piece of its last argument that is under way.
#[derive(Debug)]
pub(crate) struct WithPiece<'p, 'a>(pub(crate) &'p Parts<'a>, pub(crate) &'p [u8]);

impl Borrowed for WithPiece<'_, '_> {
    fn part(&self, index: u32) -> &[u8] {
        match index {
            PIECE => self.1,
            index => self.0.part(index),
        }
    }
}

/// Memory for the pieces of an argument of `len` bytes.
pub(crate) fn piece(len: u64) -> Result<Vec<u8>, Error> {
    let len = usize::try_from(len).unwrap_or(usize::MAX).min(PIECE_LEN);
    let mut piece = Vec::new();
    piece
        .try_reserve_exact(len)
        .map_err(|_| Error::out_of_memory(WireError::OutOfMemory { bytes: len as u64 }))?;
    piece.resize(len, 0);
    Ok(piece)
}

impl Borrowed for Parts<'_> {
    fn part(&self, index: u32) -> &[u8] {
        if index < OWNED {
            return self
                .borrowed
                .get(index as usize)
                .copied()
                .unwrap_or_default();
        }
        let owned = self.owned.get((index - OWNED) as usize);
        owned.map_or(&[], |bytes| bytes)
    }
}

#[cfg(test)]
mod tests;
