//! COM_PING: checks whether the server responds. It answers OK.
//!
//! | bytes | field   | note |
//! |-------|---------|------|
//! | 1     | command | 0x0E |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_ping.html>

use super::command::CommandByte;
use crate::codec::{DecodeError, Put, Reader};

/// COM_PING: checks whether the server responds. It answers OK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ping;

impl Ping {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on another command, or on any length other than 1 byte.
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new("COM_PING", payload);
        reader.expect(CommandByte::PING.0, "command")?;
        reader.finish()?;
        Ok(Self)
    }

    /// Encodes the packet.
    pub fn encode(&self, out: &mut impl Put) {
        out.put_u8(CommandByte::PING.0);
    }
}

#[cfg(test)]
mod tests;
