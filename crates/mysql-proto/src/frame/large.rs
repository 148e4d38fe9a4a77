//! A payload that is parsed while it comes, over as many packets as it takes.
//!
//! Positions count the payload's own bytes: the headers between its packets are cut out by the read itself.
#![deny(clippy::indexing_slicing)]

use onecopy_wire::Buffers;

use super::{FrameError, FrameReader, HEADER_BYTES, MAX_BODY, split_header};

/// How far a large payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Large {
    /// Bytes of all packets whose headers have come.
    known: u64,
    /// Bytes that have come since the first header, those of the payloads behind it included.
    arrived: u64,
    /// No further packet belongs to it.
    last: bool,
}

impl Large {
    pub(super) fn new(length: usize, pending: usize) -> Self {
        Self {
            known: length as u64,
            arrived: pending as u64,
            last: length < MAX_BODY,
        }
    }

    /// Takes note of what the last read brought, and of the header in it, and sees that the next header is cut out.
    ///
    /// # Errors
    /// A continuation's sequence id out of order.
    pub fn update(
        &mut self,
        buffers: &mut Buffers,
        frames: &mut FrameReader,
    ) -> Result<(), FrameError> {
        self.arrived += buffers.take_arrived() as u64;
        if let Some([a, b, c, d, ..]) = buffers.take_side() {
            let (length, sequence) = split_header([a, b, c, d]);
            frames.check(sequence, || None)?;
            self.known += length as u64;
            self.last = length < MAX_BODY;
        }
        if !self.last && !buffers.has_cut() {
            // Reads are far shorter than a packet: a second header can't have come with the first.
            buffers.cut(
                usize::try_from(self.known.saturating_sub(self.arrived)).unwrap_or(usize::MAX),
                HEADER_BYTES,
            );
        }
        Ok(())
    }

    /// Bytes that are known to belong to it: all of them once [`is_last`](Self::is_last).
    #[inline]
    pub fn known(&self) -> u64 {
        self.known
    }

    /// Whether its last packet's header has come, so that [`known`](Self::known) is its length.
    #[inline]
    pub fn is_last(&self) -> bool {
        self.last
    }

    /// Bytes that have come and lie behind `position`.
    #[inline]
    pub fn available(&self, position: u64) -> u64 {
        self.arrived.min(self.known).saturating_sub(position)
    }

    /// Whether all of it has come.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.last && self.arrived >= self.known
    }

    /// Bytes until its end; more than any buffer has while a further packet is to come.
    #[inline]
    pub fn until_end(&self) -> usize {
        if self.last {
            usize::try_from(self.known.saturating_sub(self.arrived)).unwrap_or(usize::MAX)
        } else {
            usize::MAX
        }
    }
}
