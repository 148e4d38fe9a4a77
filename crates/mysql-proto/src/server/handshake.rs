//! The server's side of the login.
//!
//! ```text
//!   greeting --> [StartTls] --> response: User --answer--> [switch, password ...] --> OK: Accepted, or ERR: Rejected
//! ```
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html>

mod authentication;

use std::sync::Arc;

use onecopy_wire::{Buffers, Core, Span, Step, WireError};

use super::{ServerCore, ServerError, ServerLimits};
use crate::auth::native_password::PasswordHash;
use crate::auth::{Channel, Plugin, PrivateKey, Secret, ServerAuth, Verifier};
use crate::codec::Put;
use crate::frame::{Frame, FrameReader, PayloadWriter};
use crate::owned;
use crate::packet::{
    ChangeUser, ConnectAttributes, ErrPacket, Greeting, HandshakeResponse, SslRequest,
};
use crate::{Capabilities, StatusFlags};
use authentication::is_password;

const HEAD: usize = 8;

/// What a server reports about itself.
#[derive(Debug, Clone)]
pub struct ServerHandshakeConfig {
    /// The version text.
    pub server_version: Vec<u8>,
    /// The id of the connection.
    pub connection_id: u32,
    /// Fresh random bytes, none of them zero.
    pub nonce: [u8; 20],
    /// The offered capabilities; with `SSL`, TLS too.
    pub capabilities: Capabilities,
    /// The plugin named in the greeting.
    pub plugin: Plugin,
    /// The lower 8 bits of the default collation.
    pub collation: u8,
    /// The kind of channel before TLS.
    pub channel: Channel,
}

/// What a client sent in its login, and what was agreed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerSession {
    /// The capabilities of both sides.
    pub capabilities: Capabilities,
    /// The user's name.
    pub user: Vec<u8>,
    /// The database that the client requests.
    pub database: Option<Vec<u8>>,
    /// The lower 8 bits of the connection's collation.
    pub collation: u8,
    /// The maximum payload that the client accepts, in bytes.
    pub max_packet_bytes: u32,
    /// Connection attributes in their encoded form, see [`attributes`](Self::attributes).
    encoded_attributes: Vec<u8>,
}

impl ServerSession {
    /// Returns the connection attributes of the client.
    pub fn attributes(&self) -> ConnectAttributes<'_> {
        ConnectAttributes::from_encoded(&self.encoded_attributes)
    }
}

/// A result of the login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerHandshakeMessage {
    /// A user wants to log in, see [`ServerHandshake::session`]: [answer](ServerHandshake::answer) or
    /// [reject](ServerHandshake::reject), then continue.
    User,
    /// The client has sent its [password](ServerHandshake::password), and the caller is to check it:
    /// [decide](ServerHandshake::decide), then continue. Only with [`Verifier::CachingSha2Cache`].
    Password,
    /// The password is right, and nothing is queued yet. Only [with confirmation](ServerHandshake::with_confirmation):
    /// [accept](ServerHandshake::accept) or [reject](ServerHandshake::reject), then continue.
    Authenticated,
    /// The password is wrong, and nothing is queued yet. Only [with confirmation](ServerHandshake::with_confirmation):
    /// [check it again](ServerHandshake::check_again), [deny](ServerHandshake::deny) or [reject](ServerHandshake::reject), then
    /// continue.
    Denied,
    /// The login succeeded, and OK is queued: call [`ServerHandshake::into_core`].
    Accepted,
    /// The login is refused, and ERR is queued: send it and close.
    Rejected,
}

/// What the server knows of a user's account.
#[derive(Debug, Clone)]
pub struct Account {
    /// What is stored of the password.
    pub verifier: Verifier,
    /// Fresh random bytes for a plugin switch, 32 for `client_ed25519` and `parsec`; `None` to use the greeting's nonce.
    pub nonce: Option<Vec<u8>>,
    /// Whether `caching_sha2_password` requests the password itself.
    pub empty_cache: bool,
}

