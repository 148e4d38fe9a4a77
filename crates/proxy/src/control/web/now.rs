//! What runs now, as data: `/api/now`, and what the page shows.
//!
//! Counts are those of the admin listener and of the metrics. Rates are of the last second or so, quantiles of the last ten; they are not
//! there (`null`) if nobody has asked within the last 30 seconds, since nothing is computed while nobody looks.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::digests::DigestsNow;
use super::sample::{Flow, History, Sample, per_second};
use crate::backend::Backend;
use crate::control::View;
use crate::control::condition::{Condition, ready};
use crate::control::wording::{backend_addresses, backend_state, rule_action};
use crate::listener::Listener;
use crate::pooling::pin::Pin;
use crate::pooling::pool::Pool;
use crate::stats::{Entrance, Kind, Latency, Route};

#[derive(Debug, Serialize)]
pub(super) struct Now {
    pub(super) version: &'static str,
    /// Milliseconds since 1970.
    pub(super) time_ms: u64,
    pub(super) uptime_seconds: u64,
    /// As `/ready` has it.
    pub(super) is_ready: bool,
    /// Why it is not, or what somebody should look at.
    pub(super) message: Option<String>,
    pub(super) is_draining: bool,
    /// The time over which rates were computed.
    pub(super) window_seconds: Option<f64>,
    pub(super) total: Total,
    pub(super) listeners: Vec<ListenerNow>,
    pub(super) backends: Vec<BackendNow>,
    pub(super) commands: Vec<CommandNow>,
    pub(super) pools: Vec<PoolNow>,
    /// Users of pooled listeners.
    pub(super) users: Vec<UserNow>,
    pub(super) pins: Vec<PinNow>,
    pub(super) rules: Vec<RuleNow>,
    pub(super) bytes: Vec<BytesNow>,
    /// Statements by digest; `null` if they are not counted.
    pub(super) digests: Option<DigestsNow>,
}

#[derive(Debug, Serialize)]
pub(super) struct Total {
    pub(super) sessions: usize,
    /// Those that wait because all backends of their listener are full.
    pub(super) queued: usize,
    pub(super) workers: usize,
    pub(super) buffers_in_use: usize,
    pub(super) buffer_bytes: usize,
    pub(super) buffer_bytes_limit: usize,
    pub(super) sessions_waiting_for_buffer: usize,
    pub(super) log_events_dropped: u64,
    #[serde(flatten)]
    pub(super) flow: Flow,
}

#[derive(Debug, Serialize)]
pub(super) struct ListenerNow {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) mode: String,
    pub(super) tls: &'static str,
    /// Of a pooled one.
    pub(super) is_paused: Option<bool>,
    pub(super) backends: usize,
    pub(super) sessions: u64,
    pub(super) queued: usize,
    pub(super) accepted: u64,
    pub(super) refused: u64,
    pub(super) failed: u64,
    #[serde(flatten)]
    pub(super) flow: Flow,
}

#[derive(Debug, Serialize)]
pub(super) struct BackendNow {
    pub(super) listener: String,
    pub(super) name: String,
    pub(super) address: String,
    pub(super) state: &'static str,
    pub(super) role: String,
    pub(super) is_discovered: bool,
    pub(super) is_read_only: Option<bool>,
    pub(super) lag_seconds: Option<u64>,
    pub(super) lag_transactions: Option<u64>,
    pub(super) weight: u32,
    pub(super) is_drained: bool,
    /// Whether its listener is pooled.
    pub(super) is_pooled: bool,
    pub(super) sessions: usize,
    pub(super) failed_connects: u64,
    pub(super) failed_checks: u64,
    pub(super) last_error: Option<String>,
    pub(super) logins: u64,
    #[serde(flatten)]
    pub(super) flow: Flow,
}

/// Commands of one kind; quantiles are since the start.
#[derive(Debug, Serialize)]
pub(super) struct CommandNow {
    pub(super) listener: String,
    pub(super) backend: String,
    pub(super) command: &'static str,
    pub(super) commands: u64,
    pub(super) commands_per_second: Option<f64>,
    pub(super) replies: u64,
    pub(super) mean_us: Option<u64>,
    pub(super) p50_us: Option<u64>,
    pub(super) p99_us: Option<u64>,
}

