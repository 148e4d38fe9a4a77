//! What was counted of digests, of one worker or of all.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Digest, Outcome};
use crate::stats::Latency;

/// What was counted of statements.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    /// From the first byte of a statement to the last of its reply.
    pub(crate) latency: Latency,
    /// The longest of these, in microseconds.
    pub(crate) max: u64,
    pub(crate) errors: u64,
    pub(crate) warnings: u64,
    pub(crate) rows: u64,
    pub(crate) affected_rows: u64,
    pub(crate) bytes_from_clients: u64,
    pub(crate) bytes_from_backends: u64,
    statements: u64,
}

impl Counts {
    /// Statements that were answered.
    pub(crate) fn statements(&self) -> u64 {
        self.statements
    }

    #[inline]
    pub(super) fn add(&mut self, outcome: &Outcome) {
        self.latency.add(outcome.taken);
        self.max = self.max.max(outcome.taken.micros);
        self.statements += 1;
        self.errors += u64::from(outcome.failed);
        self.warnings += outcome.tally.warnings;
        self.rows += outcome.tally.rows;
        self.affected_rows = self
            .affected_rows
            .saturating_add(outcome.tally.affected_rows);
        self.bytes_from_clients += outcome.bytes_from_client;
        self.bytes_from_backends += outcome.bytes_from_backend;
    }

    pub(super) fn merge(&mut self, more: &Self) {
        self.latency.merge(&more.latency);
        self.max = self.max.max(more.max);
        self.statements += more.statements;
        self.errors += more.errors;
        self.warnings += more.warnings;
        self.rows += more.rows;
        self.affected_rows = self.affected_rows.saturating_add(more.affected_rows);
        self.bytes_from_clients += more.bytes_from_clients;
        self.bytes_from_backends += more.bytes_from_backends;
    }
}

/// One digest.
#[derive(Debug, Clone)]
pub(crate) struct DigestInfo {
    pub(crate) digest: Arc<Digest>,
    /// Statements without a reply yet.
    pub(crate) running: u64,
    pub(crate) counts: Counts,
    /// How long ago it was first seen, and when the last statement was answered.
    pub(crate) first: Duration,
    pub(crate) last: Duration,
}

/// All digests that are kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct DigestSummary {
    /// In no order, until it is [sorted](Self::sort).
    pub(crate) digests: Vec<DigestInfo>,
    /// Statements of digests that are not kept any more.
    pub(crate) others: Counts,
    /// How often a digest had to leave for another one.
    pub(crate) displaced: u64,
    /// How long is counted.
    pub(crate) since: Duration,
}

impl DigestSummary {
    /// Puts together what workers have counted.
    pub(crate) fn of_all(all: impl Iterator<Item = Self>) -> Self {
        let mut sum = Self::default();
        let mut places: HashMap<u64, usize> = HashMap::new();
        for one in all {
            sum.others.merge(&one.others);
            sum.displaced += one.displaced;
            sum.since = sum.since.max(one.since);
            for info in one.digests {
                let end = sum.digests.len();
                let at = *places.entry(info.digest.hash).or_insert(end);
                match sum.digests.get_mut(at) {
                    Some(known) => known.merge(&info),
                    None => sum.digests.push(info),
                }
            }
        }
        sum.sort();
        sum
    }

    /// Of all statements.
    pub(crate) fn total(&self) -> Counts {
        let mut total = self.others.clone();
        for info in &self.digests {
            total.merge(&info.counts);
        }
        total
    }

    /// Those that took most time first.
    fn sort(&mut self) {
        self.digests.sort_by_key(|info| {
            std::cmp::Reverse((info.counts.latency.sum, info.counts.statements))
        });
    }
}

impl DigestInfo {
    fn merge(&mut self, more: &Self) {
        self.running += more.running;
        self.counts.merge(&more.counts);
        self.first = self.first.max(more.first);
        self.last = self.last.min(more.last);
    }
}
