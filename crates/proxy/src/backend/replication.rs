//! How far a replica is behind its primary, and which transactions it is known to have.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::position::Position;
use crate::config::ReplicaReads;

/// More than any lag: it is not known, or is not limited.
const NONE: u64 = u64::MAX;

/// How far a server is behind its primary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lag {
    /// As the server itself reports it, in whole seconds.
    pub(crate) time: Duration,
    /// How many transactions it has received and not applied; `None` where it does not say.
    pub(crate) transactions: Option<u64>,
}

/// What is known of a server's replication.
#[derive(Debug)]
pub(crate) struct Replication {
    /// In milliseconds, as the last health check has found it.
    lag: AtomicU64,
    /// In transactions.
    transactions: AtomicU64,
    /// Whether its listener has replicas serve reads, and up to which lag in milliseconds.
    serves_reads: AtomicBool,
    max_lag: AtomicU64,
    /// It has these and all before them.
    reached: Mutex<Position>,
}

impl Default for Replication {
    fn default() -> Self {
        Self {
            lag: AtomicU64::new(NONE),
            transactions: AtomicU64::new(NONE),
            serves_reads: AtomicBool::new(false),
            max_lag: AtomicU64::new(NONE),
            reached: Mutex::default(),
        }
    }
}

impl Replication {
    /// How far it is behind; `None` where that is not known.
    pub(crate) fn lag(&self) -> Option<Lag> {
        let known = |number: u64| (number != NONE).then_some(number);
        Some(Lag {
            time: Duration::from_millis(known(self.lag.load(Relaxed))?),
            transactions: known(self.transactions.load(Relaxed)),
        })
    }

    /// So far, as a health check has found, or it is not known.
    pub(crate) fn set_lag(&self, lag: Option<Lag>) {
        let transactions = lag.and_then(|lag| lag.transactions).unwrap_or(NONE);
        self.transactions.store(transactions, Relaxed);
        let time = lag.map_or(NONE, |lag| millis(lag.time));
        self.lag.store(time, Relaxed);
    }

    pub(crate) fn configure(&self, reads: Option<ReplicaReads>) {
        let max_lag = reads.and_then(|reads| reads.max_lag);
        self.max_lag.store(max_lag.map_or(NONE, millis), Relaxed);
        self.serves_reads.store(reads.is_some(), Relaxed);
    }

    /// Whether its listener has replicas serve reads.
    pub(crate) fn serves_reads(&self) -> bool {
        self.serves_reads.load(Relaxed)
    }

    /// Whether it may not be behind as far as it likes.
    pub(crate) fn has_max_lag(&self) -> bool {
        self.max_lag.load(Relaxed) != NONE
    }

    /// Whether it is no further behind than it may be. One whose lag is not known is, unless any lag will do.
    pub(crate) fn keeps_up(&self) -> bool {
        let max = self.max_lag.load(Relaxed);
        max == NONE || self.lag.load(Relaxed) <= max
    }

    /// Whether it is known to have these transactions.
    pub(crate) fn has(&self, position: &Position) -> bool {
        self.reached().has(position)
    }

    /// It has them.
    pub(crate) fn note_reached(&self, position: &Position) {
        self.reached().advance(position);
    }

    /// It was away, and may be another one, or begin anew.
    pub(crate) fn forget(&self) {
        *self.reached() = Position::default();
    }

    fn reached(&self) -> MutexGuard<'_, Position> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis())
        .unwrap_or(NONE - 1)
        .min(NONE - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_lag(replication: &Replication, millis: u64) {
        replication.set_lag(Some(Lag {
            time: Duration::from_millis(millis),
            transactions: None,
        }));
    }

    #[test]
    fn a_lag_that_is_not_known_is_too_long_where_there_is_a_limit() {
        let replication = Replication::default();
        assert!(replication.keeps_up());
        let limit = |max_lag| {
            replication.configure(Some(ReplicaReads {
                max_lag,
                ..ReplicaReads::default()
            }));
        };
        limit(Some(Duration::from_secs(2)));
        assert!(!replication.keeps_up());
        set_lag(&replication, 2_000);
        assert!(replication.keeps_up());
        set_lag(&replication, 2_001);
        assert!(!replication.keeps_up());
        limit(None);
        assert!(replication.keeps_up());
    }
}
