//! The error type, opaque, with methods to query it.

use std::{fmt, io};

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::owned;
use onecopy_mysql_proto::packet::{ErrPacket, OneLine};
use onecopy_mysql_proto::value::FromValueError;
use onecopy_net::{ConnectError, DriveError, Endpoint, TlsError};

use onecopy_pool::WaitError;

use crate::ServerTarget;
use crate::pool::NoConnection;

/// The error of all operations: what went wrong, whether the connection is still usable, and whether the statement may have been
/// executed.
///
/// It is the size of one pointer, so that a `Result` costs nothing on success.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::blocking::Connection;
///
/// # fn main() -> Result<(), onecopy_mysql::Error> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop")?;
///
/// if let Err(error) = conn.run("INSERT INTO product (id) VALUES (1)") {
///     match error.server() {
///         Some(server) if server.code == 1062 => println!("it exists already"),
///         _ if error.is_closed() && !error.maybe_executed() => println!("connect and try again"),
///         _ => return Err(error),
///     }
/// }
/// # Ok(()) }
/// ```
pub struct Error(Box<Failure>);

struct Failure {
    kind: Kind,
    maybe_executed: bool,
    /// Whether the connection is closed although the kind alone would leave it open.
    closes: bool,
    /// The number of the row that a value is of, counted from 1, where rows are mapped.
    row: Option<u64>,
    /// The rows of a bulk that it is about.
    rows: Option<std::ops::Range<u64>>,
}

#[derive(Debug)]
enum Kind {
    Config(String),
    Connect(ConnectError),
    Protocol(ProtocolError),
    Server(ServerError),
    /// A server's error that ended the connection.
    Refusal(ServerError),
    Io {
        reading: bool,
        source: io::Error,
    },
    Timeout,
    /// A deadline before the server's first byte.
    NoGreeting,
    StatementTimeout,
    Value {
        column: String,
        source: FromValueError,
    },
    NoColumn(String),
    Ambiguous(String),
    /// `FromRow` of the caller's contradicts itself.
    Slots,
    /// The caller's own conversion of a value failed.
    Converted {
        column: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    NoRow,
    ManyRows,
    /// Names of parameters that do not fit the statement.
    Named(String),
    Taken(String),
    Closed(String),
    Tls(TlsError),
    TlsUnavailable,
    Source(io::Error),
    Infile(io::Error),
    /// The caller's own provider failed.
    Password(Box<dyn std::error::Error + Send + Sync>),
    Cancel(Error),
    /// The server is of the other role.
    WrongRole(ServerTarget),
    /// Each of several servers failed.
    NoServer(Vec<(Endpoint, Error)>),
    /// A pool has no connection for its caller.
    Pool(Box<NoConnection>),
    NestedTransaction,
    TransactionOver,
    /// A server's error for a statement that can't be prepared.
    Unpreparable(ServerError),
}

/// An error that the server sent. The connection stays usable unless [`Error::is_closed`] says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// The error number, such as 1062 for a duplicate key.
    pub code: u16,
    /// The five characters of SQLSTATE. `None` for errors before the login.
    pub sql_state: Option<String>,
    /// The server's text. Bytes that are not UTF-8 become the replacement character. Line ends and other control characters are
    /// kept here, and escaped when the error is displayed.
    pub message: String,
}

impl ServerError {
    /// `OutOfMemory` where its text could not be had: the connection continues, but for a farewell.
    pub(crate) fn new(packet: &ErrPacket<'_>) -> Result<Self, ProtocolError> {
        let message = owned::lossy_text(packet.message).map_err(|error| {
            if is_farewell(packet.code) {
                error.into()
            } else {
                ProtocolError::of_call(error)
            }
        })?;
        let sql_state = packet
            .sql_state
            .map(|state| String::from_utf8_lossy(&state).into_owned());
        Ok(Self {
            code: packet.code,
            sql_state,
            message,
        })
    }
}

/// The error numbers of client libraries, which no server sends. A proxy uses them to report what happened to its side of the
/// connection, such as 2013 if it has lost the server.
const OF_CLIENTS: std::ops::RangeInclusive<u16> = 2000..=2999;

