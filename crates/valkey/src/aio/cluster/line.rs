//! The connection to one node: made when it is needed, by one attempt at a time, and not again at once if that fails.

use std::time::Instant;

use tokio::sync::watch::Receiver;

use crate::aio::{Shared, clock};
use crate::backoff::Pauses;
use crate::{Backoff, Error};

/// The connection to a node, as far as there is one.
#[derive(Debug, Default)]
pub(super) struct Line {
    state: State,
    /// From the first failure on.
    pauses: Option<Pauses>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    New,
    /// The sender is dropped when the attempt has ended.
    Connecting(Receiver<()>),
    /// It reconnects by itself.
    Up(Shared),
    Failed {
        error: Error,
        retries_at: Instant,
    },
}

/// What a caller finds.
pub(super) enum Found {
    Up(Shared),
    Connecting(Receiver<()>),
    Down(Error),
}

impl Line {
    #[inline]
    pub(super) fn shared(&self) -> Option<&Shared> {
        match &self.state {
            State::Up(shared) => Some(shared),
            _ => None,
        }
    }

    pub(super) fn into_shared(self) -> Option<Shared> {
        match self.state {
            State::Up(shared) => Some(shared),
            _ => None,
        }
    }

    /// What there is; connects if there is nothing, and if the last failure is long enough ago.
    pub(super) fn find(&mut self, connect: impl FnOnce() -> Receiver<()>) -> Found {
        match &self.state {
            State::Up(shared) => return Found::Up(shared.clone()),
            State::Connecting(attempt) => return Found::Connecting(attempt.clone()),
            State::Failed { error, retries_at } if clock::now() < *retries_at => {
                return Found::Down(error.clone());
            }
            State::Failed { .. } | State::New => {}
        }
        let attempt = connect();
        self.state = State::Connecting(attempt.clone());
        Found::Connecting(attempt)
    }

    /// The attempt has ended.
    pub(super) fn ended(&mut self, connected: Result<Shared, Error>) {
        self.state = match connected {
            Ok(shared) => {
                self.pauses = None;
                State::Up(shared)
            }
            Err(error) => {
                let pauses = self
                    .pauses
                    .get_or_insert_with(|| Pauses::new(Backoff::default()));
                State::Failed {
                    error,
                    retries_at: clock::now() + pauses.next(),
                }
            }
        };
    }
}
