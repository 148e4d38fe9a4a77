//! Which commands of a session run on replicas, or on other members of the primary's cluster, and how its own changes come before what it
//! reads there.
//!
//! ```text
//!   reads only, outside of a transaction --> a replica's connection --> [waits for own changes] --> the command
//!                                            none is there, or does not have them in time --> the primary
//!   anything else                        --> the primary
//! ```

mod own_changes;

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use onecopy_mysql_proto::StatusFlags;
use onecopy_mysql_proto::packet::CommandByte;

use super::serve::Begun;
use super::{After, IN_TRANSACTION, Pooled, Stage};
use crate::backend::{Backend, Part, Position};
use crate::config::{AccountConfig, Consistency, Reads, ReplicaReads};
use crate::listener::Listener;
use crate::pooling::connection::Connection;
use crate::pooling::exchange::{Exchange, put_packet};
use crate::pooling::look::{Kind, Look, Mention};
use crate::pooling::pin::Pin;
use crate::pooling::pool::Key;
use crate::session::{Context, End, Phase, Session};

/// A session that a replica was too late for reads from the primary for so long: each try costs it `read-wait`.
const PAUSE: Duration = Duration::from_millis(500);

/// Has a member of a Galera cluster wait until it has all that was committed anywhere before: at most `repl.causal_read_timeout`.
pub(super) const SYNC: &str =
    "SET STATEMENT wsrep_sync_wait = 1, max_statement_time = 0 FOR SELECT 0 LIMIT 1";

/// In milliseconds, more than any wait takes.
const LONGEST: u32 = u32::MAX;

/// `ER_OPTION_PREVENTS_STATEMENT`, as a server that is read only has it.
const OPTION_PREVENTS_STATEMENT: u16 = 1290;

/// What a session has beside its pool's key where its reads may go to replicas.
pub(super) struct ReadSplit {
    /// The key of a part that is not the session's current one, and those of named replicas.
    other: Arc<Key>,
    named: Vec<Arc<Key>>,
    to: Reads,
    /// As it was at the login; it holds on where a reload takes it away.
    config: ReplicaReads,
    /// The part that the command that is next is for is known, and its replica has the session's own changes.
    has_turned: bool,
    has_waited: bool,
    /// Its own last changes.
    own: Position,
    /// They were made in a MySQL group, whose numbers do not grow with time.
    is_of_group: bool,
    /// There may be one that was reported under another name.
    has_hidden: bool,
    /// Statements that may have been some, and how many of them a member of the primary's cluster is known to have.
    changes: u64,
    synced: Option<(Weak<Backend>, u64)>,
    /// There are some that nothing tells of: only members of the primary's cluster can be waited for.
    has_untold: bool,
    /// Reads go to the primary from now on: its own changes are not known, or a replica has refused what looked like a read.
    only_primary: bool,
    /// They go there until then.
    primary_until: Option<Instant>,
}

impl ReadSplit {
    /// Whether a member of the primary's cluster is known to have all of the session's own changes.
    fn is_synced(&self, backend: &Arc<Backend>) -> bool {
        let mut synced = self.synced.iter();
        synced.any(|(one, changes)| {
            std::ptr::eq(one.as_ptr(), Arc::as_ptr(backend)) && *changes == self.changes
        })
    }

    pub(super) fn new(
        listener: &Listener,
        account: Option<&AccountConfig>,
        other: Arc<Key>,
    ) -> Option<Box<Self>> {
        let config = listener.config.replica_reads?;
        let to = account.and_then(|account| account.reads);
        Some(Box::new(Self {
            other,
            named: Vec::new(),
            to: to.unwrap_or(config.to),
            config,
            has_turned: false,
            has_waited: false,
            own: Position::default(),
            is_of_group: false,
            has_hidden: false,
            changes: 0,
            synced: None,
            has_untold: false,
            only_primary: false,
            primary_until: None,
        }))
    }
}

impl ReadSplit {
    /// What the member of a cluster that has the session's statements now waits for its own changes with, where they are known.
    pub(super) fn wait_on_member(
        &self,
        connection: &Connection,
        config: Option<ReplicaReads>,
        most: Duration,
    ) -> Option<String> {
        if config.unwrap_or(self.config).consistency == Consistency::None {
            return None;
        }
        if is_galera(connection) {
            return Some(SYNC.to_owned());
        }
        let is_known = !self.has_untold && !self.own.is_empty();
        is_known.then(|| wait_by_gtid(connection, &self.own, most))
    }
}

