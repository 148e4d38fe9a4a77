//! The authentication plugins by name.

use core::fmt;

use crate::flag_set::flag_set;

/// A supported authentication plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Plugin {
    /// `mysql_native_password`: SHA-1; supported by every server up to MySQL 8, and MariaDB's default.
    NativePassword,
    /// `caching_sha2_password`: SHA-256; MySQL's default since 8.0.
    CachingSha2Password,
    /// `sha256_password`: MySQL; sends the password itself over a secure channel, else encrypted with the server's key.
    Sha256Password,
    /// `client_ed25519`: MariaDB; sends a signature.
    ClientEd25519,
    /// `parsec`: MariaDB 11.6 and later; sends a signature with a salted key.
    Parsec,
    /// `mysql_clear_password`: sends the password itself, for servers that use PAM or LDAP.
    ClearPassword,
    /// `dialog`: MariaDB; sends the password, or other answers to the server's questions, for servers that use PAM.
    Dialog,
}

impl Plugin {
    /// All plugins, in the order in which to offer them.
    pub const ALL: [Self; 7] = [
        Self::CachingSha2Password,
        Self::NativePassword,
        Self::ClientEd25519,
        Self::Parsec,
        Self::Sha256Password,
        Self::ClearPassword,
        Self::Dialog,
    ];

    /// Returns the plugin's name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NativePassword => "mysql_native_password",
            Self::CachingSha2Password => "caching_sha2_password",
            Self::Sha256Password => "sha256_password",
            Self::ClientEd25519 => "client_ed25519",
            Self::Parsec => "parsec",
            Self::ClearPassword => "mysql_clear_password",
            Self::Dialog => "dialog",
        }
    }

    /// Returns the plugin with this name.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|plugin| plugin.name().as_bytes() == name)
    }
}

impl From<Plugin> for PluginSet {
    fn from(plugin: Plugin) -> Self {
        match plugin {
            Plugin::NativePassword => Self::NATIVE_PASSWORD,
            Plugin::CachingSha2Password => Self::CACHING_SHA2_PASSWORD,
            Plugin::Sha256Password => Self::SHA256_PASSWORD,
            Plugin::ClientEd25519 => Self::CLIENT_ED25519,
            Plugin::Parsec => Self::PARSEC,
            Plugin::ClearPassword => Self::CLEAR_PASSWORD,
            Plugin::Dialog => Self::DIALOG,
        }
    }
}

impl fmt::Display for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

flag_set! {
    /// A set of plugins that a client accepts.
    pub struct PluginSet(u8);

    /// `mysql_native_password`.
    const NATIVE_PASSWORD = 1;
    /// `caching_sha2_password`.
    const CACHING_SHA2_PASSWORD = 1 << 1;
    /// `sha256_password`.
    const SHA256_PASSWORD = 1 << 2;
    /// `client_ed25519`.
    const CLIENT_ED25519 = 1 << 3;
    /// `mysql_clear_password`. It is not in [`SAFE`](Self::SAFE), and is used only on a verified channel.
    const CLEAR_PASSWORD = 1 << 4;
    /// `parsec`.
    const PARSEC = 1 << 5;
    /// `dialog`. It is not in [`SAFE`](Self::SAFE), and is used only on a verified channel.
    const DIALOG = 1 << 6;
}

impl PluginSet {
    /// The plugins that never send the password in clear text to a server that requests it.
    pub const SAFE: Self = Self(0b0010_1111);
}

#[cfg(test)]
mod tests;
