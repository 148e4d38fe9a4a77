//! One proxy as far as it is known: its answers, and what they counted before.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::grid::{Grid, Record, Show};
use super::latency::Latencies;
use super::value::{Shown, Value};

/// The shortest time over which a rate is computed. Answers to a key that follow each other at once say nothing.
const SHORTEST: Duration = Duration::from_millis(400);

/// The time over which quantiles are computed. Within a second there may be few replies.
const QUANTILES: Duration = Duration::from_millis(10_500);

/// Answers older than this by so many intervals do not say what runs now.
const STALE: u32 = 3;

/// Whether it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Link {
    Connecting,
    Up,
    /// It is tried again at that time.
    Down {
        why: Shown,
        retry_at: Instant,
    },
}

/// What it said to one statement. An error is one of the admin listener's, which may be older than this program.
pub(super) type Answer = (Show, Result<Grid, Shown>);

/// One proxy.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) name: Shown,
    pub(super) link: Link,
    answers: HashMap<Show, Result<Grid, Shown>>,
    /// Earlier answers, oldest first.
    past: HashMap<Show, VecDeque<Grid>>,
}

impl Proxy {
    pub(super) fn new(name: Shown) -> Self {
        Self {
            name,
            link: Link::Connecting,
            answers: HashMap::new(),
            past: HashMap::new(),
        }
    }

    /// It has answered. What it was not asked for is forgotten: it would get old.
    pub(super) fn answered(&mut self, answers: Vec<Answer>, interval: Duration) {
        self.link = Link::Up;
        let mut old = std::mem::take(&mut self.answers);
        let mut past = std::mem::take(&mut self.past);
        for (show, answer) in answers {
            if let Ok(now) = &answer {
                let kept = past.remove(&show).unwrap_or_default();
                let last = old.remove(&show).and_then(Result::ok);
                let all = kept.into_iter().chain(last).collect();
                let kept = still_needed(show, all, now.at, interval);
                self.past.insert(show, kept);
            }
            self.answers.insert(show, answer);
        }
    }

    /// It does not answer. What it said is no longer true, and it may have been started again.
    pub(super) fn lost(&mut self, why: Shown, retry_at: Instant) {
        self.link = Link::Down { why, retry_at };
        self.answers.clear();
        self.past.clear();
    }

    pub(super) fn answer(&self, show: Show) -> Option<&Result<Grid, Shown>> {
        self.answers.get(&show)
    }

    pub(super) fn grid(&self, show: Show) -> Option<&Grid> {
        self.answers.get(&show)?.as_ref().ok()
    }

    /// The answer to compare with, and how long ago it was.
    fn base(&self, show: Show) -> Option<(&Grid, Duration)> {
        let now = self.grid(show)?.at;
        let past = self.past.get(&show)?.iter();
        let ages = past.map(|grid| (grid, now.saturating_duration_since(grid.at)));
        let mut old = ages.filter(|(_, age)| *age >= SHORTEST);
        match show {
            Show::Latencies => old.next(),
            _ => old.next_back(),
        }
    }

    /// How much the sum of a column grows a second, in the rows that are meant.
    pub(super) fn rate(
        &self,
        show: Show,
        column: &str,
        is_meant: impl Fn(&Record<'_>) -> bool,
    ) -> Option<f64> {
        let (before, time) = self.base(show)?;
        let now = sum(self.grid(show)?, column, &is_meant);
        Some(per_second(now, sum(before, column, &is_meant), time))
    }

    /// The sum of a column; `None` if it was not asked for.
    pub(super) fn sum(&self, show: Show, column: &str) -> Option<u64> {
        Some(sum(self.grid(show)?, column, |_| true))
    }

    /// Counts of a column some time ago, to compute rates of rows that have the same values in the columns `keys`.
    pub(super) fn earlier(
        &self,
        show: Show,
        keys: &'static [&'static str],
        column: &'static str,
    ) -> Earlier {
        let base = self.base(show).map(|(grid, time)| {
            let count = |record: Record<'_>| {
                let count = record.number(column).unwrap_or_default();
                (key(&record, keys), count)
            };
            (time, grid.records().map(count).collect())
        });
        Earlier { keys, column, base }
    }

    /// How long replies took of late.
    pub(super) fn latencies(&self, is_meant: impl Fn(&Record<'_>) -> bool) -> Latencies {
        let Some((now, (before, _))) = self.grid(Show::Latencies).zip(self.base(Show::Latencies))
        else {
            return Latencies::default();
        };
        Latencies::of(now, &is_meant).since(&Latencies::of(before, &is_meant))
    }
}