impl Session {
    /// Has the session turn to the part of the servers that its next command is for, once; `Some` where it has to wait or was answered.
    pub(super) fn turn_to_part(
        &mut self,
        command: CommandByte,
        look: Look,
        context: &mut Context<'_>,
    ) -> Result<Option<Begun>, End> {
        let status = self.relay.status();
        let has_cursor = self.asks_for_cursor(command);
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(None);
        };
        // One that has waited for its connection keeps that.
        if pooled.reads.as_ref().is_none_or(|reads| reads.has_turned) {
            return Ok(None);
        }
        let part = match has_cursor {
            true => Part::Writes,
            false => pooled.part_of_next(command, look, status, context.now),
        };
        if let Some(connection) = &pooled.connection {
            let is_on_replica = connection.key.part.is_of_replicas();
            if connection.key.part == part || runs_anywhere(command) {
                pooled.note_turned();
                return Ok(None);
            }
            if !is_on_replica {
                // What its last command has left can be asked for there only, also behind a query without a table. What is not known of the
                // connection keeps it for a while.
                let is_unknown = pooled.has_question();
                let leaves_errors = pooled.last.has_diagnostics && !look.mentions(Mention::Table);
                if leaves_errors
                    || pooled.has_state(status)
                    || is_unknown && context.now < pooled.rest_until
                {
                    pooled.note_turned();
                    return Ok(None);
                }
                if is_unknown {
                    pooled.ask();
                    self.send_ahead(context)?;
                    return Ok(Some(Begun::Waits));
                }
                self.detach(false, context);
            } else if let Some(begun) = self.leave_replica(look, status, context)? {
                return Ok(Some(begun));
            }
        }
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(None);
        };
        pooled.note_turned();
        if pooled.connection.is_some() {
            return Ok(None);
        }
        let part = self.part_that_serves(part);
        if let Phase::Pooled(pooled) = &mut self.phase {
            pooled.turn(part);
        }
        Ok(None)
    }

    /// The part itself, or the one in its place whose servers are there.
    fn part_that_serves(&self, mut part: Part) -> Part {
        let backends = &self.listener.backends;
        if matches!(part, Part::ReadsOf(_)) && !backends.serve_part(part) {
            part = Part::Reads;
        }
        if part == Part::Reads && !backends.serve_part(part) {
            if let Phase::Pooled(pooled) = &self.phase {
                let counts = &pooled.pool.counts;
                counts.reads_without_replica.fetch_add(1, Relaxed);
            }
            part = Part::Writes;
        }
        part
    }

    /// The command that is next is none for the replica whose connection the session has: it gives that back. `Some` where something
    /// comes before; the connection is kept where the command runs there all the same.
    fn leave_replica(
        &mut self,
        look: Look,
        status: StatusFlags,
        context: &mut Context<'_>,
    ) -> Result<Option<Begun>, End> {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(None);
        };
        let only_looks = [Kind::Select, Kind::Show, Kind::GetDiagnostics];
        let only_looks = only_looks.iter().any(|&kind| look.is_only(kind));
        let asks_for_last = look.refers_to_last_result();
        if status.intersects(IN_TRANSACTION) && !look.mentions(Mention::Begins) {
            // One that is read only: its server refuses what it must not do.
            return Ok(None);
        }
        if status.intersects(IN_TRANSACTION) {
            // As the server would, which must not begin the next one.
            return self.ask_first(b"COMMIT", After::Ended, context);
        }
        if asks_for_last && only_looks && pooled.last.is_here {
            return Ok(None);
        }
        if !pooled.pins.is_empty() {
            if only_looks && !look.mentions(Mention::Writes) || look.is_only(Kind::Set) {
                return Ok(None);
            }
            let pins: Vec<_> = pooled.pins.iter().map(Pin::name).collect();
            let text = format!(
                "This statement has to run on the primary, and the session has state on a replica ({}), where one of its reads has left it; \
                 put /* onecopy: primary */ into that read",
                pins.join(", ")
            );
            return self
                .answer_error(OPTION_PREVENTS_STATEMENT, *b"HY000", &text, context)
                .map(Some);
        }
        if pooled.has_question() {
            pooled.ask();
            self.send_ahead(context)?;
            return Ok(Some(Begun::Waits));
        }
        self.detach(false, context);
        match asks_for_last {
            // What it asks for has stayed there.
            true => {
                if let Phase::Pooled(pooled) = &mut self.phase {
                    pooled.last.is_here = false;
                }
                self.find_last_result(look, context)
            }
            false => Ok(None),
        }
    }

    /// Has the server wait for the session's own changes, where it is not known to have them: a replica, or the member of a cluster that
    /// has the writes now. `Some` while it does.
    pub(super) fn wait_for_own_changes(
        &mut self,
        command: CommandByte,
        look: Look,
        context: &mut Context<'_>,
    ) -> Result<Option<Begun>, End> {
        let is_between = !self.relay.status().intersects(IN_TRANSACTION);
        let config = self.listener.config.replica_reads;
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(None);
        };
        let Some(connection) = &pooled.connection else {
            return Ok(None);
        };
        if !connection.key.part.is_of_replicas() {
            return match is_between && pooled.may_be_elsewhere() {
                true => self.catch_up(command, look, context),
                false => Ok(None),
            };
        }
        let Some(reads) = &mut pooled.reads else {
            return Ok(None);
        };
        let config = config.unwrap_or(reads.config);
        if !is_between || !look.only_reads() || reads.has_waited {
            return Ok(None);
        }
        let wait = match pooled.wait_for_own(config) {
            Wait::Needless => return Ok(None),
            Wait::InVain => {
                if let Some(reads) = &mut pooled.reads {
                    (reads.only_primary, reads.has_turned) = (true, false);
                }
                self.detach(false, context);
                return Ok(Some(Begun::Something));
            }
            Wait::For(wait) => wait,
        };
        pooled.pool.counts.read_waits.fetch_add(1, Relaxed);
        self.ask_first(wait.as_bytes(), After::Wait, context)
    }

    /// Sends a statement of the proxy's own; the client's command waits for its reply.
    pub(super) fn ask_first(
        &mut self,
        sql: &[u8],
        after: After,
        context: &mut Context<'_>,
    ) -> Result<Option<Begun>, End> {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(None);
        };
        let Some(connection) = &mut pooled.connection else {
            return Ok(None);
        };
        put_packet(&mut pooled.ahead, CommandByte::QUERY, sql);
        pooled.exchange = connection.exchange(&pooled.ahead).ok();
        pooled.after = after;
        pooled.last.is_here = false;
        self.send_ahead(context)?;
        Ok(Some(Begun::Waits))
    }

    /// The replica has waited: it has the session's own changes, or the primary is read.
    pub(super) fn waited_for_own(&mut self, exchange: &Exchange, context: &mut Context<'_>) {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return;
        };
        let (Some(reads), Some(connection)) = (&mut pooled.reads, &mut pooled.connection) else {
            return;
        };
        if exchange.error().is_none() && exchange.value.as_deref() == Some(b"0") {
            reads.has_waited = true;
            let backend = connection.place.backend();
            match backend.is_member() || reads.is_of_group {
                true => reads.synced = Some((Arc::downgrade(backend), reads.changes)),
                false => backend.replication().note_reached(&reads.own),
            }
            return;
        }
        connection.has_diagnostics |= exchange.error().is_some();
        reads.has_turned = false;
        reads.primary_until = Some(context.now + PAUSE);
        let ahead = &pooled.pool.counts.reads_ahead_of_replica;
        ahead.fetch_add(1, Relaxed);
        self.detach(false, context);
    }

    /// No replica can be reached for the command that is next.
    pub(super) fn read_from_primary(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        let is_for_named = match &self.phase {
            Phase::Pooled(pooled) => matches!(pooled.key.part, Part::ReadsOf(_)),
            _ => false,
        };
        let part = match is_for_named {
            true => self.part_that_serves(Part::Reads),
            false => Part::Writes,
        };
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(false);
        };
        if !is_for_named {
            let counts = &pooled.pool.counts;
            counts.reads_without_replica.fetch_add(1, Relaxed);
        }
        if let Stage::Waiting(ticket) = std::mem::replace(&mut pooled.stage, Stage::Detached) {
            ticket.end(false, context.now);
        }
        pooled.waited = None;
        pooled.tried.clear();
        pooled.turn(part);
        self.attach(context)
    }
}

