//! A session of a pooled listener: it logs in here, and has a backend's connection only while it needs one.
//!
//! ```text
//!   Detached --command--> Waiting | Connecting --> Attached: [difference of state] command, reply --> Detached
//! ```
//!
//! What the session's state is to be, and what the connection's state is, are compared before each command; what differs goes
//! in front of it in the same write. Whatever can't be sent again keeps the connection: [pins](crate::pooling::pin).

mod attach;
mod backend_login;
mod change_user;
mod changes;
mod command;
mod connect;
mod connecting;
mod doubt;
mod exchanged;
mod facts;
mod failover;
mod kill;
mod last_result;
mod left_out;
mod limits;
mod login;
mod lost;
mod moving;
mod other_member;
mod pins;
mod question;
mod reads;
mod removed;
mod replaced_error;
mod reply;
mod rest;
mod rules;
mod serve;
mod statement;
mod timeout;
mod told;
mod verdict;
mod warm_up;

use std::sync::Arc;
use std::time::Instant;

use onecopy_mysql_proto::relay::Relay;
use onecopy_mysql_proto::{Capabilities, StatusFlags};

use crate::backend::{Backend, Part};
use crate::config::Mode;
use crate::listener::Listener;
use crate::pooling::clients::PooledClient;
use crate::pooling::connection::Connection;
use crate::pooling::exchange::Exchange;
use crate::pooling::held::Held;
use crate::pooling::look::Look;
use crate::pooling::pin::{Pin, Pins};
use crate::pooling::pool::{Key, Pool, Ticket};
use crate::pooling::refusals::Refused;
use crate::pooling::rules::Rule;
use crate::pooling::state::State;
use crate::pooling::statements::{ClientStatements, Text};

use connecting::Connecting;
use last_result::LastResult;
pub(super) use login::PooledLogin;
use lost::Lost;
pub(crate) use moving::stream_of;
use reads::ReadSplit;
use timeout::QueryTimeout;
use told::Told;
pub(crate) use warm_up::WarmUp;

/// In a transaction of whichever kind.
const IN_TRANSACTION: StatusFlags = StatusFlags::IN_TRANS.union(StatusFlags::IN_TRANS_READONLY);

/// Where the session's connection is.
enum Stage {
    Detached,
    Waiting(Ticket),
    Connecting(Box<Connecting>),
    Attached,
}

/// What comes after an exchange of the proxy's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// The reply to the client's command, which was sent behind.
    Reply,
    /// The client's command, which waits for it.
    Command,
    /// The connection's way back: what is not known of it was asked for.
    InsertId,
    Mode,
    Collation,
    Switches,
    Status,
    Schema,
    /// The connection has no insert id of this session's any more.
    Forgotten,
    /// The client's command, where the replica has the session's own changes.
    Wait,
    /// The client's command, where the member of the cluster has them.
    CatchUp,
    /// Which transaction of the session's own was the last is known.
    OwnChange,
    /// The client's command: the transaction before it is over.
    Ended,
    /// The trackers are on again, behind a reset.
    Trackers,
    /// No KILL of the proxy's can hit the connection any more, or nothing of a reply comes any more.
    Barrier,
}

/// The command under way.
#[derive(Debug, Default)]
struct Current {
    look: Look,
    /// The text that is being prepared.
    preparing: Option<Arc<Text>>,
    /// The client's id of the statement that is executed, and whether a cursor was asked for.
    statement: Option<(u32, bool)>,
    is_reset: bool,
    /// COM_SET_OPTION: whether several statements may come in one command.
    sets_several: Option<bool>,
    /// It kills or interrupts another client.
    is_kill: bool,
    /// The client that it ends, as far as the backend is concerned.
    ends: Option<Arc<PooledClient>>,
    was_in_transaction: bool,
    /// The session had kept its connection for what the command before had left.
    was_held: bool,
    had_autocommit: bool,
    /// A tracker has said that something has changed, and which it was.
    has_changed: bool,
    is_explained: bool,
    /// A variable was reported, be it one that follows from another one.
    has_reported: bool,
    /// It has set character sets.
    sets_characters: bool,
    /// It has changed the schema, at least for a while.
    has_moved: bool,
}

