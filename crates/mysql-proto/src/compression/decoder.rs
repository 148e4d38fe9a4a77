//! Frames to the stream of packets that is in them.

use super::inflater::{Inflated, Inflater, Inflaters};
use super::{Algorithm, CompressionError, HEADER_BYTES};

/// Takes frames as they come, however they are cut.
///
/// It keeps no bytes but a header that has not come whole, and between frames it holds no memory beside itself. Bytes are
/// decompressed straight to where the caller wants them, as far as there is room; a frame is never waited for, and what
/// it claims to hold costs nothing. What it does hold is checked against the claim.
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
    /// Of the next header, as far as it has come.
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

/// How far one call got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decoded {
    /// Bytes of the input that are used up.
    pub taken: usize,
    /// Bytes that were put into the output.
    pub put: usize,
    /// What stopped it; `None` where it wants more of either: of room where there is none left, else of input.
    pub event: Option<FrameEvent>,
}

/// Where frames begin and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameEvent {
    /// A header has come whole. Nothing of what it announces was looked at.
    Began {
        /// For the caller to check.
        sequence: u8,
        /// Whether the content is compressed, so that something is borrowed for it.
        is_packed: bool,
    },
    /// All of the frame was put.
    Ended,
}

impl Decoder {
    /// For a stream that begins with a frame.
    pub fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            state: State::Between,
            header: [0; HEADER_BYTES],
            header_bytes: 0,
            dead: None,
        }
    }

    /// Goes on with `input`, what has come behind what was taken before, and puts what is in it at the start of `output`. Stops
    /// at each event.
    ///
    /// # Errors
    /// A frame that can't be read; each further call gives the same error. What was put before is right as far as it goes,
    /// but for its checksum.
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

    /// Whether it is between frames, and holds nothing of the next one's header.
    pub fn is_between_frames(&self) -> bool {
        matches!(self.state, State::Between) && self.header_bytes == 0
    }

    /// Whether there may be more without more input: the room was short, or all of the frame has come.
    pub fn may_go_on(&self) -> bool {
        match &self.state {
            State::Between => false,
            State::Stored(left) => *left == 0,
            State::Packed(packed) => packed.was_short || packed.left == 0,
        }
    }

    /// Bytes that it has borrowed.
    pub fn memory(&self) -> usize {
        match &self.state {
            State::Packed(packed) => packed.inflater.as_ref().map_or(0, Inflater::memory),
            _ => 0,
        }
    }

    /// Gives back what it has borrowed, where the stream ends here.
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
