//! COM_PING: ask whether the server is there; it answers OK.
//!
//! | bytes | field   | note |
//! |-------|---------|------|
//! | 1     | command | 0x0E |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_ping.html>

use super::command::CommandByte;
use crate::codec::{DecodeError, Put, Reader};

/// Ask whether the server is there; it answers OK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ping;

impl Ping {
    /// Reads the packet.
    ///
    /// # Errors
    /// Another command, or any length but 1 byte.
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new("COM_PING", payload);
        reader.expect(CommandByte::PING.0, "command")?;
        reader.finish()?;
        Ok(Self)
    }

    /// Writes the packet.
    pub fn encode(&self, out: &mut impl Put) {
        out.put_u8(CommandByte::PING.0);
    }
}

#[cfg(test)]
mod tests;