/// Whether a server or a proxy announces with it that it ends the connection: it is shutting down, or the session was killed,
/// idle or stuck for too long.
fn is_farewell(code: u16) -> bool {
    const READ_INTERRUPTED: u16 = 1159;
    const WRITE_INTERRUPTED: u16 = 1161;
    const SERVER_SHUTDOWN: u16 = 1053;
    const MARIADB_CONNECTION_KILLED: u16 = 1927;
    const SESSION_WAS_KILLED: u16 = 3169;
    const CLIENT_INTERACTION_TIMEOUT: u16 = 4031;
    matches!(
        code,
        SERVER_SHUTDOWN
            | MARIADB_CONNECTION_KILLED
            | SESSION_WAS_KILLED
            | CLIENT_INTERACTION_TIMEOUT
            | READ_INTERRUPTED
            | WRITE_INTERRUPTED
    ) || OF_CLIENTS.contains(&code)
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code, message) = (self.code, OneLine(&self.message));
        match &self.sql_state {
            Some(state) => write!(f, "server error {code} ({state}): {message}"),
            None => write!(f, "server error {code}: {message}"),
        }
    }
}

impl Error {
    /// Returns the server's error, if the server sent one. The connection stays usable, unless the error announces its end (such
    /// as a shutdown or an idle timeout) or refuses a change of user.
    pub fn server(&self) -> Option<&ServerError> {
        match self.kind() {
            Kind::Server(error) | Kind::Refusal(error) | Kind::Unpreparable(error) => Some(error),
            Kind::Cancel(error) => error.server(),
            Kind::NoServer(failures) => last(failures)?.server(),
            Kind::Pool(failure) => failure.last.as_ref()?.server(),
            _ => None,
        }
    }

