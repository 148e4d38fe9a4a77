//! `--pipe`: commands by the million, without waiting for each reply.

mod cluster;
mod source;

use std::cell::Cell;
use std::io::{self, BufReader};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use nix::poll::{PollFd, PollFlags, poll};
use onecopy_valkey::blocking::Connection;
use onecopy_valkey::{Reply, ServerError};

use super::format::FormatName;
use super::peer::Peer;
use super::session::command;
use super::{Args, login};
use crate::failure::{Failure, say};
use crate::meter;
use source::Source;

/// Read from standard input at a time: 256 KiB.
const READ: usize = 256 << 10;

/// Errors that are shown; the others are counted.
const SHOWN: u64 = 10;

/// Replies between two looks at the clock.
const LOOK_EVERY: u64 = 256;

/// Between two looks at replies where no commands come, in milliseconds.
const LOOK: u8 = 20;

/// Between two lines of progress.
const REFRESH: Duration = Duration::from_millis(100);

/// Sends all commands of standard input, and tells how it went.
pub(super) fn run(args: &mut Args) -> Result<(), ExitCode> {
    let start = Instant::now();
    let report = |failure: Failure| failure.report(None);
    let what = "--pipe takes its commands from standard input";
    let target = login::target_alone(args, what).map_err(report)?;
    let mut peer = target.connect(FormatName::Raw).map_err(report)?;
    let before = peer.meter();
    let mut count = Count::new();
    let loaded = match &mut peer {
        Peer::Server(connection) => load(connection, &mut count),
        Peer::Cluster(cluster) => cluster::load(cluster, &mut count),
    };
    count.bar.finish_and_clear();
    // What came before a failure counts too.
    say(&count.summary(start));
    if let Some(format) = args.meter {
        say(&meter::text(&peer.meter().since(&before), format));
    }
    loaded.map_err(report)?;
    if count.errors > 0 {
        return Err(ExitCode::FAILURE);
    }
    Ok(())
}

fn load(connection: &mut Connection, count: &mut Count) -> Result<(), Failure> {
    let mut source = Source::new(BufReader::with_capacity(READ, io::stdin().lock()));
    let (bytes, is_slow) = (count.bytes.clone(), count.is_slow.clone());
    let mut pushed = 0;
    let mut pipe = connection.pipe(|reply| count.reply(reply))?;
    let loaded = loop {
        if source.is_drained() {
            // The program that writes the commands may be slow, wait for their effect, or read our messages about them.
            pipe.flush()?;
            while pipe.answered() < pushed && !has_input() {
                is_slow.set(true);
                pipe.take_replies()?;
            }
            is_slow.set(false);
        }
        let words = match source.next() {
            Ok(Some(words)) => words,
            Ok(None) => break Ok(()),
            Err(failure) => break Err(failure),
        };
        match command(words).map(|command| pipe.push(&command)) {
            Some(Err(error)) if error.is_closed() => return Err(error.into()),
            Some(Err(error)) => break Err(error.into()),
            Some(Ok(())) => pushed += 1,
            None => {}
        }
        bytes.set(source.bytes());
    };
    bytes.set(source.bytes());
    // What came before a mistake in the input is answered all the same.
    pipe.finish()?;
    loaded
}

/// Whether standard input has something to be read, or its end, now or soon. What can't be asked is read.
fn has_input() -> bool {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    !matches!(poll(&mut polled, LOOK), Ok(0))
}

/// Replies so far, and what is shown of them.
struct Count {
    replies: u64,
    errors: u64,
    /// Bytes of the input.
    bytes: Rc<Cell<u64>>,
    /// Whether no commands come for the time being.
    is_slow: Rc<Cell<bool>>,
    bar: ProgressBar,
    shown_at: Instant,
}

impl Count {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{spinner} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        Self {
            replies: 0,
            errors: 0,
            bytes: Rc::default(),
            is_slow: Rc::default(),
            bar: bar.with_style(style),
            shown_at: Instant::now(),
        }
    }

    #[inline]
    fn reply(&mut self, reply: Reply<'_>) {
        self.replies += 1;
        if let Some(text) = reply.as_error() {
            self.error(text);
        }
        if self.replies.is_multiple_of(LOOK_EVERY) || self.is_slow.get() {
            self.refresh();
        }
    }

    /// A command that was not sent.
    fn refused(&mut self, text: &str) {
        self.replies += 1;
        self.error(text.as_bytes());
    }

    #[cold]
    fn error(&mut self, text: &[u8]) {
        self.errors += 1;
        if self.errors <= SHOWN {
            let (number, error) = (HumanCount(self.replies), ServerError::new(text));
            self.bar
                .suspend(|| say(&format!("command {number}: {error}")));
        } else if self.errors == SHOWN + 1 {
            self.bar
                .suspend(|| say("more errors are counted and not shown"));
        }
    }

    fn refresh(&mut self) {
        if self.shown_at.elapsed() >= REFRESH {
            self.shown_at = Instant::now();
            let (replies, errors) = (HumanCount(self.replies), HumanCount(self.errors));
            let bytes = HumanBytes(self.bytes.get());
            self.bar
                .set_message(format!("{replies} commands, {bytes}, {errors} errors"));
            self.bar.tick();
        }
    }

    fn summary(&self, start: Instant) -> String {
        let seconds = start.elapsed().as_secs_f64();
        let (replies, errors) = (
            counted(self.replies, "reply", "replies"),
            counted(self.errors, "error", "errors"),
        );
        let each = self.replies as f64 / seconds.max(1e-9);
        format!(
            "{replies}, {errors}, {} in {seconds:.2} s ({each:.0} a second)",
            HumanBytes(self.bytes.get())
        )
    }
}

/// So many of something.
fn counted(number: u64, one: &str, many: &str) -> String {
    let what = if number == 1 { one } else { many };
    format!("{} {what}", HumanCount(number))
}
