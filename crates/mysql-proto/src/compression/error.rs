//! What is wrong with a frame.

use core::fmt;

use super::Algorithm;

/// A frame is invalid. The stream is lost with it, because the start of the next frame is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompressionError {
    /// The sequence id is not the next one: a frame was lost, repeated, or belongs to another command.
    Sequence {
        /// The expected id.
        expected: u8,
        /// The received id.
        found: u8,
    },
    /// The bytes are not in the algorithm's format, or their checksum is wrong, or they need more memory than a frame may use.
    Malformed {
        /// The expected algorithm.
        algorithm: Algorithm,
    },
    /// The content is longer than the header says.
    Longer {
        /// The length before compression in the header.
        claimed: u32,
    },
    /// The content is shorter than the header says, or its last bytes are missing.
    Shorter {
        /// The length before compression in the header.
        claimed: u32,
        /// The actual length of the content.
        found: u32,
    },
    /// There are bytes after the end of the compressed data, in the same frame.
    Trailing {
        /// The number of these bytes.
        bytes: u32,
    },
    /// The working memory of the algorithm could not be allocated.
    OutOfMemory,
}

impl fmt::Display for CompressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sequence { expected, found } => write!(
                f,
                "compressed frame out of order: sequence id {found}, expected {expected}"
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
                "a compressed frame has {bytes} more bytes behind the end of its compressed data"
            ),
            Self::OutOfMemory => f.write_str("out of memory for compression"),
        }
    }
}

impl core::error::Error for CompressionError {}
