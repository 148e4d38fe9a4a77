//! The login: from the server's greeting to its OK.
//!
//! ```text
//!   greeting --> [StartTls] --> response --> [switch, more data ...] --> OK or ERR
//! ```
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html>

use onecopy_wire::{Buffers, Core, Span, Step};

use super::change_user::Login;
use super::query_attributes::QueryAttributes;
use super::{ClientCore, Limits};
use crate::auth::{
    AuthAction, AuthError, AuthOptions, Channel, ClientAuth, Fingerprint, PROVABLE, Plugin, Secret,
};
use crate::codec::Put;
use crate::frame::{Frame, FrameError, FrameReader, PayloadWriter, split_header};
use crate::owned;
use crate::packet::{ConnectAttributes, Greeting, HandshakeResponse, OkPacket, SslRequest, err};
use crate::{Capabilities, Error, ServerVersion, StatusFlags};

/// utf8mb4_general_ci: known to every server that is spoken to, and of the whole of Unicode.
pub(super) const COLLATION: u8 = 45;

/// What servers' packets may have at most during the login; the largest there is is a key of some hundred bytes.
pub(super) const MAX_LOGIN_PACKET: usize = 64 << 10;

/// Whether the connection must switch to TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsDemand {
    /// TLS is not used.
    #[default]
    None,
    /// TLS is used if the server offers it.
    IfOffered,
    /// TLS is required: without it the login fails before the user's name is sent.
    Required,
}

/// The settings of a login.
#[derive(Debug, Clone, Default)]
pub struct HandshakeConfig {
    /// The user, in UTF-8.
    pub user: Vec<u8>,
    /// The password.
    pub password: Secret,
    /// The passwords of the second and the third factor, if the account has them (MySQL 8.0.27).
    pub more_passwords: Vec<Secret>,
    /// The default database.
    pub database: Option<Vec<u8>>,
    /// Whether the stream is a Unix socket, over which passwords may be sent.
    pub is_unix: bool,
    /// Whether to use TLS.
    pub tls: TlsDemand,
    /// Whether the stream's TLS verifies the server.
    pub tls_verifies: bool,
    /// The accepted authentication.
    pub auth: AuthOptions,
    /// Whether a query may contain several statements.
    pub multi_statements: bool,
    /// Whether statements may request local files, which are sent only after
    /// [`query_with_local_infile`](ClientCore::query_with_local_infile).
    pub local_infile: bool,
    /// Whether affected rows are the rows found, not the rows changed.
    pub found_rows: bool,
    /// Whether MariaDB sends all column definitions each time, including those that the client already has.
    pub full_metadata: bool,
    /// The compression to ask for, best first: `COMPRESS` for zlib, or `ZSTD_COMPRESSION_ALGORITHM`. The first one that the server
    /// offers is used, from the first byte after the login: the caller then puts frames around all packets, see the module
    /// `compression`. Empty for none.
    pub compression: Vec<Capabilities>,
    /// Whether the login fails if the server offers none of `compression`, before the user's name is sent.
    pub compression_required: bool,
    /// The level of zstd that both sides use, 1 to 22; `None` for its default.
    pub zstd_level: Option<u8>,
    /// Whether statements may have attributes, see [`ClientCore::set_query_attributes`]. Each COM_QUERY then has two bytes more.
    pub query_attributes: bool,
    /// Whether MariaDB names the types that have no number of their own, see [`Definitions::type_name`](super::Definitions::type_name).
    /// Each column definition then has at least one byte more.
    pub extended_types: bool,
    /// Whether MariaDB reports the progress of long statements, see [`ClientCore::set_progress_listener`].
    pub progress_reports: bool,
    /// What to ask for in place of what the settings above say, for a proxy whose client has already agreed on it: exactly these, as
    /// far as the server offers them, and what the login itself needs.
    pub capabilities: Option<Capabilities>,
    /// The lower 8 bits of the connection's collation; `None` for utf8mb4_general_ci.
    pub collation: Option<u8>,
    /// The connection attributes.
    pub attributes: Vec<(String, String)>,
}

