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

mod agreement;
mod authentication;
mod compression;
pub(in crate::session) mod half;
mod reach;
mod unfinished;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::auth::{Secret, caching_sha2};
use onecopy_mysql_proto::packet::ErrPacket;
use onecopy_mysql_proto::relay::{PasswordGuard, Protection};
use onecopy_net::evented::Address;

use super::address::ClientAddress;
use super::farewell::packet;
use super::peer::Peer;
use super::{Context, End, Phase, Session, Status, error_payload};
use crate::backend::Backend;
use crate::failure::{CLOSED, Failure, NO_ANSWER, Reason};
use crate::listener::Listener;
use crate::queue::Ticket;

use authentication::Authentication;
use compression::Methods;
use half::Half;
pub(crate) use unfinished::{NOBODY, UnfinishedLogin};

const OK: u8 = 0x00;
const MORE_DATA: u8 = 0x01;
const NEXT_FACTOR: u8 = 0x02;
const SWITCH: u8 = 0xFE;
const ERR: u8 = 0xFF;

/// Bytes of a nonce that passwords are bound to.
const NONCE_BYTES: usize = caching_sha2::NONCE_BYTES;

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

/// The shortest `connect_timeout` of servers.
const LEAST_CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// A login under way.
pub(super) struct Login {
    stage: Stage,
    client: Half,
    server: Half,
    /// Backends that do not do, and addresses that were tried of these and others.
    tried: Vec<Arc<Backend>>,
    addresses: Vec<Address>,
    /// Backends whose servers have said that they have as many connections as they may, since it last waited.
    full: Vec<Arc<Backend>>,
    /// It waits for room on one of these, and keeps its place in the queue until one has greeted it.
    waits_for_server: bool,
    /// Its ticket's number and until when it waits, also while it has given the ticket up.
    waited: Option<(u64, Instant)>,
    /// Why the last one tried did not do: its own ERR, word for word, or what happened.
    refusal: Option<Vec<u8>>,
    reason: String,
    id_attempts: u32,
    deadline: Instant,
    /// Its place among those that wait for a backend.
    queued: Option<Ticket>,
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
    /// When the server has begun to wait for the client's login.
    greeted_at: Option<Instant>,
    /// Why the backend has refused, once it has.
    refused_for: Reason,
    /// The number of that error; 0 where it is not known.
    pub(super) refused_code: u16,
    /// The schema that the client asks for.
    database: Option<Box<[u8]>>,
    /// The backend has greeted.
    has_greeted: bool,
    /// Whom the client speaks for, and where that one connected to.
    told: Option<(SocketAddr, SocketAddr)>,
}

