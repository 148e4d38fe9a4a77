//! One direction's packets: where one ends, and which one begins a payload.

use super::{Event, RelayError};
use crate::frame::MAX_BODY;

/// How far one direction is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Packets {
    /// Bytes of the body under way that have not come, at most [`MAX_BODY`].
    left: u32,
    /// The next packet belongs to the same payload.
    continues: bool,
}

impl Packets {
    /// A packet's header has passed.
    #[inline]
    pub(super) fn begin(&mut self, length: usize) {
        // A header's three bytes.
        self.left = u32::try_from(length).unwrap_or(u32::MAX);
        self.continues = length == MAX_BODY;
    }

    /// Of so many bytes, how many belong to the body under way; they are taken as passed.
    #[inline]
    pub(super) fn take(&mut self, available: usize) -> usize {
        let available_u32 = u32::try_from(available).unwrap_or(u32::MAX);
        let taken = self.left.min(available_u32);
        self.left -= taken;
        taken as usize
    }

    #[inline]
    pub(super) fn left(self) -> usize {
        self.left as usize
    }

    #[inline]
    pub(super) fn continues(self) -> bool {
        self.continues
    }

    /// Whether the next byte is a payload's first header.
    #[inline]
    pub(super) fn is_between_payloads(self) -> bool {
        self.left == 0 && !self.continues
    }
}

/// The first packet of a payload, as far as it has arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start<'a> {
    bytes: &'a [u8],
    /// What its header says; a payload of [`MAX_BODY`] continues behind it.
    length: usize,
}

/// Why a payload's first packet may not pass.
#[derive(Debug)]
pub(super) enum Stop {
    /// So many bytes of it must be there.
    Need(usize),
    /// It is told of first: it passes at the next look.
    Told(Event),
    /// It is looked at once more, as another one.
    Again,
    Failed(RelayError),
}

impl From<RelayError> for Stop {
    fn from(error: RelayError) -> Self {
        Self::Failed(error)
    }
}

impl<'a> Start<'a> {
    /// `behind` is what has arrived behind the header.
    #[inline]
    pub(super) fn new(behind: &'a [u8], length: usize) -> Self {
        let bytes = behind.get(..length).unwrap_or(behind);
        Self { bytes, length }
    }

    pub(super) fn length(self) -> usize {
        self.length
    }

    /// The first byte; `None` in a payload without any.
    #[inline]
    pub(super) fn first(self) -> Result<Option<u8>, Stop> {
        match self.bytes.first() {
            Some(&first) => Ok(Some(first)),
            None if self.length == 0 => Ok(None),
            None => Err(Stop::Need(1)),
        }
    }

    /// The first `count` bytes, or all where it has fewer.
    pub(super) fn prefix(self, count: usize) -> Result<&'a [u8], Stop> {
        let count = count.min(self.length);
        self.bytes.get(..count).ok_or(Stop::Need(count))
    }
}
