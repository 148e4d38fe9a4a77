//! Decodes frames to the stream of packets in them.

use super::inflater::{Inflated, Inflater, Inflaters};
use super::{Algorithm, CompressionError, HEADER_BYTES};

/// Decodes frames as they arrive, however they are split.
///
/// It stores no bytes except those of a partly received header, and between frames it holds no further memory. Bytes are
/// decompressed directly into the caller's buffer, as far as there is room. It never waits for a complete frame, and nothing is
/// allocated for the announced length. The actual length is checked against the announced one.
///
/// ```
/// use onecopy_mysql_proto::compression::{Algorithm, Decoder, FrameEvent, Inflaters};
///
/// let mut decoder = Decoder::new(Algorithm::Zlib);
/// let mut inflaters = Inflaters::new();
/// // COM_PING: five bytes in a frame, not compressed.
/// let frame = [5, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x0E];
/// let mut packet = [0; 64];
/// let header = decoder.decode(&frame, &mut packet, &mut inflaters)?;
/// assert_eq!(header.event, Some(FrameEvent::Began { sequence: 0, is_packed: false }));
/// let content = decoder.decode(&frame[header.taken..], &mut packet, &mut inflaters)?;
/// assert_eq!((content.put, content.event), (5, Some(FrameEvent::Ended)));
/// # Ok::<(), onecopy_mysql_proto::compression::CompressionError>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    algorithm: Algorithm,
    state: State,
    /// Of the next header, as far as it has arrived.
    header: [u8; HEADER_BYTES],
    header_bytes: u8,
    dead: Option<CompressionError>,
}

#[derive(Debug)]
enum State {
    Between,
    /// So many bytes come as they are.
    Stored(u32),
    Packed(Packed),
}

/// A compressed frame under way.
#[derive(Debug)]
struct Packed {
    /// Bytes of it that have not come.
    left: u32,
    claimed: u32,
    put: u32,
    /// The room was short, so that something may wait in the inflater.
    was_short: bool,
    inflater: Option<Inflater>,
}

/// The progress of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decoded {
    /// The number of input bytes that were consumed.
    pub taken: usize,
    /// The number of bytes that were written to the output.
    pub put: usize,
    /// The event at which the call stopped. `None` if it needs more room, because the output is full, or else more input.
    pub event: Option<FrameEvent>,
}

/// The start or the end of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameEvent {
    /// A complete header has arrived. The content was not examined yet.
    Began {
        /// The sequence id, for the caller to check.
        sequence: u8,
        /// Whether the content is compressed, so that working memory is borrowed for it.
        is_packed: bool,
    },
    /// The whole frame was written.
    Ended,
}

impl Decoder {
    /// Creates a decoder for a stream that begins with a frame.
    pub fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            state: State::Between,
            header: [0; HEADER_BYTES],
            header_bytes: 0,
            dead: None,
        }
    }

    /// Decodes `input`, the bytes after those that were consumed before, and writes the content to the start of `output`. Stops
    /// at each event.
    ///
    /// # Errors
    /// Fails on an invalid frame; each further call returns the same error. The bytes written before are correct as far as they
    /// go, but their checksum was not verified.
    pub fn decode(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        inflaters: &mut Inflaters,
    ) -> Result<Decoded, CompressionError> {
        if let Some(dead) = self.dead {
            return Err(dead);
        }
        let decoded = self.go_on(input, output, inflaters);
        if let Err(error) = decoded {
            self.dead = Some(error);
            // Nobody wants it in the state that it is in.
            self.state = State::Between;
        }
        decoded
    }

    fn go_on(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        inflaters: &mut Inflaters,
    ) -> Result<Decoded, CompressionError> {
        let decoded = match &mut self.state {
            State::Between => return Ok(self.take_header(input)),
            State::Stored(left) => take_stored(left, input, output),
            State::Packed(packed) => packed.go_on(self.algorithm, input, output, inflaters)?,
        };
        if decoded.event == Some(FrameEvent::Ended) {
            self.state = State::Between;
        }
        Ok(decoded)
    }

    fn take_header(&mut self, input: &[u8]) -> Decoded {
        let mut taken = 0;
        let missing = self.header.iter_mut().skip(usize::from(self.header_bytes));
        for (place, &byte) in missing.zip(input) {
            *place = byte;
            taken += 1;
            self.header_bytes += 1;
        }
        let mut decoded = Decoded {
            taken,
            ..Decoded::default()
        };
        if usize::from(self.header_bytes) < HEADER_BYTES {
            return decoded;
        }
        self.header_bytes = 0;
        let [a, b, c, sequence, d, e, f] = self.header;
        let left = u32::from_le_bytes([a, b, c, 0]);
        let claimed = u32::from_le_bytes([d, e, f, 0]);
        let is_packed = claimed > 0;
        self.state = match is_packed {
            false => State::Stored(left),
            true => State::Packed(Packed {
                left,
                claimed,
                put: 0,
                was_short: false,
                inflater: None,
            }),
        };
        decoded.event = Some(FrameEvent::Began {
            sequence,
            is_packed,
        });
        decoded
    }

    /// Returns whether the decoder is between frames and has received nothing of the next header.
    pub fn is_between_frames(&self) -> bool {
        matches!(self.state, State::Between) && self.header_bytes == 0
    }

    /// Returns whether more output or an event is possible without more input: the output was too small, or the whole frame has
    /// arrived.
    pub fn may_go_on(&self) -> bool {
        match &self.state {
            State::Between => false,
            State::Stored(left) => *left == 0,
            State::Packed(packed) => packed.was_short || packed.left == 0,
        }
    }

    /// Returns whether a compressed frame is under way, whose end verifies it.
    pub fn is_unverified(&self) -> bool {
        matches!(self.state, State::Packed(_))
    }

    /// Returns the bytes of memory that it has borrowed.
    pub fn memory(&self) -> usize {
        match &self.state {
            State::Packed(packed) => packed.inflater.as_ref().map_or(0, Inflater::memory),
            _ => 0,
        }
    }

    /// Returns the borrowed memory if the stream ends here.
    pub fn give_up(&mut self, inflaters: &mut Inflaters) {
        if let State::Packed(packed) = &mut self.state
            && let Some(inflater) = packed.inflater.take()
        {
            inflaters.take_back(inflater);
        }
        self.state = State::Between;
    }
}