#[derive(Debug)]
enum State {
    Greeting,
    Response,
    /// Of a client that is logged in.
    ChangeUser,
    StartTls,
    /// The caller is asked for the account; the plugin and response that are waiting for it.
    User {
        plugin: Option<Vec<u8>>,
        response: Secret,
    },
    Auth(Box<ServerAuth>),
    /// The caller is to check the password.
    Password(Box<ServerAuth>),
    /// The password is right; with `caching_sha2_password` that is to be said before OK.
    Authenticated {
        is_fast: bool,
    },
    /// The password is wrong. The client's proof of it, where a proof is a single packet.
    Denied(Option<Box<(ServerAuth, Secret)>>),
    Over(ServerHandshakeMessage),
    Dead(ServerError),
}

/// The server's side of the login.
#[derive(Debug)]
pub struct ServerHandshake {
    config: ServerHandshakeConfig,
    limits: ServerLimits,
    frames: FrameReader,
    state: State,
    session: ServerSession,
    channel: Channel,
    tls: bool,
    private_key: Option<Arc<dyn PrivateKey>>,
    /// The name of the client's host, for the error.
    client_host: Option<Vec<u8>>,
    has_confirmation: bool,
    /// What the client has proven to know.
    password_hash: Option<PasswordHash>,
    /// The password that it had to send, once it is right.
    password: Option<Secret>,
    /// The client has sent a password, or a hash of one.
    used_password: bool,
    /// It was greeted with the nonce of the configuration.
    was_greeted: bool,
}

impl Core for ServerHandshake {
    type Message = ServerHandshakeMessage;
    type Error = ServerError;

    fn advance(
        &mut self,
        buffers: &mut Buffers,
    ) -> Result<Step<ServerHandshakeMessage>, ServerError> {
        if let State::Dead(error) = &self.state {
            return Err(error.clone());
        }
        self.step(buffers)
            .inspect_err(|error| self.state = State::Dead(error.clone()))
    }

    fn tls_started(&mut self, buffers: &mut Buffers) -> Result<(), ServerError> {
        if !matches!(self.state, State::StartTls) {
            return Err(ServerError::Misuse("no start of tls was asked for"));
        }
        // Clear text that TLS has not taken must not pass for what comes through it.
        if !buffers.pending().is_empty() {
            self.state = State::Dead(ServerError::BytesBeforeTls);
            return Err(ServerError::BytesBeforeTls);
        }
        self.tls = true;
        // A client that continues has verified the server, or does not care: the server can't know.
        self.channel = Channel::TlsVerified;
        self.state = State::Response;
        Ok(())
    }

    fn handle_eof(&mut self, _buffers: &mut Buffers) -> ServerError {
        if let State::Dead(error) = &self.state {
            return error.clone();
        }
        let error = ServerError::Closed {
            during: "the login",
        };
        self.state = State::Dead(error.clone());
        error
    }
}

impl ServerHandshake {
    /// Creates a login that begins with the greeting.
    pub fn new(config: ServerHandshakeConfig, limits: ServerLimits) -> Self {
        Self {
            channel: config.channel,
            config,
            limits,
            frames: FrameReader::default(),
            state: State::Greeting,
            session: ServerSession::default(),
            tls: false,
            private_key: None,
            client_host: None,
            has_confirmation: false,
            password_hash: None,
            password: None,
            used_password: false,
            was_greeted: true,
        }
    }

    /// Creates a login of a client that is logged in already, which begins with its COM_CHANGE_USER. `capabilities` are those of the
    /// connection, and `config` has its channel as it is now, and the nonce of the client's first greeting. The client's response is not
    /// looked at: the client is always asked to authenticate again, as MariaDB does, and with the same nonce. Its C library answers
    /// with that one whatever it is sent.
    pub fn change_user(
        config: ServerHandshakeConfig,
        limits: ServerLimits,
        capabilities: Capabilities,
    ) -> Self {
        let mut handshake = Self::new(config, limits);
        handshake.state = State::ChangeUser;
        handshake.was_greeted = false;
        handshake.session.capabilities = capabilities;
        handshake.session.collation = handshake.config.collation;
        handshake
    }

    /// Returns the nonce of the configuration.
    pub fn nonce(&self) -> [u8; 20] {
        self.config.nonce
    }

