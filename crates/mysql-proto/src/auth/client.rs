//! The client's side of the exchange, from the greeting to OK.
//!
//! ```text
//! greeting -> response ----------------------------> OK or ERR
//!                 |--> AuthSwitchRequest -> response ----^   at most one switch
//!                 |--> AuthMoreData -> password or wait -^   caching_sha2_password only
//! ```

use super::caching_sha2::{self, FAST_OK, FULL_AUTHENTICATION};
use super::channel::Channel;
use super::error::AuthError;
use super::plugin::{Plugin, PluginSet};
use super::secret::Secret;
use super::{clear_password, ed25519, native_password, nonce};
use crate::codec::{DecodeErrorKind, Reader};
use crate::packet::{AuthMoreData, AuthSwitchRequest};
use crate::packet::{auth_more_data, auth_next_factor, auth_switch_request, err, ok};

/// The most packets that an exchange takes. The longest one known has four.
pub const MAX_STEPS: u8 = 16;
/// What a server may ask for that is never answered.
const OLD_PASSWORD: &[u8] = b"mysql_old_password";

/// What a client takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthOptions {
    /// The plugins to take part in; [`PluginSet::SAFE`] by default.
    pub allowed: PluginSet,
    /// Whether `caching_sha2_password` and `sha256_password` may send the password over TLS that is not verified, to
    /// whoever answered. Off by default. `mysql_clear_password` is refused there all the same.
    pub password_over_unverified_tls: bool,
}

impl Default for AuthOptions {
    fn default() -> Self {
        Self {
            allowed: PluginSet::SAFE,
            password_over_unverified_tls: false,
        }
    }
}

/// What is to be done with a server's packet.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AuthAction {
    /// Send this payload, which may be empty, and read the next packet.
    Send(Secret),
    /// Read the next packet.
    Wait,
    /// The packet is an OK: the user is in. The caller reads it.
    Done,
    /// The packet is an ERR: the user is not in. The caller reads it.
    Refused,
}

/// The client's side of one authentication.
///
/// After an error it stays dead and gives the same error again.
#[derive(Clone, Debug)]
pub struct ClientAuth {
    password: Secret,
    channel: Channel,
    options: AuthOptions,
    plugin: Plugin,
    state: State,
    switched: bool,
    /// Packets taken so far, at most `MAX_STEPS`.
    steps: u8,
}

#[derive(Clone, Debug)]
enum State {
    /// The plugin's first response is out.
    Responded,
    /// caching_sha2_password has had its one word.
    Answered,
    Done,
    Failed(AuthError),
}

impl ClientAuth {
    /// Begins with the greeting's plugin and nonce (without its NUL), and gives the response that goes with
    /// [`plugin`](Self::plugin) into the handshake response.
    ///
    /// A plugin that is unknown or may not be used here is no error yet: the server may ask for another one once it
    /// knows the user. Until then the response is one of our own choice.
    ///
    /// # Errors
    /// A nonce that the plugin can't use; options that allow no plugin.
    pub fn new(
        options: AuthOptions,
        channel: Channel,
        password: Secret,
        plugin: Option<&[u8]>,
        nonce: &[u8],
    ) -> Result<(Self, Secret), AuthError> {
        // A server that names no plugin is older than plugins are.
        let named = plugin.map_or(Some(Plugin::NativePassword), Plugin::from_name);
        let mut auth = Self {
            password,
            channel,
            options,
            plugin: Plugin::NativePassword,
            state: State::Responded,
            switched: false,
            steps: 0,
        };
        if let Some(plugin) = named.filter(|&plugin| auth.may_use(plugin)) {
            auth.plugin = plugin;
            let response = auth.respond(nonce)?;
            return Ok((auth, response));
        }
        auth.plugin = Plugin::ALL
            .into_iter()
            .find(|plugin| options.allowed.contains(plugin.as_set()))
            .ok_or(AuthError::NoPluginAllowed)?;
        let response = match auth.plugin {
            Plugin::CachingSha2Password | Plugin::NativePassword => {
                auth.respond(nonce).unwrap_or_default()
            }
            _ => Secret::default(),
        };
        Ok((auth, response))
    }

    /// The plugin whose response went out last.
    pub fn plugin(&self) -> Plugin {
        self.plugin
    }

