//! Where a password itself may not pass a proxy, whose two sides need not be alike.
//!
//! A client decides by its own side whether it sends a password itself, a server by its own whether it takes one. Where one
//! of the two sides is secure and the other is not, both are wrong.
//!
//! | plugin                                              | a side is secure  | client's alone | server's alone |
//! |-----------------------------------------------------|-------------------|----------------|----------------|
//! | `mysql_native_password`, `client_ed25519`, `parsec`  | always: hashes    | passes         | passes         |
//! | tickets: GSSAPI, Kerberos, Windows, WebAuthn, FIDO   | always            | passes         | passes         |
//! | `caching_sha2_password`, the server knows it        | always: a hash    | passes         | passes         |
//! | `caching_sha2_password` else                        | TLS, Unix socket  | [`Encrypt`]    | [`Decrypt`]    |
//! | `sha256_password`                                   | TLS               | [`Encrypt`]    | [`Decrypt`]    |
//! | `mysql_clear_password`, `dialog`                    | TLS, Unix socket  | [`Refuse`]     | [`Refuse`]     |
//! | others                                              | TLS, Unix socket  | [`Refuse`]     | passes         |
//!
//! What a plugin sends that is not known here may be a password, so that it passes only where the client's side shows it to
//! nobody whom the server's does not show it to as well.
//!
//! [`Encrypt`]: Verdict::Encrypt
//! [`Decrypt`]: Verdict::Decrypt
//! [`Refuse`]: Verdict::Refuse

use crate::auth::caching_sha2::FULL_AUTHENTICATION;
use crate::packet::{auth_more_data, auth_next_factor, auth_switch_request};

/// Bytes of a server's packet that decide: its header, a plugin's name and a NUL. No plugin has a name as long as this.
pub(super) const DECIDING_BYTES: usize = 66;

/// What one side of a proxy protects a password from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// TCP without TLS.
    None,
    /// A Unix socket.
    Socket,
    /// TLS, whether or not it verifies anybody.
    Tls,
}

/// What is to become of a packet of an authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may pass.
    Pass,
    /// The client sends the password itself, as its side is secure. For the server it has to be put under the server's key.
    Encrypt,
    /// The client asks for the server's key, or uses one that it has, as its side is not secure. The server takes nothing
    /// but the password itself.
    Decrypt,
    /// There is no way for a password to pass.
    Refuse,
}

/// What a plugin has the client send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sends {
    /// What is of no use to whoever reads along.
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

/// Watches an authentication between a client and a server whose sides may differ.
#[derive(Debug, Clone, Copy)]
pub struct PasswordGuard {
    client: Protection,
    server: Protection,
    sends: Sends,
}

impl PasswordGuard {
    /// Between a client's side and a server's.
    pub fn new(client: Protection, server: Protection) -> Self {
        Self {
            client,
            server,
            sends: Sends::Unknown,
        }
    }

    /// Whether every plugin passes, so that there is nothing to watch.
    pub fn is_idle(&self) -> bool {
        (self.client == Protection::None) == (self.server == Protection::None)
            && (self.client == Protection::Tls) == (self.server == Protection::Tls)
    }

    /// Looks at plugin and response of the client's handshake response or COM_CHANGE_USER. A client that names no plugin
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

    /// Looks at a payload of the server's, of which the first 66 bytes are enough; `has_factors`: whether both agreed on
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
