//! How far a scan is: a line at the bottom of the terminal.

use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::pages::Fraction;

/// Between two lines of progress.
const REFRESH: Duration = Duration::from_millis(100);

/// Shorter scans show nothing.
const PATIENCE: Duration = Duration::from_millis(500);

/// The line, where standard error is a terminal.
pub(super) struct Progress {
    bar: ProgressBar,
    start: Instant,
    shown_at: Instant,
    found: u64,
    /// Keys in all, if all of them are looked for.
    total: Option<u64>,
}

impl Progress {
    /// `is_shown`: nothing else is written to the terminal meanwhile.
    pub(super) fn new(is_shown: bool, total: Option<u64>) -> Self {
        let target = match is_shown {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let style = ProgressStyle::with_template("{spinner} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let now = Instant::now();
        Self {
            bar: ProgressBar::with_draw_target(None, target).with_style(style),
            start: now,
            shown_at: now,
            found: 0,
            total,
        }
    }

    /// So many keys more.
    pub(super) fn add(&mut self, keys: usize, fraction: Fraction) {
        self.found += keys as u64;
        if self.shown_at.elapsed() < REFRESH || self.start.elapsed() < PATIENCE {
            return;
        }
        self.shown_at = Instant::now();
        let of_total = self.total.filter(|&total| total > 0);
        let of_total = of_total.map(|total| (self.found as f64 / total as f64).min(1.0));
        let part = fraction.or(of_total);
        let part = part.map_or(String::new(), |part| {
            format!(", {:.1} % of all scanned", part * 100.0)
        });
        let found = HumanCount(self.found);
        self.bar
            .set_message(format!("{found} keys{part}; Ctrl-C ends it"));
        self.bar.tick();
    }

    pub(super) fn found(&self) -> u64 {
        self.found
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