    /// Sets the key that clients encrypt passwords with where they may not send them, see [`ServerAuth::with_private_key`].
    #[must_use]
    pub fn with_private_key(mut self, key: Arc<dyn PrivateKey>) -> Self {
        self.private_key = Some(key);
        self
    }

    /// Sets the client's host as error 1045 names it: `Access denied for user 'ada'@'192.0.2.1' (using password: YES)`.
    #[must_use]
    pub fn with_client_host(mut self, host: impl Into<Vec<u8>>) -> Self {
        self.client_host = Some(host.into());
        self
    }

    /// Stops with [`Authenticated`](ServerHandshakeMessage::Authenticated) before OK, so that the caller can still refuse or delay
    /// a client that knows its password, and with [`Denied`](ServerHandshakeMessage::Denied) before the error. The client learns
    /// nothing until then.
    #[must_use]
    pub fn with_confirmation(mut self) -> Self {
        self.has_confirmation = true;
        self
    }

    /// Returns what the client sent, available from the message `User` on.
    pub fn session(&self) -> &ServerSession {
        &self.session
    }

    /// Returns the plugin of the user's response, as the client names it, while the user waits for an answer.
    pub fn client_plugin(&self) -> Option<&[u8]> {
        match &self.state {
            State::User { plugin, .. } => plugin.as_deref(),
            _ => None,
        }
    }

    /// Returns what a client has proven to know that has logged in with `mysql_native_password`, see [`ServerAuth::password_hash`].
    pub fn password_hash(&self) -> Option<&PasswordHash> {
        self.password_hash.as_ref()
    }

    /// Returns the password of a client that had to send it, to be checked or once it is right, see [`ServerAuth::password`].
    pub fn password(&self) -> Option<&Secret> {
        match &self.state {
            State::Password(auth) => auth.password(),
            _ => self.password.as_ref(),
        }
    }

    /// Returns the sequence id of the next packet of either side, for a caller that sends an error of its own and closes.
    pub fn sequence(&self) -> u8 {
        self.frames.sequence()
    }

    /// Returns whether the stream has switched to TLS.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// Returns the state machine for commands, once the login has succeeded.
    pub fn into_core(self) -> ServerCore {
        ServerCore::new(self.session, self.limits)
    }

    /// Answers the message `User` with the user's account. This queues a plugin switch, a request for the password, OK or ERR. If
    /// there is no such account, call [`reject`](Self::reject).
    ///
    /// # Errors
    /// Fails if the account's plugin cannot use the nonce, or if no user is waiting.
    pub fn answer(&mut self, buffers: &mut Buffers, account: Account) -> Result<(), ServerError> {
        let State::User { plugin, response } = &mut self.state else {
            return Err(ServerError::Misuse("no user waits for an answer"));
        };
        let (plugin, response) = (plugin.take(), std::mem::take(response));
        self.used_password = is_password(response.expose());
        let nonce = account.nonce.as_deref().unwrap_or(&self.config.nonce);
        // libmysqlclient begins with an empty response if it uses another plugin than the greeting's, because it has no nonce of
        // that plugin's, and waits for the switch.
        let greeted = self.config.plugin.name().as_bytes();
        let names_other = plugin.as_deref().is_some_and(|plugin| plugin != greeted);
        let same_nonce =
            self.was_greeted && account.nonce.is_none() && !(names_other && response.is_empty());
        let auth = ServerAuth::new(account.verifier, nonce, self.channel);
        let mut auth = auth.map_err(|error| self.die(error.into()))?;
        if let Some(key) = &self.private_key {
            auth = auth.with_private_key(Arc::clone(key));
        }
        if account.empty_cache {
            auth = auth.with_empty_cache();
        }
        let action = auth.on_handshake_response(plugin.as_deref(), response.expose(), same_nonce);
        self.state = State::Auth(Box::new(auth));
        self.act(buffers, action, response.expose())
    }

