//! EOF: ends columns or rows, on a connection without `DEPRECATE_EOF`.
//!
//! | bytes | field        | note |
//! |-------|--------------|------|
//! | 1     | header       | 0xFE |
//! | 2     | warnings     |      |
//! | 2     | status flags |      |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_eof_packet.html>

use crate::capability::Capabilities;
use crate::codec::{DecodeError, Put, Reader};
use crate::status::StatusFlags;

const NAME: &str = "EOF";
/// The packet's first byte, which an OK packet after rows has too.
pub const HEADER: u8 = 0xFE;
/// Bytes of the packet.
pub(crate) const LENGTH: usize = 1 + 2 + 2;
/// A text row can start with 0xFE: the first byte of a length of 8 bytes, so of a row of at least 9.
const SHORTEST_ROW: u64 = 9;
/// With `DEPRECATE_EOF` the OK packet may be longer, but a row that starts with 0xFE holds a value of at least this
/// many bytes: shorter ones have shorter lengths.
const SHORTEST_LONG_VALUE: u64 = 0xFF_FFFF;

/// EOF: ends columns or rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EofPacket {
    /// The number of warnings that `SHOW WARNINGS` would return.
    pub warnings: u16,
    /// The server's status.
    pub status_flags: StatusFlags,
}

impl EofPacket {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on another header, or on any length other than 5 bytes.
    #[inline(always)] // 5 bytes, at the end of every result that a relay sees
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        reader.expect(HEADER, "header")?;
        let eof = Self {
            warnings: reader.u16("warnings")?,
            status_flags: StatusFlags(reader.u16("status flags")?),
        };
        reader.finish()?;
        Ok(eof)
    }

    /// Encodes the packet.
    pub fn encode(&self, out: &mut impl Put) {
        out.put_u8(HEADER);
        out.put_u16(self.warnings);
        out.put_u16(self.status_flags.0);
    }
}

/// Returns whether a payload in the place of a row ends the rows instead.
///
/// `payload_bytes` is the length of the whole payload, in all of its packets: a row whose first value has 16 MiB or more starts
/// with 0xFE too.
pub fn ends_rows(first_byte: u8, payload_bytes: u64, capabilities: Capabilities) -> bool {
    let shortest_row = if capabilities.contains(Capabilities::DEPRECATE_EOF) {
        SHORTEST_LONG_VALUE
    } else {
        SHORTEST_ROW
    };
    first_byte == HEADER && payload_bytes < shortest_row
}

#[cfg(test)]
mod tests;
