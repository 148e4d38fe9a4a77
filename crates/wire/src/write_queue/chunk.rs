//! One chunk: memory that is written from the front, and touched no further than that.
//!
//! ```text
//!            len        bytes.len()        capacity
//!   | written |  zeros, or   |  never touched  |
//!   |         |  of before   |                 |
//! ```
//!
//! Short fields go into memory that was set to zero or written to before, as into a slice: there is one look for room, and one
//! new length. What is long is appended to memory that was never touched, without zeros.

use std::collections::TryReserveError;

/// Bytes that are set to zero at a time, for the short fields to come.
const STEP: usize = 256;

/// Bytes that wait to be sent, in memory that does not grow.
#[derive(Default)]
pub(super) struct Chunk {
    /// Not shortened as long as the chunk lives.
    bytes: Vec<u8>,
    /// `<= bytes.len()`.
    len: usize,
}

impl Chunk {
    /// Memory for `size` bytes.
    pub(super) fn new(size: usize) -> Result<Self, TryReserveError> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size)?;
        Ok(Self { bytes, len: 0 })
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Bytes that fit behind what is written.
    #[inline]
    pub(super) fn room(&self) -> usize {
        self.bytes.capacity() - self.len
    }

    /// What is written.
    #[inline]
    pub(super) fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    #[inline]
    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        self.bytes.get_mut(..self.len).unwrap_or_default()
    }

    /// Memory behind it that can be written to as it is: a part of the room.
    #[inline]
    pub(super) fn ready(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.len..).unwrap_or_default()
    }

    /// The first `n` of these bytes are written.
    #[inline]
    pub(super) fn written(&mut self, n: usize) {
        self.len += n;
    }

    /// Writes the first `head_len` bytes of `head`, and `tail` behind `len` bytes, whose place it gives: they count as written.
    /// `None` where not all of it is ready.
    #[inline(always)]
    pub(super) fn frame(
        &mut self,
        head: [u8; 8],
        head_len: usize,
        len: usize,
        tail: [u8; 2],
    ) -> Option<&mut [u8]> {
        let head_len = head_len.min(head.len());
        let ready = self.bytes.get_mut(self.len..)?;
        if ready.len() < head.len() + len + tail.len() {
            return None;
        }
        // All eight by one store; those that do not count are written over.
        *ready.first_chunk_mut()? = head;
        let (place, behind) = ready[head_len..].split_at_mut(len);
        *behind.first_chunk_mut()? = tail;
        self.len += head_len + len + tail.len();
        Some(place)
    }

    /// Writes bytes that there is room for, whether that is ready or not. Behind a short field some more is made ready.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.len() <= self.room());
        let ready = self.ready();
        let (now, behind) = bytes.split_at(bytes.len().min(ready.len()));
        ready[..now.len()].copy_from_slice(now);
        self.bytes.extend_from_slice(behind);
        self.len += bytes.len();
        if bytes.len() < STEP && self.len == self.bytes.len() {
            let until = (self.len + STEP).min(self.bytes.capacity());
            self.bytes.resize(until, 0);
        }
    }

    /// Bytes that were ever touched.
    #[cfg(test)]
    pub(super) fn touched(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets what is written behind the first `len` bytes.
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }
}
