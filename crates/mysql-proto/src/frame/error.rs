//! What is wrong with a packet's header.

use core::fmt;

/// A header that cannot be the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameError {
    /// The sequence id is not the next one: a packet was lost, repeated, or belongs to another command.
    Sequence {
        /// The expected id.
        expected: u8,
        /// The received id.
        found: u8,
    },
    /// An empty payload where a packet is expected.
    Empty,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sequence { expected, found } => {
                write!(
                    f,
                    "packet out of order: sequence id {found}, expected {expected}"
                )
            }
            Self::Empty => f.write_str("an empty packet instead of one with a payload"),
        }
    }
}

impl core::error::Error for FrameError {}
