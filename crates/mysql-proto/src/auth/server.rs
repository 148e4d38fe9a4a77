//! The server's side of the exchange, for proxies and test servers.

use super::caching_sha2;
use super::channel::Channel;
use super::ed25519;
use super::error::AuthError;
use super::native_password;
use super::nonce;
use super::plugin::Plugin;

/// What a server stores of an account's password.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verifier {
    /// The account has no password: `mysql_native_password` with an empty response.
    NoPassword,
    /// `mysql_native_password`.
    NativePassword(native_password::Verifier),
    /// `caching_sha2_password`.
    CachingSha2Password(caching_sha2::Verifier),
    /// `client_ed25519`.
    ClientEd25519(ed25519::Verifier),
}

/// What to do after a packet of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerAuthAction {
    /// Send AuthSwitchRequest with [`plugin`](ServerAuth::plugin) and [`auth_data`](ServerAuth::auth_data), and read the next
    /// packet.
    Switch,
    /// Send AuthMoreData 0x04, which requests the password itself, and read the next packet.
    RequestPassword,
    /// The login succeeded. Send OK.
    Accept,
    /// The login succeeded. Send AuthMoreData 0x03, then OK.
    AcceptFast,
    /// The login is refused. Send ERR and close.
    Reject,
}

/// The server's side of an authentication.
#[derive(Clone, Debug)]
pub struct ServerAuth {
    verifier: Verifier,
    nonce: Vec<u8>,
    channel: Channel,
    forget_cache: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    HandshakeResponse,
    SwitchResponse,
    Password,
    Done,
}

impl ServerAuth {
    /// Begins with an account's verifier and a fresh nonce from the caller's random source: 20 bytes, or 32 for `client_ed25519`.
    /// The nonce of a hash plugin should contain no zero byte, and be that of the greeting if possible.
    ///
    /// # Errors
    /// Fails with [`AuthError::BadNonce`] on another length or a nonce of zeros.
    pub fn new(verifier: Verifier, nonce: &[u8], channel: Channel) -> Result<Self, AuthError> {
        let plugin = plugin_of(&verifier);
        let nonce = match plugin {
            Plugin::ClientEd25519 => {
                nonce::checked::<{ nonce::ED25519_BYTES }>(plugin, nonce)?.to_vec()
            }
            _ => nonce::checked::<{ nonce::HASH_BYTES }>(plugin, nonce)?.to_vec(),
        };
        let state = State::HandshakeResponse;
        Ok(Self {
            verifier,
            nonce,
            channel,
            forget_cache: false,
            state,
        })
    }

    /// Makes `caching_sha2_password` request the password itself, like a server whose cache is empty.
    #[must_use]
    pub fn with_empty_cache(self) -> Self {
        Self {
            forget_cache: true,
            ..self
        }
    }

    /// Returns the plugin of the account.
    pub fn plugin(&self) -> Plugin {
        plugin_of(&self.verifier)
    }

    /// Returns the data of an AuthSwitchRequest: the nonce, followed by a NUL for the hash plugins.
    pub fn auth_data(&self) -> Vec<u8> {
        let mut data = self.nonce.clone();
        if self.plugin() != Plugin::ClientEd25519 {
            data.push(0);
        }
        data
    }

    /// Processes the plugin name and the response of the handshake response, or of COM_CHANGE_USER. Set `same_nonce` to `false`
    /// if the greeting's nonce is not the one given to [`new`](Self::new): the client must switch then.
    pub fn on_handshake_response(
        &mut self,
        plugin: Option<&[u8]>,
        response: &[u8],
        same_nonce: bool,
    ) -> ServerAuthAction {
        if self.state != State::HandshakeResponse {
            return self.end(false);
        }
        let named = plugin.unwrap_or(Plugin::NativePassword.name().as_bytes());
        if !same_nonce || named != self.plugin().name().as_bytes() {
            self.state = State::SwitchResponse;
            return ServerAuthAction::Switch;
        }
        self.check(response)
    }

    /// Processes a payload after [`Switch`](ServerAuthAction::Switch) or [`RequestPassword`](ServerAuthAction::RequestPassword).
    pub fn on_packet(&mut self, payload: &[u8]) -> ServerAuthAction {
        match (self.state, &self.verifier) {
            (State::SwitchResponse, _) => self.check(payload),
            // Over a plain channel a client must not send it, and a client that does is refused.
            (State::Password, Verifier::CachingSha2Password(verifier))
                if self.channel != Channel::Plain =>
            {
                let right = verifier.verify_password(payload);
                self.end(right)
            }
            _ => self.end(false),
        }
    }

    fn check(&mut self, response: &[u8]) -> ServerAuthAction {
        let right = match &self.verifier {
            Verifier::NoPassword => response.is_empty(),
            Verifier::NativePassword(verifier) => {
                nonce_array(&self.nonce).is_some_and(|nonce| verifier.verify(nonce, response))
            }
            Verifier::ClientEd25519(verifier) => {
                nonce_array(&self.nonce).is_some_and(|nonce| verifier.verify(nonce, response))
            }
            Verifier::CachingSha2Password(_) if self.forget_cache && response != [0] => {
                self.state = State::Password;
                return ServerAuthAction::RequestPassword;
            }
            Verifier::CachingSha2Password(verifier) => {
                if nonce_array(&self.nonce).is_some_and(|nonce| verifier.verify(nonce, response)) {
                    self.state = State::Done;
                    return ServerAuthAction::AcceptFast;
                }
                false
            }
        };
        self.end(right)
    }

    fn end(&mut self, right: bool) -> ServerAuthAction {
        self.state = State::Done;
        if right {
            ServerAuthAction::Accept
        } else {
            ServerAuthAction::Reject
        }
    }
}

fn plugin_of(verifier: &Verifier) -> Plugin {
    match verifier {
        Verifier::NoPassword | Verifier::NativePassword(_) => Plugin::NativePassword,
        Verifier::CachingSha2Password(_) => Plugin::CachingSha2Password,
        Verifier::ClientEd25519(_) => Plugin::ClientEd25519,
    }
}

fn nonce_array<const N: usize>(nonce: &[u8]) -> Option<&[u8; N]> {
    nonce.try_into().ok()
}

#[cfg(test)]
mod tests;
