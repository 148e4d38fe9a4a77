//! The server's side of the exchange, for proxies and test servers.

use super::caching_sha2;
use super::channel::Channel;
use super::ed25519;
use super::error::AuthError;
use super::native_password;
use super::nonce;
use super::plugin::Plugin;

/// What a server keeps of an account's password.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verifier {
    /// The account has no password; `mysql_native_password` with an empty response.
    NoPassword,
    /// `mysql_native_password`.
    NativePassword(native_password::Verifier),
    /// `caching_sha2_password`.
    CachingSha2Password(caching_sha2::Verifier),
    /// `client_ed25519`.
    ClientEd25519(ed25519::Verifier),
}

/// What is to be done with a client's packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerAuthAction {
    /// Send AuthSwitchRequest with [`plugin`](ServerAuth::plugin) and [`auth_data`](ServerAuth::auth_data), and read
    /// on.
    Switch,
    /// Send AuthMoreData 0x04, which asks for the password itself, and read on.
    RequestPassword,
    /// The user is in. Send OK.
    Accept,
    /// The user is in. Send AuthMoreData 0x03, then OK.
    AcceptFast,
    /// The user is not in. Send ERR and close.
    Reject,
}

/// The server's side of one authentication.
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
    /// Begins with an account's verifier and a fresh nonce from the caller's random source: 20 bytes, or 32 for
    /// `client_ed25519`. The hash plugins' nonce should have no zero byte and is the greeting's where it can be.
    ///
    /// # Errors
    /// [`AuthError::BadNonce`] for another length or a nonce of zeros.
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

    /// Has `caching_sha2_password` ask for the password itself, as a server does whose cache is empty.
    #[must_use]
    pub fn with_empty_cache(self) -> Self {
        Self {
            forget_cache: true,
            ..self
        }
    }

    /// The account's plugin.
    pub fn plugin(&self) -> Plugin {
        plugin_of(&self.verifier)
    }

    /// The data of an AuthSwitchRequest: the nonce, for the hash plugins with a NUL behind it.
    pub fn auth_data(&self) -> Vec<u8> {
        let mut data = self.nonce.clone();
        if self.plugin() != Plugin::ClientEd25519 {
            data.push(0);
        }
        data
    }

    /// Takes plugin name and response of the handshake response, or of COM_CHANGE_USER. The greeting's nonce must be
    /// the one given to [`new`](Self::new), or the client is told to switch by `same_nonce` being `false`.
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

    /// Takes a payload after [`Switch`](ServerAuthAction::Switch) or
    /// [`RequestPassword`](ServerAuthAction::RequestPassword).
    pub fn on_packet(&mut self, payload: &[u8]) -> ServerAuthAction {
        match (self.state, &self.verifier) {
            (State::SwitchResponse, _) => self.check(payload),
            // Over a plain channel a client must not send it, and whoever does is not let in for it.
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
