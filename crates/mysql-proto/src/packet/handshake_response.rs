//! HandshakeResponse41: the client's response to the greeting.
//!
//! | bytes  | field                 | note                                                            |
//! |--------|-----------------------|-----------------------------------------------------------------|
//! | 32     | as in an SSLRequest   | capabilities, maximum packet size, collation, filler            |
//! | to NUL | user                  |                                                                 |
//! | lenenc | auth response         | its length is lenenc with `PLUGIN_AUTH_LENENC_CLIENT_DATA`, one |
//! |        |                       | byte with `SECURE_CONNECTION` alone; to NUL with neither        |
//! | to NUL | database              | with `CONNECT_WITH_DB`                                          |
//! | to NUL | plugin name           | with `PLUGIN_AUTH`                                              |
//! | lenenc | connection attributes | with `CONNECT_ATTRS`                                            |
//! | 1      | zstd level            | with `ZSTD_COMPRESSION_ALGORITHM`                               |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_response.html>

use core::fmt;

use super::connect_attributes::ConnectAttributes;
use super::ssl_request::SslRequest;
use crate::capability::Capabilities;
use crate::codec::{
    DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind, Put, Reader, require_nul_free,
};

const NAME: &str = "HandshakeResponse41";

/// HandshakeResponse41: the client's response to the greeting.
///
/// Each field is on the wire only with its capability; the others are empty or `None` after decoding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HandshakeResponse<'a> {
    /// The capabilities that the client will use: a subset of those that the server offered.
    pub capabilities: Capabilities,
    /// The maximum payload that the client accepts, in bytes.
    pub max_packet_bytes: u32,
    /// The lower 8 bits of the connection's collation.
    pub collation: u8,
    /// The user's name.
    pub user: &'a [u8],
    /// The plugin's response, computed from password and nonce.
    pub auth_response: &'a [u8],
    /// The database to use, with `CONNECT_WITH_DB`.
    pub database: Option<&'a [u8]>,
    /// The plugin that made `auth_response`, with `PLUGIN_AUTH`.
    pub auth_plugin: Option<&'a [u8]>,
    /// The connection attributes, with `CONNECT_ATTRS`.
    pub attributes: ConnectAttributes<'a>,
    /// The zstd level, 1 to 22, with `ZSTD_COMPRESSION_ALGORITHM`.
    pub zstd_level: Option<u8>,
}

impl<'a> HandshakeResponse<'a> {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on a truncated field, trailing bytes, or capabilities without `PROTOCOL_41` (`BadValue`).
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        let start = reader.clone();
        let SslRequest {
            capabilities,
            max_packet_bytes,
            collation,
        } = SslRequest::read(&mut reader)?;
        if !capabilities.contains(Capabilities::PROTOCOL_41) {
            return Err(start.error("capabilities", DecodeErrorKind::BadValue));
        }
        let when = |capability| capabilities.contains(capability);
        let user = reader.nul_bytes("user")?;
        let auth_response = if when(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            reader.lenenc_bytes("auth response")?
        } else if when(Capabilities::SECURE_CONNECTION) {
            let length = reader.u8("auth response")?;
            reader.take(usize::from(length), "auth response")?
        } else {
            reader.nul_bytes("auth response")?
        };
        let database = when(Capabilities::CONNECT_WITH_DB)
            .then(|| reader.nul_bytes("database"))
            .transpose()?;
        let auth_plugin = when(Capabilities::PLUGIN_AUTH)
            .then(|| reader.nul_bytes("plugin name"))
            .transpose()?;
        let attributes = if when(Capabilities::CONNECT_ATTRS) {
            ConnectAttributes::read(&mut reader)?
        } else {
            ConnectAttributes::default()
        };
        let zstd_level = when(Capabilities::ZSTD_COMPRESSION_ALGORITHM)
            .then(|| reader.u8("zstd level"))
            .transpose()?;
        reader.finish()?;
        Ok(Self {
            capabilities,
            max_packet_bytes,
            collation,
            user,
            auth_response,
            database,
            auth_plugin,
            attributes,
            zstd_level,
        })
    }

    /// Encodes the packet; if a capability is set and its field is `None`, the field is empty.
    ///
    /// # Errors
    /// Fails on a NUL in user, database or plugin name; an auth response over 255 bytes without `PLUGIN_AUTH_LENENC_CLIENT_DATA`;
    /// a database without `CONNECT_WITH_DB`. Nothing is written then.
    pub fn encode(&self, out: &mut impl Put) -> Result<(), EncodeError> {
        require_nul_free(NAME, "user", self.user)?;
        require_nul_free(NAME, "database", self.database.unwrap_or_default())?;
        require_nul_free(NAME, "plugin name", self.auth_plugin.unwrap_or_default())?;
        let capabilities =
            self.capabilities | Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION;
        let when = |capability| capabilities.contains(capability);
        let error = |field, kind| EncodeError {
            packet: NAME,
            field,
            kind,
        };
        if self.database.is_some() && !when(Capabilities::CONNECT_WITH_DB) {
            return Err(error("database", EncodeErrorKind::NotNegotiated));
        }
        let lenenc = when(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA);
        let short_length = match u8::try_from(self.auth_response.len()) {
            Ok(length) => length,
            Err(_) if lenenc => u8::MAX,
            Err(_) => return Err(error("auth response", EncodeErrorKind::TooLong)),
        };

        let Self {
            max_packet_bytes,
            collation,
            ..
        } = *self;
        SslRequest {
            capabilities,
            max_packet_bytes,
            collation,
        }
        .write(out);
        out.put_nul_bytes(self.user);
        if lenenc {
            out.put_lenenc_bytes(self.auth_response);
        } else {
            out.put_u8(short_length);
            out.put(self.auth_response);
        }
        if when(Capabilities::CONNECT_WITH_DB) {
            out.put_nul_bytes(self.database.unwrap_or_default());
        }
        if when(Capabilities::PLUGIN_AUTH) {
            out.put_nul_bytes(self.auth_plugin.unwrap_or_default());
        }
        if when(Capabilities::CONNECT_ATTRS) {
            self.attributes.write(out);
        }
        if when(Capabilities::ZSTD_COMPRESSION_ALGORITHM) {
            out.put_u8(self.zstd_level.unwrap_or(DEFAULT_ZSTD_LEVEL));
        }
        Ok(())
    }
}

/// zstd's own default level, which servers take as well.
pub(crate) const DEFAULT_ZSTD_LEVEL: u8 = 3;

/// Does not show the auth response, which may be a password.
impl fmt::Debug for HandshakeResponse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandshakeResponse")
            .field("capabilities", &self.capabilities)
            .field("max_packet_bytes", &self.max_packet_bytes)
            .field("collation", &self.collation)
            .field("user", &String::from_utf8_lossy(self.user))
            .field("database", &self.database.map(String::from_utf8_lossy))
            .field(
                "auth_plugin",
                &self.auth_plugin.map(String::from_utf8_lossy),
            )
            .field("zstd_level", &self.zstd_level)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
