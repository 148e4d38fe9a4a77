//! The server's side of the exchange, for proxies and test servers.

use std::sync::Arc;

use super::channel::Channel;
use super::crypto::PrivateKey;
use super::error::AuthError;
use super::nonce;
use super::plugin::Plugin;
use super::secret::Secret;
use super::{caching_sha2, ed25519, native_password, parsec, rsa};

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
    /// `caching_sha2_password` with what is in the cache. A client whose response is not that of the cache is asked for the password itself,
    /// which the caller checks against a [`StoredPassword`](caching_sha2::StoredPassword), in its own time.
    CachingSha2Cache(Option<caching_sha2::Verifier>),
    /// `client_ed25519`.
    ClientEd25519(ed25519::Verifier),
    /// `parsec`.
    Parsec(parsec::Verifier),
    /// `sha256_password`, which always needs the password itself: over TLS, else encrypted with the
    /// [private key](ServerAuth::with_private_key).
    Sha256Password(caching_sha2::Verifier),
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
    /// Send AuthMoreData with the private key's [PEM](PrivateKey::public_pem), and read the next packet.
    SendKey,
    /// Send the [ext-salt](parsec::Verifier::ext_salt) of `parsec` as it is, and read the next packet.
    SendExtSalt,
    /// Check whether [`password`](ServerAuth::password) is right, and [decide](ServerAuth::decide).
    CheckPassword,
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
    private_key: Option<Arc<dyn PrivateKey>>,
    forget_cache: bool,
    password_hash: Option<native_password::PasswordHash>,
    password: Option<Secret>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    HandshakeResponse,
    SwitchResponse,
    /// The password itself is awaited, or encrypted with the key, which may be requested once.
    Password {
        sent_key: bool,
    },
    /// The signature of `parsec` is awaited.
    Signature,
    /// The caller is to say whether the password is right.
    Decision,
    Done,
}

impl ServerAuth {
    /// Begins with an account's verifier and a fresh nonce from the caller's random source: 20 bytes, or 32 for `client_ed25519` and
    /// `parsec`. The nonce of a hash plugin should contain no zero byte, and be that of the greeting if possible.
    ///
    /// # Errors
    /// Fails with [`AuthError::BadNonce`] on another length or a nonce of zeros.
    pub fn new(verifier: Verifier, nonce: &[u8], channel: Channel) -> Result<Self, AuthError> {
        let plugin = plugin_of(&verifier);
        let nonce = match plugin {
            Plugin::ClientEd25519 => {
                nonce::checked::<{ nonce::ED25519_BYTES }>(plugin, nonce)?.to_vec()
            }
            Plugin::Parsec => nonce::checked::<{ nonce::SCRAMBLE_BYTES }>(plugin, nonce)?.to_vec(),
            _ => nonce::checked::<{ nonce::HASH_BYTES }>(plugin, nonce)?.to_vec(),
        };
        let state = State::HandshakeResponse;
        Ok(Self {
            verifier,
            nonce,
            channel,
            private_key: None,
            forget_cache: false,
            password_hash: None,
            password: None,
            state,
        })
    }

