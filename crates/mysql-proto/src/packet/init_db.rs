//! COM_INIT_DB: changes the default database.
//!
//! | bytes | field    | note                              |
//! |-------|----------|-----------------------------------|
//! | 1     | command  | 0x02                              |
//! | rest  | database | in the connection's character set |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_init_db.html>

use super::command::CommandByte;
use crate::codec::{DecodeError, Put, Reader};

/// COM_INIT_DB: changes the default database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitDb<'a> {
    /// The name of the database.
    pub database: &'a [u8],
}

impl<'a> InitDb<'a> {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on another command.
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new("COM_INIT_DB", payload);
        reader.expect(CommandByte::INIT_DB.0, "command")?;
        Ok(Self {
            database: reader.rest(),
        })
    }

    /// Encodes the packet.
    pub fn encode(&self, out: &mut impl Put) {
        out.put_u8(CommandByte::INIT_DB.0);
        out.put(self.database);
    }
}

#[cfg(test)]
mod tests;
