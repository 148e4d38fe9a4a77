//! Sizes and limits of one connection's buffers.

/// At most this much memory is made ready ahead of the bytes that have come: 256 KiB.
///
/// A hostile length costs address space up to its limit, resident memory only up to this step, and none where a driver
/// fills [memory that was never written](crate::Buffers::untouched_home); or up to one large page,
/// 2 MiB, where [advice](crate::Buffers::set_home_advice) is asked for, which it is only once 1 MiB of the value has come. It
/// is also the largest single read into one target, which on a Unix socket (about 208 KiB of kernel buffer) is never the
/// bottleneck.
pub const STEP: usize = 256 << 10;

/// Sizes and limits of a connection's [`Buffers`](crate::Buffers). All in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferConfig {
    /// Size of the first read, and the smallest that adaptation goes down to. A power of two; 16 KiB.
    pub initial_read: usize,
    /// Largest size that adaptation goes up to, and so the ordinary capacity of a busy connection. 256 KiB.
    pub max_read: usize,
    /// Hard limit of the read buffer, from 16 bytes to 4 GiB - 1. A message that must be contiguous and is larger fails with
    /// `LimitExceeded`.
    pub max_buffer: usize,
    /// What a connection may keep, of read buffer and large homes together, after a command. 256 KiB.
    pub idle_keep: usize,
}

impl Default for BufferConfig {
    fn default() -> Self {
        Self {
            initial_read: 16 << 10,
            max_read: 256 << 10,
            max_buffer: 64 << 20,
            idle_keep: 256 << 10,
        }
    }
}
