//! The logs of statements.

use std::sync::atomic::Ordering::Relaxed;

use super::Page;
use crate::control::View;
use crate::statement_log::Which;

impl Page {
    /// All of them from the start, so that a rate sees the first one that is lost.
    pub(super) fn write_statement_logs(&mut self, view: &View) {
        let outlet = view.statement_logs();
        let count = |which| outlet.map(|outlet| outlet.counts(which));
        let name = "onecopy_statement_log_lines_total";
        self.head(
            name,
            "counter",
            "Lines written to the slow log and the audit log, and statements that were sent to the collector of traces.",
        );
        for which in Which::ALL {
            let written = count(which).map_or(0, |counts| counts.written.load(Relaxed));
            self.line(name, &[("log", which.name())], written);
        }
        let name = "onecopy_statement_log_lines_lost_total";
        self.head(
            name,
            "counter",
            "Lines of the slow log and the audit log, and traced statements, that were lost. Reason queue_full: they came faster than \
             they could be written. Reason write_failed: the file could not be written, for example because the disk was full, or the \
             collector did not take them.",
        );
        for which in Which::ALL {
            let lost = |reason| {
                let counts = count(which);
                counts.map_or(0, |counts| match reason {
                    "queue_full" => counts.dropped.load(Relaxed),
                    _ => counts.failed.load(Relaxed),
                })
            };
            for reason in ["queue_full", "write_failed"] {
                let labels = [("log", which.name()), ("reason", reason)];
                self.line(name, &labels, lost(reason));
            }
        }
    }
}
