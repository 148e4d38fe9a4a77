//! What both APIs share: the core, its buffers, and what is true between two calls.

mod change_user;
mod deadlines;
mod login;
mod long_data;
mod pooled;
pub(crate) mod prepared;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use deadlines::{Deadlines, earlier};
use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::client::{Cell, ClientCore, Reply, RowMode, StatementId};
use onecopy_mysql_proto::packet::ErrPacket;
use onecopy_mysql_proto::value::{FromValue, FromValueError};
use onecopy_net::DriveError;
use onecopy_wire::{Buffers, Meter, Span};
use prepared::Prepared;

use crate::cancel::{Begin, Target, Way};
use crate::shown::shown;
use crate::{
    Abandoned, ColumnIndex, Config, Done, Endpoint, Error, OwnedRow, Row, ServerError, Statement,
};

/// A reader's slice of this size or more is worth a read of its own: 16 KiB.
pub(crate) const DIRECT_READ: usize = 16 << 10;

pub(crate) use deadlines::deadline_in;
pub(crate) use login::{login, login_failed, login_refused};
pub(crate) use long_data::long_data_piece;

static CONNECTIONS: AtomicU64 = AtomicU64::new(1);

/// One connection without its stream.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) core: ClientCore,
    pub(crate) buffers: Buffers,
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

/// What was abandoned is read for at least this long before it is cancelled: on one machine a login takes less than a
/// millisecond, and a new session and its thread cost the server more than the wait.
const MIN_PATIENCE: Duration = Duration::from_millis(10);

/// And at most this long, however slow the login was.
const MAX_PATIENCE: Duration = Duration::from_secs(1);

/// The deadline of a connection for an order is at least this: the server may be busy with what is to be cancelled.
const MIN_ORDER: Duration = Duration::from_secs(1);

/// And this many times what the connection's own took.
const ORDER_LOGINS: u32 = 8;

/// What has to happen before the next command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing.
    Ready,
    /// Rows that nobody read any more are still to come: read on and drop them.
    Drain,
    /// Long data of this statement arrived in part: the server must forget it.
    Forget(StatementId),
    /// An order to cancel is in flight: wait until the server has it.
    Await,
    /// An order to cancel was executed, possibly after its statement had ended: run a statement for it to hit.
    Barrier,
}

