//! HandshakeV10: the server's first packet.
//!
//! | bytes          | field                  | note                                                 |
//! |----------------|------------------------|------------------------------------------------------|
//! | 1              | protocol version       | always 0x0A                                          |
//! | to NUL         | server version         |                                                      |
//! | 4              | connection id          | little-endian                                        |
//! | 8              | auth data, first part  |                                                      |
//! | 1              | filler                 | 0x00                                                 |
//! | 2              | capabilities, lower    |                                                      |
//! | 1              | collation              | its lower 8 bits                                     |
//! | 2              | status flags           |                                                      |
//! | 2              | capabilities, upper    |                                                      |
//! | 1              | length of auth data    | with its NUL; 0x00 without `PLUGIN_AUTH`             |
//! | 6              | filler                 |                                                      |
//! | 4              | MariaDB's capabilities | if `LONG_PASSWORD` is not set, else filler           |
//! | max(13, n - 8) | auth data, second part | n is the length of auth data; the last byte is a NUL |
//! | to NUL         | plugin name            | with `PLUGIN_AUTH`                                   |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_v10.html>,
//! <https://mariadb.com/kb/en/connection/#initial-handshake-packet>

use crate::capability::Capabilities;
use crate::codec::{
    DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind, Put, Reader, require_nul_free,
};
use crate::status::StatusFlags;

const NAME: &str = "HandshakeV10";
const PROTOCOL_VERSION: u8 = 0x0A;
/// The shortest auth data: a nonce of 20 bytes and its NUL, which every plugin since MySQL 4.1 sends.
const MIN_AUTH_DATA: u8 = 21;
/// The length byte's highest value; no plugin comes near it, so it is taken for garbage.
const NO_AUTH_DATA: u8 = 0xFF;
/// Without these the packets that follow have another layout, last spoken by MySQL 4.0.
const REQUIRED: Capabilities = Capabilities::PROTOCOL_41.union(Capabilities::SECURE_CONNECTION);

/// HandshakeV10: the server's first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting<'a> {
    /// The server's version as it reports it; parse it with [`ServerVersion`](crate::ServerVersion).
    pub server_version: &'a [u8],
    /// The id of the connection, which `KILL` takes.
    pub connection_id: u32,
    /// The first 8 bytes of the nonce.
    pub nonce_head: [u8; 8],
    /// The rest of the nonce without its NUL: 12 bytes for all plugins in use, at least 12 and at most 245.
    pub nonce_tail: &'a [u8],
    /// The capabilities of the server.
    pub capabilities: Capabilities,
    /// The lower 8 bits of the server's default collation.
    pub collation: u8,
    /// The server's status.
    pub status_flags: StatusFlags,
    /// The plugin that the nonce is for; `None` without `PLUGIN_AUTH`.
    pub auth_plugin: Option<&'a [u8]>,
}

impl<'a> Greeting<'a> {
    /// Decodes the packet.
    ///
    /// A server that refuses the connection sends an ERR packet instead: check for the header 0xFF first.
    ///
    /// # Errors
    /// Fails on any protocol version other than 10, a missing NUL, a nonce that is truncated or shorter than 20 bytes, trailing
    /// bytes, and a server that supports only the protocol before MySQL 4.1 (`BadValue`, field `capabilities`).
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        reader.expect(PROTOCOL_VERSION, "protocol version")?;
        let server_version = reader.nul_bytes("server version")?;
        let connection_id = reader.u32("connection id")?;
        let nonce_head = reader.array("auth data")?;
        reader.u8("filler")?;
        let capabilities_at = reader.clone();
        let lower = reader.u16("capabilities")?;
        let collation = reader.u8("collation")?;
        let status_flags = StatusFlags(reader.u16("status flags")?);
        let upper = reader.u16("capabilities")?;
        let mysql = u32::from(upper) << 16 | u32::from(lower);
        let length_at = reader.clone();
        let auth_data_length = reader.u8("auth data length")?;
        reader.take(6, "filler")?;
        let extended = reader.u32("extended capabilities")?;
        let capabilities = Capabilities::from_handshake(mysql, extended);
        if !capabilities.contains(REQUIRED) {
            return Err(capabilities_at.error("capabilities", DecodeErrorKind::BadValue));
        }
        let has_plugin = capabilities.contains(Capabilities::PLUGIN_AUTH);
        let legal = if has_plugin {
            MIN_AUTH_DATA..NO_AUTH_DATA
        } else {
            0..NO_AUTH_DATA
        };
        if !legal.contains(&auth_data_length) {
            return Err(length_at.error("auth data length", DecodeErrorKind::BadLength));
        }
        let second_part = usize::from(auth_data_length.max(MIN_AUTH_DATA)) - nonce_head.len();
        let nonce_at = reader.clone();
        let [nonce_tail @ .., 0] = reader.take(second_part, "auth data")? else {
            return Err(nonce_at.error("auth data", DecodeErrorKind::MissingNul));
        };
        let auth_plugin = if has_plugin {
            Some(reader.nul_bytes("plugin name")?)
        } else {
            None
        };
        reader.finish()?;
        Ok(Self {
            server_version,
            connection_id,
            nonce_head,
            nonce_tail,
            capabilities,
            collation,
            status_flags,
            auth_plugin,
        })
    }

    /// Returns both parts of the nonce in one vector, at most 253 bytes.
    pub fn to_nonce(&self) -> Vec<u8> {
        [&self.nonce_head, self.nonce_tail].concat()
    }

    /// Encodes the packet. MariaDB's capabilities are included only if `LONG_PASSWORD` is not set.
    ///
    /// # Errors
    /// Fails on a NUL in the version or the plugin name, and on a nonce that is not 20 to 253 bytes long. Without a plugin the
    /// nonce must have 20 bytes, because the greeting then does not contain its length.
    pub fn encode(&self, out: &mut impl Put) -> Result<(), EncodeError> {
        require_nul_free(NAME, "server version", self.server_version)?;
        require_nul_free(NAME, "plugin name", self.auth_plugin.unwrap_or_default())?;
        let longest = match self.auth_plugin {
            Some(_) => NO_AUTH_DATA - 1,
            None => MIN_AUTH_DATA,
        };
        let auth_data_length = u8::try_from(self.nonce_head.len() + self.nonce_tail.len() + 1)
            .ok()
            .filter(|length| (MIN_AUTH_DATA..=longest).contains(length))
            .ok_or(EncodeError {
                packet: NAME,
                field: "auth data",
                kind: EncodeErrorKind::BadLength,
            })?;
        let mut capabilities = self.capabilities.difference(Capabilities::PLUGIN_AUTH);
        if self.auth_plugin.is_some() {
            capabilities |= Capabilities::PLUGIN_AUTH;
        }
        let [c0, c1, c2, c3] = capabilities.mysql().to_le_bytes();

        out.put_u8(PROTOCOL_VERSION);
        out.put_nul_bytes(self.server_version);
        out.put_u32(self.connection_id);
        out.put(&self.nonce_head);
        out.put_u8(0);
        out.put(&[c0, c1]);
        out.put_u8(self.collation);
        out.put_u16(self.status_flags.0);
        out.put(&[c2, c3]);
        out.put_u8(if self.auth_plugin.is_some() {
            auth_data_length
        } else {
            0
        });
        out.put_zeros(6);
        out.put_u32(capabilities.extended_to_send());
        out.put(self.nonce_tail);
        out.put_u8(0);
        if let Some(plugin) = self.auth_plugin {
            out.put_nul_bytes(plugin);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
