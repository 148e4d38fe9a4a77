//! What becomes of a command that its server did not execute. No clock and no I/O.

use std::time::{Duration, Instant};

use crate::Error;
use crate::backoff::{Backoff, Pauses};
use crate::command::Flags;
use crate::error::ends_by_role;

/// The pauses before a command is sent again. A new primary ends them.
const PAUSES: Backoff = Backoff {
    base: Duration::from_millis(20),
    cap: Duration::from_millis(500),
};

/// The attempts of one command.
#[derive(Debug)]
pub(crate) struct Attempts {
    max_wait: Duration,
    /// From the first failure on.
    gives_up_at: Option<Instant>,
    pauses: Pauses,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Again {
    pub(crate) pause: Duration,
    /// The server is not what it was taken for: its connection is left.
    pub(crate) leaves: bool,
    /// The primary is to be looked for.
    pub(crate) searches: bool,
}

impl Attempts {
    pub(crate) fn new(max_wait: Duration) -> Self {
        Self {
            max_wait,
            gives_up_at: None,
            pauses: Pauses::new(PAUSES),
        }
    }

    /// An attempt has failed. The command has these flags. The next one goes to the primary.
    ///
    /// # Errors
    /// Fails if the failure is the command's own, or final.
    pub(crate) fn failed(
        &mut self,
        error: Error,
        flags: Flags,
        now: Instant,
    ) -> Result<Again, Error> {
        let server = match error.refusal() {
            None => error.server(),
            Some(_) => None,
        };
        let (leaves, searches) = match server.map(|server| server.code()) {
            // Nothing was executed: a replica refuses all writes, and ends what waits in it when it becomes one.
            Some("READONLY") => (true, true),
            // But what WAIT waits for is of the connection that it is on.
            Some("UNBLOCKED")
                if !flags.contains(Flags::KEYLESS)
                    && server.is_some_and(|server| ends_by_role(server.text().as_bytes())) =>
            {
                (true, true)
            }
            Some("LOADING" | "MASTERDOWN") => (false, false),
            Some(_) => return Err(error),
            None => {
                let may_repeat = match error.maybe_executed() {
                    true => error.is_closed() && flags.contains(Flags::READONLY),
                    false => error.is_retryable(),
                };
                if !may_repeat {
                    return Err(error);
                }
                (false, true)
            }
        };
        let time_left = self.time_left(now);
        if time_left.is_zero() {
            return Err(error);
        }
        Ok(Again {
            pause: self.pauses.next().min(time_left),
            leaves,
            searches,
        })
    }

    fn time_left(&mut self, now: Instant) -> Duration {
        let Some(end) = now.checked_add(self.max_wait) else {
            return Duration::MAX;
        };
        self.gives_up_at
            .get_or_insert(end)
            .saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(error: Error, flags: Flags) -> Option<(bool, bool)> {
        let mut attempts = Attempts::new(Duration::from_secs(1));
        let again = attempts.failed(error, flags, Instant::now()).ok()?;
        assert!(again.pause <= PAUSES.base);
        Some((again.leaves, again.searches))
    }

    #[test]
    fn what_was_not_executed_is_repeated_and_the_rest_only_if_it_reads() {
        let server = |text: &str| Error::server_error(text.as_bytes());
        let lost = Error::closed("lost");
        let sent = lost.clone().after_sending(true);
        let (read, write) = (Flags::READONLY, Flags::WRITE);
        for (error, flags, expected) in [
            (
                server("READONLY You can't write"),
                write,
                Some((true, true)),
            ),
            (server("UNBLOCKED force unblock"), write, Some((true, true))),
            (
                server("UNBLOCKED force unblock"),
                Flags::BLOCKING.with(Flags::KEYLESS),
                None,
            ),
            (
                server("UNBLOCKED client unblocked via CLIENT UNBLOCK"),
                write,
                None,
            ),
            (server("LOADING dataset"), write, Some((false, false))),
            (server("MASTERDOWN Link"), read, Some((false, false))),
            (server("WRONGTYPE Operation"), read, None),
            (lost.clone(), write, Some((false, true))),
            (sent.clone(), read, Some((false, true))),
            (sent, write, None),
            (Error::offline(Some(&lost)), write, Some((false, true))),
        ] {
            assert_eq!(failed(error.clone(), flags), expected, "{error}");
        }
    }

    #[test]
    fn it_ends_when_the_time_is_over() {
        let mut attempts = Attempts::new(Duration::from_secs(1));
        let (mut now, lost) = (Instant::now(), Error::closed("lost"));
        let end = now + Duration::from_secs(1);
        while let Ok(again) = attempts.failed(lost.clone(), Flags::WRITE, now) {
            assert!(again.pause <= end - now);
            now += again.pause.max(Duration::from_millis(1));
        }
        // A last pause may be shorter than the step.
        assert!(now >= end && now < end + Duration::from_millis(1));
        let mut none = Attempts::new(Duration::ZERO);
        assert!(none.failed(lost, Flags::WRITE, now).is_err());
    }
}
