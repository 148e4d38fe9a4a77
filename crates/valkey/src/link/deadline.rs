//! Until when the call under way waits.

use std::time::{Duration, Instant};

use onecopy_net::DriveError;

use super::Link;
use crate::Error;

/// The deadline of what begins now; none where the time has no end that a clock could show.
pub(crate) fn deadline_in(timeout: Option<Duration>) -> Option<Instant> {
    timeout.and_then(|timeout| Instant::now().checked_add(timeout))
}

impl Link {
    /// The deadline of the wait that begins now: the next reply's.
    #[inline]
    pub(crate) fn start_wait(&mut self) {
        if let Some(timeout) = self.command_timeout {
            let blocking = self.blocking;
            self.deadline =
                deadline_in(blocking.and_then(|blocking| timeout.checked_add(blocking)));
        }
    }

    /// What the call queued does not block after all.
    pub(crate) fn never_blocks(&mut self) {
        self.blocking = Some(Duration::ZERO);
        self.start_wait();
    }

    /// The deadline of the call under way.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// For loops over what comes out of band, as long as which there is no wait that a deadline could end.
    ///
    /// # Errors
    /// The deadline has passed.
    #[cold]
    pub(crate) fn in_time(&mut self) -> Result<(), Error> {
        match self.deadline {
            Some(deadline) if deadline <= Instant::now() => Err(self.failed(DriveError::Timeout)),
            _ => Ok(()),
        }
    }

    pub(crate) fn command_timeout(&self) -> Option<Duration> {
        self.command_timeout
    }

    pub(crate) fn set_command_timeout(&mut self, timeout: Option<Duration>) {
        self.command_timeout = timeout;
        self.deadline = None;
    }
}
