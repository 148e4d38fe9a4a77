//! Everything that is counted, as Prometheus reads it.
//!
//! Written as text by hand and not through a crate: the workers' counters are plain numbers that are there already, so that a
//! registry of counters would hold every one of them a second time.

mod backends;
mod meter;
mod pools;
mod process;
mod statement_logs;

use std::fmt::Write;

use super::View;
use crate::failure::Reason;
use crate::stats::{Entrance, Kind, Latency, Route};

/// All of it, as it is now.
pub(super) fn text(view: &View) -> String {
    let snapshot = view.snapshot(false);
    let mut page = Page(String::with_capacity(64 << 10));
    page.write_entrances(&snapshot.counters.entrances);
    page.write_routes(&snapshot.counters.routes);
    page.write_queues(view);
    page.write_backends(view);
    page.write_pools(view);
    page.write_meter(&snapshot.meter.fields());
    page.write_compression(&snapshot.compression);
    page.one(
        "onecopy_buffers_in_use",
        "gauge",
        "Buffers in use by sessions. An idle session holds none, so this follows the sessions with bytes in flight.",
        snapshot.buffers_in_use as u64,
    );
    page.one(
        "onecopy_buffer_bytes",
        "gauge",
        "Memory of all buffers, including unused ones in the pools and those of logins and TLS.",
        snapshot.buffer_bytes as u64,
    );
    page.one(
        "onecopy_login_and_tls_bytes",
        "gauge",
        "The part of onecopy_buffer_bytes that logins in progress and TLS use.",
        snapshot.login_and_tls_bytes as u64,
    );
    page.one(
        "onecopy_sessions_waiting_for_buffer",
        "gauge",
        "Sessions that wait for a buffer because memory is used up. If it stays above 0, raise `memory`.",
        snapshot.sessions_waiting_for_buffer as u64,
    );
    page.one(
        "onecopy_buffer_bytes_limit",
        "gauge",
        "The setting `memory`. Near it, sessions wait for buffers.",
        view.memory() as u64,
    );
    page.one(
        "onecopy_event_loop_iterations_total",
        "counter",
        "Iterations of all event loops. Commands divided by iterations is the number of commands per wake-up: more is cheaper.",
        snapshot.counters.iterations,
    );
    page.one(
        "onecopy_workers",
        "gauge",
        "Running worker threads, one event loop each.",
        view.workers().running() as u64,
    );
    page.one(
        "onecopy_draining",
        "gauge",
        "1 while draining: no new sessions are accepted, and sessions end after their transaction.",
        view.is_draining().into(),
    );
    page.one(
        "onecopy_uptime_seconds",
        "gauge",
        "Seconds since the proxy started.",
        view.began.elapsed().as_secs(),
    );
    page.one(
        "onecopy_log_events_dropped_total",
        "counter",
        "Log lines dropped because the log could not be written fast enough.",
        view.log().dropped(),
    );
    page.write_statement_logs(view);
    page.write_process();
    page.head(
        "onecopy_build_info",
        "gauge",
        "Always 1; the version is in the label.",
    );
    let version = env!("CARGO_PKG_VERSION");
    page.line("onecopy_build_info", &[("version", version)], 1);
    page.0
}

struct Page(String);

impl Page {
    fn write_entrances(&mut self, entrances: &[Entrance]) {
        self.by_listener(
            entrances,
            "onecopy_sessions",
            "gauge",
            "Clients connected now, including those that are logging in.",
            |entrance| entrance.sessions,
        );
        self.by_listener(
            entrances,
            "onecopy_sessions_accepted_total",
            "counter",
            "Accepted client connections. Far more than logins means load balancer checks, scanners or failing logins.",
            |entrance| entrance.accepted,
        );
        self.head(
            "onecopy_sessions_refused_total",
            "counter",
            "Clients refused before or during login, by side and reason. Reason refused: the backend refused the login, for \
             example because of a wrong password.",
        );
        self.by_reason("onecopy_sessions_refused_total", entrances, |entrance| {
            &entrance.refused
        });
        self.head(
            "onecopy_sessions_failed_total",
            "counter",
            "Logged-in sessions that ended by a failure, by side and reason. Reason client_lost: the client closed the \
             connection without COM_QUIT.",
        );
        self.by_reason("onecopy_sessions_failed_total", entrances, |entrance| {
            &entrance.failed
        });
    }

    /// Those who wait for the total limit have no session yet.
    fn write_queues(&mut self, view: &View) {
        let name = "onecopy_sessions_queued";
        self.head(
            name,
            "gauge",
            "Sessions in the listener's queue: all its backends are full.",
        );
        for listener in view.listeners() {
            let labels = [("listener", listener.config.name.as_str())];
            self.line(name, &labels, listener.queue.len() as u64);
        }
    }

