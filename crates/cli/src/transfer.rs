//! The progress of many rows into or out of a table, on standard error, where that is a terminal.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter work shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);

/// Rows between two looks at the clock.
const STEP: u64 = 1 << 10;

/// A bar that appears once the work turns out to be long, and the summary at the end.
pub(crate) struct Transfer {
    bar: Option<Box<ProgressBar>>,
    start: Instant,
    shown: bool,
    rows: u64,
    looked_at: u64,
}

impl Transfer {
    /// A transfer of `total` bytes, or of an unknown number.
    pub(crate) fn of_bytes(total: Option<u64>, is_quiet: bool) -> Self {
        let template = match total {
            Some(_) => {
                "{wide_bar} {percent}% {binary_bytes} of {binary_total_bytes}, {msg}, {eta} to go"
            }
            None => "{spinner} {binary_bytes}, {msg}, {elapsed}",
        };
        Self::new(total, template, is_quiet)
    }

    /// A transfer of about `total` rows.
    pub(crate) fn of_rows(total: Option<u64>, is_quiet: bool) -> Self {
        let template = match total {
            Some(_) => "{wide_bar} {msg}, about {eta} to go",
            None => "{spinner} {msg}, {elapsed}",
        };
        Self::new(total, template, is_quiet)
    }

    fn new(total: Option<u64>, template: &str, is_quiet: bool) -> Self {
        let bar = (io::stderr().is_terminal() && !is_quiet).then(|| {
            let style = ProgressStyle::with_template(template);
            let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden())
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            Box::new(bar)
        });
        Self {
            bar,
            start: Instant::now(),
            shown: false,
            rows: 0,
            looked_at: 0,
        }
    }

    /// One more row; `at` gives the bar's position, where it is looked at.
    #[inline]
    pub(crate) fn row(&mut self, at: impl FnOnce(u64) -> u64) {
        self.rows += 1;
        if self.rows - self.looked_at >= STEP {
            self.show(at(self.rows));
        }
    }

    /// So many more rows.
    pub(crate) fn rows(&mut self, rows: u64, at: u64) {
        self.rows += rows;
        self.show(at);
    }

    fn show(&mut self, at: u64) {
        self.looked_at = self.rows;
        let Some(bar) = &self.bar else { return };
        if !self.shown {
            if self.start.elapsed() < PATIENCE {
                return;
            }
            bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown = true;
        }
        bar.set_message(format!(
            "{} rows, {} rows/s",
            HumanCount(self.rows),
            HumanCount(self.rate())
        ));
        bar.set_position(at);
    }

    fn rate(&self) -> u64 {
        let micros = self.start.elapsed().as_micros().max(1);
        let rate = u128::from(self.rows) * 1_000_000 / micros;
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// Takes the bar away, and returns `1,000,000 rows in 3.21 s (311,526 rows/s)`.
    pub(crate) fn finish(&mut self) -> String {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        let plural = if self.rows == 1 { "" } else { "s" };
        format!(
            "{} row{plural} in {:.2} s ({} rows/s)",
            HumanCount(self.rows),
            self.start.elapsed().as_secs_f64(),
            HumanCount(self.rate())
        )
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.finish();
    }
}