    /// Sets the key for passwords that are sent over a plain channel or, for `sha256_password`, over a Unix socket. Without it they
    /// are refused.
    #[must_use]
    pub fn with_private_key(self, key: Arc<dyn PrivateKey>) -> Self {
        Self {
            private_key: Some(key),
            ..self
        }
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
        if !matches!(self.plugin(), Plugin::ClientEd25519 | Plugin::Parsec) {
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

    /// Returns what an accepted client has proven to know: with it a proxy can log in to a server. Only of `mysql_native_password`.
    pub fn password_hash(&self) -> Option<&native_password::PasswordHash> {
        self.password_hash.as_ref()
    }

    /// Returns the password that is to be [checked](ServerAuthAction::CheckPassword). If it is right, a proxy can log in to a server with it.
    pub fn password(&self) -> Option<&Secret> {
        self.password.as_ref()
    }

    /// Returns what `parsec` derives its key with, if the account has this plugin.
    pub fn ext_salt(&self) -> Option<&parsec::ExtSalt> {
        match &self.verifier {
            Verifier::Parsec(verifier) => Some(verifier.ext_salt()),
            _ => None,
        }
    }

    /// Processes a payload after [`Switch`](ServerAuthAction::Switch), [`RequestPassword`](ServerAuthAction::RequestPassword),
    /// [`SendKey`](ServerAuthAction::SendKey) or [`SendExtSalt`](ServerAuthAction::SendExtSalt).
    pub fn on_packet(&mut self, payload: &[u8]) -> ServerAuthAction {
        match (self.state, &self.verifier) {
            (State::SwitchResponse, _) => self.check(payload),
            (State::Password { sent_key }, _) => self.take_password(payload, sent_key),
            (State::Signature, Verifier::Parsec(verifier)) => {
                let nonce = nonce_array(&self.nonce);
                let right = nonce.is_some_and(|nonce| verifier.verify(nonce, payload));
                self.end(right)
            }
            _ => self.end(false),
        }
    }

    /// Processes what the caller has found out about the [password](Self::password).
    pub fn decide(&mut self, is_right: bool) -> ServerAuthAction {
        let is_awaited = self.state == State::Decision;
        self.end(is_right && is_awaited)
    }

    /// Checks a response that was refused against another verifier of the same plugin, which has one that is checked at once.
    pub(crate) fn check_again(&mut self, verifier: Verifier, response: &[u8]) -> ServerAuthAction {
        if !matches!(
            (&self.verifier, &verifier),
            (Verifier::NativePassword(_), Verifier::NativePassword(_))
        ) {
            return self.end(false);
        }
        self.verifier = verifier;
        self.check(response)
    }

    fn check(&mut self, response: &[u8]) -> ServerAuthAction {
        let right = match &self.verifier {
            Verifier::NoPassword => response.is_empty(),
            Verifier::NativePassword(verifier) => {
                let nonce = nonce_array(&self.nonce);
                self.password_hash = nonce.and_then(|nonce| verifier.open(nonce, response));
                self.password_hash.is_some()
            }
            Verifier::ClientEd25519(verifier) => {
                nonce_array(&self.nonce).is_some_and(|nonce| verifier.verify(nonce, response))
            }
            // The client has nothing to say yet.
            Verifier::Parsec(_) if response.is_empty() => {
                self.state = State::Signature;
                return ServerAuthAction::SendExtSalt;
            }
            Verifier::Parsec(_) => false,
            Verifier::Sha256Password(_) => return self.take_password(response, false),
            Verifier::CachingSha2Password(_) if self.forget_cache && response != [0] => {
                self.state = State::Password { sent_key: false };
                return ServerAuthAction::RequestPassword;
            }
            Verifier::CachingSha2Password(verifier) => {
                if nonce_array(&self.nonce).is_some_and(|nonce| verifier.verify(nonce, response)) {
                    self.state = State::Done;
                    return ServerAuthAction::AcceptFast;
                }
                false
            }
            // The client has no password.
            Verifier::CachingSha2Cache(_) if matches!(response, [] | [0]) => false,
            Verifier::CachingSha2Cache(cached) => {
                let is_cached = cached.as_ref().is_some_and(|cached| {
                    nonce_array(&self.nonce).is_some_and(|nonce| cached.verify(nonce, response))
                });
                if is_cached {
                    self.state = State::Done;
                    return ServerAuthAction::AcceptFast;
                }
                self.state = State::Password { sent_key: false };
                return ServerAuthAction::RequestPassword;
            }
        };
        self.end(right)
    }

    /// The password, a request for the key, or the password encrypted with it.
    fn take_password(&mut self, payload: &[u8], sent_key: bool) -> ServerAuthAction {
        let (request, is_clear) = match &self.verifier {
            Verifier::CachingSha2Password(_) | Verifier::CachingSha2Cache(_) => {
                (rsa::CACHING_SHA2_REQUEST, self.channel != Channel::Plain)
            }
            Verifier::Sha256Password(_) => {
                let tls = [Channel::TlsVerified, Channel::TlsUnverified];
                (rsa::SHA256_REQUEST, tls.contains(&self.channel))
            }
            _ => return self.end(false),
        };
        // No password is sent as a single NUL over every channel.
        if is_clear || payload == [0] {
            return match payload {
                [password @ .., 0] => self.judge(password),
                _ => self.end(false),
            };
        }
        // Over a plain channel a client must not send it in clear text, and a client that does is refused.
        let Some(key) = &self.private_key else {
            return self.end(false);
        };
        if payload == [request] && !sent_key {
            self.state = State::Password { sent_key: true };
            return ServerAuthAction::SendKey;
        }
        let password = key.decrypt(payload).and_then(|message| {
            let nonce = nonce_array(&self.nonce)?;
            rsa::unmask(&message, nonce)
        });
        match password {
            Some(password) => self.judge(password.expose()),
            None => self.end(false),
        }
    }

    fn judge(&mut self, password: &[u8]) -> ServerAuthAction {
        let right = match &self.verifier {
            Verifier::CachingSha2Password(verifier) | Verifier::Sha256Password(verifier) => {
                verifier.is_of(password)
            }
            Verifier::CachingSha2Cache(_) => {
                self.password = Some(Secret::new(password));
                self.state = State::Decision;
                return ServerAuthAction::CheckPassword;
            }
            _ => false,
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
        Verifier::CachingSha2Password(_) | Verifier::CachingSha2Cache(_) => {
            Plugin::CachingSha2Password
        }
        Verifier::ClientEd25519(_) => Plugin::ClientEd25519,
        Verifier::Parsec(_) => Plugin::Parsec,
        Verifier::Sha256Password(_) => Plugin::Sha256Password,
    }
}

fn nonce_array<const N: usize>(nonce: &[u8]) -> Option<&[u8; N]> {
    nonce.try_into().ok()
}

#[cfg(test)]
mod tests;