#[derive(Debug, Serialize)]
pub(super) struct PoolNow {
    pub(super) listener: String,
    pub(super) mode: String,
    /// For each server.
    pub(super) max: usize,
    pub(super) connections: usize,
    pub(super) idle: usize,
    pub(super) waiting: usize,
    pub(super) waits: u64,
    pub(super) waits_per_second: Option<f64>,
    pub(super) mean_wait_us: u64,
    pub(super) timeouts: u64,
    pub(super) connects: u64,
    pub(super) failed_connects: u64,
    pub(super) delayed_connects: u64,
    pub(super) refused_logins: u64,
    pub(super) replays: u64,
    pub(super) resets: u64,
    pub(super) pinned: usize,
    pub(super) replica_reads: u64,
    pub(super) query_timeouts: u64,
    pub(super) is_paused: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct UserNow {
    pub(super) listener: String,
    pub(super) user: String,
    pub(super) connections: usize,
    pub(super) waiting: usize,
    pub(super) waits: u64,
    pub(super) mean_wait_us: u64,
    pub(super) timeouts: u64,
    pub(super) limited: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct PinNow {
    pub(super) listener: String,
    pub(super) reason: &'static str,
    /// Sessions that keep their connection now.
    pub(super) sessions: usize,
    /// How often it came to that.
    pub(super) total: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct RuleNow {
    pub(super) listener: String,
    pub(super) rule: String,
    pub(super) user: Option<String>,
    pub(super) schema: Option<String>,
    pub(super) starts_with: Option<String>,
    pub(super) digest: Option<String>,
    pub(super) action: String,
    pub(super) statements: u64,
    pub(super) rejected: u64,
    pub(super) limited: u64,
}

/// Bytes that were carried, moved or copied.
#[derive(Debug, Serialize)]
pub(super) struct BytesNow {
    pub(super) name: &'static str,
    pub(super) bytes: u64,
    pub(super) bytes_per_second: Option<f64>,
}

/// What makes it.
struct Maker<'m> {
    sample: &'m Sample,
    base: Option<&'m Sample>,
    quantile_base: Option<&'m Sample>,
}

impl Now {
    pub(super) fn new(view: &View, sample: &Sample, history: &History) -> Self {
        let maker = Maker {
            sample,
            base: history.base(sample.at),
            quantile_base: history.quantile_base(sample.at),
        };
        let (is_ready, message) = match ready(view) {
            Condition::Fine => (true, None),
            Condition::Warned(what) => (true, Some(what)),
            Condition::Not(why) => (false, Some(why.to_owned())),
        };
        let listeners = view.listeners();
        let pooled = || {
            listeners
                .iter()
                .filter_map(|one| Some((one, one.pool.as_ref()?)))
        };
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let since_1970 = since_1970.unwrap_or_default().as_millis();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            time_ms: u64::try_from(since_1970).unwrap_or_default(),
            uptime_seconds: view.began.elapsed().as_secs(),
            is_ready,
            message,
            is_draining: view.is_draining(),
            window_seconds: maker.time().map(|time| time.as_secs_f64()),
            total: maker.total(view, &listeners),
            listeners: listeners
                .iter()
                .filter_map(|listener| maker.listener(listener))
                .collect(),
            backends: listeners
                .iter()
                .flat_map(|listener| {
                    let backends = listener.backends.all().iter();
                    backends.map(|backend| maker.backend(listener, backend))
                })
                .collect(),
            commands: maker.commands(),
            pools: pooled().map(|(one, pool)| maker.pool(one, pool)).collect(),
            users: pooled().flat_map(|(one, pool)| users(one, pool)).collect(),
            pins: pooled().flat_map(|(one, pool)| pins(one, pool)).collect(),
            rules: pooled().flat_map(|(one, pool)| rules(one, pool)).collect(),
            bytes: maker.bytes(),
            digests: view.counts_digests().then(|| DigestsNow::new(view)),
        }
    }
}

impl Maker<'_> {
    fn time(&self) -> Option<Duration> {
        self.base.map(|base| self.sample.at - base.at)
    }

    fn flow(&self, is_meant: impl Fn(&Route) -> bool) -> Flow {
        Flow::of(self.sample, self.base, self.quantile_base, is_meant)
    }

