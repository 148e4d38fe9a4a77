//! Where a message lies: a position instead of a borrow.

/// A range of bytes in one connection's buffers; resolved by [`Buffers::bytes`](crate::Buffers::bytes).
///
/// `Copy` and free of lifetimes, so that a core can hand it out of a loop. It is valid until the next read is prepared;
/// debug builds carry an epoch and panic on a stale span, release builds may show other bytes of the same connection.
/// At most 4 GiB - 1 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// 0 is the read buffer, n the large home n - 1.
    pub(crate) home: u32,
    pub(crate) start: u32,
    pub(crate) len: u32,
    #[cfg(debug_assertions)]
    pub(crate) epoch: u32,
}

impl Span {
    /// A span of no bytes, valid for ever.
    pub const EMPTY: Self = Self {
        home: 0,
        start: 0,
        len: 0,
        #[cfg(debug_assertions)]
        epoch: 0,
    };

    /// All `len` bytes of the large home of that number.
    #[inline]
    pub const fn of_home(number: u32, len: u32) -> Self {
        Self {
            home: number,
            start: 0,
            len,
            ..Self::EMPTY
        }
    }

    /// The large home's number, counted from 1; 0 for the read buffer.
    #[inline]
    pub const fn home(self) -> u32 {
        self.home
    }

    /// Length in bytes.
    #[inline]
    pub const fn len(self) -> usize {
        self.len as usize
    }

    /// Whether it covers no byte.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Whether the bytes lie in a large home of their own.
    #[inline]
    pub const fn is_large(self) -> bool {
        self.home != 0
    }

    /// All bytes from its start to the end of `last`, which lies behind it in the same place: several messages with what
    /// is between them, to be sent on in one part. A span of no bytes (`consume(0)`) will do for the start.
    ///
    /// # Panics
    /// When `last` lies elsewhere: a core's bug.
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

    /// What is left behind its first `n` bytes.
    #[inline]
    #[must_use]
    pub fn after(self, n: usize) -> Self {
        let offset = u32::try_from(n).unwrap_or(u32::MAX);
        self.slice(offset, u32::MAX)
    }

    /// The part that starts `offset` bytes in and is `len` bytes long, cut to this span.
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
