//! The backend's side of a login that the client has left, or for which the backend does not do: the proxy ends it by itself.
//!
//! A server counts connections that end while it waits for a packet of their login. After `max_connect_errors` of a host, 100 by
//! default, without a success between them it lets nobody of that host in any more (error 1129), and behind a proxy everybody is
//! of one host. A login that it refuses does not count. So the proxy says what a client that is refused would say:
//!
//! | the server waits for              | it gets                                                           |
//! |-----------------------------------|-------------------------------------------------------------------|
//! | the response to its greeting      | a login as `onecopy` without a password, as by health checks       |
//! | an answer to a plugin of its own  | one that is wrong, and as long as the plugin has it: others count  |
//! | nothing, as it has not greeted    | nothing before it has                                             |
//!
//! Where the login succeeds all the same, as with an account `onecopy` without a password, it gets COM_QUIT.

use std::time::{Duration, Instant};

use mio::event::Event;
use mio::{Registry as Poller, Token};
use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::packet::{CommandByte, Greeting, HandshakeResponse};

use super::half::Half;
use super::{ERR, Login, MORE_DATA, NEXT_FACTOR, OK, SWITCH, Stage};
use crate::backend::Place;
use crate::buffers::Pool;
use crate::registry::Id;
use crate::session::peer::Peer;
use crate::session::{Context, Phase, Session};

/// Who logs in where nobody does. An account of this name without password and rights keeps the server's log quiet.
pub(crate) const NOBODY: &str = "onecopy";

/// How long a server has for each of its packets.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long one is waited for that has not greeted: it may hang, and count everybody who has left when it continues.
const PATIENCE_FOR_GREETING: Duration = Duration::from_secs(60);

/// How long one waits at most for its time to be finished. Servers themselves wait for 10 seconds by default.
const PATIENCE_FOR_TURN: Duration = Duration::from_secs(4);

/// Its packets in all: plugins need a handful.
const MAX_STEPS: u8 = 16;

/// What fast authentication ends with; the server continues by itself.
const FAST_AUTH_SUCCESS: [u8; 2] = [MORE_DATA, 0x03];

/// A login at a backend that has no client any more.
pub(crate) struct UnfinishedLogin {
    server: Peer,
    half: Half,
    awaits: Awaits,
    /// The plugin that the server has named last.
    plugin: Vec<u8>,
    /// The server was told that its next factors are understood.
    has_factors: bool,
    /// Behind its OK packets are compressed.
    is_compressed: bool,
    steps: u8,
    turn: Turn,
    /// What the server waits for.
    owed: Owed,
    deadline: Instant,
    /// It stands for a session, and takes the place of one.
    pub(crate) is_counted: bool,
    /// What it holds, as the pool knows it.
    own_bytes: u32,
    /// The session's, where that has ended.
    _place: Option<Place>,
    _id: Option<Id>,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaits {
    /// The server's greeting.
    Greeting,
    /// Its reply.
    Reply,
    /// Nothing more, once everything has left.
    End,
}

/// What it is told once the turn has come: before, there is no buffer for it.
#[derive(Debug, Clone, Copy)]
enum Owed {
    Nothing,
    /// The response to a greeting of a server that can do this.
    Response(Capabilities),
    Answer,
}

/// The worker finishes few at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// One that need not wait.
    Free,
    /// It has not come.
    Waits,
    /// It has arrived.
    Come,
}

impl Session {
    /// Leaves the backend's side of the login to the worker, where the server would count its end. `is_counted`: it takes the
    /// place of the session, which ends.
    #[cold]
    pub(in crate::session) fn leave_unfinished(
        &mut self,
        is_counted: bool,
        context: &mut Context<'_>,
    ) {
        let Phase::Login(login) = &mut self.phase else {
            return;
        };
        let (awaits, answers) = match login.stage {
            Stage::Greeting if !login.has_greeted => (Awaits::Greeting, false),
            Stage::Greeting | Stage::Response | Stage::ClientTls => (Awaits::Reply, false),
            Stage::Authentication => (Awaits::Reply, login.authentication.is_clients_turn()),
            _ => return,
        };
        let Some(server) = self.server.take_if(|server| !server.is_closed) else {
            return;
        };
        let has_responded = login.stage == Stage::Authentication;
        let patience = match awaits {
            Awaits::Greeting => PATIENCE_FOR_GREETING,
            _ => PATIENCE,
        };
        let owed = match (awaits, has_responded) {
            (Awaits::Reply, false) => Owed::Response(login.backend_can),
            _ if answers => Owed::Answer,
            _ => Owed::Nothing,
        };
        let mut half = std::mem::replace(&mut login.server, Half::new());
        half.rest();
        context.unfinished.push(UnfinishedLogin {
            server,
            half,
            awaits,
            plugin: std::mem::take(&mut login.authentication.plugin),
            has_factors: has_responded && login.has_factors(),
            is_compressed: has_responded && login.methods.server.is_some(),
            steps: 0,
            turn: Turn::Free,
            owed,
            deadline: context.now + patience,
            is_counted,
            own_bytes: 0,
            // A session that continues may come to the same backend again.
            _place: self.place.take_if(|_| is_counted),
            _id: self.id.take(),
        });
    }
}

impl Login {
    fn has_factors(&self) -> bool {
        let factors = Capabilities::MULTI_FACTOR_AUTHENTICATION;
        self.agreed.contains(factors)
    }
}

impl UnfinishedLogin {
    /// From now on events have this token.
    pub(crate) fn register(&mut self, poller: &Poller, token: Token) -> bool {
        self.server.stream.await_room(poller, token).is_ok()
    }

