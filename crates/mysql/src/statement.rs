//! A prepared statement, and how its connection learns that it was dropped.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use onecopy_mysql_proto::client::StatementId;

use crate::link::prepared::Handle;

/// A prepared statement of one connection. Clones refer to the same statement.
///
/// After the last clone is dropped, on any thread, the connection closes the statement on the server: together with its next
/// command, in the same write. [`close_statement`](crate::blocking::Connection::close_statement) closes it even if other clones
/// exist.
///
/// A statement is no longer valid after its connection is closed or reset. Using it after that, or on another connection, is an
/// error, and nothing is sent.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::blocking::Connection;
/// use onecopy_mysql::params;
///
/// # fn main() -> Result<(), onecopy_mysql::Error> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop")?;
/// let update = conn.prepare("UPDATE product SET price = ? WHERE id = ?")?;
/// for (id, price) in [(1, 30), (2, 45)] {
///     conn.execute(&update, &params![price, id])?.finish()?;
/// }
/// drop(update); // closed on the server together with the next command
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Statement {
    pub(crate) id: StatementId,
    pub(crate) connection: u64,
    pub(crate) parameters: u16,
    pub(crate) handle: Arc<Handle>,
    /// Its text without literals, where statements are observed.
    pub(crate) digest: Option<Arc<str>>,
}

impl Statement {
    /// Returns the number of parameters.
    pub fn parameters(&self) -> u16 {
        self.parameters
    }
}

impl PartialEq for Statement {
    fn eq(&self, other: &Self) -> bool {
        (self.connection, self.id) == (other.connection, other.id)
    }
}

impl Eq for Statement {}

impl Hash for Statement {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.connection, self.id).hash(state);
    }
}

impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statement")
            .field("id", &self.id)
            .field("connection", &self.connection)
            .field("parameters", &self.parameters)
            .finish_non_exhaustive()
    }
}
