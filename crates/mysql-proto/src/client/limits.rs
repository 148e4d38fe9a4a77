//! What a server may make a client do.

use onecopy_wire::BufferConfig;

use super::definitions::KEPT_A_COLUMN;

/// Limits of one connection. A claim above one of them is refused before anything is allocated for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest row that is borrowed or owned, in bytes. A row that is streamed has no limit. 1 GiB + 1 MiB: a server's own
    /// maximum, `max_allowed_packet`, is 1 GiB.
    pub max_row_bytes: u64,
    /// Longest message that is not a row: OK, ERR, one column's definition. 16 MiB - 2, a single packet.
    pub max_message_bytes: usize,
    /// All column definitions of one result together, in bytes: each as it came and 96 more for what is known of its column.
    /// 64 MiB, which hold some 500,000 columns. There is no limit of columns beside it.
    pub max_metadata_bytes: usize,
    /// Rows up to this size are borrowed from the read buffer as a whole; in larger ones large values get their own memory.
    /// 256 KiB.
    pub contiguous_row_bytes: usize,
    /// In larger rows a value of this size or more is read straight into its own memory. 64 KiB.
    pub large_value_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_row_bytes: (1 << 30) + (1 << 20),
            max_message_bytes: 0xFF_FFFE,
            max_metadata_bytes: 64 << 20,
            contiguous_row_bytes: 256 << 10,
            large_value_bytes: 64 << 10,
        }
    }
}

impl Limits {
    /// More columns than this are over [`max_metadata_bytes`](Self::max_metadata_bytes) however short their definitions are.
    pub(super) fn most_columns(&self) -> u64 {
        (self.max_metadata_bytes / KEPT_A_COLUMN) as u64
    }

    /// Buffers that fit these limits.
    pub fn buffer_config(&self) -> BufferConfig {
        let max_row = usize::try_from(self.max_row_bytes).unwrap_or(usize::MAX);
        BufferConfig {
            max_buffer: max_row.max(self.max_message_bytes + super::core::HEADER),
            ..BufferConfig::default()
        }
    }
}
