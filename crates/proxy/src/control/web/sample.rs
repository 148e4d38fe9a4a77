//! What was counted at some times, and the differences between them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::client_list::Commands;
use crate::control::View;
use crate::stats::{Latency, Route, Snapshot};

/// How often a sample is taken while somebody watches.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);

/// The shortest time over which a rate is computed; a sample that comes a little early is one.
const SHORTEST: Duration = Duration::from_millis(900);

/// The longest one. What is older does not say what runs now.
const LONGEST: Duration = Duration::from_secs(30);

/// The time over which quantiles are computed. Within a second there may be few commands.
const QUANTILES: Duration = Duration::from_millis(10_500);

/// Samples that are kept: those of the time for quantiles.
const KEPT: usize = 12;

/// Counts of clients' commands that are kept: the last ones may be too young.
const KEPT_COMMANDS: usize = 2;

/// Points of a chart: two minutes.
pub(super) const POINTS: usize = 120;

/// What was counted at one time.
pub(super) struct Sample {
    pub(super) at: Instant,
    pub(super) snapshot: Snapshot,
    /// Whether `snapshot` has the clients.
    pub(super) has_clients: bool,
}

impl Sample {
    /// Asks the workers.
    pub(super) fn take(view: &View, has_clients: bool) -> Self {
        Self {
            at: Instant::now(),
            snapshot: view.snapshot(has_clients),
            has_clients,
        }
    }

    /// There may be 100,000 clients.
    fn without_clients(&self) -> Self {
        let all = &self.snapshot;
        Self {
            at: self.at,
            snapshot: Snapshot {
                sessions: all.sessions,
                counters: all.counters.clone(),
                pools: all.pools.clone(),
                meter: all.meter,
                compression: all.compression,
                buffer_bytes: all.buffer_bytes,
                login_and_tls_bytes: all.login_and_tls_bytes,
                sessions_waiting_for_buffer: all.sessions_waiting_for_buffer,
                buffers_in_use: all.buffers_in_use,
                clients: Vec::new(),
            },
            has_clients: false,
        }
    }
}

/// A point of a chart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) at: Instant,
    pub(super) commands_per_second: f64,
    pub(super) p99_us: Option<u64>,
}

/// Samples, the oldest first.
#[derive(Default)]
pub(super) struct History {
    samples: VecDeque<Sample>,
    commands: VecDeque<Commands>,
    pub(super) points: VecDeque<Point>,
}

impl History {
    /// Keeps a sample if it is far enough from the last one.
    pub(super) fn keep(&mut self, sample: &Sample) {
        self.keep_commands(sample);
        let age = self.samples.back().map(|last| sample.at - last.at);
        if age.is_some_and(|age| age < SHORTEST) {
            return;
        }
        if age.is_some_and(|age| age > LONGEST) {
            self.samples.clear();
            self.points.clear();
        }
        if let Some(base) = self.base(sample.at) {
            let flow = Flow::of(sample, Some(base), Some(base), |_| true);
            self.points.push_back(Point {
                at: sample.at,
                commands_per_second: flow.commands_per_second.unwrap_or_default(),
                p99_us: flow.p99_us,
            });
        }
        self.samples.push_back(sample.without_clients());
        self.samples
            .drain(..self.samples.len().saturating_sub(KEPT));
        self.points
            .drain(..self.points.len().saturating_sub(POINTS));
    }

    fn keep_commands(&mut self, sample: &Sample) {
        let last = self.commands.back();
        if sample.has_clients && last.is_none_or(|last| sample.at - last.at >= SHORTEST) {
            self.commands.push_back(Commands::new(sample));
            let surplus = self.commands.len().saturating_sub(KEPT_COMMANDS);
            self.commands.drain(..surplus);
        }
    }

    /// What rates are relative to.
    pub(super) fn base(&self, now: Instant) -> Option<&Sample> {
        let is_fit = |sample: &&Sample| (SHORTEST..=LONGEST).contains(&(now - sample.at));
        self.samples.iter().rev().find(is_fit)
    }

    /// The same for rates of clients.
    pub(super) fn commands(&self, now: Instant) -> Option<&Commands> {
        let is_fit = |one: &&Commands| (SHORTEST..=LONGEST).contains(&(now - one.at));
        self.commands.iter().rev().find(is_fit)
    }

    /// What quantiles are relative to.
    pub(super) fn quantile_base(&self, now: Instant) -> Option<&Sample> {
        let is_fit = |sample: &&Sample| now - sample.at <= QUANTILES;
        let oldest = self.samples.iter().find(is_fit);
        oldest
            .filter(|sample| now - sample.at >= SHORTEST)
            .or_else(|| self.base(now))
    }
}

/// Commands and bytes of some routes: since the start, and now.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub(super) struct Flow {
    pub(super) commands: u64,
    pub(super) commands_per_second: Option<f64>,
    pub(super) errors: u64,
    pub(super) errors_per_second: Option<f64>,
    pub(super) bytes_from_clients: u64,
    pub(super) bytes_from_clients_per_second: Option<f64>,
    pub(super) bytes_from_backends: u64,
    pub(super) bytes_from_backends_per_second: Option<f64>,
    pub(super) p50_us: Option<u64>,
    pub(super) p95_us: Option<u64>,
    pub(super) p99_us: Option<u64>,
}

/// Sums of routes.
#[derive(Default)]
struct Sums {
    commands: u64,
    errors: u64,
    bytes_from_clients: u64,
    bytes_from_backends: u64,
    latency: Latency,
}

