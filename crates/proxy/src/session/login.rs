//! The way to a session that is logged in.
//!
//! ```text
//!   connect --> greeting --------------------> greeting
//!                    [SSLRequest, TLS] <------ [SSLRequest, TLS]      each side by itself
//!               response <-------------------- response
//!               switch, more data, OK, ERR <-> the client's answers   as they come
//! ```
//!
//! The backend is connected before the client is greeted, so that its nonce reaches the client and no password needs to be
//! known here. Each side has sequence ids of its own: a payload is taken from one side's packets and put into the other's.

mod authentication;
mod compression;
mod half;
mod reach;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::auth::{Secret, caching_sha2};
use onecopy_mysql_proto::codec::EncodeError;
use onecopy_mysql_proto::packet::{Greeting, HandshakeResponse, SslRequest};
use onecopy_mysql_proto::relay::login::{self as relay_login, Change};
use onecopy_mysql_proto::relay::{PasswordGuard, Protection, Verdict};
use onecopy_net::evented::Address;
use onecopy_net::proxy_protocol::{Addresses, Decoded, decode};

use super::farewell::packet;
use super::peer::Peer;
use super::{Context, End, Phase, Session, Status, error_payload};
use crate::backend::Backend;
use crate::failure::Failure;
use crate::proxy::Listener;
use crate::queue::Ticket;
use crate::registry::Whose;

use authentication::Authentication;
use compression::{Methods, not_offered};
use half::Half;

/// What each side decides by itself.
const OF_EACH_SIDE: Capabilities = Capabilities::SSL
    .union(Capabilities::COMPRESS)
    .union(Capabilities::ZSTD_COMPRESSION_ALGORITHM)
    .union(Capabilities::MARIADB_COM_MULTI);

const OK: u8 = 0x00;
const MORE_DATA: u8 = 0x01;
const NEXT_FACTOR: u8 = 0x02;
const SWITCH: u8 = 0xFE;
const ERR: u8 = 0xFF;

/// Bytes of a nonce that passwords are bound to.
const NONCE_BYTES: usize = caching_sha2::NONCE_BYTES;

/// What a client's library calls itself, and MariaDB's for C.
const CLIENT_NAME: &[u8] = b"_client_name";
const LIBMARIADB: &[u8] = b"libmariadb";

/// A plugin that no account has, so that the server answers by a switch to the account's own.
const NOBODYS_PLUGIN: &[u8] = b"none";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The client is to say who it is, by the PROXY protocol.
    ProxyHeader,
    /// A backend is to be chosen.
    Choose,
    /// All backends have as many sessions as they may: one of them is waited for.
    Queued,
    Connecting,
    Greeting,
    Response,
    ClientTls,
    ServerTls,
    Authentication,
    /// OK was passed on.
    Done,
    /// The backend's refusal was passed on.
    Refused,
}

/// A login under way.
pub(super) struct Login {
    stage: Stage,
    client: Half,
    server: Half,
    /// Backends that do not do, and addresses that were tried of these and others.
    tried: Vec<Arc<Backend>>,
    addresses: Vec<Address>,
    /// Why the last one tried did not do: its own ERR, word for word, or what happened.
    refusal: Option<Vec<u8>>,
    reason: String,
    id_attempts: u32,
    deadline: Instant,
    /// Its place among those that wait for a backend, and until when it waits.
    queued: Option<(Ticket, Instant)>,
    connect_deadline: Instant,
    /// The backend whose addresses are being tried, and until when all of them together.
    backend_deadline: Option<(Arc<Backend>, Instant)>,
    /// What the backend can do, and what the client was told.
    backend_can: Capabilities,
    offered: Capabilities,
    /// What both agreed on.
    agreed: Capabilities,
    /// The client's response, for as long as the backend's TLS is not there.
    response: Secret,
    /// How bytes are compressed on each side, once the login is over.
    methods: Methods,
    authentication: Authentication,
    greeted: bool,
    /// Whom the client speaks for, and where that one connected to.
    told: Option<(SocketAddr, SocketAddr)>,
}

/// Whose time is over.
pub(super) enum Overdue {
    Queue,
    Connect,
    Handshake,
}

