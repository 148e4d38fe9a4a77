//! The client's side of a compressed connection, without I/O: packets to frames, and frames to packets.
//!
//! ```text
//!   packets --> pieces, cut where a command begins --> encoder --> frames
//!   packets <-- decoder <-- frames, whose ids are checked
//! ```
//!
//! Each command begins a frame, because its first frame has to have the id 0, and MariaDB takes one command from a frame.

mod ids;
mod packets;

use std::io::IoSlice;

use ids::{ClientIds, Late};
use packets::{Pieces, Start, Walk};

use super::decoder::Decoded;
use super::encoder::FRAME_BYTES;
use super::{Algorithm, CompressionError, Decoder, Encoder, FrameEvent, Inflaters, Method};

/// No further frame is made once so many bytes of frames wait: 64 KiB, a write of ordinary size.
const OUTPUT_BYTES: usize = 64 << 10;

/// The place of an ERR packet's first byte in a reply: behind the packet's header.
const FIRST_BYTE: usize = 4;

const ERR: u8 = 0xFF;

/// One compressed connection as its client sees it, from the first byte after the login.
///
/// It holds a few bytes, and the encoder and the inflaters are the caller's: they serve any number of connections. The stream of
/// packets that it is given and that it returns is the one that [`ClientCore`](crate::client::ClientCore) writes and reads.
///
/// # Example
/// ```
/// use std::io::IoSlice;
///
/// use onecopy_mysql_proto::compression::{Algorithm, ClientFrames, Encoder, Inflaters, Method};
///
/// let mut frames = ClientFrames::new(Method::new(Algorithm::Zlib, 6));
/// // COM_PING. It is too short to be compressed.
/// let mut sent = Vec::new();
/// let ping = [IoSlice::new(&[1, 0, 0, 0, 0x0E])];
/// assert_eq!(frames.encode(&ping, &mut Encoder::new(), &mut sent)?, 5);
/// assert_eq!(sent, [5, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x0E]);
/// // OK, in the frame with the next id.
/// let reply = [11, 0, 0, 1, 0, 0, 0, 7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0];
/// let mut packets = [0; 64];
/// let passed = frames.decode(&reply, &mut packets, &mut Inflaters::new())?;
/// assert_eq!(packets[..passed.put], reply[7..]);
/// # Ok::<(), onecopy_mysql_proto::compression::CompressionError>(())
/// ```
#[derive(Debug)]
pub struct ClientFrames {
    method: Method,
    decoder: Decoder,
    ids: ClientIds,
    walk: Walk,
    /// A frame with an id that was not due, which only an ERR packet may have.
    late: Option<Late>,
    /// The last byte of a compressed frame that has arrived, until more comes or the frame's end has verified it: no reply is complete
    /// before its frame is.
    held: Option<u8>,
    /// Pieces of one frame, put together.
    gathered: Vec<u8>,
    copied: u64,
    dead: Option<CompressionError>,
}

/// The progress of one call to [`ClientFrames::decode`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    /// The number of bytes of frames that were consumed.
    pub taken: usize,
    /// The number of bytes of packets that were written.
    pub put: usize,
}

impl ClientFrames {
    /// Creates the state of a connection on which nothing was sent after the login.
    pub fn new(method: Method) -> Self {
        Self {
            method,
            decoder: Decoder::new(method.algorithm()),
            ids: ClientIds::default(),
            walk: Walk::default(),
            late: None,
            held: None,
            gathered: Vec::new(),
            copied: 0,
            dead: None,
        }
    }

    /// Returns the algorithm of the connection.
    pub fn algorithm(&self) -> Algorithm {
        self.method.algorithm()
    }

    /// Decodes the start of `input` to the start of `output`, until one of them ends.
    ///
    /// # Errors
    /// Fails on an invalid frame, or on one with an id that is not due, unless it begins with an ERR packet. What came before it
    /// is returned first. Each further call returns the same error.
    pub fn decode(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        inflaters: &mut Inflaters,
    ) -> Result<Passed, CompressionError> {
        let mut passed = Passed::default();
        while self.dead.is_none() {
            match self.decode_some(input, output, inflaters, &mut passed) {
                Ok(true) => {}
                Ok(false) => {
                    self.copied += passed.put as u64;
                    return Ok(passed);
                }
                Err(error) => self.dead = Some(error),
            }
        }
        match self.dead {
            Some(error) if passed.put == 0 => Err(error),
            _ => Ok(passed),
        }
    }

