//! What both faces share: the core, its buffers, and what is true between two calls.

mod change_user;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::client::{
    Cell, ClientCore, Handshake, HandshakeConfig, Reply, RowMode, StatementId,
};
use onecopy_mysql_proto::owned;
use onecopy_mysql_proto::packet::ErrPacket;
use onecopy_mysql_proto::value::{FromValue, FromValueError};
use onecopy_net::DriveError;
use onecopy_wire::{BufferConfig, Buffers, Meter, Span, WireError};

use crate::shown::shown;
use crate::{ColumnIndex, Config, Done, Error, OwnedRow, Row, ServerError, Statement};

/// A parameter from a reader is sent in pieces of this size: 128 KiB.
pub(crate) const LONG_DATA_PIECE: usize = 128 << 10;

/// A reader's slice of this size or more is worth a read of its own: 16 KiB.
pub(crate) const DIRECT_READ: usize = 16 << 10;

static CONNECTIONS: AtomicU64 = AtomicU64::new(1);

/// One connection without its stream.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) core: ClientCore,
    pub(crate) buffers: Buffers,
    /// Tells statements of different connections apart.
    number: u64,
    call_timeout: Option<Duration>,
    deadline: Option<Instant>,
    /// Bytes that had left when the command under way was queued.
    sent_before: u64,
    /// Bytes that waited then: statements to be closed.
    queued_before: usize,
    /// A statement of which long data was sent in part: what arrived must not be taken for its value's beginning.
    pub(crate) long_data: Option<StatementId>,
    /// Why the connection is closed.
    closed: Option<String>,
}

/// The deadline of what begins now; none where the time has no end that a clock could show.
pub(crate) fn deadline_in(timeout: Option<Duration>) -> Option<Instant> {
    timeout.and_then(|timeout| Instant::now().checked_add(timeout))
}

/// The buffers and the login of a new connection.
pub(crate) fn login(config: &Config, is_unix: bool) -> Result<(Buffers, Handshake), Error> {
    let buffers = Buffers::new(BufferConfig {
        idle_keep: config.idle_keep,
        ..config.limits.buffer_config()
    });
    let handshake = Handshake::new(handshake_config(config, is_unix)?, config.limits);
    Ok((buffers, handshake))
}

fn handshake_config(config: &Config, is_unix: bool) -> Result<HandshakeConfig, Error> {
    let mode = config.effective_ssl_mode();
    let database = config.database.as_deref().map(str::as_bytes);
    Ok(HandshakeConfig {
        user: owned::bytes(config.user.as_bytes()).map_err(ProtocolError::from)?,
        password: config.password.to_secret(),
        database: database
            .map(owned::bytes)
            .transpose()
            .map_err(ProtocolError::from)?,
        is_unix,
        tls: mode.demand(),
        tls_verifies: mode.verifies(),
        multi_statements: config.multi_statements,
        found_rows: config.found_rows,
        full_metadata: !config.cached_metadata,
        auth: config.auth_options(),
        attributes: attributes(config).map_err(ProtocolError::from)?,
    })
}

fn attributes(config: &Config) -> Result<Vec<(String, String)>, WireError> {
    let pid = std::process::id().to_string();
    let own = [
        ("_client_name", "onecopy"),
        ("_client_version", env!("CARGO_PKG_VERSION")),
        ("_os", std::env::consts::OS),
        ("_platform", std::env::consts::ARCH),
        ("_pid", &pid),
    ];
    let others = config.attributes.iter();
    let others = others.map(|(name, value)| (name.as_str(), value.as_str()));
    let mut attributes = owned::with_capacity(own.len() + config.attributes.len())?;
    for (name, value) in own.into_iter().chain(others) {
        attributes.push((owned::text(name)?, owned::text(value)?));
    }
    Ok(attributes)
}

/// The server's error in the place of a login.
#[cold]
pub(crate) fn login_refused(payload: &[u8]) -> Error {
    let packet = ErrPacket::decode(payload).map_err(ProtocolError::from);
    match packet.and_then(|packet| ServerError::new(&packet)) {
        Ok(error) => Error::server_error(error),
        Err(error) => error.into(),
    }
}

