//! Sessions and limits of the targets: small enough for a small input to reach every path and every limit.

use onecopy_mysql_proto::client::{Limits, Session};
use onecopy_mysql_proto::{Capabilities, ServerVersion};
use onecopy_wire::BufferConfig;

/// Limits that a few hundred bytes come near.
pub const LIMITS: Limits = Limits {
    max_row_bytes: 16 << 10,
    max_message_bytes: 2 << 10,
    max_metadata_bytes: 4 << 10,
    contiguous_row_bytes: 128,
    large_value_bytes: 64,
};

/// What a connection's large homes may hold at most: those of the row under way, and what is kept of rows before it, which
/// is at most twice the largest of them.
pub const MOST_IN_HOMES: u64 = 3 * LIMITS.max_row_bytes;

/// Small reads, so that buffers grow and move.
pub fn buffers() -> BufferConfig {
    BufferConfig {
        initial_read: 64,
        max_read: 512,
        idle_keep: 256,
        ..LIMITS.buffer_config()
    }
}

/// A session that is logged in, with these capabilities.
pub fn logged_in(capabilities: Capabilities) -> Session {
    Session {
        capabilities,
        connection_id: 1,
        server_version: String::new(),
        version: ServerVersion::parse(b""),
    }
}

/// The capabilities that change how replies are read, from the bits of one byte.
pub fn reply_capabilities(bits: u8) -> Capabilities {
    let all = [
        Capabilities::DEPRECATE_EOF,
        Capabilities::SESSION_TRACK,
        Capabilities::MARIADB_CACHE_METADATA,
        Capabilities::MARIADB_EXTENDED_METADATA,
        Capabilities::OPTIONAL_RESULTSET_METADATA,
        Capabilities::MARIADB_PROGRESS,
    ];
    let mut capabilities = Capabilities::PROTOCOL_41 | Capabilities::TRANSACTIONS;
    for (bit, capability) in all.into_iter().enumerate() {
        if bits >> bit & 1 == 1 {
            capabilities |= capability;
        }
    }
    capabilities
}
