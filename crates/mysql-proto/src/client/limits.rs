//! Limits on what a server can make a client do.

use onecopy_wire::BufferConfig;

use super::definitions::KEPT_A_COLUMN;

/// The limits of a connection. A length above its limit is refused before anything is allocated for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of a row that is borrowed or owned, in bytes. Streamed rows have no limit. Default: 1 GiB + 1 MiB; a
    /// server's own maximum, `max_allowed_packet`, is 1 GiB.
    pub max_row_bytes: u64,
    /// The maximum size of a message that is not a row: OK, ERR, a column definition. Default: 16 MiB - 2, a single packet.
    pub max_message_bytes: usize,
    /// The maximum total size of a result's column definitions in bytes: each as received, plus 96 for the parsed column.
    /// Default: 64 MiB, enough for about 500,000 columns. There is no other limit on the number of columns.
    pub max_metadata_bytes: usize,
    /// The maximum size of a row that is borrowed from the read buffer as a whole. In larger rows, large values get their own
    /// memory. Default: 256 KiB.
    pub contiguous_row_bytes: usize,
    /// The minimum size of a value that, in such a larger row, is read directly into its own memory. Default: 64 KiB.
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

    /// Returns a buffer configuration that fits these limits.
    pub fn buffer_config(&self) -> BufferConfig {
        let max_row = usize::try_from(self.max_row_bytes).unwrap_or(usize::MAX);
        BufferConfig {
            max_buffer: max_row.max(self.max_message_bytes + super::core::HEADER),
            ..BufferConfig::default()
        }
    }
}
