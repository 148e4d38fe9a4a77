//! A dedicated connection.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use super::pool::Pool;
use crate::Meter;
use crate::aio::Connection;

/// A dedicated connection, borrowed with [`Shared::acquire`](super::Shared::acquire). When it is dropped, it is returned for the
/// next caller if its state is as it was: nothing outstanding, no transaction, no watched keys, and the same database, user and
/// name. Otherwise it is closed, and the next caller gets a new one.
///
/// # Example
/// ```no_run
/// use onecopy_valkey::aio::Shared;
/// use onecopy_valkey::raw;
///
/// # async fn example() -> Result<(), onecopy_valkey::Error> {
/// let shared = Shared::connect("redis://localhost").await?;
/// let mut own = shared.acquire().await?; // a connection that nobody else uses until it is dropped
/// let job = own.run(&raw("BLPOP").arg("jobs").arg("0")).await?; // blocks no other task
/// println!("{job:?}");
/// # Ok(()) }
/// ```
pub struct Dedicated {
    /// There until it is dropped.
    connection: Option<Box<Connection>>,
    /// Its meter when it was borrowed.
    before: Meter,
    pool: Arc<Pool>,
    /// Its turn, which is the next one's who waits when the connection is back.
    permit: Option<OwnedSemaphorePermit>,
}

impl Dedicated {
    pub(super) fn new(
        connection: Box<Connection>,
        pool: Arc<Pool>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            before: connection.meter(),
            connection: Some(connection),
            pool,
            permit: Some(permit),
        }
    }
}

impl Deref for Dedicated {
    type Target = Connection;

    #[inline]
    fn deref(&self) -> &Connection {
        match &self.connection {
            Some(connection) => connection,
            None => unreachable!("it is there until it is dropped"),
        }
    }
}

impl DerefMut for Dedicated {
    #[inline]
    fn deref_mut(&mut self) -> &mut Connection {
        match &mut self.connection {
            Some(connection) => connection,
            None => unreachable!("it is there until it is dropped"),
        }
    }
}

impl Drop for Dedicated {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            Pool::give_back(&self.pool, connection, &self.before);
        }
        // Only now: who is next finds it in the pool.
        self.permit = None;
    }
}

impl fmt::Debug for Dedicated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Dedicated").field(&**self).finish()
    }
}