    fn total(&self, view: &View, listeners: &[Arc<Listener>]) -> Total {
        let snapshot = &self.sample.snapshot;
        Total {
            sessions: snapshot.sessions,
            queued: listeners.iter().map(|one| one.queue.len()).sum(),
            workers: view.workers().running(),
            buffers_in_use: snapshot.buffers_in_use,
            buffer_bytes: snapshot.buffer_bytes,
            buffer_bytes_limit: view.memory(),
            sessions_waiting_for_buffer: snapshot.sessions_waiting_for_buffer,
            log_events_dropped: view.log().dropped(),
            flow: self.flow(|_| true),
        }
    }

    /// `None` for one that was added after the sample was taken.
    fn listener(&self, listener: &Listener) -> Option<ListenerNow> {
        let config = &listener.config;
        let is_it = |entrance: &&Entrance| entrance.listener == config.name;
        let entrance = self.sample.snapshot.counters.entrances.iter().find(is_it)?;
        let listen = config.listen.iter().map(ToString::to_string);
        Some(ListenerNow {
            name: config.name.clone(),
            address: listen.collect::<Vec<_>>().join(", "),
            mode: config.mode.to_string(),
            tls: match (&config.tls, config.requires_tls) {
                (None, _) => "no",
                (Some(_), false) => "offered",
                (Some(_), true) => "required",
            },
            is_paused: listener.pool.as_ref().map(|pool| pool.is_paused()),
            backends: listener.backends.all().len(),
            sessions: entrance.sessions,
            queued: listener.queue.len(),
            accepted: entrance.accepted,
            refused: entrance.refused.iter().sum(),
            failed: entrance.failed.iter().sum(),
            flow: self.flow(|route| route.listener == config.name),
        })
    }

    fn backend(&self, listener: &Listener, backend: &Backend) -> BackendNow {
        let name = &listener.config.name;
        let is_it = |route: &Route| route.listener == *name && route.backend == backend.name();
        let mut routes = self.sample.snapshot.counters.routes.iter();
        let lag = backend.replication().lag();
        BackendNow {
            listener: name.clone(),
            name: backend.name().to_owned(),
            address: backend_addresses(backend),
            state: backend_state(backend),
            role: backend.config.role.to_string(),
            is_discovered: backend.config.is_discovered,
            is_read_only: backend.health().read_only(),
            lag_seconds: lag.map(|lag| lag.time.as_secs()),
            lag_transactions: lag.and_then(|lag| lag.transactions),
            weight: backend.config.weight,
            is_drained: backend.is_drained(),
            is_pooled: listener.pool.is_some(),
            sessions: backend.sessions(),
            failed_connects: backend.failed_connects(),
            failed_checks: backend.health().failed.load(Relaxed),
            last_error: backend.health().last_error(),
            logins: routes
                .find(|route| is_it(route))
                .map_or(0, |route| route.logins),
            flow: self.flow(is_it),
        }
    }

    /// Of kinds that there were, as `SHOW STATS` has them.
    fn commands(&self) -> Vec<CommandNow> {
        let routes = self.sample.snapshot.counters.routes.iter();
        let all = routes.flat_map(|route| Kind::ALL.map(|kind| (route, kind)));
        let used = all.filter(|(route, kind)| route.commands[*kind as usize] > 0);
        let commands = used.map(|(route, kind)| self.command(route, kind));
        let mut commands: Vec<_> = commands.collect();
        // Workers answer in any order, and rows stay where they are.
        commands.sort_by(|a, b| (&a.listener, &a.backend).cmp(&(&b.listener, &b.backend)));
        commands
    }

    fn command(&self, route: &Route, kind: Kind) -> CommandNow {
        let commands = route.commands[kind as usize];
        let latency: &Latency = &route.latency[kind as usize];
        let replies = latency.count();
        let is_it =
            |other: &&Route| (&other.listener, &other.backend) == (&route.listener, &route.backend);
        let before = |base: &Sample| {
            let before = base.snapshot.counters.routes.iter().find(is_it);
            before.map_or(0, |before| before.commands[kind as usize])
        };
        CommandNow {
            listener: route.listener.clone(),
            backend: route.backend.clone(),
            command: kind.name(),
            commands,
            commands_per_second: self.rate(commands, before),
            replies,
            mean_us: latency.sum.checked_div(replies),
            p50_us: latency.quantile(0.5),
            p99_us: latency.quantile(0.99),
        }
    }

