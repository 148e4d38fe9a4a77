//! A borrowed connection.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use onecopy_net::Peeked;
use onecopy_pool::{CloseReason, Lease};

use super::Connection;
use super::pool::Shared;
use crate::link::Link;
use crate::pool::{Health, Pooled, Slot};

/// A connection of a pool. When it is dropped, it is returned to the pool, which restores it in the background.
///
/// It may be dropped at any point, with replies unread or a transaction open: nothing of that is visible to the next borrower, and
/// the drop does not wait. A connection that is closed, waits in a blocking command, or cannot be restored is replaced.
///
/// # Example
/// ```no_run
/// use onecopy_valkey::blocking::Pool;
/// use onecopy_valkey::command::list;
///
/// # fn example(pool: &Pool) -> Result<(), onecopy_valkey::Error> {
/// let mut conn = pool.get()?;
/// // Other callers are not held up: the connection is this one's alone.
/// if let Some((_, job)) = conn.run(&list::blpop("jobs", 5.0))? {
///     println!("{job:?}"); // borrowed from the read buffer
/// }
/// # Ok(()) }
/// ```
pub struct PooledConnection {
    /// `None` once they were taken.
    borrowed: Option<(Lease, Box<Slot<Connection>>)>,
    /// Only while `borrowed` is `Some`; readable without an `Option`.
    shared: Arc<Shared>,
}

impl PooledConnection {
    #[inline]
    pub(super) fn new(shared: &Arc<Shared>, lease: Lease, slot: Box<Slot<Connection>>) -> Self {
        Self {
            borrowed: Some((lease, slot)),
            shared: Arc::clone(shared),
        }
    }

    /// Takes the connection out of the pool, which may open another one in its place. The connection keeps its session.
    pub fn detach(mut self) -> Connection {
        let (lease, slot) = self.take();
        self.shared.lost(lease, CloseReason::Detached);
        slot.conn
    }

    /// Whether the connection can be used.
    #[inline]
    pub(super) fn check(&mut self, needs_ping: bool) -> Health {
        let (_, slot) = self.borrowed.as_mut().expect(TAKEN);
        slot.check(needs_ping, self.shared.config())
    }

    /// Whether the server answers a ping in time.
    pub(super) fn answers(&mut self) -> bool {
        let timeout = self.shared.config().pool.reset_timeout;
        self.link.set_command_timeout(Some(timeout));
        let is_answered = Connection::answers(self);
        let timeout = self.shared.config().command_timeout;
        self.link.set_command_timeout(timeout);
        is_answered
    }

    /// Closes the connection.
    pub(super) fn discard(mut self, reason: CloseReason) {
        let (lease, slot) = self.take();
        drop(slot);
        self.shared.lost(lease, reason);
    }

    fn slot_mut(&mut self) -> &mut Slot<Connection> {
        &mut self.borrowed.as_mut().expect(TAKEN).1
    }

    fn take(&mut self) -> (Lease, Box<Slot<Connection>>) {
        self.borrowed.take().expect(TAKEN)
    }
}

/// It is taken by value or by the drop, so nobody sees it afterwards.
const TAKEN: &str = "a pooled connection is there until it is dropped";

impl Deref for PooledConnection {
    type Target = Connection;

    #[inline]
    fn deref(&self) -> &Connection {
        &self.borrowed.as_ref().expect(TAKEN).1.conn
    }
}

impl DerefMut for PooledConnection {
    #[inline]
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.slot_mut().conn
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        if let Some((lease, slot)) = self.borrowed.take() {
            self.shared.put_back(lease, slot);
        }
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
