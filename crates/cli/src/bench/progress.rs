//! Progress on standard error, where that is a terminal and the work is long.

use std::io::{IsTerminal, Read};
use std::time::{Duration, Instant};
use std::{fmt, io};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter work shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar that appears once the work turns out to be long. Off a terminal it is nothing, and costs a branch.
pub(crate) struct Progress(Option<Box<Bar>>);

struct Bar {
    bar: ProgressBar,
    start: Instant,
    shown: bool,
}

impl Progress {
    /// Of `total` steps of one kind, such as rows.
    pub(crate) fn of_steps(message: &str, total: u64) -> Self {
        Self::new(
            message,
            total,
            "{msg} {wide_bar} {human_pos} of {human_len}, {eta} to go",
        )
    }

    /// Of `total` bytes.
    pub(crate) fn of_bytes(message: &str, total: u64) -> Self {
        let template = "{msg} {wide_bar} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} to go";
        Self::new(message, total, template)
    }

    fn new(message: &str, total: u64, template: &str) -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden())
            .with_style(style)
            .with_message(message.to_owned());
        Self(Some(Box::new(Bar {
            bar,
            start: Instant::now(),
            shown: false,
        })))
    }

    /// `steps` more are done.
    #[inline]
    pub(crate) fn add(&mut self, steps: u64) {
        if let Some(bar) = &mut self.0 {
            bar.add(steps);
        }
    }

    /// A reader whose bytes count as they are read.
    pub(crate) fn reading<R: Read>(&mut self, reader: R) -> impl Read {
        Reading {
            reader,
            progress: self,
        }
    }
}

impl Bar {
    fn add(&mut self, steps: u64) {
        if !self.shown && self.start.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown = true;
        }
        self.bar.inc(steps);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").field(&self.0.is_some()).finish()
    }
}

struct Reading<'p, R> {
    reader: R,
    progress: &'p mut Progress,
}

impl<R: Read> Read for Reading<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(into)?;
        self.progress.add(n as u64);
        Ok(n)
    }
}
