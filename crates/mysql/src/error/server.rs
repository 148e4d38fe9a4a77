//! What the server said.

use std::fmt;

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::owned;
use onecopy_mysql_proto::packet::{ErrPacket, OneLine};

/// An error that the server sent. The connection stays usable unless [`Error::is_closed`](crate::Error::is_closed) says otherwise.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::blocking::Connection;
///
/// # fn main() -> Result<(), onecopy_mysql::Error> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop")?;
///
/// if let Err(error) = conn.run("SELECT nothing") {
///     let server = error.server().expect("the server's own error");
///     assert_eq!((server.code, server.sql_state.as_deref()), (1054, Some("42S22")));
///     println!("{}", server.message); // Unknown column 'nothing' in ...
/// }
/// # Ok(()) }
/// ```
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
pub(super) const OF_CLIENTS: std::ops::RangeInclusive<u16> = 2000..=2999;

/// Whether a server or a proxy announces with it that it ends the connection: it is shutting down, or the session was killed,
/// idle or stuck for too long.
pub(super) fn is_farewell(code: u16) -> bool {
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
