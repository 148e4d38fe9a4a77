//! What a client takes part in, and what it lets a server have.

use super::channel::Channel;
use super::crypto::{Crypto, NoCrypto};
use super::plugin::{Plugin, PluginSet};
use super::public_key::PublicKey;

/// What a client takes part in.
#[derive(Clone, Debug)]
pub struct AuthOptions {
    /// The plugins to take part in; [`PluginSet::SAFE`] by default.
    pub allowed: PluginSet,
    /// Whether `caching_sha2_password` and `sha256_password` may send the password over TLS that is not verified, to
    /// whoever answered. Off by default. `mysql_clear_password` is refused there all the same. It alone decides there:
    /// over TLS servers take no password under a key.
    pub password_over_unverified_tls: bool,
    /// The server's key, which `caching_sha2_password` and `sha256_password` send the password under over clear text, and
    /// the latter over a Unix socket too. None by default. Where there is one, the server is not asked for any.
    pub server_public_key: Option<PublicKey>,
    /// Whether to ask the server for its key where none is given, and to send the password under whichever comes: whoever
    /// is on the way can put in a key of their own and read the password. Off by default.
    pub get_server_public_key: bool,
    /// Where random bytes and RSA come from. [`NoCrypto`] by default, without which `parsec` and the two options above fail.
    pub crypto: &'static dyn Crypto,
}

impl Default for AuthOptions {
    fn default() -> Self {
        Self {
            allowed: PluginSet::SAFE,
            password_over_unverified_tls: false,
            server_public_key: None,
            get_server_public_key: false,
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
        self.allowed.contains(plugin.into())
    }

    /// Whether a plugin can be answered at once over `channel`.
    pub(super) fn may_use(&self, plugin: Plugin, channel: Channel) -> bool {
        let channel_fits = match plugin {
            Plugin::Sha256Password => {
                self.may_carry_password(plugin, channel) || self.may_encrypt(plugin, channel)
            }
            Plugin::ClearPassword => channel.is_verified(),
            _ => true,
        };
        channel_fits && self.allows(plugin)
    }
}