/// What has to come before a read on a replica.
enum Wait {
    /// It has the session's own changes.
    Needless,
    /// This statement, which comes to `0` where it has them.
    For(String),
    /// It can't be asked for them.
    InVain,
}

/// A statement that comes to `0` once its server has these transactions. The session before may have limited the time of statements and
/// their rows.
fn wait_by_gtid(connection: &Connection, own: &Position, most: Duration) -> String {
    let own = own.text();
    let own = String::from_utf8_lossy(&own);
    let seconds = most.as_secs_f64();
    match connection.is_mysql() {
        // Without a limit it would wait for ever, and with 0 too.
        true => format!(
            "SELECT /*+ MAX_EXECUTION_TIME({LONGEST}) */ WAIT_FOR_EXECUTED_GTID_SET('{own}', {:.3}) LIMIT 1",
            seconds.max(0.001)
        ),
        false => format!(
            "SET STATEMENT max_statement_time = 0 FOR SELECT MASTER_GTID_WAIT('{own}', {seconds:.3}) LIMIT 1"
        ),
    }
}

/// Whether its server is a member of a cluster which has no global ids in common with the others, and other means.
pub(super) fn is_galera(connection: &Connection) -> bool {
    !connection.is_mysql() && connection.place.backend().is_member()
}

/// Whether a command does the same on each server: it is of no use to change the connection for it.
fn runs_anywhere(command: CommandByte) -> bool {
    matches!(
        command,
        CommandByte::PING
            | CommandByte::RESET_CONNECTION
            | CommandByte::INIT_DB
            | CommandByte::SET_OPTION
            | CommandByte::STMT_RESET
            | CommandByte::STMT_FETCH
            | CommandByte::STMT_CLOSE
    )
}