    fn pool(&self, listener: &Listener, pool: &Pool) -> PoolNow {
        let counts = &pool.counts;
        let name = &listener.config.name;
        let waits = counts.waits.load(Relaxed);
        let before = |base: &Sample| {
            let mut pools = base.snapshot.pools.iter();
            pools
                .find(|one| one.listener == *name)
                .map_or(0, |one| one.waits)
        };
        let pinned = counts.pinned.iter().map(|count| count.load(Relaxed));
        PoolNow {
            listener: name.clone(),
            mode: listener.config.mode.to_string(),
            max: pool.config().max,
            connections: pool.connections(),
            idle: pool.idle(),
            waiting: pool.waiting(),
            waits,
            waits_per_second: self.rate(waits, before),
            mean_wait_us: counts.wait_micros.load(Relaxed) / waits.max(1),
            timeouts: counts.timeouts.load(Relaxed),
            connects: counts.connects.load(Relaxed),
            failed_connects: counts.failed_connects.load(Relaxed),
            delayed_connects: counts.delayed_connects.load(Relaxed),
            refused_logins: counts.refused_logins.load(Relaxed),
            replays: counts.replays.load(Relaxed),
            resets: counts.resets.load(Relaxed),
            pinned: pinned.sum(),
            replica_reads: counts.replica_reads.load(Relaxed),
            query_timeouts: counts.query_timeouts.load(Relaxed),
            is_paused: pool.is_paused(),
        }
    }

    /// Carried, then moved and copied.
    fn bytes(&self) -> Vec<BytesNow> {
        type Field = fn(&Sample) -> u64;
        let fields: [(&str, Field); 8] = [
            ("read", |one| one.snapshot.meter.bytes_read),
            ("written", |one| one.snapshot.meter.bytes_written),
            ("moved", |one| one.snapshot.meter.bytes_moved),
            ("copied_by_growth", |one| {
                one.snapshot.meter.bytes_copied_by_growth
            }),
            ("copied_to_output", |one| {
                one.snapshot.meter.bytes_copied_to_output
            }),
            ("copied_by_tls", |one| {
                one.snapshot.meter.bytes_copied_by_tls
            }),
            ("decompressed", |one| {
                one.snapshot.compression.uncompressed_read
            }),
            ("compressed", |one| {
                one.snapshot.compression.uncompressed_written
            }),
        ];
        let bytes = fields.map(|(name, field)| {
            let bytes = field(self.sample);
            BytesNow {
                name,
                bytes,
                bytes_per_second: self.rate(bytes, field),
            }
        });
        bytes.into()
    }

    fn rate(&self, now: u64, before: impl Fn(&Sample) -> u64) -> Option<f64> {
        let base = self.base?;
        per_second(now, before(base), self.sample.at - base.at)
    }
}

fn users(listener: &Listener, pool: &Pool) -> Vec<UserNow> {
    let users = pool.users().into_iter().map(|user| UserNow {
        listener: listener.config.name.clone(),
        user: String::from_utf8_lossy(&user.name).into_owned(),
        connections: user.held,
        waiting: user.waiting,
        waits: user.counts.waits,
        mean_wait_us: user.counts.wait_micros / user.counts.waits.max(1),
        timeouts: user.counts.timeouts,
        limited: user.counts.limited,
    });
    users.collect()
}

/// Of reasons that there were.
fn pins(listener: &Listener, pool: &Pool) -> Vec<PinNow> {
    let pins = Pin::ALL.iter().enumerate().map(|(at, pin)| PinNow {
        listener: listener.config.name.clone(),
        reason: pin.name(),
        sessions: pool.counts.pinned[at].load(Relaxed),
        total: pool.counts.pins[at].load(Relaxed),
    });
    pins.filter(|pin| pin.total > 0).collect()
}

fn rules(listener: &Listener, pool: &Pool) -> Vec<RuleNow> {
    let rules = pool.rules();
    let rules = rules.all().iter().map(|rule| RuleNow {
        listener: listener.config.name.clone(),
        rule: rule.config.name.clone(),
        user: rule.config.user.clone(),
        schema: rule.config.schema.clone(),
        starts_with: rule.config.starts_with.clone(),
        digest: rule.config.digest.clone(),
        action: rule_action(&rule.config),
        statements: rule.statements.load(Relaxed),
        rejected: rule.rejected.load(Relaxed),
        limited: rule.limited.load(Relaxed),
    });
    rules.collect()
}