    /// Answers the message [`Password`](ServerHandshakeMessage::Password): the login goes on, or ERR is queued.
    ///
    /// # Errors
    /// Fails if no password is to be checked.
    pub fn decide(&mut self, buffers: &mut Buffers, is_right: bool) -> Result<(), ServerError> {
        let error = ServerError::Misuse("no password is to be checked");
        let State::Password(mut auth) =
            std::mem::replace(&mut self.state, State::Dead(error.clone()))
        else {
            return Err(error);
        };
        let action = auth.decide(is_right);
        self.state = State::Auth(auth);
        self.act(buffers, action, &[])
    }

    /// Answers the message [`Denied`](ServerHandshakeMessage::Denied) with what is stored of the user's password by now:
    /// [`Authenticated`](ServerHandshakeMessage::Authenticated) or `Denied` follows. The client is not asked again, so that only
    /// `mysql_native_password` can be found right.
    ///
    /// # Errors
    /// Fails if no client was denied.
    pub fn check_again(
        &mut self,
        buffers: &mut Buffers,
        verifier: Verifier,
    ) -> Result<(), ServerError> {
        let State::Denied(proof) = &mut self.state else {
            return Err(ServerError::Misuse("no client was denied"));
        };
        let Some(proof) = proof.take() else {
            return Ok(());
        };
        let (mut auth, response) = *proof;
        let action = auth.check_again(verifier, response.expose());
        self.state = State::Auth(Box::new(auth));
        self.act(buffers, action, response.expose())
    }

    /// Answers the message [`Denied`](ServerHandshakeMessage::Denied): queues ERR.
    ///
    /// # Errors
    /// Fails if no client was denied.
    pub fn deny(&mut self, buffers: &mut Buffers) -> Result<(), ServerError> {
        let State::Denied(_) = self.state else {
            return Err(ServerError::Misuse("no client was denied"));
        };
        self.refuse(buffers);
        Ok(())
    }

    /// Answers the message [`Authenticated`](ServerHandshakeMessage::Authenticated): queues OK.
    ///
    /// # Errors
    /// Fails if no client is waiting for it.
    pub fn accept(&mut self, buffers: &mut Buffers) -> Result<(), ServerError> {
        let State::Authenticated { is_fast } = self.state else {
            return Err(ServerError::Misuse("no client waits to be accepted"));
        };
        self.let_in(buffers, is_fast)
    }

    /// Refuses the connection, also instead of the greeting or of an answer.
    pub fn reject(&mut self, buffers: &mut Buffers, err: &ErrPacket<'_>) {
        self.state = match self.send(buffers, |out| err.encode(out)) {
            Ok(()) => State::Over(ServerHandshakeMessage::Rejected),
            Err(error) => State::Dead(error),
        };
    }

    fn step(&mut self, buffers: &mut Buffers) -> Result<Step<ServerHandshakeMessage>, ServerError> {
        loop {
            match &self.state {
                State::Greeting => self.greet(buffers)?,
                // A client need not wait for anything: what has come behind its request is the beginning of TLS.
                State::StartTls => return Ok(Step::StartTls),
                State::User { .. } => return Ok(Step::Message(ServerHandshakeMessage::User)),
                State::Password(_) => return Ok(Step::Message(ServerHandshakeMessage::Password)),
                State::Authenticated { .. } => {
                    return Ok(Step::Message(ServerHandshakeMessage::Authenticated));
                }
                State::Denied(_) => return Ok(Step::Message(ServerHandshakeMessage::Denied)),
                State::Over(message) => return Ok(Step::Message(*message)),
                State::Dead(error) => return Err(error.clone()),
                State::Response => {
                    let Some(payload) = self.receive(buffers)? else {
                        return Ok(Step::NeedInput(buffers.needed()));
                    };
                    self.on_response(buffers, payload)?;
                }
                State::ChangeUser => {
                    let Some(payload) = self.receive(buffers)? else {
                        return Ok(Step::NeedInput(buffers.needed()));
                    };
                    self.on_change_user(buffers, payload)?;
                }
                State::Auth(_) => {
                    let Some(payload) = self.receive(buffers)? else {
                        return Ok(Step::NeedInput(buffers.needed()));
                    };
                    self.on_auth(buffers, payload)?;
                }
            }
        }
    }