impl Login {
    pub(super) fn new(listener: &Listener, now: Instant) -> Self {
        let stage = if listener.config.expects_proxy_header {
            Stage::ProxyHeader
        } else {
            Stage::Choose
        };
        Self {
            stage,
            client: Half::new(),
            server: Half::new(),
            tried: Vec::new(),
            addresses: Vec::new(),
            refusal: None,
            reason: String::new(),
            id_attempts: 0,
            deadline: after(now, listener.config.handshake_timeout),
            queued: None,
            connect_deadline: now,
            backend_deadline: None,
            backend_can: Capabilities::default(),
            offered: Capabilities::default(),
            agreed: Capabilities::default(),
            response: Secret::default(),
            methods: Methods::default(),
            authentication: Authentication::new(PasswordGuard::new(
                Protection::None,
                Protection::None,
            )),
            greeted: false,
            told: None,
        }
    }

    pub(super) fn state(&self) -> &'static str {
        match self.stage {
            Stage::Queued => "queue",
            Stage::Choose | Stage::Connecting | Stage::Greeting => "connect",
            _ => "login",
        }
    }

    /// Bytes that its buffers hold.
    pub(super) fn buffer_bytes(&self) -> usize {
        self.client.buffers.capacity() + self.server.buffers.capacity()
    }

    /// What the client has sent and is not read yet.
    pub(super) fn client_bytes(&self) -> usize {
        self.client.buffers.pending().len()
    }

    pub(super) fn is_queued(&self) -> bool {
        self.stage == Stage::Queued
    }

    pub(super) fn overdue(&self, now: Instant) -> Option<Overdue> {
        // It is not the client whom the login waits for.
        if let (Stage::Queued, Some((_, until))) = (self.stage, &self.queued) {
            return (now >= *until).then_some(Overdue::Queue);
        }
        // While backends are tried each has its time, and the client none to lose.
        if matches!(self.stage, Stage::Connecting | Stage::Greeting) {
            return (now >= self.connect_deadline).then_some(Overdue::Connect);
        }
        (now >= self.deadline).then_some(Overdue::Handshake)
    }

    /// An error for the client, as the next packet that it expects; none while its TLS is being set up.
    pub(super) fn last_words(&self, failure: &Failure) -> Vec<u8> {
        if self.stage == Stage::ClientTls {
            return Vec::new();
        }
        // Before it is greeted a client knows of no SQLSTATE.
        packet(
            self.client.frames.sequence(),
            &error_payload(failure, self.greeted),
        )
    }
}

impl Session {
    /// Goes on with the login. `true` once it is over and the session is in transit.
    pub(super) fn log_in(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        loop {
            self.flush_login()?;
            let Phase::Login(login) = &mut self.phase else {
                return Ok(true);
            };
            let goes_on = match login.stage {
                Stage::ProxyHeader => self.take_proxy_header()?,
                Stage::Choose => self.choose(context)?,
                Stage::Queued => self.queued(context)?,
                Stage::Connecting => self.connecting(context)?,
                Stage::Greeting => self.greeting(context)?,
                Stage::Response => self.response()?,
                Stage::ClientTls => self.client_tls()?,
                Stage::ServerTls => self.server_tls()?,
                Stage::Authentication => self.authenticate()?,
                Stage::Done if login.client.has_output() || self.client.stream.has_unsent() => {
                    false
                }
                Stage::Done => {
                    self.logged_in(context)?;
                    return Ok(true);
                }
                Stage::Refused if login.client.has_output() || self.client.stream.has_unsent() => {
                    false
                }
                Stage::Refused => return Err(End::Refused),
            };
            if !goes_on {
                return Ok(false);
            }
        }
    }

