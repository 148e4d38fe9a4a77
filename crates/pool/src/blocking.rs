//! A pool for threads, of any type of connection.
//!
//! | work                                            | done by                            |
//! |-------------------------------------------------|------------------------------------|
//! | connects, restores                              | worker threads, usually one        |
//! | idle timeout, lifetime, end of a pause          | an idle worker                     |
//! | waking, closing                                 | the thread that caused it          |
//!
//! # Example
//! ```
//! use std::io;
//! use std::net::{TcpListener, TcpStream};
//!
//! use onecopy_pool::{Health, PoolConfig, Poolable, Returned, blocking};
//!
//! struct Connection(TcpStream);
//!
//! struct Config {
//!     address: String,
//!     pool: PoolConfig,
//! }
//!
//! impl Poolable for Connection {
//!     type Config = Config;
//!     type Error = io::Error;
//!
//!     fn pool_config(config: &Config) -> &PoolConfig {
//!         &config.pool
//!     }
//!
//!     fn check(&mut self, needs_ping: bool, _: &Config) -> Health {
//!         if needs_ping { Health::Unsure } else { Health::Good }
//!     }
//!
//!     fn returned(&mut self, _: &Config) -> Returned {
//!         Returned::Clean
//!     }
//!
//!     fn trim(&mut self, _: &Config) {}
//!
//!     fn is_final(_: &io::Error) -> bool {
//!         false
//!     }
//!
//!     fn closed(cause: &'static str) -> io::Error {
//!         io::Error::other(cause)
//!     }
//! }
//!
//! impl blocking::Connect for Connection {
//!     fn connect(config: &Config) -> io::Result<Box<Self>> {
//!         Ok(Box::new(Self(TcpStream::connect(&config.address)?)))
//!     }
//!
//!     fn restore(&mut self, _: &Config) -> io::Result<()> {
//!         Ok(())
//!     }
//!
//!     fn answers(&mut self, _: &Config) -> bool {
//!         self.0.take_error().is_ok_and(|error| error.is_none())
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?.to_string();
//! let pool = blocking::Pool::<Connection>::new(Config { address, pool: PoolConfig::default() })?;
//! let conn = pool.get()?;
//! assert_eq!(conn.0.peer_addr()?, listener.local_addr()?);
//! drop(conn); // returned
//! assert_eq!(pool.stats().idle, 1);
//! pool.close();
//! # Ok(()) }
//! ```

mod threads;
mod waiting;
mod workers;

use std::time::Instant;

pub use threads::Threads;

use crate::CloseReason;
use crate::driver::{self, Health, NoConnection, Poolable};

/// A pool of connections for threads. Clones share it.
pub type Pool<C> = driver::Pool<C, Threads<C>>;

/// A borrowed connection. When it is dropped, it is returned to the pool.
pub type Borrowed<C> = driver::Borrowed<C, Threads<C>>;

/// What of a connection blocks. The pool calls it with no lock held.
pub trait Connect: Poolable {
    /// Opens a connection.
    ///
    /// # Errors
    /// Fails if the connection could not be opened. The pool tries again after a pause if somebody still waits.
    fn connect(config: &Self::Config) -> Result<Box<Self>, Self::Error>;

    /// Restores a connection whose [`returned`](Poolable::returned) was [`Returned::Used`](crate::Returned::Used), so that the next
    /// borrower finds it as a new one. It has to end within [`reset_timeout`](crate::PoolConfig::reset_timeout).
    ///
    /// # Errors
    /// The connection is closed.
    fn restore(&mut self, config: &Self::Config) -> Result<(), Self::Error>;

    /// Returns whether the peer answers a ping in time.
    fn answers(&mut self, config: &Self::Config) -> bool;
}

impl<C: Connect> Pool<C> {
    /// Returns a connection, and waits for one if none is idle and the maximum is reached. Waiting callers are served first come,
    /// first served. Handing out an idle connection allocates nothing.
    ///
    /// # Errors
    /// Fails if no connection became available within [`acquire_timeout`](crate::PoolConfig::acquire_timeout), if the last attempt to
    /// connect [is final](Poolable::is_final) and the pool has no connection, or if the pool is closed.
    #[inline]
    pub fn get(&self) -> Result<Borrowed<C>, Box<NoConnection<C::Error>>> {
        let begun = Instant::now();
        match self.shared.idle(begun) {
            Some((borrowed, Health::Good)) => Ok(borrowed),
            found => self.get_slowly(begun, found),
        }
    }

    fn get_slowly(
        &self,
        begun: Instant,
        found: Option<(Borrowed<C>, Health)>,
    ) -> Result<Borrowed<C>, Box<NoConnection<C::Error>>> {
        let mut is_again = false;
        let mut found = found;
        loop {
            let (mut borrowed, health) = match found {
                Some(found) => found,
                None => self.shared.lend(self.shared.wait(begun, is_again)?),
            };
            let is_alive = match health {
                Health::Good => true,
                Health::Unsure => {
                    let (conn, config) = borrowed.parts();
                    conn.answers(config)
                }
                Health::Dead => false,
            };
            if is_alive {
                return Ok(borrowed);
            }
            borrowed.discard(CloseReason::Unhealthy);
            is_again = true;
            found = self.shared.idle(begun);
        }
    }

    /// Closes the pool, and waits until all connections are returned and closed. Callers that wait for a connection fail, and so
    /// does every further [`get`](Self::get).
    pub fn close(&self) {
        self.shared.close();
        self.shared.wait_drained();
    }
}
