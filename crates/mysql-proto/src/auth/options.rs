//! Which authentication a client accepts, and what it may reveal to a server.

use super::channel::Channel;
use super::crypto::{Crypto, NoCrypto};
use super::dialog::Dialog;
use super::native_password::PasswordHash;
use super::plugin::{Plugin, PluginSet};
use super::public_key::PublicKey;

/// Which authentication a client accepts.
#[derive(Clone, Debug)]
pub struct AuthOptions {
    /// The allowed plugins. Default: [`PluginSet::SAFE`].
    pub allowed: PluginSet,
    /// Whether `caching_sha2_password` and `sha256_password` may send the password over unverified TLS, to a server of unknown
    /// identity. Default: off. `mysql_clear_password` is refused there in any case. Over TLS no other option applies, because
    /// servers accept no RSA-encrypted password there.
    pub password_over_unverified_tls: bool,
    /// The server's public key, with which `caching_sha2_password` and `sha256_password` encrypt the password over plain TCP, and
    /// the latter also over a Unix socket. Default: none. If it is set, the server is not asked for its key.
    pub server_public_key: Option<PublicKey>,
    /// Whether to ask the server for its key if none is set, and to encrypt the password with the key that arrives. A man in the
    /// middle can substitute its own key and read the password. Default: off.
    pub get_server_public_key: bool,
    /// What `mysql_native_password` uses in place of the password. Every other plugin is refused then, whatever is allowed. Default: none.
    pub password_hash: Option<PasswordHash>,
    /// What answers the questions of `dialog` that the password does not answer. Default: nothing.
    pub dialog: Option<Dialog>,
    /// The provider of random bytes and RSA. Default: [`NoCrypto`], with which `parsec` and the two options above fail.
    pub crypto: &'static dyn Crypto,
}

impl Default for AuthOptions {
    fn default() -> Self {
        Self {
            allowed: PluginSet::SAFE,
            password_over_unverified_tls: false,
            server_public_key: None,
            get_server_public_key: false,
            password_hash: None,
            dialog: None,
            crypto: &NoCrypto,
        }
    }
}

impl AuthOptions {
    /// Whether the password itself may go over `channel` for a plugin that asks a sure server for it.
    pub(super) fn may_carry_password(&self, plugin: Plugin, channel: Channel) -> bool {
        match channel {
            Channel::TlsVerified => true,
            // There MySQL takes it under its key only, as over clear text.
            Channel::UnixSocket => plugin != Plugin::Sha256Password,
            Channel::TlsUnverified => self.password_over_unverified_tls,
            Channel::Plain => false,
        }
    }

    /// Whether the password may go over `channel` under a key. One that comes over a Unix socket is the server's own.
    pub(super) fn may_encrypt(&self, plugin: Plugin, channel: Channel) -> bool {
        match channel {
            Channel::Plain => self.server_public_key.is_some() || self.get_server_public_key,
            Channel::UnixSocket => plugin == Plugin::Sha256Password,
            Channel::TlsVerified | Channel::TlsUnverified => false,
        }
    }

    pub(super) fn allows(&self, plugin: Plugin) -> bool {
        let has_secret = self.password_hash.is_none() || plugin == Plugin::NativePassword;
        has_secret && self.allowed.contains(plugin.into())
    }

    /// Whether a plugin can be answered at once over `channel`.
    pub(super) fn may_use(&self, plugin: Plugin, channel: Channel) -> bool {
        let channel_fits = match plugin {
            Plugin::Sha256Password => {
                self.may_carry_password(plugin, channel) || self.may_encrypt(plugin, channel)
            }
            Plugin::ClearPassword => channel.is_verified(),
            // It is the server that begins.
            Plugin::Dialog => false,
            _ => true,
        };
        channel_fits && self.allows(plugin)
    }
}
