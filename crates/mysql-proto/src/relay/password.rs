//! Prevents a password from being exposed by a proxy whose two sides have different security.
//!
//! A client decides by its own connection whether it sends the password itself, and a server by its own whether it accepts it. If
//! one of the two connections is secure and the other is not, one of these decisions is wrong for the other connection.
//!
//! | plugin                                              | a side is secure  | only client's  | only server's  |
//! |-----------------------------------------------------|-------------------|----------------|----------------|
//! | `mysql_native_password`, `client_ed25519`, `parsec`  | always: hashes    | passes         | passes         |
//! | tickets: GSSAPI, Kerberos, Windows, WebAuthn, FIDO   | always            | passes         | passes         |
//! | `caching_sha2_password`, password in the cache      | always: a hash    | passes         | passes         |
//! | `caching_sha2_password`, otherwise                  | TLS, Unix socket  | [`Encrypt`]    | [`Decrypt`]    |
//! | `sha256_password`                                   | TLS               | [`Encrypt`]    | [`Decrypt`]    |
//! | `mysql_clear_password`, `dialog`                    | TLS, Unix socket  | [`Refuse`]     | [`Refuse`]     |
//! | others                                              | TLS, Unix socket  | [`Refuse`]     | passes         |
//!
//! An unknown plugin may send a password. Its packets therefore pass unless the client's side is secure and the server's side is
//! not.
//!
//! [`Encrypt`]: Verdict::Encrypt
//! [`Decrypt`]: Verdict::Decrypt
//! [`Refuse`]: Verdict::Refuse

use crate::auth::caching_sha2::FULL_AUTHENTICATION;
use crate::packet::{auth_more_data, auth_next_factor, auth_switch_request};

/// Bytes of a server's packet that decide: its header, a plugin's name and a NUL. No plugin has a name as long as this.
pub(super) const DECIDING_BYTES: usize = 66;

/// How one side of a proxy protects a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// TCP without TLS.
    None,
    /// A Unix socket.
    Socket,
    /// TLS, with or without verification.
    Tls,
}

/// What to do with a packet of an authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The packet may pass.
    Pass,
    /// The client sends the password itself, because its side is secure. It must be encrypted with the server's key before it is
    /// forwarded.
    Encrypt,
    /// The client requests the server's key, or uses one that it has, because its side is not secure. The server accepts only the
    /// password itself.
    Decrypt,
    /// The password cannot be passed on.
    Refuse,
}

/// What a plugin has the client send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sends {
    /// A value that is useless to an eavesdropper.
    Hash,
    /// A hash, and the password where the server asks for it.
    HashOrPassword,
    /// The password, over TLS itself and else under a key.
    Password,
    /// The password itself.
    ClearPassword,
    /// Nobody knows.
    Unknown,
}

/// Watches an authentication between a client and a server whose sides may have different security.
#[derive(Debug, Clone, Copy)]
pub struct PasswordGuard {
    client: Protection,
    server: Protection,
    sends: Sends,
}

impl PasswordGuard {
    /// Creates a guard between a client's side and a server's side.
    pub fn new(client: Protection, server: Protection) -> Self {
        Self {
            client,
            server,
            sends: Sends::Unknown,
        }
    }

    /// Returns whether every plugin may pass, so that there is nothing to watch.
    pub fn is_idle(&self) -> bool {
        (self.client == Protection::None) == (self.server == Protection::None)
            && (self.client == Protection::Tls) == (self.server == Protection::Tls)
    }

    /// Checks the plugin and the response of the client's handshake response or COM_CHANGE_USER. A client that names no plugin
    /// means `mysql_native_password`.
    pub fn client(&mut self, plugin: Option<&[u8]>, response: &[u8]) -> Verdict {
        self.sends = plugin.map_or(Sends::Hash, sends);
        match self.sends {
            Sends::HashOrPassword => Verdict::Pass,
            // No password: there is nothing to hide.
            Sends::Password if matches!(response, [] | [0]) => Verdict::Pass,
            _ => self.verdict(),
        }
    }

    /// Checks a payload of the server, of which the first 66 bytes are enough. `has_factors` says whether both sides agreed on
    /// `MULTI_FACTOR_AUTHENTICATION`.
    pub fn server(&mut self, payload: &[u8], has_factors: bool) -> Verdict {
        match payload {
            [auth_switch_request::HEADER, name @ ..] => self.switch(name),
            [auth_next_factor::HEADER, name @ ..] if has_factors => self.switch(name),
            // Servers may send the plugin's data without a header in front.
            [auth_more_data::HEADER, FULL_AUTHENTICATION, ..] | [FULL_AUTHENTICATION, ..]
                if self.sends == Sends::HashOrPassword =>
            {
                self.verdict()
            }
            _ => Verdict::Pass,
        }
    }

    fn switch(&mut self, name: &[u8]) -> Verdict {
        let end = name.iter().position(|&byte| byte == 0);
        self.sends = sends(end.and_then(|end| name.get(..end)).unwrap_or(name));
        match self.sends {
            Sends::HashOrPassword => Verdict::Pass,
            _ => self.verdict(),
        }
    }

    fn verdict(&self) -> Verdict {
        let sends = self.sends;
        let is_secure = |protection| match sends {
            Sends::Password => protection == Protection::Tls,
            _ => protection != Protection::None,
        };
        match (sends, is_secure(self.client), is_secure(self.server)) {
            (Sends::Hash, _, _) | (_, true, true) | (_, false, false) => Verdict::Pass,
            (Sends::HashOrPassword | Sends::Password, true, false) => Verdict::Encrypt,
            (Sends::HashOrPassword | Sends::Password, false, true) => Verdict::Decrypt,
            (Sends::ClearPassword, _, _) | (Sends::Unknown, true, false) => Verdict::Refuse,
            (Sends::Unknown, false, true) => Verdict::Pass,
        }
    }
}

fn sends(plugin: &[u8]) -> Sends {
    match plugin {
        b"mysql_native_password"
        | b"client_ed25519"
        | b"parsec"
        | b"auth_gssapi_client"
        | b"authentication_kerberos_client"
        | b"authentication_windows_client"
        | b"authentication_fido_client"
        | b"authentication_webauthn_client" => Sends::Hash,
        b"caching_sha2_password" => Sends::HashOrPassword,
        b"sha256_password" => Sends::Password,
        b"mysql_clear_password" | b"dialog" => Sends::ClearPassword,
        _ => Sends::Unknown,
    }
}

#[cfg(test)]
mod tests;
