//! Limits on what a client can make a server do.

use onecopy_wire::BufferConfig;

use crate::frame::HEADER_BYTES;

/// The limits of a client's connection. A length above its limit is refused before anything is allocated for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// The maximum size of a command, all its packets together, in bytes: `max_allowed_packet` of servers. Default: 64 MiB.
    pub max_command_bytes: u64,
    /// The maximum size of a command that is read into the read buffer; a larger one gets its own memory. Default: 256 KiB.
    pub contiguous_bytes: usize,
    /// The maximum size of a login packet: names and connection attributes, of which servers accept up to 64 KiB. Default: 128
    /// KiB.
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
    /// Returns a buffer configuration that fits these limits.
    pub fn buffer_config(&self) -> BufferConfig {
        let ordinary = BufferConfig::default();
        let longest = self.contiguous_bytes.max(self.max_login_bytes) + HEADER_BYTES;
        BufferConfig {
            max_buffer: longest.next_power_of_two().max(ordinary.max_read),
            ..ordinary
        }
    }
}
