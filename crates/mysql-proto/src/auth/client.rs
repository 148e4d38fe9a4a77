//! The client's side of the exchange, from the greeting, or from COM_CHANGE_USER, to OK.
//!
//! ```text
//! greeting -> response ------------------------------------> OK or ERR
//!                 |--> AuthSwitchRequest -> response ------------^   at most one switch
//!                 |--> AuthMoreData -> password or wait ---------^   caching_sha2_password
//!                 |--> [ask] -> key -> password under the key ---^   that, and sha256_password
//!                 |--> ext-salt -> signature --------------------^   parsec
//!                 |--> question -> answer, as often as it asks --^   dialog
//!                 '--> AuthNextFactor -> response, as above -----^   the second and the third factor
//! ```

use zeroize::Zeroizing;

use super::caching_sha2::{self, FAST_OK, FULL_AUTHENTICATION};
use super::channel::Channel;
use super::dialog::{self, Question};
use super::error::AuthError;
use super::nonce::{self, HASH_BYTES, SCRAMBLE_BYTES};
use super::options::AuthOptions;
use super::parsec::{self, ExtSalt};
use super::plugin::Plugin;
use super::proof::Fingerprint;
use super::public_key::PublicKey;
use super::secret::Secret;
use super::{clear_password, ed25519, native_password, rsa};
use crate::codec::{DecodeErrorKind, Reader};
use crate::packet::{AuthMoreData, AuthNextFactor, AuthSwitchRequest};
use crate::packet::{auth_more_data, auth_next_factor, auth_switch_request, err, ok};

/// The maximum number of packets in an exchange. The longest known exchange has four.
pub const MAX_STEPS: u8 = 16;
/// What a server may ask for that is never answered.
const OLD_PASSWORD: &[u8] = b"mysql_old_password";

/// What to do after a packet of the server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AuthAction {
    /// Send this payload, which may be empty, and read the next packet.
    Send(Secret),
    /// Read the next packet.
    Wait,
    /// The packet is an OK: the login succeeded. The caller decodes it.
    Done,
    /// The packet is an ERR: the login was refused. The caller decodes it.
    Refused,
}

/// The client's side of an authentication.
///
/// After an error it is unusable, and returns the same error again.
#[derive(Clone, Debug)]
pub struct ClientAuth {
    password: Secret,
    /// The passwords of the factors to come, the last one first.
    more_passwords: Vec<Secret>,
    channel: Channel,
    options: AuthOptions,
    plugin: Plugin,
    state: State,
    /// The last nonce of a hash plugin; the key's ciphertext is bound to it too.
    nonce: Option<[u8; HASH_BYTES]>,
    /// What `parsec` derived its key with.
    ext_salt: Option<ExtSalt>,
    switched: bool,
    /// Packets taken so far, at most `MAX_STEPS`.
    steps: u8,
}

#[derive(Clone, Debug)]
enum State {
    /// The plugin's first response is out.
    Responded,
    /// The server was asked for its key.
    KeyAsked,
    /// The server was asked for parsec's salt; this is its scramble.
    SaltAsked([u8; SCRAMBLE_BYTES]),
    /// The server may ask another question.
    Asked,
    /// The plugin has had its last word.
    Answered,
    Done,
    Failed(AuthError),
}

impl ClientAuth {
    /// Begins with the plugin and the nonce (without its NUL) of the greeting. Returns the response to send with the name of
    /// [`plugin`](Self::plugin) in the handshake response.
    ///
    /// A plugin that is unknown or not allowed here is not an error yet: the server may request another one once it knows the
    /// user. Until then, the client responds with a plugin of its own choice.
    ///
    /// # Errors
    /// Fails if the plugin cannot use the nonce, or if the options allow no plugin.
    pub fn new(
        options: AuthOptions,
        channel: Channel,
        password: Secret,
        plugin: Option<&[u8]>,
        nonce: &[u8],
    ) -> Result<(Self, Secret), AuthError> {
        // A server that names no plugin is older than plugins are.
        let named = plugin.map_or(Some(Plugin::NativePassword), Plugin::from_name);
        let mut auth = Self::begun(options, channel, password);
        if let Some(plugin) = named.filter(|&plugin| auth.options.may_use(plugin, channel)) {
            auth.plugin = plugin;
            let response = auth.respond(nonce)?;
            return Ok((auth, response));
        }
        auth.choose_plugin()?;
        let response = auth.respond_early(nonce);
        Ok((auth, response))
    }