    /// What an event said of the stream.
    pub(crate) fn note(&mut self, event: &Event) {
        self.server.note(event);
    }

    pub(crate) fn has_greeted(&self) -> bool {
        self.awaits != Awaits::Greeting
    }

    /// Nothing is said before [`begin`](Self::begin), nor looked at.
    pub(crate) fn wait(&mut self, now: Instant) {
        self.turn = Turn::Waits;
        self.deadline = now + PATIENCE_FOR_TURN;
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        self.turn = Turn::Come;
        self.deadline = now + PATIENCE;
        match std::mem::replace(&mut self.owed, Owed::Nothing) {
            Owed::Nothing => {}
            Owed::Response(backend_can) => self.respond(backend_can),
            Owed::Answer => self.answer(),
        }
    }

    pub(crate) fn waits(&self) -> bool {
        self.turn == Turn::Waits
    }

    /// Whether it has waited, and was begun.
    pub(crate) fn is_under_way(&self) -> bool {
        self.turn == Turn::Come
    }

    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        now >= self.deadline
    }

    /// Does what can be done now; whether it is over.
    pub(crate) fn go_on(&mut self, now: Instant, pool: &mut Pool) -> bool {
        let is_over = self.try_to_go_on(now).is_none();
        let bytes = self.half.buffers.capacity() + self.server.stream.buffer_bytes();
        pool.count(&mut self.own_bytes, bytes);
        is_over
    }

    /// Gives back what it holds of the worker's. The connection ends.
    pub(crate) fn leave(mut self, pool: &mut Pool) {
        pool.count(&mut self.own_bytes, 0);
        let stream = &mut self.server.stream;
        pool.note_copied_by_tls(stream.bytes_copied_by_tls());
        if stream.is_tls() {
            stream.shutdown();
        }
    }

    /// `None` once nothing more is to be done, or can be.
    fn try_to_go_on(&mut self, now: Instant) -> Option<()> {
        loop {
            self.half.flush(&mut self.server).ok()?;
            if self.half.has_output() || self.server.stream.has_unsent() {
                return Some(());
            }
            if self.awaits == Awaits::End {
                return None;
            }
            match self.half.receive().ok()? {
                Some(payload) => {
                    let bytes = self.half.buffers.bytes(payload).to_vec();
                    self.take(&bytes)?;
                    self.deadline = now + PATIENCE;
                }
                None => {
                    if !self.half.read(&mut self.server).ok()?? {
                        // Thousands may wait at once for a server that is slow to refuse them.
                        if self.half.buffers.pending().is_empty() {
                            self.half.rest();
                        }
                        return Some(());
                    }
                }
            }
        }
    }

    /// One packet of the server's.
    fn take(&mut self, bytes: &[u8]) -> Option<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS || bytes.first() == Some(&ERR) {
            return None;
        }
        if self.awaits == Awaits::Greeting {
            let greeting = Greeting::decode(bytes).ok()?;
            self.plugin = greeting.auth_plugin.unwrap_or_default().to_vec();
            self.awaits = Awaits::Reply;
            self.respond(greeting.capabilities);
            return Some(());
        }
        match bytes {
            [OK, ..] if self.is_compressed => return None,
            [OK, ..] => {
                self.half.frames.restart(0);
                self.half.send(&[CommandByte::QUIT.0]).ok()?;
                self.awaits = Awaits::End;
                return Some(());
            }
            [SWITCH, name @ ..] => self.plugin = until_nul(name),
            [NEXT_FACTOR, name @ ..] if self.has_factors => self.plugin = until_nul(name),
            _ if bytes == FAST_AUTH_SUCCESS => return Some(()),
            _ => {}
        }
        self.answer();
        Some(())
    }

    /// Queues the response of nobody, by the server's own plugin.
    fn respond(&mut self, backend_can: Capabilities) {
        let wanted = Capabilities::LONG_PASSWORD
            | Capabilities::PROTOCOL_41
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH;
        let mut payload = Vec::new();
        let encoded = HandshakeResponse {
            capabilities: backend_can.intersection(wanted),
            max_packet_bytes: 1 << 24,
            collation: 45, // utf8mb4_general_ci
            user: NOBODY.as_bytes(),
            auth_response: &[],
            database: None,
            auth_plugin: Some(&self.plugin),
            attributes: Default::default(),
            zstd_level: None,
        }
        .encode(&mut payload);
        // What can't be said ends the connection, as everything did before.
        if encoded.is_err() || self.half.send(&payload).is_err() {
            self.awaits = Awaits::End;
        }
    }

    /// Queues an answer that the plugin takes for a wrong password.
    fn answer(&mut self) {
        // No hash, and no password as its NUL is missing; nor what asks for a key.
        const WRONG: u8 = 0x03;
        let wrong = vec![WRONG; answer_len(&self.plugin).unwrap_or(1)];
        if self.half.send(&wrong).is_err() {
            self.awaits = Awaits::End;
        }
    }
}

/// Whether a plugin takes this for an answer. One that has another length counts as a connection that has ended.
pub(super) fn fits(plugin: &[u8], answer: &[u8]) -> bool {
    let is_empty = answer.is_empty() && plugin != b"client_ed25519";
    answer_len(plugin).is_none_or(|len| answer.len() == len || is_empty)
}

/// The length of a plugin's answers, where they have only one.
fn answer_len(plugin: &[u8]) -> Option<usize> {
    match plugin {
        b"mysql_native_password" => Some(20),
        b"client_ed25519" => Some(64),
        _ => None,
    }
}

fn until_nul(bytes: &[u8]) -> Vec<u8> {
    let name = bytes.split(|&byte| byte == 0).next();
    name.unwrap_or_default().to_vec()
}