/// What the login agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The capabilities of both sides.
    pub capabilities: Capabilities,
    /// The id of the connection.
    pub connection_id: u32,
    /// The server's version as it reports it. Bytes that are not UTF-8 are replaced.
    pub server_version: String,
    /// The server's version, parsed.
    pub version: ServerVersion,
}

#[cfg(test)]
impl Session {
    /// The session of a login with these capabilities, for tests.
    pub(crate) fn with(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            connection_id: 1,
            server_version: String::new(),
            version: ServerVersion::parse(b""),
        }
    }
}

/// The result of the login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandshakeReply {
    /// The login succeeded: call [`Handshake::into_core`].
    Done,
    /// The server refused the login with an ERR packet.
    Err(Span),
}

#[derive(Debug)]
enum State {
    Greeting,
    /// The request for TLS is queued; the stream is to be handed over.
    StartTls,
    Auth(ClientAuth),
    Done,
    Dead(Error),
}

/// The client's side of the login.
#[derive(Debug)]
pub struct Handshake {
    config: HandshakeConfig,
    limits: Limits,
    frames: FrameReader,
    state: State,
    session: Session,
    /// The greeting's plugin and nonce, needed behind TLS.
    plugin: Option<Vec<u8>>,
    nonce: Vec<u8>,
    tls: bool,
    /// Of a certificate that the server has to prove with the password.
    fingerprint: Option<Fingerprint>,
    status_flags: StatusFlags,
    /// What a change of user will continue with.
    login: Login,
}

impl Core for Handshake {
    type Message = HandshakeReply;
    type Error = Error;

    fn advance(&mut self, buffers: &mut Buffers) -> Result<Step<HandshakeReply>, Error> {
        if let State::Dead(error) = &self.state {
            return Err(error.clone());
        }
        self.step(buffers)
            .inspect_err(|error| self.state = State::Dead(error.clone()))
    }

    /// Until the server has proven the certificate, only hashes of the password are sent.
    fn certificate_to_verify(&mut self, certificate: &[u8]) {
        self.fingerprint = Some(Fingerprint::of(certificate));
    }

    fn tls_started(&mut self, buffers: &mut Buffers) -> Result<(), Error> {
        if !buffers.pending().is_empty() {
            self.state = State::Dead(Error::BytesBeforeTls);
            return Err(Error::BytesBeforeTls);
        }
        self.tls = true;
        self.respond(buffers)
            .inspect_err(|error| self.state = State::Dead(error.clone()))
    }

    fn handle_eof(&mut self, _buffers: &mut Buffers) -> Error {
        let during = match &self.state {
            State::Dead(error) => return error.clone(),
            State::Greeting => "the wait for its greeting",
            State::StartTls => "the start of tls",
            State::Auth(_) | State::Done => "the login",
        };
        let error = Error::Closed { during };
        self.state = State::Dead(error.clone());
        error
    }
}

impl Handshake {
    /// Creates a login that waits for the server's greeting.
    pub fn new(config: HandshakeConfig, limits: Limits) -> Self {
        Self {
            config,
            limits,
            frames: FrameReader::default(),
            state: State::Greeting,
            session: Session {
                capabilities: Capabilities::empty(),
                connection_id: 0,
                server_version: String::new(),
                version: ServerVersion::parse(b""),
            },
            plugin: None,
            nonce: Vec::new(),
            tls: false,
            fingerprint: None,
            status_flags: StatusFlags::empty(),
            login: Login::default(),
        }
    }

    /// Returns the state machine for commands, once the login is done.
    pub fn into_core(self) -> ClientCore {
        let mut core = ClientCore::new(self.session, self.limits);
        core.set_status(self.status_flags);
        let capabilities = core.session().capabilities;
        core.attributes = capabilities
            .contains(Capabilities::QUERY_ATTRIBUTES)
            .then(|| Box::new(QueryAttributes::none()));
        if core.session().capabilities.intersects(COMPRESSION) {
            core.frames.accept_any_sequence();
        }
        core.login = Box::new(self.login);
        core
    }

