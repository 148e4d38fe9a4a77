//! What there is of each backend.

use std::sync::atomic::Ordering::Relaxed;

use super::Page;
use crate::backend::Backend;
use crate::control::View;

/// Name, kind, help and value of one metric.
type BackendNumber = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Backend) -> u64,
);

impl Page {
    pub(super) fn write_backends(&mut self, view: &View) {
        let backends = view.backends();
        let numbers: [BackendNumber; 8] = [
            (
                "onecopy_backend_up",
                "gauge",
                "1 while health checks are answered. At 0 it gets no new sessions, and existing ones are left alone.",
                |backend| backend.is_up().into(),
            ),
            (
                "onecopy_backend_drained",
                "gauge",
                "1 after DRAIN BACKEND, until RESUME BACKEND.",
                |backend| backend.is_drained().into(),
            ),
            (
                "onecopy_backend_second_primary",
                "gauge",
                "1 if it takes writes while another backend is the primary. It gets no sessions: set it read-only.",
                |backend| backend.is_second().into(),
            ),
            (
                "onecopy_backend_wrong_source",
                "gauge",
                "1 if it is a replica of another server than the primary. It gets no reads: have it follow the primary.",
                |backend| backend.has_wrong_source().into(),
            ),
            (
                "onecopy_backend_sessions",
                "gauge",
                "Sessions on the backend, including those that are logging in.",
                |backend| backend.sessions() as u64,
            ),
            (
                "onecopy_backend_failed_connects_total",
                "counter",
                "Failed connection attempts for a session, which was then tried on another backend.",
                |backend| backend.failed_connects(),
            ),
            (
                "onecopy_backend_failed_checks_total",
                "counter",
                "Failed health checks.",
                |backend| backend.health().failed.load(Relaxed),
            ),
            (
                "onecopy_backend_weight",
                "gauge",
                "Weight for new sessions relative to the other backends; 0 for none.",
                |backend| u64::from(backend.config.weight),
            ),
        ];
        for (name, kind, help, value) in numbers {
            self.head(name, kind, help);
            for (listener, backend) in &backends {
                self.line(name, &backend_labels(listener, backend), value(backend));
            }
        }
        let name = "onecopy_backend_replication_lag_seconds";
        self.head(
            name,
            "gauge",
            "How far a replica is behind, by its own account. Known only where `reads` is set and the replica replicates.",
        );
        for (listener, backend) in &backends {
            if let Some(lag) = backend.replication().lag() {
                self.line(name, &backend_labels(listener, backend), lag.time.as_secs());
            }
        }
        let name = "onecopy_backend_replication_lag_transactions";
        self.head(
            name,
            "gauge",
            "Transactions that a replica has received and not applied, by its global ids. Known as the lag in seconds is, with GTIDs.",
        );
        for (listener, backend) in &backends {
            let lag = backend.replication().lag();
            if let Some(transactions) = lag.and_then(|lag| lag.transactions) {
                self.line(name, &backend_labels(listener, backend), transactions);
            }
        }
        self.head(
            "onecopy_backend_read_only",
            "gauge",
            "1 if the backend reports read_only, 0 if not. Known only if health checks log in.",
        );
        for (listener, backend) in &backends {
            if let Some(read_only) = backend.health().read_only() {
                let labels = backend_labels(listener, backend);
                self.line("onecopy_backend_read_only", &labels, read_only.into());
            }
        }
    }
}

fn backend_labels<'l>(listener: &'l str, backend: &'l Backend) -> [(&'static str, &'l str); 2] {
    [("listener", listener), ("backend", backend.name())]
}
