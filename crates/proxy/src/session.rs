//! One client and its backend.
//!
//! ```text
//!   client --> [PROXY header] --> Login: connect, greeting, TLS, authentication --> Transit --> Farewell --> gone
//! ```
//!
//! A session does as much as both streams allow, then waits for the next event of either.

mod address;
mod compressed;
mod counted;
mod describe;
mod farewell;
mod flow;
mod kill;
mod logged;
mod login;
mod memory;
mod peer;
mod pooled;
mod transit;
mod user;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::{Registry as Poller, Token};
use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::packet::ErrPacket;
use onecopy_mysql_proto::relay::Relay;
use onecopy_net::SocketOptions;
use onecopy_net::evented::{Address, Stream};

use crate::backend::Place;
use crate::buffers::Pool;
use crate::client::Client;
use crate::codec::Codec;
use crate::digests::Digests;
use crate::failure::{Failure, Reason};
use crate::kill::Kills;
use crate::listener::Listener;
use crate::log::Log;
use crate::pooling::connections::Connections;
use crate::queue::Waiter;
use crate::registry::{Id, UserPlace};
use crate::stats::Counters;

use address::ClientAddress;
use counted::Counted;
use farewell::Farewell;
use flow::Flow;
use kill::KillState;
use login::Login;
pub(crate) use login::{NOBODY, UnfinishedLogin};
pub(crate) use memory::Progress;
use peer::Peer;
use pooled::{Pooled, PooledLogin};
pub(crate) use pooled::{WarmUp, stream_of};

/// What a session may use of its worker.
pub(crate) struct Context<'w> {
    pub(crate) pool: &'w mut Pool,
    pub(crate) codec: &'w mut Codec,
    /// Connections to backends that sessions share.
    pub(crate) connections: &'w mut Connections,
    pub(crate) poller: &'w Poller,
    pub(crate) counters: &'w mut Counters,
    pub(crate) digests: &'w mut Digests,
    pub(crate) log: &'w Log,
    pub(crate) kills: &'w Kills,
    /// Where logins go that are brought to an end without their clients.
    pub(crate) unfinished: &'w mut Vec<UnfinishedLogin>,
    /// This worker, where an answer is to come back to it.
    pub(crate) worker: usize,
    /// This worker's, and the session's place in it: where it is called when something it waits for is there.
    pub(crate) waiter: &'w Arc<dyn Waiter>,
    pub(crate) index: usize,
    /// When this turn of the loop began.
    pub(crate) now: Instant,
}

/// What a session is at.
enum Phase {
    Login(Box<Login>),
    Transit,
    /// A client of a pooled listener, on its way in.
    PooledLogin(Box<PooledLogin>),
    /// The same, logged in.
    Pooled(Box<Pooled>),
    Farewell(Farewell),
}

/// What is to become of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// It waits for an event.
    Waiting,
    /// It has more to do, after the others had their turn.
    Busy,
    /// It waits for buffers.
    Starved,
    /// It is over.
    Over,
}

/// How a session that continues ends.
enum End {
    /// As it should.
    Clean,
    Failed(Failure),
    /// The backend's own error, word for word, was queued or sent already.
    Told(Reason),
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// One client and its backend.
pub(crate) struct Session {
    client: Peer,
    server: Option<Peer>,
    /// Events of the client's stream; the backend's has the next number.
    token: Token,
    /// Events of the backend's stream.
    server_token: Token,
    phase: Phase,
    relay: Relay,
    up: Flow,
    down: Flow,
    listener: Arc<Listener>,
    place: Option<Place>,
    /// Where exactly on the backend: a name has several addresses.
    server_address: Option<Arc<Address>>,
    id: Option<Id>,
    /// The id that a client of a pooled listener was told: the proxy's own.
    pooled_id: u32,
    /// Counts the user's sessions for as long as it lives, where they are limited.
    user_place: Option<Box<UserPlace>>,
    user: Box<[u8]>,
    /// Who the user is going to be, where that counts.
    next_user: Option<Box<[u8]>>,
    address: ClientAddress,
    /// Its listener's place in the worker's counters.
    entrance: usize,
    /// The same of listener and backend, once it is logged in.
    route: usize,
    /// What becomes of a `KILL` of the client's.
    kill: KillState,
    began: Instant,
    /// What it holds beside loans of the pool, as the pool knows it.
    own_bytes: u32,
    /// When the last byte came.
    moved: Instant,
    /// When the command under way came.
    asked: Instant,
    /// What is counted of its statements.
    counted: Counted,
    /// It leaves as soon as no transaction is open, at the latest then.
    leaves_by: Option<Instant>,
    /// One of its sides is compressed.
    is_compressed: bool,
    /// The kernel asks now and then whether its peers are still there, where that is configured.
    is_probed: bool,
    /// It is in the queue for buffers, or in that of the sessions that continue after the others.
    is_starved: bool,
    is_busy: bool,
    /// It waits behind the sessions that are logged in.
    is_aside: bool,
    /// The client has said that it goes, or follows a binary log: a close is then no failure.
    is_quitting: bool,
    /// The backend has said, unasked, why it closes.
    has_said_goodbye: bool,
    /// The client's library takes a lost connection's error for broken bytes where it comes from the server.
    knows_of_losses_itself: bool,
}

impl Session {
    /// A session whose client has just come in.
    pub(crate) fn new(
        Client {
            stream,
            address,
            listener,
        }: Client,
        token: Token,
        now: Instant,
    ) -> Self {
        let phase = match listener.config.mode.is_pooled() {
            false => Phase::Login(Box::new(Login::new(&listener, now))),
            true => Phase::PooledLogin(Box::new(PooledLogin::new(&listener, now))),
        };
        Self {
            client: Peer::new(stream),
            server: None,
            token,
            server_token: Token(token.0 + 1),
            phase,
            relay: Relay::new(Capabilities::default()),
            up: Flow::default(),
            down: Flow::default(),
            listener,
            place: None,
            server_address: None,
            id: None,
            pooled_id: 0,
            user_place: None,
            user: Box::default(),
            next_user: None,
            address: ClientAddress(address),
            entrance: 0,
            route: 0,
            kill: KillState::default(),
            began: now,
            own_bytes: 0,
            moved: now,
            asked: now,
            counted: Counted::default(),
            leaves_by: None,
            is_compressed: false,
            is_probed: false,
            is_starved: false,
            is_busy: false,
            is_aside: false,
            is_quitting: false,
            has_said_goodbye: false,
            knows_of_losses_itself: false,
        }
    }

