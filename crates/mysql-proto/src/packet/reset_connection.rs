//! COM_RESET_CONNECTION: resets the session to its initial state without another login.
//!
//! | bytes | field   | note |
//! |-------|---------|------|
//! | 1     | command | 0x1F |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_reset_connection.html>

use super::command::CommandByte;
use crate::codec::{DecodeError, Put, Reader};

/// COM_RESET_CONNECTION: resets the session to its initial state without another login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetConnection;

impl ResetConnection {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on another command, or on any length other than 1 byte.
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new("COM_RESET_CONNECTION", payload);
        reader.expect(CommandByte::RESET_CONNECTION.0, "command")?;
        reader.finish()?;
        Ok(Self)
    }

    /// Encodes the packet.
    pub fn encode(&self, out: &mut impl Put) {
        out.put_u8(CommandByte::RESET_CONNECTION.0);
    }
}

#[cfg(test)]
mod tests;
