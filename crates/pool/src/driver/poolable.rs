//! What a driver has to know of a connection.

use crate::PoolConfig;

/// A connection that a pool can hold, of either driver. [`blocking::Connect`](crate::blocking::Connect) and
/// [`aio::Connect`](crate::aio::Connect) add what does I/O.
///
/// Connections are boxed in the pool, so that they move at the cost of a pointer.
pub trait Poolable: Sized + Send + 'static {
    /// The settings of a connection, those of its pool included.
    type Config: Send + Sync + 'static;
    /// Why a connection could not be made or used.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Returns the settings of the pool.
    fn pool_config(config: &Self::Config) -> &PoolConfig;

    /// The connection is about to be handed out. Must not block. `needs_ping`: it was idle for
    /// [`ping_after`](PoolConfig::ping_after) or longer.
    fn check(&mut self, needs_ping: bool, config: &Self::Config) -> Health;

    /// The connection was returned: nothing of its borrower may stay at the client. Must not block.
    fn returned(&mut self, config: &Self::Config) -> Returned;

    /// The connection becomes idle: it gives back memory above [`idle_keep`](PoolConfig::idle_keep).
    fn trim(&mut self, config: &Self::Config);

    /// Returns whether another attempt to connect will hardly succeed. Callers then fail at once if the pool has no connection.
    fn is_final(error: &Self::Error) -> bool;

    /// Makes an error of connecting from its text.
    fn closed(cause: &'static str) -> Self::Error;
}

/// Whether an idle connection can be handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// At once.
    Good,
    /// Not before it has answered a ping.
    Unsure,
    /// It is closed and replaced.
    Dead,
}

/// What has to be done with a returned connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returned {
    /// Nothing: it becomes idle at once.
    Clean,
    /// It has to be restored in the background.
    Used,
    /// It is unusable, and closed.
    Broken,
}
