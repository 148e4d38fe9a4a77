//! COM_STMT_FETCH: fetches a cursor's next rows.
//!
//! | bytes | field        | note          |
//! |-------|--------------|---------------|
//! | 1     | command      | 0x1C          |
//! | 4     | statement id | little-endian |
//! | 4     | rows         | little-endian |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_fetch.html>

use super::command::CommandByte;
use crate::codec::{DecodeError, Put, Reader};

/// COM_STMT_FETCH: fetches a cursor's next rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The id of the statement on this connection.
    pub statement_id: u32,
    /// The maximum number of rows to send.
    pub rows: u32,
}

impl Fetch {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on another command, or on any length other than 9 bytes.
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new("COM_STMT_FETCH", payload);
        reader.expect(CommandByte::STMT_FETCH.0, "command")?;
        let command = Self {
            statement_id: reader.u32("statement id")?,
            rows: reader.u32("rows")?,
        };
        reader.finish()?;
        Ok(command)
    }

    /// Encodes the packet.
    pub fn encode(&self, out: &mut impl Put) {
        out.put_u8(CommandByte::STMT_FETCH.0);
        out.put_u32(self.statement_id);
        out.put_u32(self.rows);
    }
}

#[cfg(test)]
mod tests;
