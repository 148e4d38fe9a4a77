//! COM_INIT_DB: change the default database.
//!
//! | bytes | field    | note                              |
//! |-------|----------|-----------------------------------|
//! | 1     | command  | 0x02                              |
//! | rest  | database | in the connection's character set |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_init_db.html>

use super::command::CommandByte;
use crate::codec::{DecodeError, Put, Reader};

/// Change the default database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitDb<'a> {
    /// The database's name.
    pub database: &'a [u8],
}

impl<'a> InitDb<'a> {
    /// Reads the packet.
    ///
    /// # Errors
    /// Another command.
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new("COM_INIT_DB", payload);
        reader.expect(CommandByte::INIT_DB.0, "command")?;
        Ok(Self {
            database: reader.rest(),
        })
    }

    /// Writes the packet.
    pub fn encode(&self, out: &mut impl Put) {
        out.put_u8(CommandByte::INIT_DB.0);
        out.put(self.database);
    }
}

#[cfg(test)]
mod tests;