/// The answers that a later one is compared with.
fn still_needed(
    show: Show,
    all: VecDeque<Grid>,
    now: Instant,
    interval: Duration,
) -> VecDeque<Grid> {
    let mut kept = all;
    let age = |grid: &Grid| now.saturating_duration_since(grid.at);
    let longest = QUANTILES.max(interval * STALE);
    kept.retain(|grid| age(grid) <= longest);
    if show != Show::Latencies {
        // The newest one that is old enough, and those that will be.
        let base = kept.iter().rposition(|grid| age(grid) >= SHORTEST);
        kept.drain(..base.unwrap_or_default());
    }
    kept
}

fn sum(grid: &Grid, column: &str, is_meant: impl Fn(&Record<'_>) -> bool) -> u64 {
    let meant = grid.records().filter(|record| is_meant(record));
    let numbers = meant.filter_map(|record| record.number(column));
    numbers.fold(0, u64::saturating_add)
}

#[allow(clippy::cast_precision_loss)] // rates have three digits that count
fn per_second(now: u64, before: u64, time: Duration) -> f64 {
    // Counts of a worker that has died are gone.
    now.saturating_sub(before) as f64 / time.as_secs_f64()
}

/// Values that tell rows apart.
fn key(record: &Record<'_>, keys: &[&str]) -> String {
    let values = keys.iter().map(|key| record.text(key).unwrap_or_default());
    values.collect::<Vec<_>>().join("\0")
}

/// Counts of a column some time ago.
pub(super) struct Earlier {
    keys: &'static [&'static str],
    column: &'static str,
    base: Option<(Duration, HashMap<String, u64>)>,
}

impl Earlier {
    /// How much a row's count grows a second.
    pub(super) fn rate(&self, record: &Record<'_>) -> Value {
        let rate = || {
            let (time, counts) = self.base.as_ref()?;
            let now = record.number(self.column)?;
            // A row that was not there had counted nothing.
            let before = counts.get(&key(record, self.keys)).copied();
            Some(per_second(now, before.unwrap_or_default(), *time))
        };
        Value::of(rate(), Value::Rate)
    }
}

/// What the sessions of some rows do.
pub(super) struct Flow {
    pub(super) commands: Value,
    pub(super) errors: Value,
    pub(super) bytes_in: Value,
    pub(super) bytes_out: Value,
    pub(super) p50: Value,
    pub(super) p95: Value,
    pub(super) p99: Value,
}

impl Flow {
    pub(super) fn of(proxy: &Proxy, is_meant: impl Fn(&Record<'_>) -> bool) -> Self {
        let rate = |column, kind: fn(f64) -> Value| {
            Value::of(proxy.rate(Show::Traffic, column, &is_meant), kind)
        };
        let latencies = proxy.latencies(&is_meant);
        let quantile = |part| Value::of(latencies.quantile(part), Value::Micros);
        Self {
            commands: rate("Commands", Value::Rate),
            errors: rate("Errors", Value::Rate),
            bytes_in: rate("Bytes_in", Value::ByteRate),
            bytes_out: rate("Bytes_out", Value::ByteRate),
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
        }
    }
}

#[cfg(test)]
mod tests;
