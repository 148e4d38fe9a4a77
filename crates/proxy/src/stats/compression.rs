//! What compression has made of bytes.

use std::ops::AddAssign;

/// Bytes that went through compression, on either side of sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompressionCounts {
    /// Bytes of frames that were read.
    pub packed_read: u64,
    /// What was in them.
    pub unpacked: u64,
    /// Bytes that went into frames.
    pub packed: u64,
    /// Bytes of these frames.
    pub packed_written: u64,
}

impl AddAssign for CompressionCounts {
    fn add_assign(&mut self, other: Self) {
        self.packed_read += other.packed_read;
        self.unpacked += other.unpacked;
        self.packed += other.packed;
        self.packed_written += other.packed_written;
    }
}
