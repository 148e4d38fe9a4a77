//! How long batches took.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

/// Digits that are kept of each time.
const DIGITS: u8 = 3;

/// The times of batches, in nanoseconds.
#[derive(Debug, Clone)]
pub(super) struct Latency(Histogram<u64>);

impl Latency {
    /// Of nothing yet. It grows to some 100 KiB by times of milliseconds.
    pub(super) fn new() -> Self {
        Self(Histogram::new(DIGITS).expect("at most five digits"))
    }

    /// A batch that began then is over.
    #[inline]
    pub(super) fn record(&mut self, began: Instant) {
        let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        // It grows for what is longer than anything before, and so refuses nothing.
        let _ = self.0.record(nanos);
    }

    /// Takes another's times too.
    pub(super) fn add(&mut self, other: &Self) {
        // It grows for them.
        let _ = self.0.add(&other.0);
    }

    /// Names and values for a report, from the least to the greatest.
    pub(super) fn figures(&self) -> [(&'static str, Duration); 8] {
        let at = |quantile| Duration::from_nanos(self.0.value_at_quantile(quantile));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a mean of u64
        let mean = Duration::from_nanos(self.0.mean() as u64);
        [
            ("min", Duration::from_nanos(self.0.min())),
            ("mean", mean),
            ("p50", at(0.5)),
            ("p90", at(0.9)),
            ("p95", at(0.95)),
            ("p99", at(0.99)),
            ("p99_9", at(0.999)),
            ("max", Duration::from_nanos(self.0.max())),
        ]
    }
}