    /// Sends what is queued on either side, as far as it goes.
    fn flush_login(&mut self) -> Result<(), End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(());
        };
        if login.client.flush(&mut self.client).is_err() {
            return Err(Failure::client_lost().into());
        }
        if let Some(server) = &mut self.server
            && !matches!(login.stage, Stage::Connecting)
            && login.server.flush(server).is_err()
        {
            // What it says is heard first; then nothing more comes.
            login.server.drop_output();
        }
        Ok(())
    }

    /// Reads once from one side. `false`: nothing has come.
    fn receive_client(&mut self) -> Result<bool, End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        match login.client.read(&mut self.client) {
            Ok(Some(true)) => Ok(true),
            Ok(Some(false)) => Ok(false),
            Ok(None) | Err(_) => Err(Failure::client_lost().into()),
        }
    }

    /// The same; `Err` says why nothing more comes.
    fn receive_server(&mut self) -> Result<bool, String> {
        let (Phase::Login(login), Some(server)) = (&mut self.phase, &mut self.server) else {
            return Ok(false);
        };
        match login.server.read(server) {
            Ok(Some(has_come)) => Ok(has_come),
            Ok(None) => Err("it closed the connection".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn take_proxy_header(&mut self) -> Result<bool, End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        match decode(login.client.buffers.pending()) {
            Ok(Decoded::Header(header)) => {
                if let Addresses::Tcp {
                    source,
                    destination,
                } = header.addresses
                {
                    self.address = source.to_string().into();
                    login.told = Some((source, destination));
                }
                let len = header.len;
                login.client.buffers.consume(len);
                login.stage = Stage::Choose;
                Ok(true)
            }
            Ok(Decoded::NeedMore(missing)) => {
                login.client.buffers.need(missing, 0);
                self.receive_client()
            }
            // Whoever does not speak it gets no answer: it may be a request of another protocol.
            Err(_) => Err(Failure::client_lost().into()),
        }
    }

    fn greeting(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        let (Phase::Login(login), Some(place)) = (&mut self.phase, &self.place) else {
            return Ok(false);
        };
        let payload = match login.server.receive() {
            Ok(Some(payload)) => payload,
            Ok(None) => {
                return match self.receive_server() {
                    Ok(has_come) => Ok(has_come),
                    Err(why) => self.try_another(&why, context),
                };
            }
            Err(why) => return self.try_another(&why, context),
        };
        let bytes = login.server.buffers.bytes(payload);
        if bytes.first() == Some(&ERR) {
            login.refusal = Some(bytes.to_vec());
            return self.try_another("it refused the connection", context);
        }
        let greeting = match Greeting::decode(bytes) {
            Ok(greeting) => greeting,
            Err(error) => {
                let why = error.to_string();
                return self.try_another(&why, context);
            }
        };
        let backend = Arc::clone(place.backend());
        if backend.config.tls.is_some() && !greeting.capabilities.contains(Capabilities::SSL) {
            return self.try_another("it does not offer TLS, which is asked for", context);
        }
        if let Some(why) = not_offered(backend.config.compression, greeting.capabilities) {
            return self.try_another(&why, context);
        }
        let whose = Whose::new(&backend, self.server_address.as_ref());
        let Some(id) = self.listener.registry.take(greeting.connection_id, whose) else {
            return self.another_id(&backend, context);
        };
        self.id = Some(id);
        if let Some(address) = &self.server_address {
            backend.connected(address);
        }
        let config = &self.listener.config;
        let offered = config.compression.capabilities(greeting.capabilities);
        let change = own_of(config.tls.is_some(), offered);
        login.backend_can = greeting.capabilities;
        login.offered = change.apply(greeting.capabilities);
        login.authentication.plugin = greeting.auth_plugin.unwrap_or_default().to_vec();
        let nonce = [&greeting.nonce_head, greeting.nonce_tail].concat();
        login.authentication.nonce = nonce.try_into().ok();
        let mut payload = bytes.to_vec();
        // It was decoded before, and is again.
        if let Err(error) = relay_login::greeting(&mut payload, change) {
            let why = error.to_string();
            return self.try_another(&why, context);
        }
        login.client.send(&payload)?;
        login.greeted = true;
        login.deadline = after(context.now, self.listener.config.handshake_timeout);
        login.stage = Stage::Response;
        Ok(true)
    }

    fn response(&mut self) -> Result<bool, End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        let payload = match login.client.receive() {
            Ok(Some(payload)) => payload,
            Ok(None) => return self.wait_for_client(),
            Err(why) => return Err(Failure::client_broken(&why).into()),
        };
        let bytes = login.client.buffers.bytes(payload);
        let tidied = relay_login::tidy(bytes).map(Secret::new);
        let bytes = tidied.as_ref().map_or(bytes, Secret::expose);
        if SslRequest::is(bytes) && !self.client.stream.is_tls() {
            let Some(acceptor) = &self.listener.config.tls else {
                return Err(
                    Failure::client_broken(&"TLS was asked for, which was not offered").into(),
                );
            };
            let begun = self
                .client
                .stream
                .accept_tls(acceptor, &mut login.client.buffers);
            begun.map_err(|error| Failure::client_tls(&error))?;
            login.stage = Stage::ClientTls;
            return Ok(true);
        }
        let is_secure = self.client.stream.is_tls() || self.client.stream.is_unix();
        if self.listener.config.requires_tls && !is_secure {
            return Err(Failure::tls_required().into());
        }
        let response =
            HandshakeResponse::decode(bytes).map_err(|error| Failure::client_broken(&error))?;
        login.agreed = response.capabilities.intersection(login.offered);
        self.user = response.user.into();
        let mut attributes = response.attributes.iter().flatten();
        self.knows_of_losses_itself =
            attributes.any(|(key, value)| key == CLIENT_NAME && value == LIBMARIADB);
        let backend = self.place.as_ref().map(|place| &place.backend().config);
        let tls = backend.and_then(|config| config.tls.clone());
        login.methods = Methods {
            client: compression::of_client(login.agreed, response.zstd_level),
            server: backend.and_then(|config| config.compression),
        };
        let change = own_of(tls.is_some(), login.methods.to_server());
        let request = SslRequest {
            capabilities: change.apply(response.capabilities),
            max_packet_bytes: response.max_packet_bytes,
            collation: response.collation,
        };
        let server_side = match (&tls, &self.server) {
            (Some(_), _) => Protection::Tls,
            (None, Some(server)) => protection(server),
            (None, None) => Protection::None,
        };
        let mut guard = PasswordGuard::new(protection(&self.client), server_side);
        let verdict = guard.client(response.auth_plugin, response.auth_response);
        let payload = match verdict {
            Verdict::Pass => Ok(bytes.to_vec()),
            // What the client has guessed at does not pass. It is asked again for what the account really has.
            _ => without_password(&response),
        };
        let mut payload = payload.map_err(|error| Failure::client_broken(&error))?;
        relay_login::response(&mut payload, change)
            .map_err(|error| Failure::client_broken(&error))?;
        login.methods.put_level(&mut payload);
        let payload = Secret::new(payload);
        if let Some(plugin) = response.auth_plugin {
            login.authentication.plugin = plugin.to_vec();
        }
        login.authentication.guard = guard;
        login.client.buffers.wipe_spent();
        let Some(connector) = tls else {
            login.server.send_secret(payload.expose())?;
            login.stage = Stage::Authentication;
            return Ok(true);
        };
        login.response = payload;
        let mut payload = Vec::new();
        request.encode(&mut payload);
        login.server.send(&payload)?;
        let backend = self.backend_name().to_owned();
        let (Phase::Login(login), Some(server)) = (&mut self.phase, &mut self.server) else {
            return Ok(false);
        };
        // The request goes in clear text, the rest does not.
        login
            .server
            .flush(server)
            .map_err(|error| Failure::backend_tls(&backend, &error))?;
        if login.server.has_output() {
            return Err(Failure::backend_tls(&backend, &"it takes no bytes").into());
        }
        let begun = server.stream.connect_tls(&connector, &login.server.buffers);
        begun.map_err(|error| Failure::backend_tls(&backend, &error))?;
        login.stage = Stage::ServerTls;
        Ok(true)
    }

    /// Waits for the client; a backend that goes away meanwhile is told of.
    fn wait_for_client(&mut self) -> Result<bool, End> {
        if self.receive_client()? {
            return Ok(true);
        }
        match self.receive_server() {
            Ok(false) => Ok(false),
            Ok(true) => {
                // An ERR out of turn: it has no time for a slow client.
                let Phase::Login(login) = &mut self.phase else {
                    return Ok(false);
                };
                match login.server.receive() {
                    Ok(Some(payload))
                        if login.server.buffers.bytes(payload).first() == Some(&ERR) =>
                    {
                        let refusal = login.server.buffers.bytes(payload).to_vec();
                        login.client.send(&refusal)?;
                        login.stage = Stage::Refused;
                        Ok(true)
                    }
                    Ok(None) => Ok(true),
                    Ok(Some(_)) => Err(self.lost("it sent something out of turn")),
                    Err(why) => Err(self.lost(&why)),
                }
            }
            Err(why) => Err(self.lost(&why)),
        }
    }

    fn client_tls(&mut self) -> Result<bool, End> {
        match self.client.stream.shake_hands() {
            Ok(true) => {
                // What came with the end of the handshake has no event of its own.
                self.client.is_readable = true;
                if let Phase::Login(login) = &mut self.phase {
                    login.stage = Stage::Response;
                }
                Ok(true)
            }
            Ok(false) => Ok(false),
            Err(error) => Err(Failure::client_tls(&error).into()),
        }
    }

    fn server_tls(&mut self) -> Result<bool, End> {
        let backend = self.backend_name().to_owned();
        let (Phase::Login(login), Some(server)) = (&mut self.phase, &mut self.server) else {
            return Ok(false);
        };
        match server.stream.shake_hands() {
            Ok(true) => {
                server.is_readable = true;
                let payload = std::mem::take(&mut login.response);
                login.server.send_secret(payload.expose())?;
                login.stage = Stage::Authentication;
                Ok(true)
            }
            Ok(false) => Ok(false),
            Err(error) => Err(Failure::backend_tls(&backend, &error).into()),
        }
    }

    /// Everything of the login has left.
    fn logged_in(&mut self, context: &mut Context<'_>) -> Result<(), End> {
        let Phase::Login(login) = std::mem::replace(&mut self.phase, Phase::Transit) else {
            return Ok(());
        };
        self.route = context
            .counters
            .route(&self.listener.config.name, self.backend_name());
        context.counters.routes[self.route].logins += 1;
        if let Some(id) = &self.id {
            id.set_user(&self.user);
        }
        self.watch_commands();
        let Login {
            client,
            server,
            methods,
            ..
        } = *login;
        // What either side sent without waiting for the other.
        let [client, server] = self.compress(methods, client.buffers, server.buffers);
        for (flow, buffers) in [(&mut self.up, client), (&mut self.down, server)] {
            if let Some(buffers) = buffers.filter(|buffers| !buffers.pending().is_empty()) {
                flow.loan = Some(context.pool.adopt(buffers));
            }
        }
        self.look_at_all(context)
    }

    #[cold]
    pub(super) fn login_overdue(&mut self, overdue: Overdue, context: &mut Context<'_>) -> Status {
        let end = match overdue {
            Overdue::Queue => Failure::backends_full().into(),
            Overdue::Handshake => {
                Failure::timed_out("the login took too long (handshake-timeout)").into()
            }
            Overdue::Connect => {
                match self.try_another("it does not answer (connect-timeout)", context) {
                    Ok(_) => return self.go_on(context),
                    Err(end) => end,
                }
            }
        };
        self.end(end, context)
    }

    #[cold]
    fn lost(&self, why: &str) -> End {
        Failure::backend_lost(self.backend_name(), why).into()
    }
}

/// What a side protects a password from.
fn protection(peer: &Peer) -> Protection {
    match (peer.stream.is_tls(), peer.stream.is_unix()) {
        (true, _) => Protection::Tls,
        (false, true) => Protection::Socket,
        (false, false) => Protection::None,
    }
}

/// A response without what the client has made of its password.
fn without_password(response: &HandshakeResponse<'_>) -> Result<Vec<u8>, EncodeError> {
    let mut payload = Vec::new();
    HandshakeResponse {
        auth_response: &[],
        auth_plugin: Some(NOBODYS_PLUGIN),
        ..*response
    }
    .encode(&mut payload)?;
    Ok(payload)
}

/// The end of a time that begins now; one that no clock could show is far away.
fn after(now: Instant, time: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    now.checked_add(time).unwrap_or(now + FAR)
}

/// What is changed of the capabilities on their way to a side, which has TLS of its own or not, and this compression.
fn own_of(has_tls: bool, compression: Capabilities) -> Change {
    let tls = if has_tls {
        Capabilities::SSL
    } else {
        Capabilities::default()
    };
    Change {
        clear: OF_EACH_SIDE,
        set: tls | compression,
    }
}
