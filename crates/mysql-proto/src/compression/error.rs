//! What is wrong with a frame.

use core::fmt;

use super::Algorithm;

/// A frame that can't be read. The stream is lost with it: where the next one begins is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompressionError {
    /// The sequence id is not the next one: a frame was lost, repeated, or belongs to another command.
    Sequence {
        /// The id that had to come.
        expected: u8,
        /// The id that came.
        found: u8,
    },
    /// The bytes are none of the algorithm's, or their checksum is wrong, or they need more memory than a frame may.
    Malformed {
        /// What they had to be.
        algorithm: Algorithm,
    },
    /// There is more in the frame than its header says.
    Longer {
        /// The length before compression of its header.
        claimed: u32,
    },
    /// There is less in the frame than its header says, or its last bytes are missing.
    Shorter {
        /// The length before compression of its header.
        claimed: u32,
        /// What was in it.
        found: u32,
    },
    /// Bytes behind the end of what is compressed, in the same frame.
    Trailing {
        /// How many.
        bytes: u32,
    },
    /// No memory to be had for what the algorithm works with.
    OutOfMemory,
}

impl fmt::Display for CompressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sequence { expected, found } => write!(
                f,
                "compressed frame out of order: sequence id {found} came where {expected} was due"
            ),
            Self::Malformed { algorithm } => {
                write!(f, "a compressed frame's bytes are not valid {algorithm}")
            }
            Self::Longer { claimed } => write!(
                f,
                "a compressed frame holds more than the {claimed} bytes that its header says"
            ),
            Self::Shorter { claimed, found } => write!(
                f,
                "a compressed frame holds {found} bytes and its header says {claimed}, or its end is cut off"
            ),
            Self::Trailing { bytes } => write!(
                f,
                "a compressed frame goes on for {bytes} bytes behind the end of what is compressed"
            ),
            Self::OutOfMemory => f.write_str("no memory to be had for compression"),
        }
    }
}

impl core::error::Error for CompressionError {}
