//! How many connections may be opened at once, and when the next attempt is allowed after a failure.

use std::time::Instant;

use crate::{Backoff, Jitter, PoolConfig};

/// A connection that is being opened. Report the result: [`connected`](crate::Policy::connected) or
/// [`connect_failed`](crate::Policy::connect_failed).
#[derive(Debug)]
#[must_use = "its place in the pool stays occupied until its result is reported"]
pub struct Connecting(());

/// Limits concurrent connects. After a failure it allows one at a time, after a pause that doubles.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    connecting: usize,
    /// Failures since the last success.
    failures: u32,
    /// No attempt is made before this time.
    until: Option<Instant>,
}

impl Gate {
    pub(crate) fn connecting(&self) -> usize {
        self.connecting
    }

    pub(crate) fn is_open(&self, config: &PoolConfig, now: Instant) -> bool {
        self.has_room(config) && self.until.is_none_or(|until| now >= until)
    }

    /// When an attempt is possible that only a pause prevents.
    pub(crate) fn opens_at(&self, config: &PoolConfig) -> Option<Instant> {
        self.until.filter(|_| self.has_room(config))
    }

    fn has_room(&self, config: &PoolConfig) -> bool {
        let most = if self.failures == 0 {
            config.max_connecting
        } else {
            1
        };
        self.connecting < most
    }

    pub(crate) fn start(&mut self) -> Connecting {
        self.connecting += 1;
        Connecting(())
    }

    pub(crate) fn succeeded(&mut self, _connecting: Connecting) {
        self.connecting -= 1;
        self.failures = 0;
        self.until = None;
    }

    pub(crate) fn failed(
        &mut self,
        _connecting: Connecting,
        config: &PoolConfig,
        jitter: &Jitter,
        now: Instant,
    ) {
        self.connecting -= 1;
        self.failures = self.failures.saturating_add(1);
        let backoff = Backoff {
            first: config.backoff_min,
            longest: config.backoff_max,
            share: 2,
        };
        self.until = now.checked_add(backoff.pause(self.failures, jitter));
    }
}
