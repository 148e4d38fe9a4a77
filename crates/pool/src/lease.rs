//! What a borrower has.

use std::time::Instant;

/// The right to use a connection. Return it to the pool with the connection, or report it as lost; otherwise its place in the pool
/// stays occupied.
#[derive(Debug)]
#[must_use = "its place in the pool stays occupied until it is given back or reported as lost"]
pub struct Lease {
    /// When the connection is to be closed because of its age.
    pub(crate) expires: Option<Instant>,
    pub(crate) is_restoring: bool,
}

/// A connection for a borrower.
#[derive(Debug)]
pub struct Checkout<C> {
    /// The connection.
    pub conn: C,
    /// The right to use it.
    pub lease: Lease,
    /// The connection was idle for so long that it has to be pinged first.
    pub needs_ping: bool,
}

/// A connection that nobody uses.
#[derive(Debug)]
pub(crate) struct Idle<C> {
    pub(crate) conn: C,
    pub(crate) expires: Option<Instant>,
    pub(crate) since: Instant,
}
