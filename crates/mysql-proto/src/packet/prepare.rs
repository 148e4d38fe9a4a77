//! COM_STMT_PREPARE: prepares a statement.
//!
//! | bytes | field     | note                              |
//! |-------|-----------|-----------------------------------|
//! | 1     | command   | 0x16                              |
//! | rest  | statement | in the connection's character set |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_prepare.html>

use super::command::CommandByte;
use crate::codec::{DecodeError, Put, Reader};

/// COM_STMT_PREPARE: prepares a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepare<'a> {
    /// The statement, with `?` for each parameter.
    pub sql: &'a [u8],
}

impl<'a> Prepare<'a> {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on another command.
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new("COM_STMT_PREPARE", payload);
        reader.expect(CommandByte::STMT_PREPARE.0, "command")?;
        Ok(Self { sql: reader.rest() })
    }

    /// Encodes the part before the statement. The caller appends the statement's bytes, from wherever they are.
    pub fn encode_header(out: &mut impl Put) {
        out.put_u8(CommandByte::STMT_PREPARE.0);
    }

    /// Encodes the packet.
    pub fn encode(&self, out: &mut impl Put) {
        Self::encode_header(out);
        out.put(self.sql);
    }
}

#[cfg(test)]
mod tests;
