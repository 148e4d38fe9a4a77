//! A worker, as pools and those who wait for connections see it.

use std::fmt;
use std::sync::Arc;

use super::connection::Connection;
use super::pool::Pool;

/// A worker, as pools see it.
pub(crate) trait Recipient: fmt::Debug + Send + Sync {
    /// Gives a connection to a session that waits under a number; gives it back where the worker is gone.
    fn grant(
        &self,
        session: usize,
        number: u64,
        connection: Box<Connection>,
    ) -> Option<Box<Connection>>;
    /// Has a session look again whether there is a connection.
    fn look_again(&self, session: usize, number: u64);
    /// Ends the session of a client, by its id.
    fn end(&self, session: usize, id: u32);
    /// Has a `KILL` of a client, by its id, run on the server that the client is on.
    fn kill(&self, session: usize, id: u32, is_query: bool);
    /// Has the worker give up an idle connection, and soon those that are kept for a question about warnings.
    fn spare(&self, pool: &Arc<Pool>);
}
