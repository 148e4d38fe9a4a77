//! What both APIs share: the core, its buffers, and what is true between two calls.

mod cache;
mod cached;
mod change_user;
mod deadlines;
pub(crate) mod gtids;
mod left_out;
mod local_infile;
mod login;
mod long_data;
mod mapping;
mod observe;
mod patience;
mod pipeline;
mod placeholders;
mod pooled;
pub(crate) mod prepared;
mod settle;
mod transaction;
mod value;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use cache::StatementCache;
use deadlines::Deadlines;
use observe::Observation;
use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::client::{ClientCore, Reply, StatementId};
use onecopy_mysql_proto::packet::ErrPacket;
use onecopy_net::DriveError;
use onecopy_wire::{Buffers, Core, Meter, Span, Step};
use pipeline::Sent;
use prepared::Prepared;
use transaction::Levels;

use crate::cancel::{Target, Way};
use crate::map::Plans;
use crate::shown::shown;
use crate::{Abandoned, Config, Done, Endpoint, Error, ServerError, ServerTarget, Statement};

/// A reader's slice of this size or more is worth a read of its own: 16 KiB.
pub(crate) const DIRECT_READ: usize = 16 << 10;

pub(crate) use deadlines::deadline_in;
pub(crate) use left_out::Looks;
#[cfg(feature = "compression")]
pub(crate) use login::codec;
pub(crate) use login::{login, login_failed, login_refused};
pub(crate) use long_data::long_data_piece;
pub(crate) use pipeline::{Batch, Outcome};
pub(crate) use settle::Before;
pub(crate) use transaction::Leave;
pub(crate) use value::move_value;

static CONNECTIONS: AtomicU64 = AtomicU64::new(1);

/// One connection without its stream.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) core: ClientCore,
    pub(crate) buffers: Buffers,
    /// Whether the server has proven its certificate with the password.
    pub(crate) is_proven: bool,
    /// Tells statements of different connections apart.
    number: u64,
    deadlines: Deadlines,
    /// Bytes that had left when the command under way was queued.
    sent_before: u64,
    /// Bytes that waited then: statements to be closed.
    queued_before: usize,
    /// None until a statement is prepared.
    prepared: Option<Box<Prepared>>,
    /// The session belongs to another user than the login's.
    user_changed: bool,
    /// What a pipeline has sent or queued, once there was one.
    sent_ahead: Option<Box<Sent>>,
    /// Statements that `exec` prepared.
    cache: StatementCache,
    /// The transaction that was begun through us.
    levels: Levels,
    /// Whether commands may be sent ahead of the replies to earlier ones.
    pub(crate) pipelining: bool,
    /// None until rows are mapped.
    plans: Option<Box<Plans>>,
    /// The server's `max_allowed_packet`, once it was asked for.
    pub(crate) max_packet_bytes: Option<u64>,
    /// How much of a result may be collected.
    pub(crate) max_result_bytes: Option<u64>,
    /// Only a server that accepts writes is wanted, and this one does not any more.
    is_demoted: bool,
    wants_primary: bool,
    /// What is reported of statements, if anything is.
    observation: Option<Box<Observation>>,
    /// Why the connection is closed.
    closed: Option<String>,
    /// How an order to cancel reaches the server; none over a stream of the caller's own.
    way: Option<Arc<Way>>,
    abandoned: Abandoned,
    /// What tokens share with the connection, once there is one.
    target: OnceLock<Arc<Target>>,
    /// When what is being drained is to be cancelled, and how long it was given.
    patience: Option<(Instant, Duration)>,
}

impl Link {
    pub(crate) fn new(mut core: ClientCore, buffers: Buffers, config: &Config) -> Self {
        if let Some(reports) = &config.progress {
            core.set_progress_listener(Some(reports.listener(core.session().connection_id)));
        }
        Self {
            core,
            buffers,
            is_proven: false,
            number: CONNECTIONS.fetch_add(1, Ordering::Relaxed),
            deadlines: Deadlines::new(config),
            sent_before: 0,
            queued_before: 0,
            prepared: None,
            user_changed: false,
            sent_ahead: None,
            cache: StatementCache::new(config.statement_cache),
            levels: Levels::default(),
            pipelining: config.pipelining,
            plans: None,
            max_packet_bytes: None,
            max_result_bytes: config.max_result_bytes,
            is_demoted: false,
            wants_primary: config.target == ServerTarget::Primary,
            observation: Observation::new(config),
            closed: None,
            way: None,
            abandoned: config.abandoned,
            target: OnceLock::new(),
            patience: None,
        }
    }

