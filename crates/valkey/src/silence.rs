//! How long a server has sent nothing although it owes a reply, or a message may come from it. The clock is the caller's.
//!
//! Servers answer in order, so one that is busy with a slow command answers nothing else on this connection either, a probe
//! included. Only silence can be measured: bytes that come, of whichever reply, prove that the server is there. Bytes that
//! leave prove it as long as the oldest request has not left whole; behind that they only fill the kernel's buffers.

use std::time::{Duration, Instant};

/// A connection is looked at so many times before it counts as unresponsive, more often for a long limit.
const LOOKS: u32 = 8;

/// The longest time between two looks.
const LONGEST_INTERVAL: Duration = Duration::from_secs(1);

/// What is seen of a connection at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    /// Whether the oldest request without a reply has left whole.
    pub(crate) has_left: bool,
}

/// What follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Responsive,
    /// Half of the time is over: something should be sent, so that a host that is gone or has forgotten the connection says
    /// so or fails to acknowledge it. Told once a silence.
    Probe,
    Unresponsive,
}

/// The silence under way on one connection.
#[derive(Debug)]
pub(crate) struct Silence {
    /// `None`: any silence is accepted.
    limit: Option<Duration>,
    /// The last look; `None` where no reply was outstanding.
    last: Option<(Instant, Seen)>,
    /// How long it has lasted, as far as anybody has looked.
    lasted: Duration,
    is_probed: bool,
}

impl Silence {
    pub(crate) fn new(limit: Option<Duration>) -> Self {
        Self {
            limit,
            last: None,
            lasted: Duration::ZERO,
            is_probed: false,
        }
    }

    /// Whether there is a limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// The limit; zero where there is none.
    pub(crate) fn limit(&self) -> Duration {
        self.limit.unwrap_or_default()
    }

    /// Whether anybody has looked since it ended.
    pub(crate) fn has_begun(&self) -> bool {
        self.last.is_some()
    }

    /// The time from one look to the next.
    pub(crate) fn interval(&self) -> Duration {
        let limit = self.limit.unwrap_or(LONGEST_INTERVAL);
        (limit / LOOKS).clamp(Duration::from_millis(1), LONGEST_INTERVAL)
    }

    /// No reply is outstanding.
    pub(crate) fn end(&mut self) {
        self.last = None;
    }

    /// A reply is outstanding at `now`. Call it after reading what has arrived.
    pub(crate) fn look(&mut self, now: Instant, seen: Seen) -> Verdict {
        let last = self.last.replace((now, seen));
        let Some((limit, (then, before))) = self.limit.zip(last) else {
            self.restart();
            return Verdict::Responsive;
        };
        let is_read = seen.bytes_read != before.bytes_read;
        let is_written = seen.bytes_written != before.bytes_written && !before.has_left;
        if is_read || is_written {
            self.restart();
            return Verdict::Responsive;
        }
        // A process that did not run could not have seen anything: that time is not the server's.
        self.lasted += now.duration_since(then).min(2 * self.interval());
        if self.lasted >= limit {
            return Verdict::Unresponsive;
        }
        if self.lasted >= limit / 2 && !self.is_probed {
            self.is_probed = true;
            return Verdict::Probe;
        }
        Verdict::Responsive
    }

    fn restart(&mut self) {
        self.lasted = Duration::ZERO;
        self.is_probed = false;
    }
}

#[cfg(test)]
mod tests;
