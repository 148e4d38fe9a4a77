//! A borrowed connection.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::{Health, Poolable, Runner, Shared};
use crate::{CloseReason, Lease};

/// A connection of a pool. When it is dropped, it is returned to the pool, which restores it in the background; the drop does not
/// wait.
pub struct Borrowed<C: Poolable, R: Runner<C>> {
    /// `None` once they were taken.
    borrowed: Option<(Lease, Box<C>)>,
    /// Only while `borrowed` is `Some`; readable without an `Option`.
    shared: Arc<Shared<C, R>>,
}

impl<C: Poolable, R: Runner<C>> Borrowed<C, R> {
    #[inline]
    pub(super) fn new(shared: &Arc<Shared<C, R>>, lease: Lease, conn: Box<C>) -> Self {
        Self {
            borrowed: Some((lease, conn)),
            shared: Arc::clone(shared),
        }
    }

    /// Takes the connection out of the pool, which may open another one in its place.
    pub fn detach(mut self) -> Box<C> {
        let (lease, conn) = self.take();
        self.shared.lost(lease, CloseReason::Detached);
        conn
    }

    #[inline]
    pub(crate) fn check(&mut self, needs_ping: bool) -> Health {
        let (_, conn) = self.borrowed.as_mut().expect(TAKEN);
        conn.check(needs_ping, self.shared.config())
    }

    pub(crate) fn parts(&mut self) -> (&mut C, &C::Config) {
        let (_, conn) = self.borrowed.as_mut().expect(TAKEN);
        (conn, self.shared.config())
    }

    /// Closes the connection.
    pub(crate) fn discard(mut self, reason: CloseReason) {
        let (lease, conn) = self.take();
        drop(conn);
        self.shared.lost(lease, reason);
    }

    fn take(&mut self) -> (Lease, Box<C>) {
        self.borrowed.take().expect(TAKEN)
    }
}

/// It is taken by value or by the drop, so nobody sees it afterwards.
const TAKEN: &str = "a borrowed connection is there until it is dropped";

impl<C: Poolable, R: Runner<C>> Deref for Borrowed<C, R> {
    type Target = C;

    #[inline]
    fn deref(&self) -> &C {
        &self.borrowed.as_ref().expect(TAKEN).1
    }
}

impl<C: Poolable, R: Runner<C>> DerefMut for Borrowed<C, R> {
    #[inline]
    fn deref_mut(&mut self) -> &mut C {
        &mut self.borrowed.as_mut().expect(TAKEN).1
    }
}

impl<C: Poolable, R: Runner<C>> Drop for Borrowed<C, R> {
    #[inline]
    fn drop(&mut self) {
        if let Some((lease, conn)) = self.borrowed.take() {
            self.shared.put_back(lease, conn);
        }
    }
}

impl<C: Poolable + fmt::Debug, R: Runner<C>> fmt::Debug for Borrowed<C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Borrowed").field(&**self).finish()
    }
}