    /// Registers the client's stream. It continues [from aside](Self::go_on_from_aside).
    pub(crate) fn begin(&mut self, context: &mut Context<'_>) -> Status {
        self.entrance = context.counters.entrance(&self.listener.config.name);
        let entrance = &mut context.counters.entrances[self.entrance];
        entrance.accepted += 1;
        entrance.sessions += 1;
        match (self.client.stream).register_for_reading(context.poller, self.token) {
            Ok(()) => Status::Waiting,
            Err(_) => Status::Over,
        }
    }

    /// What an event said of one of the streams.
    #[inline]
    pub(crate) fn note(&mut self, is_client: bool, event: &Event) {
        let peer = match (is_client, &mut self.server) {
            (true, _) => &mut self.client,
            (false, Some(server)) => server,
            (false, None) => return,
        };
        peer.note(event);
    }

    /// Does what can be done now.
    #[inline]
    pub(crate) fn go_on(&mut self, context: &mut Context<'_>) -> Status {
        if let Phase::Transit = self.phase {
            return match self.transit(context) {
                Ok(Status::Waiting) if self.leaves_by.is_some() => self.try_to_leave(context),
                Ok(status) => status,
                Err(end) => self.end(end, context),
            };
        }
        if let Phase::Pooled(_) = self.phase {
            return self.go_on_pooled(context);
        }
        self.go_on_slowly(context)
    }

    fn go_on_pooled(&mut self, context: &mut Context<'_>) -> Status {
        match self.serve_pooled(context) {
            Ok(Status::Waiting) if self.leaves_by.is_some() => self.try_to_leave(context),
            Ok(status) => status,
            Err(end) => self.end(end, context),
        }
    }

    /// The same for one that was waiting for buffers.
    pub(crate) fn go_on_fed(&mut self, context: &mut Context<'_>) -> Status {
        self.is_starved = false;
        self.go_on(context)
    }

    /// The same for one that had stopped to let others have their turn.
    pub(crate) fn go_on_after_others(&mut self, context: &mut Context<'_>) -> Status {
        self.is_busy = false;
        self.go_on(context)
    }

    /// Whether it is logged in and continues.
    #[inline]
    pub(crate) fn is_in_transit(&self) -> bool {
        matches!(self.phase, Phase::Transit | Phase::Pooled(_))
    }

