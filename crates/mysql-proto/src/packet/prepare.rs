//! COM_STMT_PREPARE: prepare a statement.
//!
//! | bytes | field     | note                              |
//! |-------|-----------|-----------------------------------|
//! | 1     | command   | 0x16                              |
//! | rest  | statement | in the connection's character set |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_prepare.html>

use super::command::CommandByte;
use crate::codec::{DecodeError, Put, Reader};

/// Prepare a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepare<'a> {
    /// The statement, `?` where a parameter goes.
    pub sql: &'a [u8],
}

impl<'a> Prepare<'a> {
    /// Reads the packet.
    ///
    /// # Errors
    /// Another command.
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new("COM_STMT_PREPARE", payload);
        reader.expect(CommandByte::STMT_PREPARE.0, "command")?;
        Ok(Self { sql: reader.rest() })
    }

    /// Writes what stands before the statement; the statement's bytes follow, from wherever they are.
    pub fn encode_header(out: &mut impl Put) {
        out.put_u8(CommandByte::STMT_PREPARE.0);
    }

    /// Writes the packet.
    pub fn encode(&self, out: &mut impl Put) {
        Self::encode_header(out);
        out.put(self.sql);
    }
}

#[cfg(test)]
mod tests;
