//! A pool for tokio, of any type of connection.
//!
//! | work                                    | done by                                            |
//! |-----------------------------------------|----------------------------------------------------|
//! | a connect, a restore                    | a task each, in the runtime of the first use       |
//! | idle timeout, lifetime, end of a pause  | one task, the keeper, which ends with the pool     |
//! | waking, closing                         | the task whose call made it necessary              |
//!
//! [`blocking`](mod@crate::blocking) has an example; the methods are the same, with `.await`.

mod tasks;
mod waiting;

use std::time::Instant;

pub use tasks::Tasks;

use crate::CloseReason;
use crate::driver::{self, Health, NoConnection, Poolable};

/// A pool of connections for the tasks of a tokio runtime. Clones share it. The connections belong to the runtime in which the pool
/// is first used.
pub type Pool<C> = driver::Pool<C, Tasks>;

/// A borrowed connection. When it is dropped, it is returned to the pool.
pub type Borrowed<C> = driver::Borrowed<C, Tasks>;

/// What of a connection waits for the network. The pool calls it with no lock held.
pub trait Connect: Poolable {
    /// Opens a connection.
    ///
    /// # Errors
    /// Fails if the connection could not be opened. The pool tries again after a pause if somebody still waits.
    fn connect(
        config: &Self::Config,
    ) -> impl Future<Output = Result<Box<Self>, Self::Error>> + Send;

    /// Restores a connection whose [`returned`](Poolable::returned) was [`Returned::Used`](crate::Returned::Used), so that the next
    /// borrower finds it as a new one. It has to end within [`reset_timeout`](crate::PoolConfig::reset_timeout).
    ///
    /// # Errors
    /// The connection is closed.
    fn restore(
        &mut self,
        config: &Self::Config,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Returns whether the peer answers a ping in time.
    fn answers(&mut self, config: &Self::Config) -> impl Future<Output = bool> + Send;
}

impl<C: Connect> Pool<C> {
    /// Returns a connection, and waits for one if none is idle and the maximum is reached. Waiting callers are served first come,
    /// first served. Handing out an idle connection allocates nothing.
    ///
    /// # Errors
    /// Fails if no connection became available within [`acquire_timeout`](crate::PoolConfig::acquire_timeout), if the last attempt to
    /// connect [is final](Poolable::is_final) and the pool has no connection, or if the pool is closed.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with timers, unless a connection is idle.
    ///
    /// # Cancel safety
    /// Cancel-safe. If the future is dropped, the caller leaves the queue, and a connection that it was granted goes to the next one.
    pub async fn get(&self) -> Result<Borrowed<C>, Box<NoConnection<C::Error>>> {
        let begun = Instant::now();
        match self.shared.idle(begun) {
            Some((borrowed, Health::Good)) => Ok(borrowed),
            found => self.get_slowly(begun, found).await,
        }
    }

    async fn get_slowly(
        &self,
        begun: Instant,
        found: Option<(Borrowed<C>, Health)>,
    ) -> Result<Borrowed<C>, Box<NoConnection<C::Error>>> {
        let mut is_again = false;
        let mut found = found;
        loop {
            let (mut borrowed, health) = match found {
                Some(found) => found,
                None => self.shared.lend(self.shared.wait(begun, is_again).await?),
            };
            let is_alive = match health {
                Health::Good => true,
                Health::Unsure => {
                    let (conn, config) = borrowed.parts();
                    conn.answers(config).await
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
    ///
    /// # Cancel safety
    /// The pool stays closed if the future is dropped. A further call waits again.
    pub async fn close(&self) {
        self.shared.close();
        self.shared.wait_drained().await;
    }
}
