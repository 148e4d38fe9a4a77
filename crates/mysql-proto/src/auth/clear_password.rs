//! `mysql_clear_password`: the password and a NUL, for servers that hand it on to PAM or LDAP.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_authentication_methods_clear_text_password.html>
//!
//! Any server can ask for it, and a client that just answers has lost its password. So it takes both the caller's
//! leave ([`PluginSet::CLEAR_PASSWORD`](super::PluginSet::CLEAR_PASSWORD)) and a verified channel.

use super::caching_sha2::with_nul;
use super::channel::Channel;
use super::error::AuthError;
use super::plugin::Plugin;
use super::secret::Secret;

/// The response: the password and a NUL.
///
/// # Errors
/// [`AuthError::InsecureChannel`] unless the channel is verified.
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