    /// Takes the server's next payload.
    ///
    /// # Errors
    /// Whatever the server may not send or ask for; the connection is to be closed then.
    pub fn on_packet(&mut self, payload: &[u8]) -> Result<AuthAction, AuthError> {
        match &self.state {
            State::Failed(error) => return Err(error.clone()),
            State::Done => return Err(AuthError::AlreadyDone),
            State::Responded | State::Answered => {}
        }
        self.step(payload)
            .inspect_err(|error| self.state = State::Failed(error.clone()))
    }

    fn step(&mut self, payload: &[u8]) -> Result<AuthAction, AuthError> {
        if self.steps == MAX_STEPS {
            return Err(AuthError::TooManySteps);
        }
        self.steps += 1;
        match *payload {
            [ok::HEADER, ..] => {
                self.state = State::Done;
                Ok(AuthAction::Done)
            }
            [err::HEADER, ..] => {
                self.state = State::Done;
                Ok(AuthAction::Refused)
            }
            [auth_switch_request::HEADER, ..] => {
                self.on_switch(AuthSwitchRequest::decode(payload)?)
            }
            [auth_more_data::HEADER, ..] => self.on_more_data(AuthMoreData::decode(payload)?.data),
            [auth_next_factor::HEADER, ..] => Err(AuthError::MoreFactors),
            [header, ..] => Err(AuthError::UnexpectedPacket { header }),
            [] => {
                let reader = Reader::new("authentication", payload);
                Err(reader.error("header", DecodeErrorKind::Truncated).into())
            }
        }
    }

    fn on_switch(&mut self, request: AuthSwitchRequest<'_>) -> Result<AuthAction, AuthError> {
        if self.switched {
            return Err(AuthError::SwitchedTwice);
        }
        self.switched = true;
        if request.plugin == OLD_PASSWORD {
            return Err(AuthError::OldPasswordRefused);
        }
        let plugin = Plugin::from_name(request.plugin)
            .ok_or_else(|| AuthError::unknown_plugin(request.plugin))?;
        if !self.options.allowed.contains(plugin.as_set()) {
            return Err(AuthError::PluginNotAllowed { plugin });
        }
        self.plugin = plugin;
        self.state = State::Responded;
        self.respond(request.data).map(AuthAction::Send)
    }

    fn on_more_data(&mut self, data: &[u8]) -> Result<AuthAction, AuthError> {
        let plugin = self.plugin;
        let &[byte, ref rest @ ..] = data else {
            return Err(AuthError::EmptyMoreData { plugin });
        };
        if plugin != Plugin::CachingSha2Password || matches!(self.state, State::Answered) {
            return Err(AuthError::UnexpectedMoreData { plugin });
        }
        self.state = State::Answered;
        match byte {
            FAST_OK if rest.is_empty() => Ok(AuthAction::Wait),
            FULL_AUTHENTICATION if rest.is_empty() => self.password_itself().map(AuthAction::Send),
            _ => Err(AuthError::UnknownMoreData { plugin, byte }),
        }
    }

    /// The current plugin's response to the data that came with it.
    fn respond(&self, data: &[u8]) -> Result<Secret, AuthError> {
        let (plugin, password) = (self.plugin, &self.password);
        match plugin {
            Plugin::NativePassword => Ok(native_password::respond(
                password,
                &nonce::checked(plugin, data)?,
            )),
            Plugin::CachingSha2Password => Ok(caching_sha2::respond(
                password,
                &nonce::checked(plugin, data)?,
            )),
            Plugin::ClientEd25519 => Ok(ed25519::respond(password, &nonce::checked(plugin, data)?)),
            Plugin::Sha256Password => self.password_itself(),
            Plugin::ClearPassword => clear_password::respond(password, self.channel),
        }
    }

    /// The password and its NUL, where the channel is fit for it. An empty one is no secret.
    fn password_itself(&self) -> Result<Secret, AuthError> {
        let Self {
            plugin, channel, ..
        } = *self;
        if !self.password.is_empty() && !self.may_carry_password() {
            return Err(AuthError::InsecureChannel { plugin, channel });
        }
        Ok(caching_sha2::with_nul(&self.password))
    }

    fn may_carry_password(&self) -> bool {
        self.channel.is_verified()
            || self.channel == Channel::TlsUnverified && self.options.password_over_unverified_tls
    }

    /// Whether the greeting's plugin can be answered at once.
    fn may_use(&self, plugin: Plugin) -> bool {
        let channel_fits = match plugin {
            Plugin::Sha256Password => self.may_carry_password(),
            Plugin::ClearPassword => self.channel.is_verified(),
            _ => true,
        };
        channel_fits && self.options.allowed.contains(plugin.as_set())
    }
}

#[cfg(test)]
mod tests;
