//! What a client may make a server do.

use onecopy_wire::BufferConfig;

use crate::frame::HEADER_BYTES;

/// Limits of one client's connection. A claim above one of them is refused before anything is allocated for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// Longest command, all its packets together, in bytes: what servers call `max_allowed_packet`. 64 MiB.
    pub max_command_bytes: u64,
    /// Commands up to this size are read into the read buffer; a larger one gets memory of its own. 256 KiB.
    pub contiguous_bytes: usize,
    /// Longest packet of a login: names and connection attributes, which servers take up to 64 KiB of. 128 KiB.
    pub max_login_bytes: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            max_command_bytes: 64 << 20,
            contiguous_bytes: 256 << 10,
            max_login_bytes: 128 << 10,
        }
    }
}

impl ServerLimits {
    /// Buffers that fit these limits.
    pub fn buffer_config(&self) -> BufferConfig {
        let ordinary = BufferConfig::default();
        let longest = self.contiguous_bytes.max(self.max_login_bytes) + HEADER_BYTES;
        BufferConfig {
            max_buffer: longest.next_power_of_two().max(ordinary.max_read),
            ..ordinary
        }
    }
}