impl Link {
    pub(crate) fn new(core: ClientCore, buffers: Buffers, config: &Config) -> Self {
        Self {
            core,
            buffers,
            number: CONNECTIONS.fetch_add(1, Ordering::Relaxed),
            deadlines: Deadlines::new(config),
            sent_before: 0,
            queued_before: 0,
            prepared: None,
            user_changed: false,
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
        let sent = self.buffers.output().sent() - self.sent_before;
        sent > self.queued_before as u64
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

    /// Handles what an earlier call left. A command that was dropped before any of its bytes were sent is withdrawn. A command
    /// that was dropped half sent, and has parts by reference, has closed the connection, because the parts are gone.
    #[inline]
    pub(crate) fn before(&mut self) -> Result<Before, Error> {
        if let Some(cause) = &self.closed {
            return Err(Error::closed(cause.clone()));
        }
        let quiet = match &self.prepared {
            None => true,
            Some(prepared) => prepared.is_quiet(),
        };
        let quiet = quiet && self.buffers.pending().is_empty();
        if quiet && self.core.is_idle() && !self.buffers.has_output() {
            self.sent_before = self.buffers.output().sent();
            self.queued_before = 0;
            return match self.target.get() {
                None => Ok(Before::Ready),
                Some(target) if target.turn.begin() == Begin::Ready => Ok(Before::Ready),
                Some(_) => self.begin_slow(),
            };
        }
        self.before_slow()
    }

    /// Tries again to begin: what prevented it may be over.
    #[cold]
    fn begin_slow(&mut self) -> Result<Before, Error> {
        let begin = self.target.get().map(|target| target.turn.begin());
        match begin.unwrap_or(Begin::Ready) {
            Begin::Ready => Ok(Before::Ready),
            Begin::Delivering => Ok(Before::Await),
            Begin::Late => Ok(Before::Barrier),
            Begin::Lost => Err(self.lost()),
        }
    }

    /// Closes the connection: it is unknown when the server will execute the order, and what it will hit.
    pub(crate) fn lost(&mut self) -> Error {
        self.close("a request to cancel its statement was lost, and could still cancel a later one")
    }

    #[cold]
    fn before_slow(&mut self) -> Result<Before, Error> {
        self.core.set_home_column(None);
        drop(self.buffers.withdraw_home());
        let has_borrowed = self.buffers.output().has_borrowed();
        if self.buffers.has_output() && (has_borrowed || !self.core.is_idle()) {
            self.withdraw()?;
        }
        if !self.core.is_idle() {
            self.core.set_row_mode(RowMode::Skip);
            self.start_drain();
            return Ok(Before::Drain);
        }
        if !self.buffers.pending().is_empty() {
            self.core.kill(ProtocolError::Unsolicited);
            return Err(self.close(&ProtocolError::Unsolicited.to_string()));
        }
        self.close_dropped()?;
        let begin = self.begin_slow()?;
        if let (Before::Ready, Some(statement)) = (begin, self.long_data()) {
            return Ok(Before::Forget(statement));
        }
        self.mark();
        Ok(begin)
    }

    /// Closes the statements that were dropped: this leaves with the command that follows.
    fn close_dropped(&mut self) -> Result<(), Error> {
        let Some(prepared) = &mut self.prepared else {
            return Ok(());
        };
        while let Some(statement) = prepared.next_dropped() {
            match self.core.close_statement(&mut self.buffers, statement) {
                // A reset or a change of user has closed it too.
                Ok(()) | Err(ProtocolError::StatementClosed) => prepared.close_next(),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Closes a statement: this leaves with the next command.
    pub(crate) fn close_statement(&mut self, statement: &Statement) -> Result<(), Error> {
        self.core.close_statement(&mut self.buffers, statement.id)?;
        if let Some(prepared) = &mut self.prepared {
            prepared.closed(&statement.handle);
        }
        Ok(())
    }

    /// The statement of which long data was sent in part.
    fn long_data(&self) -> Option<StatementId> {
        self.prepared.as_ref()?.long_data
    }

    /// Long data of the statement begins to be sent, or all of it has left.
    pub(crate) fn set_long_data(&mut self, statement: Option<StatementId>) {
        if let Some(prepared) = &mut self.prepared {
            prepared.long_data = statement;
        }
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

    /// Starts the time that an abandoned statement is read for before it is cancelled, unless it has already started: as long as
    /// another login takes. It is at most a quarter of the time that the call has left, so that the rest is available for the
    /// order.
    fn start_drain(&mut self) {
        // A reset takes no time; and among some hundred thousand drops MariaDB once closed the connection behind one, of
        // which an order is the likely cause.
        if self.core.is_resetting() {
            return;
        }
        let Some(way) = &self.way else { return };
        if self.patience.is_some() || self.abandoned == Abandoned::Drain {
            return;
        }
        let patience = way.took.clamp(MIN_PATIENCE, MAX_PATIENCE);
        let left = self
            .deadline()
            .map(|deadline| deadline.saturating_duration_since(Instant::now()) / 4);
        self.be_patient(left.map_or(patience, |left| patience.min(left)));
    }

    fn be_patient(&mut self, patience: Duration) {
        self.patience = deadline_in(Some(patience)).map(|until| (until, patience));
    }

    /// Until when to drain: for as long as it is cheaper than an order, or to the deadline.
    pub(crate) fn drain_until(&self) -> Option<Instant> {
        let patience = self.patience.map(|(until, _)| until);
        earlier(patience, self.deadline())
    }

    /// Whether draining has taken longer than an order would.
    pub(crate) fn is_slow(&self) -> bool {
        self.patience
            .is_some_and(|(until, _)| Instant::now() >= until)
    }

    /// Returns what is needed to give an order for the statement that is being drained: the target, the statement's generation,
    /// and the deadline for connecting. If the order fails or has no effect, the next one follows after twice the time.
    pub(crate) fn order(&mut self) -> (Arc<Target>, u64, Option<Instant>) {
        let target = Arc::clone(self.target());
        let generation = target.turn.keep_under_way();
        let took = self.way.as_ref().map_or(Duration::ZERO, |way| way.took);
        let connect = took.saturating_mul(ORDER_LOGINS).max(MIN_ORDER);
        let left = self
            .deadline()
            .map(|deadline| deadline.saturating_duration_since(Instant::now()) / 2);
        let connect = left.map_or(connect, |left| connect.min(left));
        (target, generation, deadline_in(Some(connect)))
    }

    /// Notes that the order was given, successfully or not: the drained statement gets time again.
    pub(crate) fn ordered(&mut self) {
        let patience = self.patience.map_or(MIN_PATIENCE, |(_, patience)| patience);
        self.be_patient(patience.saturating_mul(2));
    }

    /// Nothing is left to be drained.
    pub(crate) fn drained(&mut self) {
        self.patience = None;
        self.finish();
    }

    /// Marks the start of a command: what is queued from now on can be withdrawn as long as none of it was sent.
    #[inline]
    pub(crate) fn mark(&mut self) {
        let waits = self.buffers.has_output();
        let output = self.buffers.output();
        self.sent_before = output.sent();
        self.queued_before = if waits { output.len() } else { 0 };
    }

    /// Withdraws the command that was queued last, if none of it was sent; what was queued before it stays. A command that was
    /// partly sent continues if the queue holds the rest of it.
    fn withdraw(&mut self) -> Result<(), Error> {
        let output = self.buffers.output();
        let sent = output.sent() - self.sent_before;
        let left = usize::try_from(sent)
            .ok()
            .and_then(|sent| self.queued_before.checked_sub(sent));
        match left {
            Some(left) => {
                output.truncate(left);
                self.core.withdraw();
                Ok(())
            }
            None if output.has_borrowed() => {
                Err(self.close("a command was dropped while half of it was sent"))
            }
            None => Ok(()),
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

    #[cold]
    fn server_error(&mut self, span: Span) -> Error {
        let packet = ErrPacket::decode(self.buffers.bytes(span)).map_err(ProtocolError::from);
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
        self.ended();
        self.buffers.release();
        let maybe_executed = error.is_of_the_way() && self.has_left();
        error.after_sending(maybe_executed)
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

    /// The command is over: memory goes back.
    #[inline]
    pub(crate) fn finish(&mut self) -> Done {
        self.ended();
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
        self.ended();
        let handle = self.prepared.get_or_insert_default().handle(id);
        if handle.is_err() {
            self.core.close_statement(&mut self.buffers, id)?;
        }
        Ok(Statement {
            id,
            connection: self.number,
            parameters: self.core.parameters(id)?,
            handle: handle?,
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

    #[inline]
    pub(crate) fn row(&self, span: Span) -> Row<'_> {
        Row::new(&self.core, &self.buffers, span)
    }

    /// Makes the row's values the caller's own: large ones are moved, the others copied together, once.
    pub(crate) fn owned_row(&mut self, span: Span) -> Result<OwnedRow, Error> {
        OwnedRow::take(&mut self.core, &mut self.buffers, span)
    }

    /// Whether the value's next bytes can be read straight into the caller's slice.
    pub(crate) fn can_read_direct(&mut self) -> Result<bool, Error> {
        let direct = self.core.can_read_direct(&mut self.buffers);
        direct.map_err(|error| self.failed(DriveError::Core(error)))
    }

    /// A whole value of a streamed row as the caller's type.
    pub(crate) fn decode<'v, T: FromValue<'v>>(
        &self,
        index: usize,
        bytes: &'v [u8],
    ) -> Result<T, Error> {
        let column = self.core.definitions().columns().get(index);
        let column = column.ok_or_else(|| Error::no_column(index.to_string()))?;
        let value = column.decode(self.core.is_binary(), bytes);
        if T::COPIES {
            self.buffers.count_owned(bytes.len());
        }
        value
            .map_err(FromValueError::Malformed)
            .and_then(T::from_value)
            .map_err(|error| Error::value(index.to_string(), error))
    }

    /// Moves a value of the current row into `into`: a large one without a copy.
    pub(crate) fn take_value(
        &mut self,
        span: Span,
        column: impl ColumnIndex,
        into: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        let index = column
            .find(self.core.definitions())
            .ok_or_else(|| Error::no_column(shown(format_args!("{column:?}"))))?;
        let cell = *self
            .core
            .cells()
            .get(index)
            .ok_or_else(|| Error::no_column(index.to_string()))?;
        if cell.is_taken() {
            return Err(Error::taken(index.to_string()));
        }
        into.clear();
        if !cell.is_null() {
            move_value(&mut self.buffers, cell, span, into)?;
            // Not before: a value that found no memory is still there.
            self.core.take_cell(index);
        }
        Ok(!cell.is_null())
    }
}

/// The value's bytes into `into`: its home as it is, or a copy.
pub(crate) fn move_value(
    buffers: &mut Buffers,
    cell: Cell,
    row: Span,
    into: &mut Vec<u8>,
) -> Result<(), Error> {
    let span = cell.span(row);
    if let Some(home) = buffers.take_home(span) {
        *into = home;
        return Ok(());
    }
    let bytes = buffers.bytes(span);
    into.try_reserve_exact(bytes.len())
        .map_err(|_| ProtocolError::OutOfMemory {
            bytes: bytes.len() as u64,
        })?;
    into.extend_from_slice(bytes);
    buffers.count_owned(bytes.len());
    Ok(())
}