    fn receive(&mut self, buffers: &mut Buffers) -> Result<Option<Span>, ServerError> {
        match self.frames.message(buffers, self.limits.max_login_bytes)? {
            Frame::Whole(payload) => Ok(Some(payload)),
            Frame::Missing(_) => Ok(None),
            Frame::Large(large) => Err(WireError::LimitExceeded {
                needed: large.known(),
                max: self.limits.max_login_bytes as u64,
            }
            .into()),
        }
    }

    fn greet(&mut self, buffers: &mut Buffers) -> Result<(), ServerError> {
        let config = self.config.clone();
        let (head, tail) = config
            .nonce
            .split_first_chunk::<HEAD>()
            .ok_or(ServerError::Misuse("the nonce is too short"))?;
        let greeting = Greeting {
            server_version: &config.server_version,
            connection_id: config.connection_id,
            nonce_head: *head,
            nonce_tail: tail,
            capabilities: config.capabilities
                | Capabilities::PROTOCOL_41
                | Capabilities::SECURE_CONNECTION,
            collation: config.collation,
            status_flags: StatusFlags::AUTOCOMMIT,
            auth_plugin: config
                .capabilities
                .contains(Capabilities::PLUGIN_AUTH)
                .then_some(config.plugin.name().as_bytes()),
        };
        let mut payload = Vec::new();
        greeting.encode(&mut payload)?;
        self.send(buffers, |out| out.put(&payload))?;
        self.state = State::Response;
        Ok(())
    }

    fn on_response(&mut self, buffers: &Buffers, payload: Span) -> Result<(), ServerError> {
        let bytes = buffers.bytes(payload);
        if !self.tls && SslRequest::is(bytes) {
            if !self.config.capabilities.contains(Capabilities::SSL) {
                return Err(ServerError::TlsNotOffered);
            }
            self.state = State::StartTls;
            return Ok(());
        }
        let response = HandshakeResponse::decode(bytes)?;
        let offered =
            self.config.capabilities | Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION;
        self.session = ServerSession {
            capabilities: response.capabilities.intersection(offered),
            user: owned::bytes(response.user)?,
            database: response.database.map(owned::bytes).transpose()?,
            collation: response.collation,
            max_packet_bytes: response.max_packet_bytes,
            encoded_attributes: owned::bytes(response.attributes.as_encoded())?,
        };
        self.state = State::User {
            plugin: response.auth_plugin.map(owned::bytes).transpose()?,
            response: Secret::new(owned::bytes(response.auth_response)?),
        };
        Ok(())
    }

    fn on_change_user(&mut self, buffers: &Buffers, payload: Span) -> Result<(), ServerError> {
        let bytes = buffers.bytes(payload);
        let capabilities = self.session.capabilities;
        // Some clients send attributes that were not agreed on, or none that were; servers take both.
        let change = ChangeUser::decode(bytes, capabilities)
            .or_else(|_| ChangeUser::decode_authentication(bytes, capabilities))?;
        self.session.user = owned::bytes(change.user)?;
        self.session.database = match change.database {
            [] => None,
            database => Some(owned::bytes(database)?),
        };
        // Larger ones have no place in the greeting's response either.
        if let Some(Ok(collation)) = change.collation.map(u8::try_from) {
            self.session.collation = collation;
        }
        self.session.encoded_attributes = owned::bytes(change.attributes.as_encoded())?;
        self.state = State::User {
            plugin: change.auth_plugin.map(owned::bytes).transpose()?,
            response: Secret::new(owned::bytes(change.auth_response)?),
        };
        Ok(())
    }

    /// Where memory for it can't be had the login is dead.
    fn send(
        &mut self,
        buffers: &mut Buffers,
        write: impl FnOnce(&mut PayloadWriter<'_>),
    ) -> Result<(), ServerError> {
        let mut sequence = self.frames.sequence();
        let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
        write(&mut writer);
        if let Err(error) = writer.finish() {
            return Err(self.die(error.into()));
        }
        self.frames.restart(sequence);
        Ok(())
    }

    fn die(&mut self, error: ServerError) -> ServerError {
        self.state = State::Dead(error.clone());
        error
    }
}

#[cfg(test)]
mod tests;
