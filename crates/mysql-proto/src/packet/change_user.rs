//! COM_CHANGE_USER: logs in again on the same connection, which resets the session.
//!
//! | bytes  | field                 | note                                       |
//! |--------|-----------------------|--------------------------------------------|
//! | 1      | command               | 0x11                                       |
//! | to NUL | user                  |                                            |
//! | 1      | length of the next    | even with `PLUGIN_AUTH_LENENC_CLIENT_DATA` |
//! | n      | auth response         |                                            |
//! | to NUL | database              | empty for none                             |
//! | 2      | collation             | this and what follows may be missing       |
//! | to NUL | plugin name           | with `PLUGIN_AUTH`                         |
//! | lenenc | connection attributes | with `CONNECT_ATTRS`                       |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_change_user.html>,
//! <https://mariadb.com/kb/en/com_change_user/>

use core::fmt;

use super::command::CommandByte;
use super::connect_attributes::ConnectAttributes;
use crate::capability::Capabilities;
use crate::codec::{DecodeError, EncodeError, EncodeErrorKind, Put, Reader, require_nul_free};

const NAME: &str = "COM_CHANGE_USER";

/// COM_CHANGE_USER: logs in again on the same connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    /// The user's name.
    pub user: &'a [u8],
    /// The plugin's response, computed from password and nonce, at most 255 bytes.
    pub auth_response: &'a [u8],
    /// The database to use; empty for none.
    pub database: &'a [u8],
    /// The connection's collation; `None` if the packet ends before it.
    pub collation: Option<u16>,
    /// The plugin that made `auth_response`, with `PLUGIN_AUTH`.
    pub auth_plugin: Option<&'a [u8]>,
    /// The connection attributes, with `CONNECT_ATTRS`.
    pub attributes: ConnectAttributes<'a>,
}

impl<'a> ChangeUser<'a> {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on another command, a truncated field, or trailing bytes.
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        let mut change = Self::read_up_to_collation(&mut reader)?;
        if change.collation.is_none() {
            return Ok(change);
        }
        if capabilities.contains(Capabilities::PLUGIN_AUTH) {
            change.auth_plugin = Some(reader.nul_bytes("plugin name")?);
        }
        if capabilities.contains(Capabilities::CONNECT_ATTRS) {
            change.attributes = ConnectAttributes::read(&mut reader)?;
        }
        reader.finish()?;
        Ok(change)
    }

    /// Decodes the packet up to the plugin name, as servers do: the name ends at a NUL or with the packet, and anything after it
    /// is ignored. mysql_common, for example, sends attributes without `CONNECT_ATTRS`.
    ///
    /// # Errors
    /// Fails on another command, or a truncated field before the plugin name.
    pub fn decode_authentication(
        payload: &'a [u8],
        capabilities: Capabilities,
    ) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        let mut change = Self::read_up_to_collation(&mut reader)?;
        if change.collation.is_some() && capabilities.contains(Capabilities::PLUGIN_AUTH) {
            change.auth_plugin = reader.rest().split(|&byte| byte == 0).next();
        }
        Ok(change)
    }

    fn read_up_to_collation(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        reader.expect(CommandByte::CHANGE_USER.0, "command")?;
        let user = reader.nul_bytes("user")?;
        let length = reader.u8("auth response")?;
        let auth_response = reader.take(usize::from(length), "auth response")?;
        let database = reader.nul_bytes("database")?;
        let collation = match reader.remaining() {
            0 => None,
            _ => Some(reader.u16("collation")?),
        };
        Ok(Self {
            user,
            auth_response,
            database,
            collation,
            auth_plugin: None,
            attributes: ConnectAttributes::default(),
        })
    }

    /// Encodes the packet; without a collation it ends at the database.
    ///
    /// # Errors
    /// Fails on a NUL in user, database or plugin name, or on an auth response over 255 bytes. Nothing is written then.
    pub fn encode(
        &self,
        capabilities: Capabilities,
        out: &mut impl Put,
    ) -> Result<(), EncodeError> {
        require_nul_free(NAME, "user", self.user)?;
        require_nul_free(NAME, "database", self.database)?;
        require_nul_free(NAME, "plugin name", self.auth_plugin.unwrap_or_default())?;
        let length = u8::try_from(self.auth_response.len()).map_err(|_| EncodeError {
            packet: NAME,
            field: "auth response",
            kind: EncodeErrorKind::TooLong,
        })?;
        out.put_u8(CommandByte::CHANGE_USER.0);
        out.put_nul_bytes(self.user);
        out.put_u8(length);
        out.put(self.auth_response);
        out.put_nul_bytes(self.database);
        let Some(collation) = self.collation else {
            return Ok(());
        };
        out.put_u16(collation);
        if capabilities.contains(Capabilities::PLUGIN_AUTH) {
            out.put_nul_bytes(self.auth_plugin.unwrap_or_default());
        }
        if capabilities.contains(Capabilities::CONNECT_ATTRS) {
            self.attributes.write(out);
        }
        Ok(())
    }
}

/// Does not show the auth response, which may be a password.
impl fmt::Debug for ChangeUser<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeUser")
            .field("user", &String::from_utf8_lossy(self.user))
            .field("database", &String::from_utf8_lossy(self.database))
            .field("collation", &self.collation)
            .field(
                "auth_plugin",
                &self.auth_plugin.map(String::from_utf8_lossy),
            )
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
