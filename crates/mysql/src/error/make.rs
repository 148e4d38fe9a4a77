//! How errors are made and completed, and what the crate itself asks of them.

use std::io;

use onecopy_mysql_proto::value::FromValueError;
use onecopy_net::Endpoint;

use super::server::{OF_CLIENTS, is_farewell};
use super::{Error, Kind, ServerError};
use crate::ServerTarget;
use crate::pool::NoConnection;

impl Error {
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
        let kind = if is_more { Kind::ManyRows } else { Kind::NoRow };
        Self::from(kind).after_sending(true)
    }

    #[cold]
    pub(crate) fn result_too_large(max: u64) -> Self {
        Self::from(Kind::ResultTooLarge { max }).after_sending(true)
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
    pub(crate) fn no_connection(failure: Box<NoConnection>) -> Self {
        Kind::Pool(failure).into()
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
