//! COM_STMT_RESET: closes a prepared statement's cursor and discards its long data.
//!
//! | bytes | field        | note          |
//! |-------|--------------|---------------|
//! | 1     | command      | 0x1A          |
//! | 4     | statement id | little-endian |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_reset.html>

use super::command::CommandByte;
use crate::codec::{DecodeError, Put, Reader};

/// COM_STMT_RESET: closes a prepared statement's cursor and discards its long data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StmtReset {
    /// The id of the statement on this connection.
    pub statement_id: u32,
}

impl StmtReset {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on another command, or on any length other than 5 bytes.
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new("COM_STMT_RESET", payload);
        reader.expect(CommandByte::STMT_RESET.0, "command")?;
        let command = Self {
            statement_id: reader.u32("statement id")?,
        };
        reader.finish()?;
        Ok(command)
    }

    /// Encodes the packet.
    pub fn encode(&self, out: &mut impl Put) {
        out.put_u8(CommandByte::STMT_RESET.0);
        out.put_u32(self.statement_id);
    }
}

#[cfg(test)]
mod tests;