/// Whose time is over.
#[derive(PartialEq)]
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
            full: Vec::new(),
            waits_for_server: false,
            waited: None,
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
            greeted_at: None,
            refused_for: Reason::Refused,
            refused_code: 0,
            database: None,
            has_greeted: false,
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

    /// While nothing has come from the client since it was greeted, it costs no buffers: most such clients are checks of load
    /// balancers and scanners, and an allocator gives back late what thousands of them had. Nothing here is a secret yet.
    pub(super) fn rest(&mut self) {
        if self.stage == Stage::Response && self.client.buffers.pending().is_empty() {
            self.client.rest();
            self.server.rest();
        }
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
        if let (Stage::Queued, Some((_, until))) = (self.stage, self.waited) {
            return (now >= until).then_some(Overdue::Queue);
        }
        // While backends are tried each has its time, and the client none to lose.
        if matches!(self.stage, Stage::Connecting | Stage::Greeting) {
            return (now >= self.connect_deadline).then_some(Overdue::Connect);
        }
        (now >= self.deadline).then_some(Overdue::Handshake)
    }

    /// Whether the server waits for a packet of the client's.
    fn is_clients_turn(&self) -> bool {
        match self.stage {
            Stage::Response | Stage::ClientTls => true,
            Stage::Authentication => self.authentication.is_clients_turn(),
            _ => false,
        }
    }

    /// Whether the client waits for the server.
    fn is_backends_turn(&self) -> bool {
        match self.stage {
            Stage::ServerTls => true,
            Stage::Authentication => !self.authentication.is_clients_turn(),
            _ => false,
        }
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
    /// Continues with the login. `true` once it is over and the session is in transit.
    pub(super) fn log_in(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        loop {
            self.flush_login()?;
            let Phase::Login(login) = &mut self.phase else {
                return Ok(true);
            };
            let is_clients_turn = login.is_clients_turn();
            let waits_since = login.greeted_at.filter(|_| is_clients_turn);
            let step = match login.stage {
                Stage::ProxyHeader => self.take_proxy_header(),
                Stage::Choose => self.choose(context),
                Stage::Queued => self.queued(context),
                Stage::Connecting => self.connecting(context),
                Stage::Greeting => self.greeting(context),
                Stage::Response => self.response(),
                Stage::ClientTls => self.client_tls(),
                Stage::ServerTls => self.server_tls(),
                Stage::Authentication => self.authenticate(),
                Stage::Done if login.client.has_output() || self.client.stream.has_unsent() => {
                    Ok(false)
                }
                Stage::Done => {
                    self.logged_in(context)?;
                    return Ok(true);
                }
                Stage::Refused if login.client.has_output() || self.client.stream.has_unsent() => {
                    Ok(false)
                }
                Stage::Refused => return Err(End::Told(login.refused_for)),
            };
            let goes_on =
                step.map_err(|end| self.lost_to_a_slow_client(end, waits_since, context.now))?;
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

    /// Reads once from one side. `false`: nothing has arrived.
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
            Ok(None) => Err(CLOSED.to_owned()),
            Err(error) => {
                server.is_closed = true;
                Err(error.to_string())
            }
        }
    }

    fn take_proxy_header(&mut self) -> Result<bool, End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        let Some(header) = login.client.take_proxy_header()? else {
            return self.receive_client();
        };
        if let Some((source, destination)) = header.addresses {
            self.address = ClientAddress(Some(source));
            login.told = Some((source, destination));
        }
        login.stage = Stage::Choose;
        Ok(true)
    }

    /// Waits for the client; a backend that closes meanwhile is reported.
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
                        let code = ErrPacket::decode(&refusal).map_or(0, |error| error.code);
                        login.refused_code = code;
                        login.refused_for = Reason::behind_error(code).unwrap_or(Reason::Refused);
                        login.stage = Stage::Refused;
                        Ok(true)
                    }
                    Ok(None) => Ok(true),
                    Ok(Some(_)) => Err(self.lost("it sent an unexpected packet")),
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
            database,
            ..
        } = *login;
        self.log_login(database, false, context);
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
            Overdue::Queue => match self.refuse_as_full() {
                Ok(_) => return self.go_on(context),
                Err(end) => end,
            },
            Overdue::Handshake => match &self.phase {
                Phase::Login(login) if login.is_backends_turn() => {
                    Failure::slow_backend(self.backend_name()).into()
                }
                _ => Failure::slow_login("handshake-timeout").into(),
            },
            Overdue::Connect => {
                // Its answer may have come while nobody looked.
                if let Some(server) = &mut self.server {
                    server.look_again();
                }
                let status = self.go_on(context);
                let is_overdue = match &self.phase {
                    Phase::Login(login) => login.overdue(context.now) == Some(Overdue::Connect),
                    _ => false,
                };
                if status == Status::Over || !is_overdue {
                    return status;
                }
                match self.try_another(NO_ANSWER, context) {
                    Ok(_) => return self.go_on(context),
                    Err(end) => end,
                }
            }
        };
        self.end(end, context)
    }

    /// A server waits for a login no longer than its `connect_timeout`, and closes without a word: that is the client's doing.
    fn lost_to_a_slow_client(&self, end: End, waits_since: Option<Instant>, now: Instant) -> End {
        let is_lost = matches!(&end, End::Failed(failure) if failure.reason == Reason::BackendLost);
        let is_slow = waits_since
            .is_some_and(|since| now.saturating_duration_since(since) >= LEAST_CONNECT_TIMEOUT);
        match is_lost && is_slow {
            true => Failure::slow_login("the backend has closed, by its connect_timeout").into(),
            false => end,
        }
    }

    #[cold]
    fn lost(&self, why: &str) -> End {
        Failure::backend_lost(self.backend_name(), "during the login", why).into()
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

/// The end of a time that begins now; one that no clock could show is far away.
pub(in crate::session) fn after(now: Instant, time: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    now.checked_add(time).unwrap_or(now + FAR)
}