    /// From here on orders to cancel can be given.
    pub(crate) fn reachable_by(&mut self, way: Way) {
        let way = Arc::new(way);
        if let Some(target) = self.target.get() {
            target.set_way(Arc::clone(&way));
        }
        self.way = Some(way);
    }

    /// The server, as the configuration names it.
    pub(crate) fn endpoint(&self) -> Option<&Endpoint> {
        self.way.as_ref().map(|way| &way.config.endpoint)
    }

    /// The deadline of the call under way.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadlines.call
    }

    /// A statement or another command of the caller's begins: what an earlier one left is done within its deadline.
    #[inline]
    pub(crate) fn start_statement(&mut self) {
        self.deadlines.start_statement();
        self.carry_trace();
    }

    /// A further call for the statement under way begins.
    ///
    /// # Errors
    /// The statement's deadline has passed.
    #[inline]
    pub(crate) fn start_call(&mut self) -> Result<(), Error> {
        match self.deadlines.start_call() {
            Ok(()) => Ok(()),
            Err(error) => Err(error.after_sending(self.has_left())),
        }
    }

    /// Whether anything of the command that was queued last has left.
    fn has_left(&mut self) -> bool {
        // A statement of a pipeline may begin behind what has left.
        let sent = self.buffers.output().sent();
        sent.saturating_sub(self.sent_before) > self.queued_before as u64
    }

    /// The deadline of an order, which is no call.
    pub(crate) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadlines.call = deadline;
    }

    pub(crate) fn set_call_timeout(&mut self, timeout: Option<Duration>) {
        self.deadlines.set_call_timeout(timeout);
    }

    pub(crate) fn set_statement_timeout(&mut self, timeout: Option<Duration>) {
        self.deadlines.set_statement_timeout(timeout);
    }

    /// What is under way as tokens see it.
    pub(crate) fn target(&self) -> &Arc<Target> {
        self.target.get_or_init(|| {
            let session = self.core.session();
            let under_way = !self.core.is_idle();
            Arc::new(Target::new(session, self.way.clone(), under_way))
        })
    }

    /// The order that has to be delivered before anything else.
    pub(crate) fn delivering(&self) -> Option<Arc<Target>> {
        let target = self.target.get()?;
        target.turn.is_delivering().then(|| Arc::clone(target))
    }

    /// The command that was begun is over, or has no reply.
    #[inline]
    pub(crate) fn ended(&self) {
        if let Some(target) = self.target.get() {
            target.turn.end();
        }
    }

    /// What is sent when the connection is dropped without being closed, if anything is to be.
    pub(crate) fn goodbye(&mut self) -> Option<&'static [u8]> {
        const QUIT: &[u8] = &[1, 0, 0, 0, 1];
        let quiet = self.closed.is_none() && self.core.is_idle() && !self.buffers.has_output();
        quiet.then_some(QUIT)
    }

    /// Closed by the caller.
    pub(crate) fn closed(&mut self) {
        self.closed
            .get_or_insert_with(|| "it was closed".to_owned());
    }

    /// A command is over, and with the last of several all of them.
    #[inline]
    fn command_ended(&self) {
        if let Some(target) = self.target.get()
            && self.core.is_idle()
        {
            target.turn.end();
        }
    }

    /// A reply for the caller: a server's error becomes one of ours.
    #[inline]
    pub(crate) fn reply(
        &mut self,
        driven: Result<Reply, DriveError<ProtocolError>>,
    ) -> Result<Reply, Error> {
        match driven {
            Ok(Reply::Err(span)) => Err(self.server_error(span)),
            Ok(reply) => Ok(reply),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// The next row, or what ends the rows, if it was read already: this needs no I/O driver.
    #[inline(always)]
    pub(crate) fn buffered_row(&mut self) -> Option<Result<Reply, Error>> {
        if !self.core.has_row(&self.buffers) {
            return None;
        }
        match self.core.advance(&mut self.buffers) {
            Ok(Step::Message(Reply::Err(span))) => Some(Err(self.server_error(span))),
            Ok(Step::Message(reply)) => Some(Ok(reply)),
            // The state machine is dead, and says so again to the driver.
            Ok(_) | Err(_) => None,
        }
    }

    #[cold]
    fn server_error(&mut self, span: Span) -> Error {
        let packet = match span.is_empty() {
            true => Ok(left_out::INTERRUPTED),
            false => ErrPacket::decode(self.buffers.bytes(span)).map_err(ProtocolError::from),
        };
        let error = match packet.and_then(|packet| ServerError::new(&packet)) {
            Ok(error) => Error::server_error(error),
            // Only its text is lost: it was the whole reply.
            Err(error) if error.is_misuse() => error.into(),
            Err(error) => {
                self.core.kill(error.clone());
                return self.failed(DriveError::Core(error));
            }
        };
        if error.is_closed() {
            self.closed.get_or_insert_with(|| shown(&error));
        }
        self.is_demoted |= self.wants_primary && error.is_read_only();
        self.doubt(
            error
                .server()
                .and_then(|server| server.sql_state.as_deref()),
        );
        self.ended();
        self.buffers.release();
        let maybe_executed = error.is_of_the_way() && self.has_left();
        let error = error.after_sending(maybe_executed);
        self.observe_end(Some(&error));
        error
    }

    #[cold]
    pub(crate) fn failed(&mut self, error: DriveError<ProtocolError>) -> Error {
        let error = match error {
            DriveError::Timeout if self.deadlines.is_statement_over() => Error::statement_timeout(),
            error => Error::from(error),
        }
        .after_sending(self.has_left());
        if error.is_closed() {
            self.closed.get_or_insert_with(|| shown(&error));
            self.buffers.output().clear();
            // With its connection a statement is over: an order could only meet a stranger of the same number.
            self.ended();
        }
        self.observe_end(Some(&error));
        error
    }

    #[cold]
    pub(crate) fn close(&mut self, cause: &str) -> Error {
        let has_left = self.has_left();
        let cause = self.closed.get_or_insert_with(|| cause.to_owned()).clone();
        self.buffers.output().clear();
        Error::closed(cause).after_sending(has_left)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Whether the server turned out to be no primary, where one is wanted.
    pub(crate) fn is_demoted(&self) -> bool {
        self.is_demoted
    }

    /// The command is over: memory is returned.
    #[inline]
    pub(crate) fn finish(&mut self) -> Done {
        self.observe_end(None);
        self.command_ended();
        self.buffers.recycle_homes();
        self.buffers.release();
        self.done()
    }

    /// Gives back until at most `keep` bytes stay.
    pub(crate) fn release(&mut self, keep: usize) {
        if !self.core.is_in_large_row() {
            self.buffers.recycle_homes();
        }
        self.buffers.release_to(keep);
        self.core.release();
        if keep == 0 {
            self.plans = None;
        }
    }

    pub(crate) fn done(&self) -> Done {
        let ok = self.core.ok();
        Done {
            affected_rows: ok.affected_rows,
            last_insert_id: ok.last_insert_id,
            warnings: ok.warnings,
        }
    }

    /// The statement that was prepared.
    pub(crate) fn statement(&mut self, id: StatementId) -> Result<Statement, Error> {
        self.command_ended();
        let handle = self.prepared.get_or_insert_default().handle(id);
        if handle.is_err() {
            self.core.close_statement(&mut self.buffers, id)?;
        }
        Ok(Statement {
            id,
            connection: self.number,
            parameters: self.core.parameters(id)?,
            handle: handle?,
            digest: None,
        })
    }

    #[inline]
    pub(crate) fn own(&self, statement: &Statement) -> Result<(), Error> {
        if statement.connection == self.number {
            Ok(())
        } else {
            Err(ProtocolError::StatementClosed.into())
        }
    }

    pub(crate) fn meter(&self) -> Meter {
        self.buffers.meter()
    }
}