    /// Returns whether the server has proven its certificate with the password, because no CA has.
    pub fn is_proven(&self) -> bool {
        self.fingerprint.is_some() && matches!(self.state, State::Done)
    }

    /// Returns whether the greeting, the first packet of every MySQL and MariaDB server, has arrived.
    pub fn is_greeted(&self) -> bool {
        !matches!(self.state, State::Greeting)
    }

    fn step(&mut self, buffers: &mut Buffers) -> Result<Step<HandshakeReply>, Error> {
        loop {
            if matches!(self.state, State::StartTls) {
                return if buffers.pending().is_empty() {
                    Ok(Step::StartTls)
                } else {
                    Err(Error::BytesBeforeTls)
                };
            }
            if matches!(self.state, State::Greeting) {
                refuse_others(buffers.pending())?;
            }
            let payload = match self.frames.message(buffers, MAX_LOGIN_PACKET)? {
                Frame::Whole(payload) if payload.is_empty() => return Err(FrameError::Empty.into()),
                Frame::Whole(payload) => payload,
                Frame::Missing(n) => return Ok(Step::NeedInput(n)),
                Frame::Large(large) => return Err(too_large(large.known())),
            };
            if buffers.bytes(payload).first() == Some(&err::HEADER) {
                self.state = State::Done;
                return Ok(Step::Message(HandshakeReply::Err(payload)));
            }
            match &mut self.state {
                State::Greeting => self.greeted(buffers, payload)?,
                State::Auth(auth) => {
                    match auth.on_packet(buffers.bytes(payload))? {
                        AuthAction::Send(response) => self.send(buffers, response.expose())?,
                        AuthAction::Wait => {}
                        AuthAction::Done => return self.done(buffers, payload),
                        // An ERR packet was taken above; there is no further action.
                        _ => {
                            return Err(Error::Unexpected {
                                during: "the login",
                                byte: err::HEADER,
                            });
                        }
                    }
                }
                State::StartTls | State::Done | State::Dead(_) => return Err(Error::Unsolicited),
            }
        }
    }

    fn greeted(&mut self, buffers: &mut Buffers, payload: Span) -> Result<(), Error> {
        let greeting = Greeting::decode(buffers.bytes(payload))?;
        let offered = greeting.capabilities;
        let start_tls = match self.config.tls {
            TlsDemand::None => false,
            TlsDemand::IfOffered => offered.contains(Capabilities::SSL),
            TlsDemand::Required if offered.contains(Capabilities::SSL) => true,
            TlsDemand::Required => return Err(Error::TlsNotOffered),
        };
        let compression = self.compression(offered)?;
        self.session = Session {
            capabilities: (self.wanted(offered, start_tls) | compression).intersection(offered),
            connection_id: greeting.connection_id,
            server_version: owned::lossy_text(greeting.server_version)?,
            version: ServerVersion::parse(greeting.server_version),
        };
        self.plugin = greeting.auth_plugin.map(owned::bytes).transpose()?;
        self.nonce = greeting.to_nonce();
        if !start_tls {
            return self.respond(buffers);
        }
        let request = SslRequest {
            capabilities: self.session.capabilities,
            max_packet_bytes: MAX_PACKET_BYTES,
            collation: self.config.collation.unwrap_or(COLLATION),
        };
        let mut sequence = self.frames.sequence();
        let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
        request.encode(&mut writer);
        writer.finish()?;
        self.frames.restart(sequence);
        self.state = State::StartTls;
        Ok(())
    }

