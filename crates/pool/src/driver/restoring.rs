//! Restoring a returned connection.

use std::sync::Arc;
use std::time::Instant;

use super::{Poolable, Runner, Shared};
use crate::{CloseReason, Lease};

/// A connection that is being restored: closed if this is dropped before it is done.
pub struct Restoring<C: Poolable, R: Runner<C>> {
    shared: Arc<Shared<C, R>>,
    borrowed: Option<(Lease, Box<C>)>,
}

impl<C: Poolable, R: Runner<C>> Restoring<C, R> {
    pub(super) fn new(shared: &Arc<Shared<C, R>>, lease: Lease, conn: Box<C>) -> Self {
        Self {
            shared: Arc::clone(shared),
            borrowed: Some((lease, conn)),
        }
    }

    /// The connection, until it is done.
    pub(crate) fn parts(&mut self) -> Option<(&mut C, &C::Config)> {
        let (_, conn) = self.borrowed.as_mut()?;
        Some((conn, self.shared.config()))
    }

    pub(crate) fn finish(mut self, is_restored: bool) {
        if !is_restored {
            return; // The drop closes it.
        }
        let Some((lease, mut conn)) = self.borrowed.take() else {
            return;
        };
        conn.trim(self.shared.config());
        let now = Instant::now();
        self.shared.core().policy.give_back(lease, conn, now);
        self.shared.act();
    }
}

impl<C: Poolable, R: Runner<C>> Drop for Restoring<C, R> {
    fn drop(&mut self) {
        if let Some((lease, conn)) = self.borrowed.take() {
            drop(conn);
            self.shared.lost(lease, CloseReason::Reset);
        }
    }
}