/// What a session of a pooled listener has beside its streams.
pub(super) struct Pooled {
    pool: Arc<Pool>,
    key: Arc<Key>,
    /// The capabilities that the client has agreed on.
    agreed: Capabilities,
    /// What its first greeting had: responses to changes of user are made with it.
    nonce: [u8; 20],
    mode: Mode,
    /// Where its reads may go elsewhere than its writes.
    reads: Option<Box<ReadSplit>>,
    /// The number of the server that ran its last statement on the primary's side. In a cluster, this member has all that the session has
    /// changed, if it may have changed anything.
    server: u32,
    may_have_changed: bool,
    /// No other session has it.
    number: u64,
    /// As others find it.
    client: Arc<PooledClient>,
    stage: Stage,
    /// Its place in the queue, where it had one and lost it without fault.
    waited: Option<(u64, Instant)>,
    /// Backends that do not do, and why the last one did not.
    tried: Vec<Arc<Backend>>,
    reason: Option<Box<Reason>>,
    /// Since when no backend is there for the command that is next.
    without_backend: Option<Instant>,
    /// The command that is next is answered with this, or the one that is passed over.
    refused: Option<Box<Refused>>,
    passes_over: bool,
    /// The command that is next was counted, and the rules were asked about it.
    is_counted: bool,
    is_ruled: bool,
    /// The rule that applies to it, or to the one under way, as of this generation of the rules.
    rule: Option<Arc<Rule>>,
    ruled: u64,
    /// `None` while it is detached. Its stream is the session's `server` meanwhile.
    connection: Option<Box<Connection>>,
    /// How the client wants the session to be.
    wanted: Arc<State>,
    /// How it was after the login.
    initial: Arc<State>,
    statements: ClientStatements,
    pins: Pins,
    /// Those that the log was not told of, and those that it was.
    new_pins: Pins,
    logged_pins: Pins,
    /// The client wants to be told of changes, and of which.
    tells_client: bool,
    told: Told,
    held: Held,
    /// Several statements may come in one command.
    has_several: bool,
    last_insert_id: u64,
    /// The connection has an insert id, or a collation, that is not known here.
    has_insert_id: bool,
    /// It had the session's own insert id before: whatever it has now is the session's, too.
    is_own_insert_id: bool,
    has_collation: bool,
    /// The same of `sql_mode`.
    has_mode: bool,
    /// A command has failed that may have ended the transaction.
    may_have_ended: bool,
    /// The character set of results was set: whether by `SET NAMES`.
    has_results: Option<bool>,
    has_switches: bool,
    /// Something may have changed that was not reported, as by a statement that failed.
    has_unreported: bool,
    /// An error has come without autocommit: nothing says whether it is in a transaction.
    may_be_in_transaction: bool,
    /// The transaction, or the next one, has characteristics of its own.
    has_characteristics: bool,
    hold_until: Option<Instant>,
    /// What is not known of the connection is asked for once others need it, or at this time.
    is_resting: bool,
    rest_until: Instant,
    last: LastResult,
    /// Where its statements are limited.
    timeout: Option<Box<QueryTimeout>>,
    /// Bytes of the proxy's own that go to the backend before the client's.
    ahead: Vec<u8>,
    exchange: Option<Box<Exchange>>,
    after: After,
    /// A packet of the backend's that tells of changes, by its length: it comes next.
    changed: Option<u32>,
    /// Replies of the proxy's own to the client.
    words: Vec<u8>,
    /// Another process did not take it, and is not asked again before the session is so many seconds old. Small, as each session has it.
    stays_until: u32,
    lost: Lost,
    current: Current,
}

/// Why no backend does. Few sessions have one: those that are idle pay for a pointer.
struct Reason(String);

impl Pooled {
    pub(super) fn new(
        listener: &Listener,
        pool: &Arc<Pool>,
        key: Arc<Key>,
        schema: Option<&[u8]>,
        tells_client: bool,
        client: Arc<PooledClient>,
        now: Instant,
    ) -> Self {
        let has_several = key.capabilities.contains(Capabilities::MULTI_STATEMENTS);
        let account = listener.accounts.find(&key.user);
        let query_timeout = account.and_then(|account| account.config.query_timeout);
        let query_timeout = query_timeout.or(listener.config.query_timeout);
        let mode = account.and_then(|account| account.config.mode);
        let mode = mode.unwrap_or(listener.config.mode);
        let splits = key.part == Part::Writes && mode == Mode::Transaction;
        let reads = splits.then(|| {
            let other = pool.key(&key.user, key.capabilities, key.collation, Part::Reads);
            ReadSplit::new(listener, account.map(|account| &account.config), other)
        });
        let reads = reads.flatten();
        let initial = Arc::new(State::default().with_schema(schema.map(Box::from)));
        Self {
            pool: Arc::clone(pool),
            key,
            agreed: Capabilities::empty(),
            nonce: [0; 20],
            mode,
            reads,
            server: other_member::NO_SERVER,
            may_have_changed: false,
            number: pool.number(),
            client,
            stage: Stage::Detached,
            waited: None,
            tried: Vec::new(),
            reason: None,
            without_backend: None,
            refused: None,
            passes_over: false,
            is_counted: false,
            is_ruled: false,
            rule: None,
            ruled: 0,
            connection: None,
            wanted: Arc::clone(&initial),
            initial,
            statements: ClientStatements::default(),
            pins: Pins::default(),
            new_pins: Pins::default(),
            logged_pins: Pins::default(),
            tells_client,
            told: Told::default(),
            held: Held::default(),
            has_several,
            last_insert_id: 0,
            has_insert_id: false,
            is_own_insert_id: false,
            has_collation: false,
            has_mode: false,
            may_have_ended: false,
            has_results: None,
            has_switches: false,
            has_unreported: false,
            may_be_in_transaction: false,
            has_characteristics: false,
            hold_until: None,
            is_resting: false,
            rest_until: now,
            last: LastResult::default(),
            timeout: QueryTimeout::new(query_timeout),
            ahead: Vec::new(),
            exchange: None,
            after: After::Reply,
            changed: None,
            words: Vec::new(),
            stays_until: 0,
            lost: Lost::default(),
            current: Current::default(),
        }
    }