    /// Returns the protocol error, if it is one.
    pub fn protocol(&self) -> Option<&ProtocolError> {
        match self.kind() {
            Kind::Protocol(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the TLS failure, if it is one: an untrusted server, files that cannot be read.
    pub fn tls(&self) -> Option<&TlsError> {
        match self.kind() {
            Kind::Tls(error) => Some(error),
            Kind::NoServer(failures) => last(failures)?.tls(),
            _ => None,
        }
    }

    /// Returns why a value could not be converted to the requested type, if that is the error. The connection stays usable.
    pub fn conversion(&self) -> Option<&FromValueError> {
        match self.kind() {
            Kind::Value { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Returns why a pool had no connection, if that is the error. [`source`](std::error::Error::source) then returns the error of
    /// the last attempt to connect, if the attempts have failed since the last success, and [`server`](Self::server) what the server
    /// said to it.
    pub fn pool(&self) -> Option<WaitError> {
        match self.kind() {
            Kind::Pool(failure) => Some(failure.why),
            _ => None,
        }
    }

    /// Returns whether one row was asked for and the statement returned none.
    pub fn is_no_row(&self) -> bool {
        matches!(self.kind(), Kind::NoRow)
    }

    /// Returns whether the connection is unusable; connect again.
    pub fn is_closed(&self) -> bool {
        if self.0.closes {
            return true;
        }
        match self.kind() {
            Kind::Io { .. }
            | Kind::Closed(_)
            | Kind::Connect(_)
            | Kind::Tls(_)
            | Kind::Refusal(_)
            | Kind::WrongRole(_)
            | Kind::NoServer(_)
            | Kind::TlsUnavailable => true,
            Kind::Protocol(error) => !error.is_misuse(),
            Kind::Server(error) => is_farewell(error.code),
            Kind::Config(_)
            | Kind::Timeout
            | Kind::NoGreeting
            | Kind::StatementTimeout
            | Kind::Value { .. }
            | Kind::NoColumn(_)
            | Kind::Ambiguous(_)
            | Kind::Slots
            | Kind::Converted { .. }
            | Kind::NoRow
            | Kind::ManyRows
            | Kind::Named(_)
            | Kind::Taken(_)
            | Kind::Source(_)
            | Kind::Password(_)
            | Kind::Pool(_)
            | Kind::Infile(_)
            | Kind::Cancel(_)
            | Kind::NestedTransaction
            | Kind::TransactionOver
            | Kind::Unpreparable(_) => false,
        }
    }

    /// Returns whether the server refused a change because it is read-only: after a failover, connect to the new primary.
    ///
    /// A pool with [`target=primary`](crate::ServerTarget::Primary) closes such a connection when it is returned.
    pub fn is_read_only(&self) -> bool {
        const OPTION_PREVENTS_STATEMENT: u16 = 1290;
        const READ_ONLY_MODE: u16 = 1836;
        self.server().is_some_and(|server| match server.code {
            // Other options have the same number; this one's name is in the text in every language.
            OPTION_PREVENTS_STATEMENT => server.message.contains("read-only"),
            code => code == READ_ONLY_MODE,
        })
    }

    /// Returns whether memory could not be allocated.
    ///
    /// If the connection [is closed](Self::is_closed), this happened while a reply was read. Otherwise the connection stays
    /// usable: either nothing of the call was sent, or received data could not be copied, and the next call continues after that
    /// data.
    pub fn is_out_of_memory(&self) -> bool {
        match self.kind() {
            Kind::Protocol(error) => error.is_out_of_memory(),
            Kind::Value { source, .. } => matches!(source, FromValueError::OutOfMemory { .. }),
            _ => false,
        }
    }

    /// Returns whether a deadline passed.
    ///
    /// The connection stays usable: its next call first reads what is outstanding. There are two exceptions: a change of user
    /// that timed out has closed the connection, and so has a command that was partly sent and has parts of 16 KiB or more. The
    /// next call reports that.
    pub fn is_timeout(&self) -> bool {
        match self.kind() {
            Kind::Timeout
            | Kind::NoGreeting
            | Kind::StatementTimeout
            | Kind::Connect(ConnectError::Timeout { .. }) => true,
            Kind::Cancel(error) => error.is_timeout(),
            Kind::NoServer(failures) => last(failures).is_some_and(Self::is_timeout),
            Kind::Pool(failure) => failure.why == WaitError::Timeout,
            _ => false,
        }
    }

    /// Returns whether a retry may succeed. This is so in two cases:
    ///
    /// - No connection was made: connect again.
    /// - The server chose this transaction as the victim of a deadlock, and rolled it back completely: run the whole transaction
    ///   again, not only the last statement.
    pub fn is_retryable(&self) -> bool {
        const DEADLOCK: u16 = 1213;
        const TOO_MANY_CONNECTIONS: u16 = 1040;
        match self.kind() {
            Kind::Connect(_) | Kind::Password(_) | Kind::WrongRole(_) | Kind::NoServer(_) => true,
            Kind::Pool(failure) => failure.why == WaitError::Timeout,
            Kind::Server(error) => matches!(error.code, DEADLOCK | TOO_MANY_CONNECTIONS),
            _ => false,
        }
    }

    /// Returns whether the server may have executed the statement despite the error: at least a part of it was sent, and its
    /// reply did not arrive or was incomplete.
    ///
    /// In that case look for the statement's effect on another connection, and repeat it only if that does no harm. An open
    /// transaction is rolled back, unless the statement was its COMMIT.
    ///
    /// Returns false if nothing of the statement was sent, or if the server answered with an error. A proxy's error that it has
    /// lost the server (2013) does not count as an answer.
    pub fn maybe_executed(&self) -> bool {
        self.0.maybe_executed
    }

    /// Returns whether the statement was not executed because its transaction is over.
    ///
    /// The server has rolled back the whole transaction after an error such as a deadlock; or, if the statement is the commit,
    /// another statement may have ended it, as CREATE TABLE does by committing it. The connection stays usable after the
    /// transaction is dropped.
    pub fn is_transaction_over(&self) -> bool {
        matches!(self.kind(), Kind::TransactionOver)
    }

    /// Returns the rows of a [bulk](crate::blocking::Bulk) that the error is about, counted from 0 in the order in which they were
    /// pushed: one row that was not taken, or the batch in which the server found it.
    pub fn bulk_rows(&self) -> Option<std::ops::Range<u64>> {
        self.0.rows.clone()
    }

    fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// The same for a statement that may have been executed, or can't have been.
    #[cold]
    pub(crate) fn after_sending(mut self, maybe_executed: bool) -> Self {
        self.0.maybe_executed = maybe_executed;
        self
    }

    /// The same, of these rows of a bulk.
    #[cold]
    pub(crate) fn in_rows(mut self, rows: std::ops::Range<u64>) -> Self {
        self.0.rows.get_or_insert(rows);
        self
    }

    /// The same, after which the connection is closed.
    #[cold]
    pub(crate) fn closing(mut self) -> Self {
        self.0.closes = true;
        self
    }

    /// Whether it comes from between the client and the server, and says nothing of the statement.
    pub(crate) fn is_of_the_way(&self) -> bool {
        const READ_INTERRUPTED: u16 = 1159;
        const WRITE_INTERRUPTED: u16 = 1161;
        self.server().is_some_and(|server| {
            OF_CLIENTS.contains(&server.code)
                || matches!(server.code, READ_INTERRUPTED | WRITE_INTERRUPTED)
        })
    }

    #[cold]
    pub(crate) fn nested_transaction() -> Self {
        Kind::NestedTransaction.into()
    }

    #[cold]
    pub(crate) fn transaction_over() -> Self {
        Kind::TransactionOver.into()
    }

    #[cold]
    pub(crate) fn no_greeting() -> Self {
        Kind::NoGreeting.into()
    }

    #[cold]
    pub(crate) fn statement_timeout() -> Self {
        Kind::StatementTimeout.into()
    }

    pub(crate) fn config(problem: String) -> Self {
        Kind::Config(problem).into()
    }

    pub(crate) fn server_error(error: ServerError) -> Self {
        Kind::Server(error).into()
    }

    /// A server's error becomes one that ended the connection.
    pub(crate) fn into_refusal(mut self) -> Self {
        self.0.kind = match self.0.kind {
            Kind::Server(error) => Kind::Refusal(error),
            other => other,
        };
        self
    }

    #[cold]
    pub(crate) fn value(column: String, source: FromValueError) -> Self {
        Kind::Value { column, source }.into()
    }

    #[cold]
    pub(crate) fn no_column(index: String) -> Self {
        Kind::NoColumn(index).into()
    }

    #[cold]
    pub(crate) fn ambiguous(columns: String) -> Self {
        Kind::Ambiguous(columns).into()
    }

    #[cold]
    pub(crate) fn named(problem: String) -> Self {
        Kind::Named(problem).into()
    }

    #[cold]
    pub(crate) fn no_slots() -> Self {
        Kind::Slots.into()
    }

    #[cold]
    pub(crate) fn conversion_of(
        column: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    ) -> Self {
        Kind::Converted { column, source }.into()
    }

    #[cold]
    pub(crate) fn not_one_row(is_more: bool) -> Self {
        if is_more { Kind::ManyRows } else { Kind::NoRow }.into()
    }

    /// The same, with more about the column that it is of.
    #[cold]
    pub(crate) fn of_column(mut self, described: String) -> Self {
        if let Kind::Value { column, .. } | Kind::Taken(column) = &mut self.0.kind {
            *column = described;
        }
        self
    }

    /// The same, of the row of this number.
    #[cold]
    pub(crate) fn in_row(mut self, number: u64) -> Self {
        self.0.row = Some(number);
        self
    }

    #[cold]
    pub(crate) fn taken(column: String) -> Self {
        Kind::Taken(column).into()
    }

    #[cold]
    pub(crate) fn closed(cause: impl Into<String>) -> Self {
        Kind::Closed(cause.into()).into()
    }

    /// The server accepts writes, or does not, unlike what is asked for.
    #[cold]
    pub(crate) fn wrong_role(target: ServerTarget) -> Self {
        Kind::WrongRole(target).into()
    }

    /// Each of several servers failed.
    #[cold]
    pub(crate) fn no_server(failures: Vec<(Endpoint, Self)>) -> Self {
        Kind::NoServer(failures).into()
    }

    /// Whether the configuration is wrong, so that nothing was tried.
    pub(crate) fn is_configuration(&self) -> bool {
        matches!(self.kind(), Kind::Config(_))
    }

    /// A pool has no connection for its caller.
    #[cold]
    pub(crate) fn no_connection(failure: NoConnection) -> Self {
        Kind::Pool(Box::new(failure)).into()
    }

    /// Whether another attempt to connect will hardly fare better: the login is refused, the server is not trusted, or the
    /// configuration is wrong.
    pub(crate) fn is_final(&self) -> bool {
        const TOO_MANY_CONNECTIONS: u16 = 1040;
        const TOO_MANY_USER_CONNECTIONS: u16 = 1203;
        const USER_LIMIT_REACHED: u16 = 1226;
        match self.kind() {
            Kind::Server(error) | Kind::Refusal(error) => {
                !is_farewell(error.code)
                    && !matches!(
                        error.code,
                        TOO_MANY_CONNECTIONS | TOO_MANY_USER_CONNECTIONS | USER_LIMIT_REACHED
                    )
            }
            Kind::Config(_) | Kind::Tls(_) | Kind::TlsUnavailable => true,
            _ => false,
        }
    }

    /// The caller's own reader of a file failed.
    #[cold]
    pub(crate) fn infile(error: io::Error) -> Self {
        Kind::Infile(error).into()
    }

    /// The caller's own reader failed.
    #[cold]
    pub(crate) fn source(error: io::Error) -> Self {
        Kind::Source(error).into()
    }

    /// The provider of a password failed.
    #[cold]
    pub(crate) fn password(error: Box<dyn std::error::Error + Send + Sync>) -> Self {
        Kind::Password(error).into()
    }

    /// A statement could not be cancelled, which says nothing of its own connection.
    #[cold]
    pub(crate) fn cancel(error: Self) -> Self {
        Kind::Cancel(error).into()
    }

    /// Whether the server does not know the prepared statement any more, or can't use it: nothing was executed.
    pub(crate) fn is_unprepared(&self) -> bool {
        const UNKNOWN_STATEMENT: u16 = 1243;
        const NEED_REPREPARE: u16 = 1615;
        matches!(self.kind(), Kind::Server(server) if matches!(server.code, UNKNOWN_STATEMENT | NEED_REPREPARE))
    }

    /// The error of a prepare that the caller did not ask for.
    #[cold]
    pub(crate) fn of_preparing(mut self) -> Self {
        const UNSUPPORTED: u16 = 1295;
        self.0.kind = match self.0.kind {
            Kind::Server(server) if server.code == UNSUPPORTED => Kind::Unpreparable(server),
            other => other,
        };
        self
    }

    /// Whether the server cancelled what was asked for.
    pub(crate) fn is_interrupted(&self) -> bool {
        const QUERY_INTERRUPTED: u16 = 1317;
        self.server()
            .is_some_and(|server| server.code == QUERY_INTERRUPTED)
    }
}

impl From<Kind> for Error {
    fn from(kind: Kind) -> Self {
        Self(Box::new(Failure {
            kind,
            maybe_executed: false,
            closes: false,
            row: None,
            rows: None,
        }))
    }
}

impl From<ProtocolError> for Error {
    #[cold]
    fn from(error: ProtocolError) -> Self {
        Kind::Protocol(error).into()
    }
}

impl From<ConnectError> for Error {
    #[cold]
    fn from(error: ConnectError) -> Self {
        Kind::Connect(error).into()
    }
}

impl From<TlsError> for Error {
    #[cold]
    fn from(error: TlsError) -> Self {
        match error {
            TlsError::Buffer(error) => Kind::Protocol(error.into()),
            error => Kind::Tls(error),
        }
        .into()
    }
}

impl From<DriveError<ProtocolError>> for Error {
    #[cold]
    fn from(error: DriveError<ProtocolError>) -> Self {
        #[cfg(feature = "compression")]
        if let DriveError::Read(source) | DriveError::Write(source) = &error
            && let Some(error) = crate::compression::of_io(source)
        {
            return Kind::Protocol(error).into();
        }
        match error {
            DriveError::Core(error) => Kind::Protocol(error),
            DriveError::Read(source) => Kind::Io {
                reading: true,
                source,
            },
            DriveError::Write(source) => Kind::Io {
                reading: false,
                source,
            },
            DriveError::Timeout => Kind::Timeout,
            DriveError::Tls(error) => return (*error).into(),
            _ => Kind::TlsUnavailable,
        }
        .into()
    }
}

/// Converts the error for readers of values, whose errors are I/O errors. [`io::Error::get_ref`] returns the [`Error`].
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            Kind::Timeout | Kind::NoGreeting | Kind::StatementTimeout => io::ErrorKind::TimedOut,
            Kind::Pool(failure) if failure.why == WaitError::Timeout => io::ErrorKind::TimedOut,
            Kind::Io { source, .. } => source.kind(),
            Kind::Protocol(ProtocolError::Closed { .. }) => io::ErrorKind::UnexpectedEof,
            Kind::Protocol(error) if error.is_out_of_memory() => io::ErrorKind::OutOfMemory,
            Kind::Protocol(_) => io::ErrorKind::InvalidData,
            _ => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(row) = self.0.row {
            write!(f, "row {row}, ")?;
        }
        fmt::Display::fmt(self.kind(), f)?;
        match &self.0.rows {
            Some(rows) if rows.end <= rows.start + 1 => write!(f, " (row {})", rows.start + 1),
            Some(rows) => write!(f, " (rows {} to {})", rows.start + 1, rows.end),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Config(problem) => f.write_str(problem),
            Kind::Connect(error) => error.fmt(f),
            Kind::Protocol(error) => error.fmt(f),
            Kind::Server(error) | Kind::Refusal(error) => error.fmt(f),
            Kind::Io {
                reading: true,
                source,
            } => write!(f, "reading from the server failed: {source}"),
            Kind::Io {
                reading: false,
                source,
            } => write!(f, "writing to the server failed: {source}"),
            Kind::Timeout => f.write_str("the deadline passed while waiting for the server"),
            Kind::NoGreeting => f.write_str(
                "the deadline passed and the server sent no greeting: is it a MySQL or MariaDB server? Valkey, Redis, HTTP \
                 and TLS servers wait for the client to speak first",
            ),
            Kind::StatementTimeout => {
                f.write_str("the statement took longer than statement-timeout allows")
            }
            Kind::Value { column, source } => {
                write!(f, "column {}: {source}", OneLine(column))
            }
            Kind::NoColumn(index) => {
                write!(f, "the row has no column {}", OneLine(index))
            }
            Kind::Ambiguous(columns) => write!(
                f,
                "the row has two columns of one name, {}: rename one with AS",
                OneLine(columns)
            ),
            Kind::Slots => f.write_str(
                "FromRow::COLUMNS of the type, or what from_row takes, is not the number of columns that its plan adds",
            ),
            Kind::Converted { column, source } => {
                write!(f, "column {}: {source}", OneLine(column))
            }
            Kind::Named(problem) => OneLine(problem).fmt(f),
            Kind::NoRow => f.write_str(
                "the statement returned no row and one was asked for: if there may be none, use query_opt, execute_opt or exec_opt",
            ),
            Kind::ManyRows => f.write_str(
                "the statement returned more than one row and one was asked for: add LIMIT 1, or use query_as, execute_as or exec_as",
            ),
            Kind::Taken(column) => {
                write!(f, "column {} was moved out of the row", OneLine(column))
            }
            Kind::Closed(cause) => write!(f, "the connection is closed: {cause}; connect again"),
            Kind::Tls(error) => error.fmt(f),
            Kind::TlsUnavailable => {
                f.write_str("tls is needed for this connection and its stream was given none")
            }
            Kind::Password(error) => write!(f, "the password could not be obtained: {error}"),
            Kind::Source(error) => write!(f, "reading the parameter's value failed: {error}"),
            Kind::Infile(error) => write!(
                f,
                "reading the file's data failed, and the server stored what came before: {error}"
            ),
            Kind::Cancel(error) => write!(f, "the statement could not be cancelled: {error}"),
            Kind::Pool(failure) => failure.fmt(f),
            Kind::WrongRole(ServerTarget::Primary) => f.write_str(
                "the server is read-only, and target=primary asks for one that accepts writes",
            ),
            Kind::WrongRole(target) => write!(
                f,
                "the server accepts writes, and target={} asks for a read-only one",
                target.name()
            ),
            Kind::NoServer(failures) => {
                write!(f, "none of {} servers can be used", failures.len())?;
                for (number, (endpoint, error)) in failures.iter().enumerate() {
                    let separator = if number == 0 { ':' } else { ';' };
                    write!(f, "{separator} {endpoint}: {error}")?;
                }
                Ok(())
            }
            Kind::Unpreparable(error) => {
                write!(f, "{error}; run this statement with query")
            }
            Kind::NestedTransaction => f.write_str(
                "a transaction is open on this connection: begin a savepoint in it, or end it first",
            ),
            Kind::TransactionOver => f.write_str(
                "the transaction is over: the server rolled it back after an error such as a deadlock, or a statement such \
                 as CREATE TABLE ended it",
            ),
        }
    }
}

/// The failure of the server that was tried last.
fn last(failures: &[(Endpoint, Error)]) -> Option<&Error> {
    failures.last().map(|(_, error)| error)
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.kind() {
            Kind::Connect(error) => error.source(),
            Kind::Tls(error) => Some(error),
            Kind::Io { source, .. } | Kind::Source(source) | Kind::Infile(source) => Some(source),
            Kind::Value { source, .. } => Some(source),
            Kind::Converted { source, .. } => Some(source.as_ref()),
            Kind::Cancel(error) => Some(error),
            Kind::Password(error) => Some(&**error),
            Kind::Pool(failure) => failure.last.as_deref().map(|last| last as _),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