    /// Begins with the plugin and the nonce that the connection used last. Returns the response to send with the name of
    /// [`plugin`](Self::plugin) in COM_CHANGE_USER: at most 32 bytes, because its packet has room for 255. A response that is not
    /// a hash is not sent before the server's switch request; MySQL and MariaDB always send one.
    ///
    /// # Errors
    /// Fails if the options allow no plugin.
    pub fn change_user(
        options: AuthOptions,
        channel: Channel,
        password: Secret,
        plugin: Plugin,
        nonce: &[u8],
    ) -> Result<(Self, Secret), AuthError> {
        let mut auth = Self::begun(options, channel, password);
        auth.plugin = plugin;
        if !auth.options.allows(plugin) || !is_hash(plugin) {
            auth.choose_plugin()?;
        }
        let response = auth.respond_early(nonce);
        Ok((auth, response))
    }

    fn begun(options: AuthOptions, channel: Channel, password: Secret) -> Self {
        Self {
            password,
            more_passwords: Vec::new(),
            channel,
            options,
            plugin: Plugin::NativePassword,
            state: State::Responded,
            nonce: None,
            ext_salt: None,
            switched: false,
            steps: 0,
        }
    }

    /// Sets the passwords of the second and the third factor. Without them a request for another factor is an error.
    #[must_use]
    pub fn with_more_passwords(mut self, passwords: impl IntoIterator<Item = Secret>) -> Self {
        self.more_passwords = passwords.into_iter().collect();
        self.more_passwords.reverse();
        self
    }

    /// Takes the first plugin that is allowed.
    fn choose_plugin(&mut self) -> Result<(), AuthError> {
        self.plugin = Plugin::ALL
            .into_iter()
            .find(|&plugin| self.options.allows(plugin))
            .ok_or(AuthError::NoPluginAllowed)?;
        // A server would take what comes with this name for an answer; it switches to it from any other.
        if self.plugin == Plugin::Dialog {
            self.plugin = Plugin::ClearPassword;
        }
        Ok(())
    }

    /// The response to a nonce that may not be this plugin's: a hash, or nothing yet.
    fn respond_early(&mut self, nonce: &[u8]) -> Secret {
        if is_hash(self.plugin) {
            self.respond(nonce).unwrap_or_default()
        } else {
            Secret::default()
        }
    }

    /// Returns the plugin of the last response.
    pub fn plugin(&self) -> Plugin {
        self.plugin
    }

    /// Returns the last nonce that was hashed, without its NUL.
    pub fn nonce(&self) -> Option<&[u8]> {
        self.nonce.as_ref().map(<[u8; HASH_BYTES]>::as_slice)
    }

    /// Returns whether the login's message proves that the server, which knows the hash of the password, has the certificate with
    /// this fingerprint. `greeting_nonce` is the nonce of the greeting, without its NUL.
    pub fn proves(&self, fingerprint: &Fingerprint, message: &[u8], greeting_nonce: &[u8]) -> bool {
        let stored = match (self.plugin, &self.ext_salt) {
            _ if self.password.is_empty() => return false,
            (Plugin::NativePassword, _) => native_password::stored(&self.password).to_vec(),
            (Plugin::ClientEd25519, _) => ed25519::stored(&self.password).to_vec(),
            (Plugin::Parsec, Some(ext_salt)) => parsec::stored(&self.password, ext_salt),
            _ => return false,
        };
        let stored = Zeroizing::new(stored);
        let nonce = self.nonce.or_else(|| greeting_nonce.first_chunk().copied());
        nonce.is_some_and(|nonce| fingerprint.is_proven_by(message, &stored, &nonce))
    }