    /// Up to the next event; whether there was one.
    fn decode_some(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        inflaters: &mut Inflaters,
        passed: &mut Passed,
    ) -> Result<bool, CompressionError> {
        let input = input.get(passed.taken..).unwrap_or_default();
        let output = output.get_mut(passed.put..).unwrap_or_default();
        let decoded = self.decode_verified(input, output, inflaters)?;
        if let Some(late) = &mut self.late {
            match output
                .get(..decoded.put)
                .and_then(|bytes| bytes.get(late.until_first))
            {
                Some(&ERR) => self.late = None,
                Some(_) => return Err(late.error),
                None => late.until_first -= decoded.put.min(late.until_first),
            }
        }
        passed.taken += decoded.taken;
        passed.put += decoded.put;
        match decoded.event {
            Some(FrameEvent::Began { sequence, .. }) => {
                self.late = self.ids.check(sequence)?.or(self.late);
                Ok(true)
            }
            Some(FrameEvent::Ended) => Ok(true),
            None => Ok(false),
        }
    }

    /// Decodes, and holds the last byte back while its frame is not verified.
    fn decode_verified(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        inflaters: &mut Inflaters,
    ) -> Result<Decoded, CompressionError> {
        let Some(held) = self.held else {
            let mut decoded = self.decoder.decode(input, output, inflaters)?;
            if decoded.put > 0 && self.decoder.is_unverified() {
                decoded.put -= 1;
                self.held = output.get(decoded.put).copied();
            }
            return Ok(decoded);
        };
        let Some((place, room)) = output.split_first_mut() else {
            return Ok(Decoded::default());
        };
        // With room for one byte alone it continues too.
        let mut one = [0];
        let is_short = room.is_empty();
        let room = if is_short { &mut one[..] } else { room };
        let mut decoded = self.decoder.decode(input, room, inflaters)?;
        let last = room.get(..decoded.put).and_then(<[u8]>::last).copied();
        let is_verified = !self.decoder.is_unverified();
        if last.is_none() && !is_verified {
            return Ok(decoded);
        }
        *place = held;
        if is_verified && !(is_short && last.is_some()) {
            self.held = None;
            decoded.put += 1;
        } else {
            self.held = last;
        }
        Ok(decoded)
    }

    /// Returns whether [`decode`](Self::decode) may return more without more input, because its output was full.
    pub fn may_go_on(&self) -> bool {
        let has_held = self.held.is_some() && !self.decoder.is_unverified();
        has_held || self.decoder.may_go_on()
    }

    /// Appends frames to `output`: of the start of `pieces`, until there are 64 KiB of them. Returns the number of bytes that are
    /// in them. The header of a packet must not be split between two pieces.
    ///
    /// # Errors
    /// Fails with `OutOfMemory`; the connection is unusable then.
    pub fn encode(
        &mut self,
        pieces: &[IoSlice<'_>],
        encoder: &mut Encoder,
        output: &mut Vec<u8>,
    ) -> Result<usize, CompressionError> {
        let mut pieces = Pieces::new(pieces);
        let mut taken = 0;
        while output.len() < OUTPUT_BYTES {
            let (len, start) = self.walk.frame(pieces, FRAME_BYTES);
            if len == 0 {
                break;
            }
            match start {
                Start::Command { has_reply } => self.ids.begin(has_reply)?,
                Start::Answer => self.ids.answer(),
                Start::Middle => {}
            }
            let content = match pieces.contiguous(len) {
                Some(content) => content,
                None => {
                    pieces.gather(len, &mut self.gathered)?;
                    self.copied += len as u64;
                    &self.gathered
                }
            };
            let (frame, _) = encoder.frame(self.method, self.ids.next_id(), content)?;
            let reserved = output.try_reserve(frame.len());
            reserved.map_err(|_| CompressionError::OutOfMemory)?;
            output.extend_from_slice(frame);
            // To the encoder's memory, and from there to the output.
            self.copied += 2 * frame.len() as u64;
            pieces.pass(len);
            taken += len;
        }
        Ok(taken)
    }

    /// Reports that no reply is outstanding, so that the next frame can only begin the next command's reply.
    pub fn settle(&mut self) {
        self.ids.settle();
    }

    /// Releases what it holds, until at most `keep` bytes are left.
    pub fn release(&mut self, keep: usize) {
        if self.gathered.capacity() > keep {
            self.gathered = Vec::new();
        }
        self.ids.release();
    }

    /// Returns the number of bytes that were copied: those of packets that were gathered, decompressed or compressed, and those of
    /// frames to the output.
    pub fn copied(&self) -> u64 {
        self.copied
    }
}

#[cfg(test)]
mod tests;