impl Pooled {
    /// The part that the command that is next is for is known.
    fn note_turned(&mut self) {
        if let Some(reads) = &mut self.reads {
            reads.has_turned = true;
        }
    }

    /// The command that was next is under way, or was answered.
    pub(super) fn turns_again(&mut self) {
        if let Some(reads) = &mut self.reads {
            (reads.has_turned, reads.has_waited) = (false, false);
        }
    }

    /// From now on its connections are those of this part.
    pub(super) fn turn(&mut self, part: Part) {
        let Some(reads) = &mut self.reads else {
            return;
        };
        if reads.other.part == part {
            return std::mem::swap(&mut self.key, &mut reads.other);
        }
        if self.key.part != part {
            self.turn_to_named(part);
        }
    }

    /// The same for the part of a named replica, or from there.
    #[cold]
    fn turn_to_named(&mut self, part: Part) {
        let Some(reads) = &mut self.reads else {
            return;
        };
        let mut named = reads.named.iter_mut();
        if let Some(known) = named.find(|key| key.part == part) {
            return std::mem::swap(&mut self.key, known);
        }
        let key = &self.key;
        let key = (self.pool).key(&key.user, key.capabilities, key.collation, part);
        reads.named.push(std::mem::replace(&mut self.key, key));
    }

    /// The part of the servers that a command is for.
    fn part_of_next(
        &mut self,
        command: CommandByte,
        look: Look,
        status: StatusFlags,
        now: Instant,
    ) -> Part {
        let Some(reads) = &mut self.reads else {
            return Part::Writes;
        };
        if reads.primary_until.is_some_and(|until| now >= until) {
            reads.primary_until = None;
        }
        let rule = self.rule.as_ref().and_then(|rule| rule.part);
        let mut part = rule.unwrap_or(match reads.to {
            Reads::Primary => Part::Writes,
            Reads::Replica => Part::Reads,
        });
        if part == Part::Writes && look.mentions(Mention::Replica) {
            part = Part::Reads;
        }
        let is_statement = matches!(
            command,
            CommandByte::QUERY | CommandByte::STMT_PREPARE | CommandByte::STMT_EXECUTE
        );
        let is_read = is_statement
            && look.only_reads()
            && !look.mentions(Mention::Primary)
            && !reads.only_primary
            && reads.primary_until.is_none()
            && self.pins.is_empty()
            && !self.may_be_in_transaction
            && !self.has_characteristics
            && status.contains(StatusFlags::AUTOCOMMIT)
            && !status.intersects(IN_TRANSACTION);
        match is_read {
            true => part,
            false => Part::Writes,
        }
    }

    /// What a replica is asked to wait for the session's own changes with, where it is not known to have them.
    fn wait_for_own(&self, config: ReplicaReads) -> Wait {
        let (Some(reads), Some(connection)) = (&self.reads, &self.connection) else {
            return Wait::Needless;
        };
        if config.consistency == Consistency::None || reads.changes == 0 {
            return Wait::Needless;
        }
        let backend = connection.place.backend();
        let is_counted = backend.is_member() || reads.is_of_group;
        if is_counted && reads.is_synced(backend) {
            return Wait::Needless;
        }
        if is_galera(connection) {
            return Wait::For(SYNC.to_owned());
        }
        if reads.has_untold {
            return Wait::InVain;
        }
        // In a group, whoever has a number need not have the smaller ones.
        let is_there = || !is_counted && backend.replication().has(&reads.own);
        if reads.own.is_empty() || is_there() {
            return Wait::Needless;
        }
        Wait::For(wait_by_gtid(connection, &reads.own, config.read_wait))
    }
}