impl Sums {
    fn of(sample: &Sample, is_meant: impl Fn(&Route) -> bool) -> Self {
        let mut sums = Self::default();
        let routes = sample.snapshot.counters.routes.iter();
        for route in routes.filter(|route| is_meant(route)) {
            sums.commands += route.commands.iter().sum::<u64>();
            sums.errors += route.errors;
            sums.bytes_from_clients += route.bytes_from_clients;
            sums.bytes_from_backends += route.bytes_from_backend;
            route.latency.iter().for_each(|one| sums.latency.merge(one));
        }
        sums
    }
}

impl Flow {
    /// That of the routes that are meant; rates and quantiles are relative to earlier samples.
    pub(super) fn of(
        sample: &Sample,
        base: Option<&Sample>,
        quantile_base: Option<&Sample>,
        is_meant: impl Fn(&Route) -> bool,
    ) -> Self {
        let now = Sums::of(sample, &is_meant);
        let before = base.map(|base| (sample.at - base.at, Sums::of(base, &is_meant)));
        let rate = |field: fn(&Sums) -> u64| {
            let (time, before) = before.as_ref()?;
            per_second(field(&now), field(before), *time)
        };
        let latency =
            quantile_base.map(|base| since(&now.latency, &Sums::of(base, &is_meant).latency));
        let quantile = |part| latency.as_ref().and_then(|latency| latency.quantile(part));
        Self {
            commands: now.commands,
            commands_per_second: rate(|sums| sums.commands),
            errors: now.errors,
            errors_per_second: rate(|sums| sums.errors),
            bytes_from_clients: now.bytes_from_clients,
            bytes_from_clients_per_second: rate(|sums| sums.bytes_from_clients),
            bytes_from_backends: now.bytes_from_backends,
            bytes_from_backends_per_second: rate(|sums| sums.bytes_from_backends),
            p50_us: quantile(0.5),
            p95_us: quantile(0.95),
            p99_us: quantile(0.99),
        }
    }
}

/// How much more there is than before, a second.
#[allow(clippy::cast_precision_loss)] // rates have three digits that count
pub(super) fn per_second(now: u64, before: u64, time: Duration) -> Option<f64> {
    // Counts of a worker that has died are gone.
    let more = now.saturating_sub(before) as f64;
    (!time.is_zero()).then(|| more / time.as_secs_f64())
}

/// What was added to a histogram.
fn since(now: &Latency, before: &Latency) -> Latency {
    let mut more = now.clone();
    for (bucket, before) in more.buckets.iter_mut().zip(&before.buckets) {
        *bucket = bucket.saturating_sub(*before);
    }
    more.sum = more.sum.saturating_sub(before.sum);
    more
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: Instant, commands: u64, micros: u64) -> Sample {
        let mut snapshot = Snapshot::default();
        let counters = &mut snapshot.counters;
        let route = counters.route("front", "db1");
        counters.routes[route].commands[0] = commands;
        for _ in 0..commands {
            counters.routes[route].latency[0].add(Duration::from_micros(micros).into());
        }
        counters.route("other", "db1");
        Sample {
            at,
            snapshot,
            has_clients: false,
        }
    }

    #[test]
    fn rates_are_of_the_last_second_and_quantiles_of_the_last_ten() {
        let began = Instant::now();
        let mut history = History::default();
        for second in 0..20_u64 {
            history.keep(&sample(
                began + Duration::from_secs(second),
                second * 100,
                20,
            ));
            // One that comes in between changes nothing.
            history.keep(&sample(
                began + Duration::from_millis(second * 1_000 + 100),
                0,
                20,
            ));
        }
        assert_eq!(history.samples.len(), KEPT);
        assert_eq!(history.points.len(), 19);
        assert_eq!(history.points[0].commands_per_second, 100.0);
        let now = sample(began + Duration::from_secs(20), 2_500, 20);
        let base = history.base(now.at);
        assert_eq!(base.unwrap().at, began + Duration::from_secs(19));
        let quantile_base = history.quantile_base(now.at);
        assert_eq!(quantile_base.unwrap().at, began + Duration::from_secs(10));
        let flow = Flow::of(&now, base, quantile_base, |route| route.listener == "front");
        assert_eq!(
            (flow.commands, flow.commands_per_second),
            (2_500, Some(600.0))
        );
        assert_eq!(flow.p99_us, Some(25));
        let other = Flow::of(&now, base, quantile_base, |route| route.listener == "other");
        assert_eq!((other.commands_per_second, other.p50_us), (Some(0.0), None));
    }

    #[test]
    fn without_a_sample_of_late_there_are_no_rates() {
        let began = Instant::now();
        let mut history = History::default();
        let first = sample(began, 5, 20);
        assert!(history.base(first.at).is_none() && history.quantile_base(first.at).is_none());
        let flow = Flow::of(&first, None, None, |_| true);
        assert_eq!(
            (flow.commands, flow.commands_per_second, flow.p50_us),
            (5, None, None)
        );
        history.keep(&first);
        let soon = began + Duration::from_millis(200);
        assert!(history.base(soon).is_none() && history.quantile_base(soon).is_none());
        let late = began + LONGEST + INTERVAL;
        assert!(history.base(late).is_none());
        history.keep(&sample(late, 6, 20));
        assert_eq!((history.samples.len(), history.points.len()), (1, 0));
    }

    #[test]
    fn counts_that_go_back_are_no_rate_below_zero() {
        assert_eq!(per_second(3, 5, INTERVAL), Some(0.0));
        assert_eq!(per_second(5, 3, Duration::ZERO), None);
    }
}
