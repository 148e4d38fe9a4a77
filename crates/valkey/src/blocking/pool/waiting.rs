//! A caller that waits for a connection.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use onecopy_pool::{Checkout, Wait};

use super::super::Connection;
use super::shared::Shared;
use crate::Error;
use crate::pool::Slot;

/// A caller that has waited for this long looks whether jobs wait behind a slow one.
const STUCK: Duration = Duration::from_millis(10);

impl Shared {
    /// Waits for a connection. `is_again`: at the front.
    ///
    /// # Errors
    /// There is none in time, or never will be.
    pub(super) fn wait(
        self: &Arc<Self>,
        since: Instant,
        is_again: bool,
    ) -> Result<Checkout<Box<Slot<Connection>>>, Error> {
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
                Wait::Failed(why) => return Err(self.core().no_connection(why, since.elapsed())),
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
}
