//! What becomes of a command that the cluster did not execute: sent elsewhere, again, or failed. No clock and no I/O.

use std::time::{Duration, Instant};

use super::address::NodeAddress;
use super::error::ClusterError;
use super::redirect::Rejection;
use crate::Error;
use crate::backoff::{Backoff, Pauses};
use crate::command::Flags;

/// Redirections that are followed at once. Behind them nodes seem to disagree, and each further one waits first.
const QUICK_REDIRECTS: u32 = 2;

/// The pauses before a command is sent again.
const PAUSES: Backoff = Backoff {
    base: Duration::from_millis(20),
    cap: Duration::from_millis(500),
};

/// How much is done for one command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// In a row.
    pub(crate) max_redirects: u32,
    /// From the first failure on.
    pub(crate) max_wait: Duration,
}

/// The attempts of one command.
#[derive(Debug)]
pub(crate) struct Attempts {
    patience: Patience,
    redirects: u32,
    gives_up_at: Option<Instant>,
    pauses: Pauses,
}

/// What to do next.
#[derive(Debug)]
pub(crate) struct Again {
    pub(crate) pause: Duration,
    pub(crate) target: Target,
    /// What is known of the cluster is old.
    pub(crate) wants_refresh: bool,
    /// A slot that has moved.
    pub(crate) moved: Option<(u16, NodeAddress)>,
}

impl Again {
    /// Where a connection leads next that follows a slot: a move is known by then to whoever looks for the primary.
    pub(crate) fn into_home(self) -> Target {
        match self.target {
            asking @ Target::Asking(_) => asking,
            _ => Target::Primary,
        }
    }
}

/// Where a command is sent next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// To the node of its slot, as then known.
    Route,
    /// To the primary of its slot: replicas are no good.
    Primary,
    /// To this node.
    Node(NodeAddress),
    /// To this node, behind ASKING.
    Asking(NodeAddress),
}

impl Attempts {
    pub(crate) fn new(patience: Patience) -> Self {
        Self {
            patience,
            redirects: 0,
            gives_up_at: None,
            pauses: Pauses::new(PAUSES),
        }
    }

    /// An attempt has failed at `from`, or at no node at all. The command has these flags.
    ///
    /// # Errors
    /// Fails if the failure is the command's own, or final.
    pub(crate) fn failed(
        &mut self,
        error: Error,
        from: Option<&NodeAddress>,
        flags: Flags,
        now: Instant,
    ) -> Result<Again, Error> {
        if let (Some(server), Some(from)) = (error.server(), from)
            && error.refusal().is_none()
        {
            return match Rejection::parse(server.text().as_bytes(), from) {
                // What WAIT waits for is of the connection that it is on.
                Ok(Some(Rejection::Unblocked)) if flags.contains(Flags::KEYLESS) => Err(error),
                Ok(Some(rejection)) => self.rejected(rejection, error, now),
                Ok(None) => Err(error),
                Err(problem) => Err(Error::cluster_error(ClusterError::BadRedirect {
                    node: from.clone(),
                    problem,
                })),
            };
        }
        let may_repeat = match error.maybe_executed() {
            true => error.is_closed() && flags.contains(Flags::READONLY),
            false => error.is_retryable(),
        };
        if !may_repeat {
            return Err(error);
        }
        // A replica that has failed is not tried again.
        self.again_later(Target::Primary, true, error, now)
    }

    fn rejected(
        &mut self,
        rejection: Rejection,
        error: Error,
        now: Instant,
    ) -> Result<Again, Error> {
        match rejection {
            Rejection::Moved(slot, to) => {
                let mut again = self.redirected(Target::Node(to.clone()), &to, now)?;
                again.wants_refresh = true;
                again.moved = Some((slot, to));
                Ok(again)
            }
            Rejection::Ask(to) => self.redirected(Target::Asking(to.clone()), &to, now),
            Rejection::TryAgain => self.again_later(Target::Route, false, error, now),
            Rejection::ClusterDown | Rejection::ReadOnly => {
                self.again_later(Target::Route, true, error, now)
            }
            Rejection::Loading | Rejection::PrimaryDown | Rejection::Unblocked => {
                self.again_later(Target::Primary, true, error, now)
            }
        }
    }

    fn redirected(
        &mut self,
        target: Target,
        to: &NodeAddress,
        now: Instant,
    ) -> Result<Again, Error> {
        let too_many = || {
            Error::cluster_error(ClusterError::TooManyRedirects {
                redirects: self.redirects,
                last: to.clone(),
            })
        };
        if self.redirects >= self.patience.max_redirects {
            return Err(too_many());
        }
        self.redirects += 1;
        let pause = match self.redirects <= QUICK_REDIRECTS {
            true => Duration::ZERO,
            false => self.pauses.next(),
        };
        Ok(Again {
            pause: pause.min(self.time_left(now)),
            target,
            wants_refresh: false,
            moved: None,
        })
    }

    fn again_later(
        &mut self,
        target: Target,
        wants_refresh: bool,
        error: Error,
        now: Instant,
    ) -> Result<Again, Error> {
        let time_left = self.time_left(now);
        if time_left.is_zero() {
            return Err(error);
        }
        // Keys of a slot that moves lead from ASK to TRYAGAIN and back until they are together: that is bounded by time.
        self.redirects = 0;
        Ok(Again {
            pause: self.pauses.next().min(time_left),
            target,
            wants_refresh,
            moved: None,
        })
    }

    fn time_left(&mut self, now: Instant) -> Duration {
        let Some(end) = now.checked_add(self.patience.max_wait) else {
            return Duration::MAX;
        };
        self.gives_up_at
            .get_or_insert(end)
            .saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests;
