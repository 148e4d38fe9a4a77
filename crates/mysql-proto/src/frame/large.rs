//! A payload that is parsed as it arrives, in any number of packets.
//!
//! Positions count only the payload's bytes: the read itself removes the headers between its packets.
#![deny(clippy::indexing_slicing)]

use onecopy_wire::Buffers;

use super::{FrameError, FrameReader, HEADER_BYTES, MAX_BODY, split_header};

/// The progress of a large payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Large {
    /// Bytes of all packets whose headers have arrived.
    known: u64,
    /// Bytes that have arrived since the first header, those of the payloads behind it included.
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

    /// Records what the last read received, including a header in it, and arranges for the next header to be removed.
    ///
    /// # Errors
    /// Fails if the sequence id of a continuation packet is out of order.
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
            // Reads are far shorter than a packet: a second header can't have arrived with the first.
            buffers.cut(
                usize::try_from(self.known.saturating_sub(self.arrived)).unwrap_or(usize::MAX),
                HEADER_BYTES,
            );
        }
        Ok(())
    }

    /// Returns the number of bytes known to belong to it: all of them once [`is_last`](Self::is_last) is true.
    #[inline]
    pub fn known(&self) -> u64 {
        self.known
    }

    /// Returns whether the header of its last packet has arrived, so that [`known`](Self::known) is its length.
    #[inline]
    pub fn is_last(&self) -> bool {
        self.last
    }

    /// Returns the number of received bytes after `position`.
    #[inline]
    pub fn available(&self, position: u64) -> u64 {
        self.arrived.min(self.known).saturating_sub(position)
    }

    /// Returns whether all of it has arrived.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.last && self.arrived >= self.known
    }

    /// Returns the number of bytes until its end. While another packet is to come, that is more than any buffer holds.
    #[inline]
    pub fn until_end(&self) -> usize {
        if self.last {
            usize::try_from(self.known.saturating_sub(self.arrived)).unwrap_or(usize::MAX)
        } else {
            usize::MAX
        }
    }
}
