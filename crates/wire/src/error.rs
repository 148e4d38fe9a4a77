//! Failures of memory: limits and the allocator.

use std::fmt;

/// A limit was exceeded, or memory could not be allocated. Nothing was allocated and nothing was lost: the buffers are as before
/// the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// A message or value needs `needed` bytes, but at most `max` are allowed.
    LimitExceeded {
        /// Number of bytes that the peer announced.
        needed: u64,
        /// The configured limit in bytes.
        max: u64,
    },
    /// The allocator failed to provide `bytes` bytes.
    OutOfMemory {
        /// Number of bytes needed. Memory that grows step by step requests up to twice as many.
        bytes: u64,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LimitExceeded { needed, max } => {
                write!(
                    f,
                    "{needed} bytes are needed but the limit is {max}; raise the limit or read the value as a stream"
                )
            }
            Self::OutOfMemory { bytes } => {
                write!(f, "out of memory: {bytes} bytes could not be allocated")
            }
        }
    }
}

impl std::error::Error for WireError {}