    /// What is asked for of what the server offers. Where it is MariaDB its own capabilities stand in the place that
    /// `LONG_PASSWORD` keeps free.
    fn wanted(&self, offered: Capabilities, start_tls: bool) -> Capabilities {
        if let Some(exact) = self.config.capabilities {
            let mut wanted = exact | LOGIN;
            for (flag, on) in [
                (
                    Capabilities::CONNECT_WITH_DB,
                    self.config.database.is_some(),
                ),
                (Capabilities::SSL, start_tls),
                // MariaDB's own ones stand in its place.
                (
                    Capabilities::LONG_PASSWORD,
                    offered.contains(Capabilities::LONG_PASSWORD),
                ),
            ] {
                wanted = match on {
                    true => wanted | flag,
                    false => wanted.difference(flag),
                };
            }
            return wanted;
        }
        let mut wanted = Capabilities::LONG_FLAG
            | Capabilities::PROTOCOL_41
            | Capabilities::SECURE_CONNECTION
            | Capabilities::TRANSACTIONS
            | Capabilities::MULTI_RESULTS
            | Capabilities::PS_MULTI_RESULTS
            | Capabilities::PLUGIN_AUTH
            | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA
            | Capabilities::CONNECT_ATTRS
            | Capabilities::SESSION_TRACK
            | Capabilities::DEPRECATE_EOF;
        if offered.contains(Capabilities::LONG_PASSWORD) {
            wanted |= Capabilities::LONG_PASSWORD;
        }
        for (flag, on) in [
            (
                Capabilities::CONNECT_WITH_DB,
                self.config.database.is_some(),
            ),
            (Capabilities::MULTI_STATEMENTS, self.config.multi_statements),
            (Capabilities::FOUND_ROWS, self.config.found_rows),
            (Capabilities::LOCAL_FILES, self.config.local_infile),
            (
                Capabilities::MARIADB_CACHE_METADATA,
                !self.config.full_metadata,
            ),
            // Only MariaDB offers it, and nothing changes before the first such command.
            (Capabilities::MARIADB_STMT_BULK_OPERATIONS, true),
            (Capabilities::SSL, start_tls),
            (Capabilities::QUERY_ATTRIBUTES, self.config.query_attributes),
            (
                Capabilities::MARIADB_EXTENDED_METADATA,
                self.config.extended_types,
            ),
            (Capabilities::MARIADB_PROGRESS, self.config.progress_reports),
            (
                Capabilities::MULTI_FACTOR_AUTHENTICATION,
                !self.config.more_passwords.is_empty(),
            ),
        ] {
            if on {
                wanted |= flag;
            }
        }
        wanted
    }

    /// The best compression that the server offers.
    fn compression(&self, offered: Capabilities) -> Result<Capabilities, Error> {
        let wanted = self.config.compression.iter().copied();
        let mut known = wanted.map(|one| one.intersection(COMPRESSION));
        match known.find(|one| !one.is_empty() && offered.contains(*one)) {
            Some(compression) => Ok(compression),
            None if self.config.compression_required => Err(Error::CompressionNotOffered),
            None => Ok(Capabilities::empty()),
        }
    }

    fn respond(&mut self, buffers: &mut Buffers) -> Result<(), Error> {
        let tls_verifies = self.config.tls_verifies && self.fingerprint.is_none();
        if self.fingerprint.is_some() {
            // Of a server that can't prove it the certificate is refused before the user's name is sent.
            let version = self.session.version;
            if !version.is_mariadb || version.numbers() < FIRST_PROOF {
                return Err(AuthError::NotProven.into());
            }
            if self.config.password.is_empty() {
                return Err(AuthError::NothingToProve.into());
            }
            self.config.auth.allowed = self.config.auth.allowed.intersection(PROVABLE);
            self.config.auth.password_over_unverified_tls = false;
        }
        let channel = match (self.config.is_unix, self.tls, tls_verifies) {
            (_, true, true) => Channel::TlsVerified,
            (true, _, _) => Channel::UnixSocket,
            (false, true, false) => Channel::TlsUnverified,
            (false, false, _) => Channel::Plain,
        };
        let password = self.config.password.clone();
        let (auth, response) = ClientAuth::new(
            self.config.auth.clone(),
            channel,
            password,
            self.plugin.as_deref(),
            &self.nonce,
        )?;
        let auth = auth.with_more_passwords(std::mem::take(&mut self.config.more_passwords));
        let attributes = encode_attributes(&self.config.attributes)?;
        let packet = HandshakeResponse {
            capabilities: self.session.capabilities,
            max_packet_bytes: MAX_PACKET_BYTES,
            collation: self.config.collation.unwrap_or(COLLATION),
            user: &self.config.user,
            auth_response: response.expose(),
            database: self.config.database.as_deref(),
            auth_plugin: Some(auth.plugin().name().as_bytes()),
            attributes: ConnectAttributes::from_encoded(&attributes),
            zstd_level: self.config.zstd_level,
        };
        let mut sequence = self.frames.sequence();
        let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
        packet.encode(&mut writer)?;
        writer.finish()?;
        self.frames.restart(sequence);
        self.state = State::Auth(auth);
        self.login = Login {
            options: self.config.auth.clone(),
            channel,
            attributes,
            plugin: Plugin::NativePassword,
            nonce: std::mem::take(&mut self.nonce),
        };
        Ok(())
    }