    /// Whether a time is over for one that is not.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        match &self.phase {
            Phase::Login(login) => login.is_queued() || login.overdue(now).is_some(),
            Phase::PooledLogin(login) => {
                now >= login.deadline || login.is_released(now) || login.is_asking()
            }
            Phase::Transit | Phase::Pooled(_) => false,
            Phase::Farewell(farewell) => farewell.is_overdue(now),
        }
    }

    /// It waits behind those that are logged in. Whether it did already.
    pub(crate) fn note_aside(&mut self) -> bool {
        std::mem::replace(&mut self.is_aside, true)
    }

    /// Its turn has come.
    pub(crate) fn go_on_from_aside(&mut self, context: &mut Context<'_>) -> Status {
        self.is_aside = false;
        match self.is_due(context.now) {
            true => self.tick(context),
            false => self.go_on(context),
        }
    }

    /// It continues after the other sessions. Returns whether it must be queued for that.
    pub(crate) fn note_busy(&mut self) -> bool {
        !std::mem::replace(&mut self.is_busy, true)
    }

    /// It waits for buffers. Returns whether it must be queued for them; `false` if it is queued already.
    pub(crate) fn note_starved(&mut self) -> bool {
        !std::mem::replace(&mut self.is_starved, true)
    }

    #[cold]
    fn go_on_slowly(&mut self, context: &mut Context<'_>) -> Status {
        let logged_in = match &self.phase {
            Phase::Login(_) => self.log_in(context),
            Phase::PooledLogin(_) => self.log_in_pooled(context),
            _ => return self.say_farewell(context),
        };
        match (&mut self.phase, &logged_in) {
            (Phase::Login(login), Ok(false)) => login.rest(),
            (Phase::PooledLogin(login), Ok(false)) => login.rest(),
            _ => {}
        }
        self.count_memory(context.pool);
        match logged_in {
            Ok(true) => self.go_on(context),
            Ok(false) if self.asks_too_much(context.pool) => {
                self.end(Failure::out_of_memory().into(), context)
            }
            Ok(false) => Status::Waiting,
            Err(end) => self.end(end, context),
        }
    }

    /// Looks at the time.
    pub(crate) fn tick(&mut self, context: &mut Context<'_>) -> Status {
        let failure = match &mut self.phase {
            Phase::Login(login) => {
                return match login.overdue(context.now) {
                    None if login.is_queued() => self.go_on(context),
                    None => Status::Waiting,
                    Some(overdue) => self.login_overdue(overdue, context),
                };
            }
            Phase::PooledLogin(login) => match login.overdue(context.now) {
                Some(failure) => failure,
                None if login.is_released(context.now) || login.is_asking() => {
                    return self.go_on(context);
                }
                None => return Status::Waiting,
            },
            Phase::Farewell(farewell) if farewell.is_overdue(context.now) => return Status::Over,
            Phase::Farewell(_) => return Status::Waiting,
            Phase::Transit if self.leaves_by.is_some() => return self.try_to_leave(context),
            Phase::Pooled(_) => {
                let ticked = self.tick_pooled(context);
                if let Err(end) = ticked.and_then(|()| self.check_removed(context.now)) {
                    return self.end(end, context);
                }
                if self.leaves_by.is_some() {
                    match self.try_to_leave(context) {
                        // Its command may have lost its server just now.
                        Status::Waiting => return self.go_on(context),
                        status => return status,
                    }
                }
                let idle = self.listener.config.idle_timeout;
                // While a statement runs it is the server that takes its time, once it has all of it.
                let waits_for_client =
                    self.relay.outstanding() == 0 || !self.relay.client_is_between_payloads();
                let is_idle = waits_for_client
                    && idle.is_some_and(|timeout| {
                        context.now.saturating_duration_since(self.moved) >= timeout
                    });
                if !is_idle {
                    self.count_memory(context.pool);
                    return self.go_on(context);
                }
                Failure::idle()
            }
            Phase::Transit if !self.is_probed => {
                self.is_probed = true;
                self.have_probed();
                return Status::Waiting;
            }
            Phase::Transit => match self.listener.config.idle_timeout {
                // While a statement runs it is the server that takes its time, once it has all of it.
                Some(timeout)
                    if context.now.saturating_duration_since(self.moved) >= timeout
                        && (self.relay.outstanding() == 0
                            || !self.relay.client_is_between_payloads()) =>
                {
                    Failure::idle()
                }
                _ => {
                    if let Some(end) = self.left_by_client() {
                        return self.end(end, context);
                    }
                    self.count_memory(context.pool);
                    if context.now.saturating_duration_since(self.moved) >= QUIET {
                        self.release_tls();
                        if self.client.is_closed && self.relay.outstanding() == 0 {
                            // It has had all its replies, and the backend does not close.
                            let failure = Failure::client_lost();
                            return self.end(End::Failed(failure), context);
                        }
                    }
                    return Status::Waiting;
                }
            },
        };
        self.end(End::Failed(failure), context)
    }

    /// Has the kernel probe both connections while they are idle. Only one that lasts needs it: it takes calls, and timers.
    fn have_probed(&self) {
        let have_probed = |peer: &Peer, options: &SocketOptions| {
            if options.keepalive.is_some() {
                // Without probes it is served as well.
                let _ = peer.stream.set_options(options);
            }
        };
        have_probed(&self.client, &self.listener.config.socket);
        if let (Some(server), Some(place)) = (&self.server, &self.place) {
            have_probed(server, &place.backend().config.socket);
        }
    }

    /// Asks for an event when the socket can be written again, after a write that found no room.
    #[inline]
    pub(crate) fn await_room(&mut self, context: &Context<'_>) -> std::io::Result<()> {
        if self.client.stream.needs_room() {
            (self.client.stream).await_room(context.poller, self.token)?;
        }
        match &mut self.server {
            Some(server) if server.stream.needs_room() => {
                server.stream.await_room(context.poller, self.server_token)
            }
            _ => Ok(()),
        }
    }

    /// Ends it for a reason of the proxy's.
    pub(crate) fn stop(&mut self, failure: Failure, context: &mut Context<'_>) -> Status {
        if let Phase::Farewell(_) = self.phase {
            return Status::Waiting;
        }
        self.end(End::Failed(failure), context)
    }

    /// Has it leave as soon as no transaction is open, at the latest at `deadline`. Who has not been let in yet goes at once
    /// where all go; where a backend was removed, the login ends first.
    pub(crate) fn leave_by(&mut self, deadline: Instant, context: &mut Context<'_>) -> Status {
        self.leaves_by = Some(self.leaves_by.map_or(deadline, |by| by.min(deadline)));
        match self.phase {
            Phase::Login(_) if self.is_stranded() => Status::Waiting,
            Phase::Login(_) | Phase::PooledLogin(_) => {
                self.end(End::Failed(Failure::shutdown()), context)
            }
            Phase::Transit | Phase::Pooled(_) => self.try_to_leave(context),
            Phase::Farewell(_) => Status::Waiting,
        }
    }

    /// Leaves where it can without harm to the client's work, or where its time is over.
    #[cold]
    fn try_to_leave(&mut self, context: &mut Context<'_>) -> Status {
        let is_over = self.leaves_by.is_some_and(|by| context.now >= by);
        if !is_over && !self.may_leave() {
            return Status::Waiting;
        }
        let failure = match self.is_stranded() {
            true => Failure::backend_removed(),
            false => Failure::shutdown(),
        };
        self.end(End::Failed(failure), context)
    }

    /// Whether its backend is no longer configured, or none of a pooled listener's is.
    pub(crate) fn is_stranded(&self) -> bool {
        if let Phase::Pooled(_) = &self.phase {
            return self.has_no_backend();
        }
        let place = self.place.as_ref();
        place.is_some_and(|place| place.backend().is_removed())
    }

    /// Whether it can end without harm to the client's work.
    fn may_leave(&self) -> bool {
        if let Phase::Pooled(pooled) = &self.phase
            && !pooled.may_leave()
        {
            return false;
        }
        self.relay.is_idle()
            && !self.relay.in_transaction()
            && self.up.is_empty()
            && self.down.is_empty()
            && !self.kill.is_waiting()
    }

    pub(crate) fn connection_id(&self) -> u32 {
        self.id.as_ref().map_or(self.pooled_id, |id| id.number)
    }

    pub(crate) fn listener_name(&self) -> String {
        self.listener.config.name.clone()
    }

    /// Gives back what it holds of the worker's.
    pub(crate) fn leave(&mut self, context: &mut Context<'_>) {
        context.counters.entrances[self.entrance].sessions -= 1;
        self.stop_counting(context);
        self.up.discard(context.pool);
        self.down.discard(context.pool);
        context.pool.count(&mut self.own_bytes, 0);
        self.client.leave(false, context);
        let is_busy = self.is_in_command();
        if let Some(server) = &mut self.server {
            server.leave(is_busy, context);
        }
    }
}

/// The payload of an error packet.
fn error_payload(failure: &Failure, has_sql_state: bool) -> Vec<u8> {
    let mut payload = Vec::new();
    ErrPacket {
        code: failure.code,
        sql_state: has_sql_state.then_some(failure.sql_state),
        message: failure.message.as_bytes(),
    }
    .encode(&mut payload);
    payload
}

/// Tells a client that was not greeted why it can't come in, as far as it can be told at once.
pub(crate) fn refuse(stream: &mut Stream, failure: &Failure) {
    let words = farewell::packet(0, &error_payload(failure, false));
    // If the socket does not take it at once, the client gets no error.
    let _ = stream.write(&[std::io::IoSlice::new(&words)]);
    let _ = stream.shutdown_write();
}

/// What a connection has from the kernel from the start: [probes](Session::have_probed) come later.
pub(crate) fn first_options(options: SocketOptions) -> SocketOptions {
    SocketOptions {
        keepalive: None,
        ..options
    }
}

/// A session in which nothing has happened for so long keeps no buffers of TLS.
const QUIET: Duration = Duration::from_secs(1);

/// How long a client has to take its last error.
const FAREWELL: Duration = Duration::from_secs(1);
