//! AuthNextFactor: one factor is done, and the server requests the next (MySQL 8.0.27).
//!
//! | bytes  | field       | note |
//! |--------|-------------|------|
//! | 1      | header      | 0x02 |
//! | to NUL | plugin name |      |
//! | rest   | auth data   |      |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_auth_next_factor_request.html>

use crate::codec::{DecodeError, EncodeError, Put, Reader, require_nul_free};

const NAME: &str = "AuthNextFactor";
/// The packet's first byte.
pub const HEADER: u8 = 0x02;

/// AuthNextFactor: one factor is done, and the server requests the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthNextFactor<'a> {
    /// The plugin of the next factor.
    pub plugin: &'a [u8],
    /// The plugin's data.
    pub data: &'a [u8],
}

impl<'a> AuthNextFactor<'a> {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on another header, or a plugin name without its NUL.
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        reader.expect(HEADER, "header")?;
        let plugin = reader.nul_bytes("plugin name")?;
        Ok(Self {
            plugin,
            data: reader.rest(),
        })
    }

    /// Encodes the packet.
    ///
    /// # Errors
    /// Fails on a NUL in the plugin name.
    pub fn encode(&self, out: &mut impl Put) -> Result<(), EncodeError> {
        require_nul_free(NAME, "plugin name", self.plugin)?;
        out.put_u8(HEADER);
        out.put_nul_bytes(self.plugin);
        out.put(self.data);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
