//! What can go wrong with memory.

use std::fmt;

/// A limit or the allocator said no. Nothing was allocated and nothing was lost: the buffers are as before the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// A message or value needs `needed` bytes where at most `max` are allowed.
    LimitExceeded {
        /// Bytes that the peer's claim would take.
        needed: u64,
        /// The configured limit in bytes.
        max: u64,
    },
    /// The allocator could not give `bytes` bytes.
    OutOfMemory {
        /// Bytes that are needed; what grows step by step asks for up to twice as many.
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
