//! The runtime's clock, which a test can pause.

use std::time::{Duration, Instant};

/// The time now, by the clock that the runtime's timers follow.
#[inline]
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// The deadline of what begins now; none where the time has no end that a clock could show.
pub(super) fn deadline_in(timeout: Option<Duration>) -> Option<Instant> {
    timeout.and_then(|timeout| now().checked_add(timeout))
}
