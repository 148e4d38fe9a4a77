//! COM_RESET_CONNECTION: bring the session back to its first state without logging in again.
//!
//! | bytes | field   | note |
//! |-------|---------|------|
//! | 1     | command | 0x1F |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_reset_connection.html>

use super::command::CommandByte;
use crate::codec::{DecodeError, Put, Reader};

/// Bring the session back to its first state without logging in again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetConnection;

impl ResetConnection {
    /// Reads the packet.
    ///
    /// # Errors
    /// Another command, or any length but 1 byte.
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new("COM_RESET_CONNECTION", payload);
        reader.expect(CommandByte::RESET_CONNECTION.0, "command")?;
        reader.finish()?;
        Ok(Self)
    }

    /// Writes the packet.
    pub fn encode(&self, out: &mut impl Put) {
        out.put_u8(CommandByte::RESET_CONNECTION.0);
    }
}

#[cfg(test)]
mod tests;
