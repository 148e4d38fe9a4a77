//! A pool of connections.

mod connect;
mod restore;

use std::fmt;

use onecopy_pool::blocking as driver;

use super::{Connection, PooledConnection};
use crate::pool::Slot;
use crate::{Config, Error, PoolStats};

/// A pool of connections to one server or a group of servers. Clones share it.
///
/// Connections are opened when they are needed. A returned connection is restored in the background: unread results are read or
/// cancelled, and the session is reset, so that the next borrower finds it as after a login. One thread does this. While it is busy
/// connecting, or with a slow connection, up to [`max_connecting`](crate::PoolConfig::max_connecting) more threads help.
/// [`Config::pool`] has the settings.
///
/// The pool is closed when its last clone is dropped; borrowed connections are then closed when they are returned.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::blocking::Pool;
///
/// # fn main() -> Result<(), onecopy_mysql::Error> {
/// let pool = Pool::from_url("mysql://user:password@localhost/shop?pool-max=20")?;
/// let mut conn = pool.get()?;
/// conn.run("UPDATE product SET price = 5 WHERE id = 1")?;
/// drop(conn); // returned
/// pool.close();
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Pool {
    pool: driver::Pool<Slot<Connection>>,
}

impl Pool {
    /// Creates a pool for the server of a URL, see [`Config::from_url`]. It does not connect yet.
    ///
    /// # Errors
    /// Fails if the URL is invalid, or has options that contradict each other.
    pub fn from_url(url: &str) -> Result<Self, Error> {
        Self::new(Config::from_url(url)?)
    }

    /// Creates a pool. It does not connect yet: the first [`get`](Self::get) opens the minimum of connections.
    ///
    /// # Errors
    /// Fails if the settings contradict each other.
    pub fn new(config: Config) -> Result<Self, Error> {
        let pool = driver::Pool::new(config);
        let pool = pool.map_err(|error| Error::config(error.to_string()))?;
        Ok(Self { pool })
    }

    /// Returns a connection, and waits for one if none is idle and the maximum is reached. Waiting callers are served first
    /// come, first served.
    ///
    /// An idle connection that the server has closed is detected and replaced. One that was idle for
    /// [`ping_after`](crate::PoolConfig::ping_after) is pinged first; other idle connections cost one system call, no allocation
    /// and no round trip.
    ///
    /// # Errors
    /// Fails if no connection became available within [`acquire_timeout`](crate::PoolConfig::acquire_timeout), if the login is
    /// refused and the pool has no connection, or if the pool is closed. The first two errors contain the last error of connecting:
    /// see [`Error::pool`].
    pub fn get(&self) -> Result<PooledConnection, Error> {
        match self.pool.get() {
            Ok(borrowed) => Ok(PooledConnection::new(borrowed)),
            Err(failure) => Err(Error::no_connection(failure)),
        }
    }

    /// Returns a snapshot of the pool's counters.
    pub fn stats(&self) -> PoolStats {
        self.pool.stats()
    }

    /// Returns the settings.
    pub fn config(&self) -> &Config {
        self.pool.config()
    }

    /// Closes the pool, and waits until all connections are returned and closed. Callers that wait for a connection fail, and so
    /// does every further [`get`](Self::get).
    pub fn close(&self) {
        self.pool.close();
    }

    /// Returns whether the pool is closed.
    pub fn is_closed(&self) -> bool {
        self.pool.is_closed()
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
