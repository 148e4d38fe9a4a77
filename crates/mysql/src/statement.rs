//! A prepared statement.

use onecopy_mysql_proto::client::StatementId;

/// A prepared statement of one connection: a handle, `Copy`. It lives until it is
/// [closed](crate::blocking::Connection::close_statement) or its connection is closed or reset; used after that, or on
/// another connection, it is an error and nothing is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Statement {
    pub(crate) id: StatementId,
    pub(crate) connection: u64,
    pub(crate) parameters: u16,
}

impl Statement {
    /// How many parameters it takes.
    pub fn parameters(&self) -> u16 {
        self.parameters
    }
}
