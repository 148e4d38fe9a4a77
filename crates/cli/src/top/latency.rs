//! How long replies took in a while: quantiles of the difference of two answers to `SHOW LATENCIES`.

use std::collections::BTreeMap;

use super::grid::{Grid, Record};

/// Replies by the upper bound of their step, in microseconds; `u64::MAX` is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Latencies(BTreeMap<u64, u64>);

impl Latencies {
    /// Those of the rows that are meant.
    pub(super) fn of(grid: &Grid, is_meant: impl Fn(&Record<'_>) -> bool) -> Self {
        let mut all = Self::default();
        for record in grid.records().filter(|record| is_meant(record)) {
            let bound = record.number("Up_to_us").unwrap_or(u64::MAX);
            let replies = record.number("Replies").unwrap_or_default();
            *all.0.entry(bound).or_default() += replies;
        }
        all
    }

    /// What has come since.
    pub(super) fn since(mut self, before: &Self) -> Self {
        for (bound, replies) in &mut self.0 {
            let before = before.0.get(bound).copied().unwrap_or_default();
            // Counts of a worker that has died are gone.
            *replies = replies.saturating_sub(before);
        }
        self
    }

    /// The upper bound of the step within which so large a part was answered, as the proxy itself computes it: what has no bound counts
    /// as twice the last one. `None` without replies.
    #[allow(clippy::cast_precision_loss)] // of as many replies as no proxy sends
    pub(super) fn quantile(&self, part: f64) -> Option<u64> {
        let all: u64 = self.0.values().sum();
        if all == 0 {
            return None;
        }
        let mut below = 0;
        let mut last = 0;
        for (&bound, replies) in &self.0 {
            below += replies;
            let bound = match bound {
                u64::MAX => LAST_BOUND * 2,
                bound => bound,
            };
            last = bound;
            if below as f64 >= all as f64 * part {
                return Some(bound);
            }
        }
        Some(last)
    }
}

/// The last step with a bound, in microseconds.
const LAST_BOUND: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn grid(rows: &[(&str, Option<u64>, u64)]) -> Grid {
        let columns = ["Listener", "Up_to_us", "Replies"].map(str::to_owned);
        let mut grid = Grid::new(Instant::now(), columns.to_vec());
        for (listener, bound, replies) in rows {
            grid.push(vec![
                Some((*listener).to_owned()),
                bound.map(|bound| bound.to_string()),
                Some(replies.to_string()),
            ]);
        }
        grid
    }

    #[test]
    fn quantiles_are_of_what_has_come_since() {
        let before = grid(&[("a", Some(25), 1_000), ("a", None, 1)]);
        let now = grid(&[
            ("a", Some(25), 1_001),
            ("a", Some(50), 98),
            ("a", None, 2),
            ("b", Some(75), 500),
        ]);
        let of = |grid| Latencies::of(grid, |record| record.text("Listener") == Some("a"));
        let since = of(&now).since(&of(&before));
        assert_eq!(since.quantile(0.01), Some(25));
        assert_eq!(since.quantile(0.5), Some(50));
        assert_eq!(since.quantile(0.99), Some(50));
        assert_eq!(since.quantile(1.0), Some(20_000_000));
        assert_eq!(of(&now).since(&of(&now)).quantile(0.5), None);
        // A proxy that was started again counts from 0.
        assert_eq!(of(&before).since(&of(&now)).quantile(0.5), None);
    }
}