fn take_stored(left: &mut u32, input: &[u8], output: &mut [u8]) -> Decoded {
    let most = usize::try_from(*left).unwrap_or(usize::MAX);
    let bytes = most.min(input.len()).min(output.len());
    if let (Some(from), Some(to)) = (input.get(..bytes), output.get_mut(..bytes)) {
        to.copy_from_slice(from);
    }
    *left -= count(bytes);
    Decoded {
        taken: bytes,
        put: bytes,
        event: (*left == 0).then_some(FrameEvent::Ended),
    }
}

impl Packed {
    fn go_on(
        &mut self,
        algorithm: Algorithm,
        input: &[u8],
        output: &mut [u8],
        inflaters: &mut Inflaters,
    ) -> Result<Decoded, CompressionError> {
        let mut decoded = self.step(algorithm, input, output, inflaters)?;
        // All that was claimed is there, and the end may be too.
        if decoded.put > 0 && decoded.event.is_none() && self.put == self.claimed {
            let rest = input.get(decoded.taken..).unwrap_or_default();
            let end = self.step(algorithm, rest, &mut [], inflaters)?;
            decoded.taken += end.taken;
            decoded.event = end.event;
        }
        Ok(decoded)
    }

    fn step(
        &mut self,
        algorithm: Algorithm,
        input: &[u8],
        output: &mut [u8],
        inflaters: &mut Inflaters,
    ) -> Result<Decoded, CompressionError> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let input = input.get(..most).unwrap_or(input);
        let room = usize::try_from(self.claimed - self.put).unwrap_or(usize::MAX);
        // Where all that was claimed is there, only the end may come. One byte would show that it does not.
        let mut beyond = [0];
        let is_full = room == 0;
        let output = match output.len().min(room) {
            _ if is_full => &mut beyond[..],
            0 => return Ok(Decoded::default()),
            len => output.get_mut(..len).unwrap_or_default(),
        };
        // zstd takes a call that brings nothing on for a failure, after some of them.
        if input.is_empty() && self.left > 0 && !self.was_short {
            return Ok(Decoded::default());
        }
        let inflater = match &mut self.inflater {
            Some(inflater) => inflater,
            none => none.insert(inflaters.lend(algorithm)?),
        };
        let inflated = inflater
            .inflate(input, output)
            .ok_or(CompressionError::Malformed { algorithm })?;
        self.was_short = inflated.put == output.len();
        if is_full && inflated.put > 0 {
            return Err(CompressionError::Longer {
                claimed: self.claimed,
            });
        }
        self.left -= count(inflated.taken);
        self.put += count(inflated.put);
        if !inflated.is_over {
            // It takes all of the input unless the room is short.
            if self.left == 0 && !self.was_short {
                return Err(self.shorter());
            }
            return Ok(inflated.on_the_way());
        }
        if self.put < self.claimed {
            return Err(self.shorter());
        }
        if self.left > 0 {
            return Err(CompressionError::Trailing { bytes: self.left });
        }
        if let Some(inflater) = self.inflater.take() {
            inflaters.take_back(inflater);
        }
        Ok(Decoded {
            event: Some(FrameEvent::Ended),
            ..inflated.on_the_way()
        })
    }

    fn shorter(&self) -> CompressionError {
        CompressionError::Shorter {
            claimed: self.claimed,
            found: self.put,
        }
    }
}

impl Inflated {
    fn on_the_way(self) -> Decoded {
        Decoded {
            taken: self.taken,
            put: self.put,
            event: None,
        }
    }
}

/// A count that is at most a length of 24 bits.
fn count(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
