//! A caller that waits for a connection, or for the end.

use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Connect, Threads};
use crate::driver::{NoConnection, Shared};
use crate::{Checkout, Wait};

/// A caller that has waited for this long looks whether jobs wait behind a slow one.
const STUCK: Duration = Duration::from_millis(10);

impl<C: Connect> Shared<C, Threads<C>> {
    /// Waits for a connection. `is_again`: at the front.
    ///
    /// # Errors
    /// There is none in time, or never will be.
    pub(super) fn wait(
        self: &Arc<Self>,
        since: Instant,
        is_again: bool,
    ) -> Result<Checkout<Box<C>>, Box<NoConnection<C::Error>>> {
        let caller = thread::current();
        let mut ticket = self
            .core()
            .policy
            .wait(Instant::now(), since, caller, is_again);
        self.act();
        loop {
            let now = Instant::now();
            let waited = self.core().policy.poll_wait(ticket, now);
            let until = match waited {
                Wait::Ready(checkout) => return Ok(checkout),
                Wait::Failed(why) => return Err(self.no_connection(why, since)),
                Wait::Pending(still, until) => {
                    ticket = still;
                    until
                }
            };
            let left = until.map(|until| until.saturating_duration_since(now));
            // Also woken by others than the pool; then it waits again.
            thread::park_timeout(left.map_or(STUCK, |left| left.min(STUCK)));
            self.unstick();
        }
    }

    /// Waits until a closed pool has no connection any more.
    pub(super) fn wait_drained(&self) {
        let mut core = self.core();
        while !core.policy.is_drained() {
            let drained = &self.runner.drained;
            core = drained.wait(core).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