    fn send(&mut self, buffers: &mut Buffers, payload: &[u8]) -> Result<(), Error> {
        let mut sequence = self.frames.sequence();
        let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
        writer.put(payload);
        writer.finish()?;
        self.frames.restart(sequence);
        Ok(())
    }

    fn done(&mut self, buffers: &Buffers, payload: Span) -> Result<Step<HandshakeReply>, Error> {
        let ok = OkPacket::decode(buffers.bytes(payload), self.session.capabilities)?;
        self.status_flags = ok.status_flags;
        if let State::Auth(auth) = &self.state {
            if let Some(fingerprint) = &self.fingerprint
                && !auth.proves(fingerprint, ok.info, &self.login.nonce)
            {
                return Err(AuthError::NotProven.into());
            }
            self.login.plugin = auth.plugin();
            if let Some(nonce) = auth.nonce() {
                self.login.nonce = nonce.to_vec();
            }
        }
        self.state = State::Done;
        // Behind the login nothing comes unasked: what does would be taken for the first command's reply.
        if !buffers.pending().is_empty() {
            return Err(Error::Unsolicited);
        }
        Ok(Step::Message(HandshakeReply::Done))
    }
}

/// Refuses what speaks first and is no MySQL server, as SMTP, SSH, and an HTTP or Redis server that turns a client away: read
/// as a packet's header, the first bytes of a text claim some megabytes.
fn refuse_others(pending: &[u8]) -> Result<(), Error> {
    match pending.first_chunk() {
        Some(&start) if split_header(start).0 > MAX_LOGIN_PACKET => Err(Error::NotMysql { start }),
        _ => Ok(()),
    }
}

#[cold]
pub(super) fn too_large(bytes: u64) -> Error {
    Error::LoginPacketTooLarge {
        bytes,
        max: MAX_LOGIN_PACKET as u64,
    }
}

/// All attributes in their encoded form, in one allocation that is large enough.
fn encode_attributes(attributes: &[(String, String)]) -> Result<Vec<u8>, Error> {
    /// Bytes of the longest length prefix.
    const PREFIX: usize = 9;
    let bytes = |(name, value): &(String, String)| name.len() + value.len() + 2 * PREFIX;
    let mut encoded = owned::with_capacity(attributes.iter().map(bytes).sum())?;
    ConnectAttributes::encode_all(attributes, &mut encoded)?;
    Ok(encoded)
}

/// The first MariaDB that proves its certificate by the password.
const FIRST_PROOF: (u32, u32, u32) = (11, 4, 0);

/// What a login needs by itself.
const LOGIN: Capabilities = Capabilities::PROTOCOL_41
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA)
    .union(Capabilities::CONNECT_ATTRS);

/// Both kinds of compression.
const COMPRESSION: Capabilities =
    Capabilities::COMPRESS.union(Capabilities::ZSTD_COMPRESSION_ALGORITHM);

/// What this side takes at most in one payload: the protocol's own maximum.
const MAX_PACKET_BYTES: u32 = 1 << 30;

#[cfg(test)]
mod tests;
