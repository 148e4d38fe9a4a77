//! The connections that clients of pooled listeners share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Page, seconds};
use crate::control::View;
use crate::pooling::line::UserInfo;
use crate::pooling::pin::Pin;
use crate::pooling::pool::Pool;
use crate::pooling::rules::Rule;
use crate::pooling::wrong_logins;

/// Name, help and value of what is counted of logins.
type LoginNumber = (
    &'static str,
    &'static str,
    fn(&wrong_logins::Counts) -> &AtomicU64,
);

const LOGINS: [LoginNumber; 3] = [
    (
        "onecopy_pool_wrong_logins_total",
        "Logins with a wrong user or password.",
        |counts| &counts.wrong,
    ),
    (
        "onecopy_pool_delayed_logins_total",
        "Logins that were answered late because of wrong ones before.",
        |counts| &counts.delayed,
    ),
    (
        "onecopy_pool_blocked_logins_total",
        "Logins that were refused because too many wrong ones were waiting for their answers; error 1129.",
        |counts| &counts.refused,
    ),
];

/// Name, kind, help and value of one metric of each user.
type UserNumber = (
    &'static str,
    &'static str,
    &'static str,
    fn(&UserInfo) -> String,
);

const USERS: [UserNumber; 6] = [
    (
        "onecopy_pool_user_connections",
        "gauge",
        "Connections to servers by user.",
        |user| user.held.to_string(),
    ),
    (
        "onecopy_pool_user_waiting",
        "gauge",
        "Clients that wait for a connection, by user.",
        |user| user.waiting.to_string(),
    ),
    (
        "onecopy_pool_user_waits_total",
        "counter",
        "How often a client had to wait for a connection, by user.",
        |user| user.counts.waits.to_string(),
    ),
    (
        "onecopy_pool_user_wait_seconds_total",
        "counter",
        "Time that clients have waited for connections, by user.",
        |user| seconds(user.counts.wait_micros).to_string(),
    ),
    (
        "onecopy_pool_user_wait_timeouts_total",
        "counter",
        "Clients that waited in vain, by user.",
        |user| user.counts.timeouts.to_string(),
    ),
    (
        "onecopy_pool_user_limited_statements_total",
        "counter",
        "Statements beyond statement-rate, by user; error 1226.",
        |user| user.counts.limited.to_string(),
    ),
];

/// Name, help and value of what is counted of rules.
type RuleNumber = (&'static str, &'static str, fn(&Rule) -> &AtomicU64);

const RULES: [RuleNumber; 3] = [
    (
        "onecopy_rule_statements_total",
        "Statements that a rule applied to: sent as text, prepared or executed.",
        |rule| &rule.statements,
    ),
    (
        "onecopy_rule_rejected_statements_total",
        "Statements that a rule has rejected; error 3164.",
        |rule| &rule.rejected,
    ),
    (
        "onecopy_rule_limited_statements_total",
        "Statements beyond the rate of a rule; error 1226.",
        |rule| &rule.limited,
    ),
];