    /// Processes the server's next payload.
    ///
    /// # Errors
    /// Fails on anything that the server may not send or request. The connection must be closed then.
    pub fn on_packet(&mut self, payload: &[u8]) -> Result<AuthAction, AuthError> {
        match &self.state {
            State::Failed(error) => return Err(error.clone()),
            State::Done => return Err(AuthError::AlreadyDone),
            State::Responded
            | State::KeyAsked
            | State::SaltAsked(_)
            | State::Asked
            | State::Answered => {}
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
            // A question may begin with the same byte as AuthNextFactor.
            [header, ..] if self.takes_bare(header) => self.on_more_data(payload),
            [auth_next_factor::HEADER, ..] => self.on_next_factor(AuthNextFactor::decode(payload)?),
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
        self.begin_plugin(request.plugin, request.data)
    }

    /// The factor before is done. The server names the next one's plugin, and does not switch from it.
    fn on_next_factor(&mut self, next: AuthNextFactor<'_>) -> Result<AuthAction, AuthError> {
        self.password = self.more_passwords.pop().ok_or(AuthError::MoreFactors)?;
        self.switched = true;
        self.begin_plugin(next.plugin, next.data)
    }

    fn begin_plugin(&mut self, name: &[u8], data: &[u8]) -> Result<AuthAction, AuthError> {
        if name == OLD_PASSWORD {
            return Err(AuthError::OldPasswordRefused);
        }
        let plugin = Plugin::from_name(name).ok_or_else(|| AuthError::unknown_plugin(name))?;
        if !self.options.allows(plugin) {
            return Err(AuthError::PluginNotAllowed { plugin });
        }
        self.plugin = plugin;
        self.state = State::Responded;
        self.respond(data).map(AuthAction::Send)
    }

    /// Whether the plugin's data may begin with this byte, without AuthMoreData around it. MySQL always puts it there;
    /// MariaDB only where the data's first byte could be taken for another packet's.
    fn takes_bare(&self, first: u8) -> bool {
        match self.state {
            State::KeyAsked => first == rsa::PEM_START,
            State::SaltAsked(_) => first == parsec::ALGORITHM,
            State::Asked => dialog::is_question(first),
            State::Responded if self.plugin == Plugin::CachingSha2Password => {
                matches!(first, FAST_OK | FULL_AUTHENTICATION)
            }
            _ => false,
        }
    }

    fn on_more_data(&mut self, data: &[u8]) -> Result<AuthAction, AuthError> {
        let plugin = self.plugin;
        let &[byte, ref rest @ ..] = data else {
            return Err(AuthError::EmptyMoreData { plugin });
        };
        match self.state {
            State::Responded if plugin == Plugin::CachingSha2Password => {
                self.state = State::Answered;
                match byte {
                    FAST_OK if rest.is_empty() => Ok(AuthAction::Wait),
                    FULL_AUTHENTICATION if rest.is_empty() => self
                        .give_password(rsa::CACHING_SHA2_REQUEST)
                        .map(AuthAction::Send),
                    _ => Err(AuthError::UnknownMoreData { plugin, byte }),
                }
            }
            State::KeyAsked => {
                self.state = State::Answered;
                self.encrypt(&PublicKey::from_pem(data)?)
                    .map(AuthAction::Send)
            }
            State::SaltAsked(server_scramble) => {
                self.state = State::Answered;
                let ext_salt = ExtSalt::decode(data)?;
                self.ext_salt = Some(ext_salt);
                self.sign(&server_scramble, &ext_salt).map(AuthAction::Send)
            }
            State::Asked => self.answer(data, false).map(AuthAction::Send),
            _ => Err(AuthError::UnexpectedMoreData { plugin }),
        }
    }

    /// The current plugin's response to the data that came with it.
    fn respond(&mut self, data: &[u8]) -> Result<Secret, AuthError> {
        let plugin = self.plugin;
        match plugin {
            Plugin::NativePassword => {
                let nonce = self.take_nonce(data)?;
                Ok(match &self.options.password_hash {
                    Some(hash) => hash.respond(&nonce),
                    None => native_password::respond(&self.password, &nonce),
                })
            }
            Plugin::CachingSha2Password => {
                let nonce = self.take_nonce(data)?;
                Ok(caching_sha2::respond(&self.password, &nonce))
            }
            Plugin::ClientEd25519 => {
                let nonce = nonce::checked(plugin, data)?;
                Ok(ed25519::respond(&self.password, &nonce))
            }
            Plugin::Parsec => {
                self.state = State::SaltAsked(nonce::checked(plugin, data)?);
                Ok(Secret::default())
            }
            Plugin::Sha256Password => {
                if self.options.may_encrypt(plugin, self.channel) {
                    self.take_nonce(data)?;
                }
                self.state = State::Answered;
                self.give_password(rsa::SHA256_REQUEST)
            }
            Plugin::ClearPassword => clear_password::respond(&self.password, self.channel),
            Plugin::Dialog => self.answer(data, true),
        }
    }

    /// The answer to a question: the password where the first one is for a secret, else the caller's.
    fn answer(&mut self, data: &[u8], is_first: bool) -> Result<Secret, AuthError> {
        let (plugin, channel) = (self.plugin, self.channel);
        if !channel.is_verified() {
            return Err(AuthError::InsecureChannel { plugin, channel });
        }
        // A server that begins without a question wants the password, and asks afterwards.
        if is_first && data.is_empty() {
            self.state = State::Asked;
            return Ok(caching_sha2::with_nul(&self.password));
        }
        let question = Question::decode(data)?;
        self.state = if question.is_last {
            State::Answered
        } else {
            State::Asked
        };
        if is_first && question.is_secret && !self.password.is_empty() {
            return Ok(caching_sha2::with_nul(&self.password));
        }
        let dialog = self.options.dialog.as_ref();
        let answer = dialog.and_then(|dialog| dialog.answer(&question));
        answer
            .map(|answer| caching_sha2::with_nul(&answer))
            .ok_or_else(|| AuthError::not_answered(question.text))
    }

    fn take_nonce(&mut self, data: &[u8]) -> Result<[u8; HASH_BYTES], AuthError> {
        let nonce = nonce::checked(self.plugin, data)?;
        self.nonce = Some(nonce);
        Ok(nonce)
    }

    /// The password and its NUL, where channel and plugin are fit for it; an empty one is no secret. Else under a key, which
    /// is asked for by `request` where it is not at hand.
    fn give_password(&mut self, request: u8) -> Result<Secret, AuthError> {
        let (plugin, channel) = (self.plugin, self.channel);
        if self.password.is_empty() || self.options.may_carry_password(plugin, channel) {
            return Ok(caching_sha2::with_nul(&self.password));
        }
        if !self.options.may_encrypt(plugin, channel) {
            return Err(AuthError::InsecureChannel { plugin, channel });
        }
        if let Some(key) = &self.options.server_public_key {
            return self.encrypt(key);
        }
        self.state = State::KeyAsked;
        Ok(Secret::new([request]))
    }

    fn encrypt(&self, key: &PublicKey) -> Result<Secret, AuthError> {
        let plugin = self.plugin;
        let nonce = self.nonce.ok_or(AuthError::BadNonce { plugin, bytes: 0 })?;
        rsa::encrypt(&self.password, &nonce, key, self.options.crypto)
    }

    fn sign(
        &self,
        server_scramble: &[u8; SCRAMBLE_BYTES],
        ext_salt: &ExtSalt,
    ) -> Result<Secret, AuthError> {
        let mut scramble = [0; SCRAMBLE_BYTES];
        self.options.crypto.random(&mut scramble)?;
        Ok(parsec::respond(
            &self.password,
            ext_salt,
            server_scramble,
            &scramble,
        ))
    }
}

/// Whether the response is a hash, which any channel may carry and every server's nonce is long enough for.
fn is_hash(plugin: Plugin) -> bool {
    matches!(plugin, Plugin::NativePassword | Plugin::CachingSha2Password)
}

#[cfg(test)]
mod tests;
