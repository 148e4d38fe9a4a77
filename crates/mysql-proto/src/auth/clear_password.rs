//! `mysql_clear_password`: the password and a NUL, for servers that pass it on to PAM or LDAP.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_authentication_methods_clear_text_password.html>
//!
//! Any server can request this plugin, and a client that complies reveals its password. It therefore requires both the caller's
//! permission ([`PluginSet::CLEAR_PASSWORD`](super::PluginSet::CLEAR_PASSWORD)) and a verified channel.

use super::caching_sha2::with_nul;
use super::channel::Channel;
use super::error::AuthError;
use super::plugin::Plugin;
use super::secret::Secret;

/// Returns the response: the password and a NUL.
///
/// # Errors
/// Fails with [`AuthError::InsecureChannel`] unless the channel is verified.
pub fn respond(password: &Secret, channel: Channel) -> Result<Secret, AuthError> {
    if !channel.is_verified() {
        return Err(AuthError::InsecureChannel {
            plugin: Plugin::ClearPassword,
            channel,
        });
    }
    Ok(with_nul(password))
}

#[cfg(test)]
mod tests;