/// Name, kind, help and value of one metric.
type PoolNumber = (&'static str, &'static str, &'static str, fn(&Pool) -> u64);

impl Page {
    pub(super) fn write_pools(&mut self, view: &View) {
        let listeners = view.listeners();
        let pools: Vec<_> = listeners
            .iter()
            .filter_map(|listener| Some((listener.config.name.as_str(), listener.pool.as_ref()?)))
            .collect();
        let numbers: [PoolNumber; 17] = [
            (
                "onecopy_pool_connections",
                "gauge",
                "Connections to servers that clients share, including those that are logging in.",
                |pool| pool.connections() as u64,
            ),
            (
                "onecopy_pool_idle_connections",
                "gauge",
                "The part of them that no client uses.",
                |pool| pool.idle() as u64,
            ),
            (
                "onecopy_pool_waiting",
                "gauge",
                "Clients that wait for a connection. If it stays above 0, raise `max`, or see what is pinned.",
                |pool| pool.waiting() as u64,
            ),
            (
                "onecopy_pool_waits_total",
                "counter",
                "How often a client had to wait for a connection.",
                |pool| pool.counts.waits.load(Relaxed),
            ),
            (
                "onecopy_pool_wait_timeouts_total",
                "counter",
                "Clients that waited for wait-timeout in vain; error 1040.",
                |pool| pool.counts.timeouts.load(Relaxed),
            ),
            (
                "onecopy_pool_connects_total",
                "counter",
                "Connections that were begun.",
                |pool| pool.counts.connects.load(Relaxed),
            ),
            (
                "onecopy_pool_delayed_connects_total",
                "counter",
                "How often a connection had to wait because of connect-rate.",
                |pool| pool.counts.delayed_connects.load(Relaxed),
            ),
            (
                "onecopy_pool_refused_logins_total",
                "counter",
                "Logins of the proxy that servers have refused.",
                |pool| pool.counts.refused_logins.load(Relaxed),
            ),
            (
                "onecopy_pool_refused_commands_total",
                "counter",
                "Commands that were answered with such an error, most of them without another login.",
                |pool| pool.counts.refused_commands.load(Relaxed),
            ),
            (
                "onecopy_pool_query_timeouts_total",
                "counter",
                "Statements that were interrupted because they took longer than query-timeout; error 3024.",
                |pool| pool.counts.query_timeouts.load(Relaxed),
            ),
            (
                "onecopy_pool_replays_total",
                "counter",
                "How often the state of a session was set on a connection that another one had used.",
                |pool| pool.counts.replays.load(Relaxed),
            ),
            (
                "onecopy_pool_replica_reads_total",
                "counter",
                "Statements that were sent to replicas.",
                |pool| pool.counts.replica_reads.load(Relaxed),
            ),
            (
                "onecopy_pool_reads_without_replica_total",
                "counter",
                "Statements for replicas that were sent to the primary, as no replica is up and within max-lag.",
                |pool| pool.counts.reads_without_replica.load(Relaxed),
            ),
            (
                "onecopy_pool_reads_ahead_of_replica_total",
                "counter",
                "Statements for replicas that were sent to the primary, as the replica did not have the client's own changes after read-wait.",
                |pool| pool.counts.reads_ahead_of_replica.load(Relaxed),
            ),
            (
                "onecopy_pool_read_waits_total",
                "counter",
                "How often a replica was asked to wait for a client's own changes before a read.",
                |pool| pool.counts.read_waits.load(Relaxed),
            ),
            (
                "onecopy_pool_read_retries_total",
                "counter",
                "Reads that were sent once more, as their server was lost before it replied (retry-reads).",
                |pool| pool.counts.read_retries.load(Relaxed),
            ),
            (
                "onecopy_pool_resets_total",
                "counter",
                "Connections that were reset behind a client.",
                |pool| pool.counts.resets.load(Relaxed),
            ),
        ];
        for (name, kind, help, value) in numbers {
            self.head(name, kind, help);
            for (listener, pool) in &pools {
                self.line(name, &[("listener", listener)], value(pool));
            }
        }
        let pooled = listeners.iter().filter(|listener| listener.pool.is_some());
        for (name, help, count) in LOGINS {
            self.head(name, "counter", help);
            for listener in pooled.clone() {
                let labels = [("listener", listener.config.name.as_str())];
                let count = count(&listener.wrong_logins.counts).load(Relaxed);
                self.line(name, &labels, count);
            }
        }
        let name = "onecopy_pool_wait_seconds_total";
        self.head(
            name,
            "counter",
            "Time that clients have waited for connections.",
        );
        for (listener, pool) in &pools {
            let waited = seconds(pool.counts.wait_micros.load(Relaxed));
            self.labels(name, &[("listener", listener)]);
            self.push(format_args!(" {waited}\n"));
        }
        self.write_users(&pools);
        self.write_rules(&pools);
        let name = "onecopy_pool_pins_total";
        self.head(
            name,
            "counter",
            "How often a client began to keep its connection between transactions, by reason.",
        );
        for (listener, pool) in &pools {
            for (pin, count) in Pin::ALL.iter().zip(&pool.counts.pins) {
                let labels = [("listener", *listener), ("reason", pin.name())];
                self.line(name, &labels, count.load(Relaxed));
            }
        }
        let name = "onecopy_pool_pinned_sessions";
        self.head(
            name,
            "gauge",
            "Clients that keep their connection now, by reason.",
        );
        for (listener, pool) in &pools {
            for (pin, count) in Pin::ALL.iter().zip(&pool.counts.pinned) {
                let labels = [("listener", *listener), ("reason", pin.name())];
                self.line(name, &labels, count.load(Relaxed) as u64);
            }
        }
    }

    /// What rules have done.
    fn write_rules(&mut self, pools: &[(&str, &Arc<Pool>)]) {
        for (name, help, count) in RULES {
            self.head(name, "counter", help);
            for (listener, pool) in pools {
                for rule in pool.rules().all() {
                    let labels = [("listener", *listener), ("rule", rule.config.name.as_str())];
                    self.line(name, &labels, count(rule).load(Relaxed));
                }
            }
        }
    }

    /// What there is of each user.
    fn write_users(&mut self, pools: &[(&str, &Arc<Pool>)]) {
        let users: Vec<_> = pools
            .iter()
            .map(|(listener, pool)| (*listener, pool.users()))
            .collect();
        for (name, kind, help, value) in USERS {
            self.head(name, kind, help);
            for (listener, users) in &users {
                for user in users {
                    let shown = String::from_utf8_lossy(&user.name);
                    self.labels(name, &[("listener", listener), ("user", &shown)]);
                    let value = value(user);
                    self.push(format_args!(" {value}\n"));
                }
            }
        }
    }
}
