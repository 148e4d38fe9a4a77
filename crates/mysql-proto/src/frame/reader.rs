//! Finds complete payloads in the read buffer, and the start of those that are too large for it.
#![deny(clippy::indexing_slicing)]

use onecopy_wire::{Buffers, Span};

use super::{FrameError, HEADER_BYTES, Large, MAX_BODY, split_header};

/// The next payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Not enough bytes have arrived; the buffers know how many are missing.
    Missing(usize),
    /// A complete payload, contiguous.
    Whole(Span),
    /// A payload that is too large for the read buffer, or that continues in further packets. Its header is consumed, and at
    /// least one byte of it is pending.
    Large(Large),
}

/// Takes packets from the read buffer and checks their sequence ids.
///
/// # Example
/// ```
/// use onecopy_mysql_proto::frame::{Frame, FrameReader};
/// use onecopy_wire::{BufferConfig, Buffers};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut input: &[u8] = b"\x05\0\0\0hello"; // three bytes of length, the sequence id, the payload
/// let mut frames = FrameReader::default();
/// let mut buffers = Buffers::new(BufferConfig::default());
/// let payload = loop {
///     match frames.next(&mut buffers, 1 << 20)? {
///         Frame::Whole(payload) => break payload,
///         Frame::Missing(_) => {
///             buffers.prepare()?;
///             let n = std::io::Read::read_vectored(&mut input, buffers.targets().as_mut())?;
///             buffers.commit(n);
///         }
///         Frame::Large(_) => unreachable!("it is small"),
///     }
/// };
/// assert_eq!(buffers.bytes(payload), b"hello");
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameReader {
    /// The sequence id that the next packet must have.
    sequence: u8,
    /// Whether it may have any other as well.
    takes_any: bool,
}

impl FrameReader {
    /// Accepts packets with any sequence id from now on. For compressed connections: there servers count packets from their frame's
    /// id on, and the ids of the frames are checked instead.
    pub fn accept_any_sequence(&mut self) {
        self.takes_any = true;
    }

    /// Begins a new command or reply: the next packet must have the id `sequence`.
    #[inline]
    pub fn restart(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Returns the sequence id of the next packet.
    #[inline]
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Returns the next payload. A payload of at most `contiguous` bytes is returned once it is complete.
    ///
    /// # Errors
    /// Fails if a sequence id is out of order; an ERR packet (first byte 0xFF) is accepted with any id.
    #[inline]
    pub fn next(&mut self, buffers: &mut Buffers, contiguous: usize) -> Result<Frame, FrameError> {
        let pending = buffers.pending();
        let Some(header) = pending.first_chunk::<HEADER_BYTES>() else {
            let missing = HEADER_BYTES - pending.len();
            buffers.need(missing, 0);
            return Ok(Frame::Missing(missing));
        };
        let (length, sequence) = split_header(*header);
        let total = HEADER_BYTES + length;
        if pending.len() >= total && length < MAX_BODY {
            // An empty payload has no first byte: what is behind it is another packet's.
            self.check(sequence, || {
                pending.get(HEADER_BYTES..total)?.first().copied()
            })?;
            return Ok(Frame::Whole(buffers.consume(total).after(HEADER_BYTES)));
        }
        if length < MAX_BODY && (length <= contiguous || is_no_row(pending)) {
            let missing = total - pending.len();
            buffers.need(missing, missing);
            return Ok(Frame::Missing(missing));
        }
        self.large(buffers)
    }

    /// Returns the next payload, which is not a row. It is complete, or [`Large`] if its packet announces more than `max` bytes.
    /// The caller must refuse a large one, however much of it has arrived and whatever it starts with.
    ///
    /// # Errors
    /// Fails like [`next`](Self::next).
    #[inline]
    pub fn message(&mut self, buffers: &mut Buffers, max: usize) -> Result<Frame, FrameError> {
        match buffers.pending().first_chunk::<HEADER_BYTES>() {
            Some(header) if split_header(*header).0 > max => self.large(buffers),
            _ => self.next(buffers, max),
        }
    }

    /// Returns the start of the next payload, whatever its size, for payloads that are read in pieces.
    ///
    /// # Errors
    /// Fails like [`next`](Self::next).
    pub fn head(&mut self, buffers: &mut Buffers) -> Result<Frame, FrameError> {
        self.large(buffers)
    }

    /// Returns the first byte of the next payload and the length of its packet, once both have arrived; nothing is consumed. An
    /// empty packet has no first byte to wait for: it is returned as 0.
    pub fn peek(&self, buffers: &mut Buffers) -> Option<(u8, usize)> {
        let pending = buffers.pending();
        let length = pending
            .first_chunk::<HEADER_BYTES>()
            .map(|header| split_header(*header).0);
        match (length, pending.get(HEADER_BYTES)) {
            (Some(0), _) => Some((0, 0)),
            (Some(length), Some(&first)) => Some((first, length)),
            _ => {
                buffers.need((HEADER_BYTES + 1).saturating_sub(pending.len()), 0);
                None
            }
        }
    }

    fn large(&mut self, buffers: &mut Buffers) -> Result<Frame, FrameError> {
        let Some((first, length)) = self.peek(buffers) else {
            return Ok(Frame::Missing(buffers.needed()));
        };
        let sequence = buffers.pending().get(HEADER_BYTES - 1).copied();
        self.check(sequence.unwrap_or_default(), || Some(first))?;
        if length == 0 {
            return Err(FrameError::Empty);
        }
        buffers.consume(HEADER_BYTES);
        buffers.take_arrived();
        Ok(Frame::Large(Large::new(length, buffers.pending().len())))
    }

    #[inline]
    pub(super) fn check(
        &mut self,
        found: u8,
        first: impl FnOnce() -> Option<u8>,
    ) -> Result<(), FrameError> {
        const ERR: u8 = 0xFF;
        if found != self.sequence && !self.takes_any && first() != Some(ERR) {
            return Err(FrameError::Sequence {
                expected: self.sequence,
                found,
            });
        }
        self.sequence = found.wrapping_add(1);
        Ok(())
    }
}

/// Whether the payload is an ERR packet, or the OK that ends rows: a row of one packet starts with neither byte. Such a
/// payload is needed whole, whatever rows are.
#[cold]
fn is_no_row(pending: &[u8]) -> bool {
    matches!(pending.get(HEADER_BYTES), Some(0xFE | 0xFF))
}

#[cfg(test)]
mod tests;
