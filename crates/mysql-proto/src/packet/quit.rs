//! COM_QUIT: ends the connection. The server closes it without a response.
//!
//! | bytes | field   | note |
//! |-------|---------|------|
//! | 1     | command | 0x01 |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_quit.html>

use super::command::CommandByte;
use crate::codec::{DecodeError, Put, Reader};

/// COM_QUIT: ends the connection. The server closes it without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quit;

impl Quit {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on another command, or on any length other than 1 byte.
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new("COM_QUIT", payload);
        reader.expect(CommandByte::QUIT.0, "command")?;
        reader.finish()?;
        Ok(Self)
    }

    /// Encodes the packet.
    pub fn encode(&self, out: &mut impl Put) {
        out.put_u8(CommandByte::QUIT.0);
    }
}

#[cfg(test)]
mod tests;