/// Memory for the pieces of a long value.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn long_data_piece() -> Result<Vec<u8>, Error> {
    let mut piece = owned::with_capacity(LONG_DATA_PIECE).map_err(ProtocolError::of_call)?;
    piece.resize(LONG_DATA_PIECE, 0);
    Ok(piece)
}

/// What has to happen before the next command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing.
    Ready,
    /// Rows that nobody read any more are still to come: read on and drop them.
    Drain,
    /// Long data of this statement arrived in part: the server must forget it.
    Forget(StatementId),
}

impl Link {
    pub(crate) fn new(core: ClientCore, buffers: Buffers, config: &Config) -> Self {
        Self {
            core,
            buffers,
            number: CONNECTIONS.fetch_add(1, Ordering::Relaxed),
            call_timeout: config.call_timeout,
            deadline: None,
            sent_before: 0,
            queued_before: 0,
            long_data: None,
            closed: None,
        }
    }

    /// The deadline of the call under way.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// A call of the caller's begins: everything in it, what an earlier one left included, has one deadline.
    #[inline]
    pub(crate) fn start_call(&mut self) {
        if self.call_timeout.is_some() {
            self.deadline = deadline_in(self.call_timeout);
        }
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn call_timeout(&self) -> Option<Duration> {
        self.call_timeout
    }

    pub(crate) fn set_call_timeout(&mut self, timeout: Option<Duration>) {
        self.call_timeout = timeout;
        self.deadline = None;
    }

    /// Looks at what an earlier call left: one dropped before a byte of it left is withdrawn; one dropped half written
    /// with parts by reference has closed the connection, for the parts are gone.
    #[inline]
    pub(crate) fn before(&mut self) -> Result<Before, Error> {
        if let Some(cause) = &self.closed {
            return Err(Error::closed(cause.clone()));
        }
        let quiet = self.long_data.is_none() && self.buffers.pending().is_empty();
        if quiet && self.core.is_idle() && !self.buffers.has_output() {
            self.sent_before = self.buffers.output().sent();
            self.queued_before = 0;
            return Ok(Before::Ready);
        }
        self.before_slow()
    }

    #[cold]
    fn before_slow(&mut self) -> Result<Before, Error> {
        self.core.set_home_column(None);
        drop(self.buffers.withdraw_home());
        let has_lent = self.buffers.output().has_lent();
        if self.buffers.has_output() && (has_lent || !self.core.is_idle()) {
            self.withdraw()?;
        }
        if !self.core.is_idle() {
            self.core.set_row_mode(RowMode::Skip);
            return Ok(Before::Drain);
        }
        if !self.buffers.pending().is_empty() {
            self.core.kill(ProtocolError::Unsolicited);
            return Err(self.close(&ProtocolError::Unsolicited.to_string()));
        }
        if let Some(statement) = self.long_data {
            return Ok(Before::Forget(statement));
        }
        self.mark();
        Ok(Before::Ready)
    }

    /// What is queued from here on can be withdrawn as long as none of it has left.
    #[inline]
    pub(crate) fn mark(&mut self) {
        let waits = self.buffers.has_output();
        let output = self.buffers.output();
        self.sent_before = output.sent();
        self.queued_before = if waits { output.len() } else { 0 };
    }

    /// Takes back the command that was queued last where none of it has left; what is queued before it stays. One that
    /// was sent in part goes on where the queue holds the rest of it.
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
            None if output.has_lent() => {
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
        self.buffers.release();
        error
    }

    #[cold]
    pub(crate) fn failed(&mut self, error: DriveError<ProtocolError>) -> Error {
        let error = Error::from(error);
        if error.is_closed() {
            self.closed.get_or_insert_with(|| shown(&error));
            self.buffers.output().clear();
        }
        error
    }

    #[cold]
    pub(crate) fn close(&mut self, cause: &str) -> Error {
        let cause = self.closed.get_or_insert_with(|| cause.to_owned()).clone();
        self.buffers.output().clear();
        Error::closed(cause)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// The command is over: memory goes back.
    #[inline]
    pub(crate) fn finish(&mut self) -> Done {
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

    pub(crate) fn statement(&self, id: StatementId) -> Result<Statement, Error> {
        Ok(Statement {
            id,
            connection: self.number,
            parameters: self.core.parameters(id)?,
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
