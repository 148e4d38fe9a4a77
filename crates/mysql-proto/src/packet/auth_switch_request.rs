//! AuthSwitchRequest: the server requests another plugin.
//!
//! | bytes  | field       | note                                          |
//! |--------|-------------|-----------------------------------------------|
//! | 1      | header      | 0xFE                                          |
//! | to NUL | plugin name |                                               |
//! | rest   | auth data   | the nonce, for most plugins followed by a NUL |
//!
//! The header alone requests `mysql_old_password`.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_auth_switch_request.html>

use crate::codec::{DecodeError, EncodeError, Put, Reader, require_nul_free};

const NAME: &str = "AuthSwitchRequest";
/// The packet's first byte.
pub const HEADER: u8 = 0xFE;
/// What the header alone stands for.
const OLD_PASSWORD: &[u8] = b"mysql_old_password";

/// AuthSwitchRequest: the server requests another plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthSwitchRequest<'a> {
    /// The plugin to use from now on.
    pub plugin: &'a [u8],
    /// The plugin's data as received. A NUL at its end may belong to the packet or, in `client_ed25519`, to the nonce.
    pub data: &'a [u8],
}

impl<'a> AuthSwitchRequest<'a> {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on another header, or a plugin name without its NUL.
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        reader.expect(HEADER, "header")?;
        if reader.remaining() == 0 {
            return Ok(Self {
                plugin: OLD_PASSWORD,
                data: &[],
            });
        }
        let plugin = reader.nul_bytes("plugin name")?;
        Ok(Self {
            plugin,
            data: reader.rest(),
        })
    }

    /// Encodes the packet, always in its long form.
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