    fn by_listener(
        &mut self,
        entrances: &[Entrance],
        name: &str,
        kind: &str,
        help: &str,
        value: impl Fn(&Entrance) -> u64,
    ) {
        self.head(name, kind, help);
        for entrance in entrances {
            self.line(name, &[("listener", &entrance.listener)], value(entrance));
        }
    }

    fn by_reason(
        &mut self,
        name: &str,
        entrances: &[Entrance],
        counts: impl Fn(&Entrance) -> &[u64; Reason::ALL.len()],
    ) {
        for entrance in entrances {
            for (reason, &count) in Reason::ALL.iter().zip(counts(entrance)) {
                let labels = [
                    ("listener", entrance.listener.as_str()),
                    ("side", reason.side().name()),
                    ("reason", reason.name()),
                ];
                self.line(name, &labels, count);
            }
        }
    }

    fn write_routes(&mut self, routes: &[Route]) {
        self.by_route(
            routes,
            "onecopy_logins_total",
            "Successful logins. If the rate is close to that of commands, clients do not use a connection pool.",
            |route| route.logins,
        );
        self.by_route(
            routes,
            "onecopy_command_errors_total",
            "Commands that the backend answered with an error. The proxy only passes these on.",
            |route| route.errors,
        );
        self.by_route(
            routes,
            "onecopy_bytes_from_clients_total",
            "Bytes forwarded from clients to the backend after login.",
            |route| route.bytes_from_clients,
        );
        self.by_route(
            routes,
            "onecopy_bytes_from_backend_total",
            "Bytes forwarded from the backend to clients after login.",
            |route| route.bytes_from_backend,
        );
        let name = "onecopy_commands_total";
        let help = "Client commands, including those without a reply, such as closing a statement.";
        self.head(name, "counter", help);
        for route in routes {
            for (kind, &count) in Kind::ALL.iter().zip(&route.commands) {
                self.line(name, &command_labels(route, *kind), count);
            }
        }
        let name = "onecopy_command_duration_seconds";
        let help = "From the first byte of a command to the last byte of its reply, as the proxy sees it. It includes the backend's \
                    time, the network to it, and the time that the client takes to read.";
        self.head(name, "histogram", help);
        for route in routes {
            for (kind, latency) in Kind::ALL.iter().zip(&route.latency) {
                self.histogram(name, &command_labels(route, *kind), latency);
            }
        }
    }

    fn by_route(
        &mut self,
        routes: &[Route],
        name: &str,
        help: &str,
        value: impl Fn(&Route) -> u64,
    ) {
        self.head(name, "counter", help);
        for route in routes {
            let labels = [
                ("listener", route.listener.as_str()),
                ("backend", route.backend.as_str()),
            ];
            self.line(name, &labels, value(route));
        }
    }

    fn histogram(&mut self, name: &str, labels: &[(&str, &str)], latency: &Latency) {
        let mut below = 0;
        let bucket = format!("{name}_bucket");
        for (at, count) in latency.buckets.iter().enumerate() {
            below += count;
            let bound = match Latency::BOUNDS.get(at) {
                Some(&micros) => seconds(u64::from(micros)),
                None => "+Inf".to_owned(),
            };
            let mut labels = labels.to_vec();
            labels.push(("le", &bound));
            self.line(&bucket, &labels, below);
        }
        self.labels(&format!("{name}_sum"), labels);
        self.push(format_args!(" {}\n", seconds(latency.sum)));
        self.line(&format!("{name}_count"), labels, below);
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.head(name, kind, help);
        self.line(name, &[], value);
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.push(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        self.labels(name, labels);
        self.push(format_args!(" {value}\n"));
    }

    fn labels(&mut self, name: &str, labels: &[(&str, &str)]) {
        self.0.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            self.push(format_args!("{before}{label}=\""));
            for c in value.chars() {
                match c {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    c => self.0.push(c),
                }
            }
            self.0.push('"');
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // A string takes everything.
        let _ = self.0.write_fmt(text);
    }
}

fn command_labels(route: &Route, kind: Kind) -> [(&str, &str); 3] {
    [
        ("listener", &route.listener),
        ("backend", &route.backend),
        ("command", kind.name()),
    ]
}

/// Microseconds as seconds, exactly.
fn seconds(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_seconds_with_no_more_digits_than_needed() {
        for (micros, text) in [
            (0, "0"),
            (25, "0.000025"),
            (1_000_000, "1"),
            (10_500_000, "10.5"),
            (100_000_000, "100"),
        ] {
            assert_eq!(seconds(micros), text);
        }
    }

    #[test]
    fn labels_hold_any_text() {
        let mut page = Page(String::new());
        page.line("m", &[("a", "x\"y\\z\n"), ("b", "")], 3);
        assert_eq!(page.0, "m{a=\"x\\\"y\\\\z\\n\",b=\"\"} 3\n");
    }
}
