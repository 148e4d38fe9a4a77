//! The location of a message: a position instead of a borrow.

/// A range of bytes in one connection's buffers, resolved by [`Buffers::bytes`](crate::Buffers::bytes).
///
/// It is `Copy` and has no lifetime, so that a state machine can return it from a loop. It is valid until the next read is
/// prepared. Debug builds store an epoch and panic on a stale span; release builds may return other bytes of the same connection. A
/// span has at most 4 GiB - 1 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// 0 is the read buffer, n the large-value buffer n - 1.
    pub(crate) home: u32,
    pub(crate) start: u32,
    pub(crate) len: u32,
    #[cfg(debug_assertions)]
    pub(crate) epoch: u32,
}

impl Span {
    /// A span of no bytes, which is always valid.
    pub const EMPTY: Self = Self {
        home: 0,
        start: 0,
        len: 0,
        #[cfg(debug_assertions)]
        epoch: 0,
    };

    /// Returns a span of all `len` bytes of the large-value buffer with this number.
    #[inline]
    pub const fn of_home(number: u32, len: u32) -> Self {
        Self {
            home: number,
            start: 0,
            len,
            ..Self::EMPTY
        }
    }

    /// Returns the number of the large-value buffer, counted from 1, or 0 for the read buffer.
    #[inline]
    pub const fn home(self) -> u32 {
        self.home
    }

    /// Returns the length in bytes.
    #[inline]
    pub const fn len(self) -> usize {
        self.len as usize
    }

    /// Returns whether the span covers no bytes.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns whether the bytes are in a large-value buffer of their own.
    #[inline]
    pub const fn is_large(self) -> bool {
        self.home != 0
    }

    /// Returns the span from the start of this one to the end of `last`, which must follow it in the same place. This joins
    /// several messages and the bytes between them, to send them on as one part. An empty span (`consume(0)`) is enough for the
    /// start.
    ///
    /// # Panics
    /// Panics if `last` is elsewhere, which is a bug of the state machine.
    #[inline]
    #[must_use]
    pub fn to(self, last: Self) -> Self {
        let is_behind = last.home == self.home && last.start >= self.start;
        assert!(is_behind, "the last span is not behind the first");
        #[cfg(debug_assertions)]
        assert!(self.epoch == last.epoch, "spans of two reads were joined");
        Self {
            len: last.start + last.len - self.start,
            ..self
        }
    }

    /// Returns the rest of the span after its first `n` bytes.
    #[inline]
    #[must_use]
    pub fn after(self, n: usize) -> Self {
        let offset = u32::try_from(n).unwrap_or(u32::MAX);
        self.slice(offset, u32::MAX)
    }

    /// Returns the part that starts at `offset` and is `len` bytes long, limited to this span.
    #[inline]
    #[must_use]
    pub fn slice(self, offset: u32, len: u32) -> Self {
        let offset = offset.min(self.len);
        Self {
            start: self.start + offset,
            len: len.min(self.len - offset),
            ..self
        }
    }
}
