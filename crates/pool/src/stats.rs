//! What a pool counts.

use std::time::Duration;

/// Buckets of the histogram: the last one holds everything from 2^30 microseconds (18 minutes) on.
const BUCKETS: usize = 32;

/// A snapshot of a pool's counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStats {
    /// Connections in every state: idle, in use, being restored, being connected. Never more than the maximum.
    pub size: usize,
    /// Connections that can be handed out.
    pub idle: usize,
    /// Connections that a borrower has.
    pub in_use: usize,
    /// Connections that were returned, and whose session is being reset.
    pub restoring: usize,
    /// Connections that are being opened.
    pub connecting: usize,
    /// Callers that wait for a connection now.
    pub waiting: usize,
    /// Connections handed out so far.
    pub acquired: u64,
    /// Of these, those that the caller had to wait for.
    pub waited: u64,
    /// Callers that got no connection before their timeout.
    pub timed_out: u64,
    /// The total time that callers waited for connections they got.
    pub wait_total: Duration,
    /// The longest of these waits.
    pub wait_max: Duration,
    /// These waits by duration: element `n` counts those below 2^n microseconds that no earlier element counts.
    pub wait_histogram: [u64; BUCKETS],
    /// Connections opened so far.
    pub connects: u64,
    /// Failed attempts to connect.
    pub connect_failures: u64,
    /// Connections that left the pool, by reason.
    pub closed: Closed,
}

/// Connections that left the pool, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Closed {
    /// [`CloseReason::Idle`].
    pub idle: u64,
    /// [`CloseReason::Lifetime`].
    pub lifetime: u64,
    /// [`CloseReason::Broken`].
    pub broken: u64,
    /// [`CloseReason::Unhealthy`].
    pub unhealthy: u64,
    /// [`CloseReason::Reset`].
    pub reset: u64,
    /// [`CloseReason::Detached`].
    pub detached: u64,
    /// [`CloseReason::Shutdown`].
    pub shutdown: u64,
}

/// Why a connection left the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// Nobody used it for the idle timeout.
    Idle,
    /// It reached its lifetime.
    Lifetime,
    /// It failed while it was borrowed, or its borrower closed it.
    Broken,
    /// While it was idle the server closed it or sent something, or it did not answer the ping.
    Unhealthy,
    /// Its session could not be reset.
    Reset,
    /// Its borrower took it out of the pool.
    Detached,
    /// The pool was closed.
    Shutdown,
}

impl Closed {
    /// Returns the total number.
    pub fn total(&self) -> u64 {
        let Self {
            idle,
            lifetime,
            broken,
            unhealthy,
            reset,
            detached,
            shutdown,
        } = *self;
        idle + lifetime + broken + unhealthy + reset + detached + shutdown
    }

    pub(crate) fn count(&mut self, reason: CloseReason) {
        let counter = match reason {
            CloseReason::Idle => &mut self.idle,
            CloseReason::Lifetime => &mut self.lifetime,
            CloseReason::Broken => &mut self.broken,
            CloseReason::Unhealthy => &mut self.unhealthy,
            CloseReason::Reset => &mut self.reset,
            CloseReason::Detached => &mut self.detached,
            CloseReason::Shutdown => &mut self.shutdown,
        };
        *counter += 1;
    }
}

impl PoolStats {
    /// Returns the time within which this share of the waiting callers got their connection, rounded up to a power of two
    /// microseconds. 0 if nobody has waited.
    ///
    /// ```
    /// let stats = onecopy_pool::PoolStats::default();
    /// assert!(stats.wait_quantile(0.99).is_zero());
    /// ```
    pub fn wait_quantile(&self, share: f64) -> Duration {
        let mut seen = 0;
        for (bucket, count) in (0_u32..).zip(self.wait_histogram) {
            seen += count;
            // Both are far below 2^52.
            if seen > 0 && seen as f64 >= self.waited as f64 * share {
                return Duration::from_micros(1 << bucket).min(self.wait_max);
            }
        }
        self.wait_max
    }

    pub(crate) fn count_wait(&mut self, wait: Duration) {
        self.waited += 1;
        self.wait_total += wait;
        self.wait_max = self.wait_max.max(wait);
        let micros = u64::try_from(wait.as_micros()).unwrap_or(u64::MAX);
        let bucket = usize::try_from(u64::BITS - micros.leading_zeros()).unwrap_or(BUCKETS);
        self.wait_histogram[bucket.min(BUCKETS - 1)] += 1;
    }
}
