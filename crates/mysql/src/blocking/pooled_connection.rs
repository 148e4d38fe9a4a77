//! A borrowed connection.

use std::fmt;
use std::ops::{Deref, DerefMut};

use onecopy_net::Peeked;
use onecopy_pool::blocking::Borrowed;

use super::Connection;
use crate::link::Link;
use crate::pool::{Pooled, Slot};

/// A connection of a pool. When it is dropped, it is returned to the pool, which restores it in the background.
///
/// It may be dropped at any point, with rows unread or a transaction open: nothing of that is visible to the next borrower, and
/// the drop does not wait. A connection that is closed, or whose session cannot be restored, is replaced.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::blocking::Pool;
///
/// # fn example(pool: &Pool) -> Result<(), onecopy_mysql::Error> {
/// let mut conn = pool.get()?;
/// let mut rows = conn.query("SELECT name FROM product")?;
/// while let Some(row) = rows.next()? {
///     println!("{}", row.get::<&str>(0)?);
/// }
/// # Ok(()) }
/// ```
pub struct PooledConnection(Borrowed<Slot<Connection>>);

impl PooledConnection {
    #[inline]
    pub(super) fn new(borrowed: Borrowed<Slot<Connection>>) -> Self {
        Self(borrowed)
    }

    /// Takes the connection out of the pool, which may open another one in its place. The connection keeps its session.
    pub fn detach(self) -> Connection {
        self.0.detach().conn
    }
}

impl Deref for PooledConnection {
    type Target = Connection;

    #[inline]
    fn deref(&self) -> &Connection {
        &self.0.conn
    }
}

impl DerefMut for PooledConnection {
    #[inline]
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.0.conn
    }
}

impl fmt::Debug for PooledConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PooledConnection").field(&**self).finish()
    }
}

impl Pooled for Connection {
    #[inline]
    fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    #[inline]
    fn peek(&self) -> Peeked {
        self.stream.peek()
    }

    fn is_tls(&self) -> bool {
        self.stream.is_tls()
    }

    fn release_tls(&mut self, keep: usize) {
        self.stream.release(keep);
    }
}
