//! What an error says: one line, lower case.

use std::fmt;

use onecopy_mysql_proto::packet::OneLine;

use super::{Error, Kind};
use crate::ServerTarget;

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
            Kind::ResultTooLarge { max } => write!(
                f,
                "the result has more than {max} bytes, the limit of max-result-bytes: read its rows one by one, ask for fewer with LIMIT, \
                 or raise the limit"
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
