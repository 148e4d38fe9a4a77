//! The error type, opaque, with methods to query it.

mod convert;
mod display;
mod make;
mod server;

use std::io;

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::value::FromValueError;
use onecopy_net::{ConnectError, Endpoint, TlsError};
use onecopy_pool::WaitError;

pub use self::server::ServerError;
use self::server::is_farewell;
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
    /// More bytes than may be collected.
    ResultTooLarge {
        max: u64,
    },
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

impl Error {
    /// Returns the server's error, if the server sent one. The connection stays usable, unless the error announces its end (such
    /// as a shutdown or an idle timeout) or refuses a change of user.
    pub fn server(&self) -> Option<&ServerError> {
        match self.kind() {
            Kind::Server(error) | Kind::Refusal(error) | Kind::Unpreparable(error) => Some(error),
            Kind::Cancel(error) => error.server(),
            Kind::NoServer(failures) => last(failures)?.server(),
            Kind::Pool(failure) => failure.last()?.server(),
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
            Kind::Pool(failure) => Some(failure.why()),
            _ => None,
        }
    }

    /// Returns whether one row was asked for and the statement returned none.
    pub fn is_no_row(&self) -> bool {
        matches!(self.kind(), Kind::NoRow)
    }

    /// Returns whether the rows of a result were to be collected, and have more bytes than
    /// [`Config::max_result_bytes`](crate::Config::max_result_bytes). The connection stays usable: its next call reads what is left of
    /// the result, or has the server stop sending it.
    pub fn is_result_too_large(&self) -> bool {
        matches!(self.kind(), Kind::ResultTooLarge { .. })
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
            | Kind::ResultTooLarge { .. }
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
            Kind::Pool(failure) => failure.why() == WaitError::Timeout,
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
            Kind::Pool(failure) => failure.why() == WaitError::Timeout,
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
    /// It is true, too, if the rows of the statement's result are not what was asked for: none or too many, more than fit into
    /// [`Config::max_result_bytes`](crate::Config::max_result_bytes), or of other types.
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
            Kind::Pool(failure) => failure.last().map(|last| last as _),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
