//! How long batches took.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

/// Digits that are kept of each time.
const DIGITS: u8 = 3;

/// Times that a client keeps before they are put to the others': 2 KiB.
const PENDING: usize = 256;

/// The times of all clients' batches, in nanoseconds. It grows to some 100 KiB by times of milliseconds, so that one for each
/// of a thousand clients would be most of the memory that the run is said to take.
#[derive(Debug, Clone)]
pub(super) struct Latency(Arc<Mutex<Histogram<u64>>>);

/// One client's latest times.
#[derive(Debug)]
pub(super) struct Recorder {
    all: Latency,
    pending: Vec<u64>,
}

impl Recorder {
    /// A batch that began then is over.
    #[inline]
    pub(super) fn record(&mut self, began: Instant) {
        let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.pending.push(nanos);
        if self.pending.len() == PENDING {
            self.hand_over();
        }
    }

    #[cold]
    fn hand_over(&mut self) {
        self.all.with(|all| {
            for nanos in self.pending.drain(..) {
                // It grows for what is longer than anything before, and so refuses nothing.
                let _ = all.record(nanos);
            }
        });
    }
}

/// The last times are handed over too.
impl Drop for Recorder {
    fn drop(&mut self) {
        self.hand_over();
    }
}

impl Latency {
    /// Of nothing yet.
    pub(super) fn new() -> Self {
        let histogram = Histogram::new(DIGITS).expect("at most five digits");
        Self(Arc::new(Mutex::new(histogram)))
    }

    /// For one client.
    pub(super) fn recorder(&self) -> Recorder {
        Recorder {
            all: self.clone(),
            pending: Vec::new(),
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Histogram<u64>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Names and values for a report, from the least to the greatest.
    pub(super) fn figures(&self) -> [(&'static str, Duration); 8] {
        self.with(|all| {
            let at = |quantile| all.value_at_quantile(quantile);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a mean of u64
            let mean = all.mean() as u64;
            [
                ("min", all.min()),
                ("mean", mean),
                ("p50", at(0.5)),
                ("p90", at(0.9)),
                ("p95", at(0.95)),
                ("p99", at(0.99)),
                ("p99_9", at(0.999)),
                ("max", all.max()),
            ]
            .map(|(name, nanos)| (name, Duration::from_nanos(nanos)))
        })
    }
}
