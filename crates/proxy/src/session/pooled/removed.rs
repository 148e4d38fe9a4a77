//! What becomes of a session whose backend a reload has removed: it leaves it as soon as it can, and continues on another one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Pooled;
use crate::failure::Failure;
use crate::listener::Listener;
use crate::pooling::pin::Pin;
use crate::session::{End, Phase, Session};

/// How much longer a session may stay that only waits for the answer to a question of the proxy's.
const ANSWER: Duration = Duration::from_secs(1);

impl Session {
    /// The end of a session that can't leave its removed backend: when none of its client's work is under way, or when its time is over.
    pub(in crate::session) fn check_removed(&self, now: Instant) -> Result<(), End> {
        let Phase::Pooled(pooled) = &self.phase else {
            return Ok(());
        };
        let Some(until) = pooled.removed_until() else {
            return Ok(());
        };
        let pins = || pooled.pins.iter();
        let works = !self.relay.is_idle() || self.relay.in_transaction();
        let by = match works || !pooled.pins.is_empty() {
            true => until,
            false => until + ANSWER,
        };
        let is_kept = pins().any(Pin::is_for_good) && !pins().any(Pin::is_under_way);
        match is_kept && self.may_leave() || now >= by {
            true => Err(Failure::backend_removed().into()),
            false => Ok(()),
        }
    }

    /// Whether none of its listener's backends is configured any more.
    pub(in crate::session) fn has_no_backend(&self) -> bool {
        let backends = self.newest_pooled().backends.all();
        backends.iter().all(|backend| backend.is_removed())
    }

    /// Its listener as the last reload has left it.
    pub(super) fn newest_pooled(&self) -> &Arc<Listener> {
        let mut newest = &self.listener;
        // A listener that shares nothing any more has no account for this session.
        while let Some(successor) = newest.successor.get()
            && successor.pool.is_some()
        {
            newest = successor;
        }
        newest
    }
}

impl Pooled {
    /// Where its backend is no longer configured: how long it may stay.
    fn removed_until(&self) -> Option<Instant> {
        self.connection.as_ref()?.place.backend().removed_until()
    }
}