    /// What the session's relay is to be.
    pub(super) fn relay(capabilities: Capabilities) -> Relay {
        let mut relay = Relay::new(capabilities).with_status(StatusFlags::AUTOCOMMIT);
        relay.tell_state();
        relay
    }

    pub(super) fn backend_name(&self) -> Option<&str> {
        let connection = self.connection.as_ref()?;
        Some(connection.place.backend().name())
    }

    /// What the server is, as traces have it.
    pub(super) fn system(&self) -> &'static str {
        let connection = self.connection.as_ref();
        match connection.is_some_and(|connection| !connection.is_mysql()) {
            true => "mariadb",
            false => "mysql",
        }
    }

    /// No backend does, for this reason.
    fn fails_because(&mut self, reason: impl Into<String>) {
        self.reason = Some(Box::new(Reason(reason.into())));
    }

    /// Why the last backend did not do; empty where none was tried.
    fn reason(&self) -> &str {
        self.reason.as_ref().map_or("", |reason| &reason.0)
    }

    /// The schema that its client is in.
    pub(super) fn schema(&self) -> Option<&[u8]> {
        self.wanted.schema()
    }

    /// Whether it can end without harm to the client's work.
    pub(super) fn may_leave(&self) -> bool {
        matches!(self.stage, Stage::Detached | Stage::Attached)
            && self.exchange.is_none()
            && self.words.is_empty()
    }

    pub(super) fn state(&self) -> &'static str {
        match self.stage {
            Stage::Detached => "idle",
            Stage::Waiting(_) => "wait",
            Stage::Connecting(_) => "connect",
            Stage::Attached if self.exchange.is_some() => "replay",
            Stage::Attached if self.hold_until.is_some() || self.is_resting => "hold",
            Stage::Attached if !self.pins.is_empty() => "pinned",
            Stage::Attached => "command",
        }
    }

    /// Bytes that it has beside its streams and buffers.
    pub(super) fn memory(&self) -> usize {
        self.ahead.capacity() + self.words.capacity()
    }

    /// Reasons why it keeps its connection.
    pub(super) fn pin_names(&self) -> String {
        let names: Vec<_> = self.pins.iter().map(Pin::name).collect();
        names.join(",")
    }

    /// The backend's id of its connection; 0 while it has none.
    pub(super) fn backend_id(&self) -> u32 {
        self.connection
            .as_ref()
            .map_or(0, |connection| connection.id)
    }

    /// Prepared statements of the client's.
    pub(super) fn statements(&self) -> usize {
        self.statements.len()
    }

    fn pin(&mut self, pin: Pin) {
        use std::sync::atomic::Ordering::SeqCst;
        if self.pins.insert(pin) {
            self.new_pins.insert(pin);
            if pin == Pin::ConnectionId {
                self.client.is_told();
            }
            self.pool.counts.pins[pin as usize].fetch_add(1, SeqCst);
            self.pool.counts.pinned[pin as usize].fetch_add(1, SeqCst);
        }
    }

    fn unpin(&mut self, pin: Pin) {
        use std::sync::atomic::Ordering::SeqCst;
        if self.pins.remove(pin) {
            self.pool.counts.pinned[pin as usize].fetch_sub(1, SeqCst);
        }
    }

    /// A reset leaves roles as they are.
    fn unpin_all(&mut self) {
        for pin in Pin::ALL {
            if pin != Pin::Role {
                self.unpin(pin);
            }
        }
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        self.pool.clients.remove(self.client.id);
        self.unpin_all();
        self.unpin(Pin::Role);
        self.stop_resting();
    }
}
