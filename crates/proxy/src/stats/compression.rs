//! What compression has made of bytes.

use std::ops::AddAssign;

/// Bytes that went through compression, on either side of sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompressionCounts {
    /// Bytes of frames that were read.
    pub compressed_read: u64,
    /// What was in them.
    pub uncompressed_read: u64,
    /// Bytes that went into frames.
    pub uncompressed_written: u64,
    /// Bytes of these frames.
    pub compressed_written: u64,
}

impl AddAssign for CompressionCounts {
    fn add_assign(&mut self, other: Self) {
        self.compressed_read += other.compressed_read;
        self.uncompressed_read += other.uncompressed_read;
        self.uncompressed_written += other.uncompressed_written;
        self.compressed_written += other.compressed_written;
    }
}
