//! The sizes and limits of one connection's buffers.

/// The maximum number of bytes of memory that are prepared ahead of the bytes received: 256 KiB.
///
/// A hostile length costs address space up to its limit, but resident memory only up to this step, and none if an I/O driver fills
/// [memory that was never written](crate::Buffers::untouched_home). If [advice](crate::Buffers::set_home_advice) is set, it can
/// cost up to one large page, 2 MiB; advice is asked for only once 1 MiB of the value has arrived.
///
/// It is also the largest single read into one target. On a Unix socket, whose kernel buffer is about 208 KiB, that is never the
/// bottleneck.
pub const STEP: usize = 256 << 10;

/// The sizes and limits of a connection's [`Buffers`](crate::Buffers), all in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferConfig {
    /// The size of the first read, and the minimum of the adaptive read size; a power of two. Default: 16 KiB.
    pub initial_read: usize,
    /// The maximum of the adaptive read size, and therefore the usual capacity of a busy connection. Default: 256 KiB.
    pub max_read: usize,
    /// The hard limit of the read buffer, from 16 bytes to 4 GiB - 1. A larger message that must be contiguous fails with
    /// `LimitExceeded`. Default: 64 MiB.
    pub max_buffer: usize,
    /// How many bytes of read buffer and large-value buffers together a connection may keep after a command. Default: 256 KiB.
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
