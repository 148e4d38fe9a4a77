//! AuthMoreData: the next step of an authentication exchange, from the server.
//!
//! | bytes | field  | note             |
//! |-------|--------|------------------|
//! | 1     | header | 0x01             |
//! | rest  | data   | of the plugin    |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_auth_more_data.html>

use crate::codec::{DecodeError, Put, Reader};

const NAME: &str = "AuthMoreData";
/// The packet's first byte.
pub const HEADER: u8 = 0x01;

/// The next step of an authentication exchange, from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthMoreData<'a> {
    /// The plugin's data. It may be empty, which no plugin accepts.
    pub data: &'a [u8],
}

impl<'a> AuthMoreData<'a> {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on another header.
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        reader.expect(HEADER, "header")?;
        Ok(Self {
            data: reader.rest(),
        })
    }

    /// Encodes the packet.
    pub fn encode(&self, out: &mut impl Put) {
        out.put_u8(HEADER);
        out.put(self.data);
    }
}

#[cfg(test)]
mod tests;
