//! One timer, which rings at the latest when it is due.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::time::Sleep;

/// Made when it is needed first. Deadlines move on with every command: the timer is left where it is when a later one is set,
/// rings too early then, and is set anew.
#[derive(Debug, Default)]
pub(super) struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
    rings_at: Option<Instant>,
    due: Option<Instant>,
    /// Whether the runtime knows of it.
    is_running: bool,
}

impl Timer {
    /// When it is to ring next; never where `None`.
    #[inline]
    pub(super) fn set(&mut self, due: Option<Instant>) {
        self.due = due;
    }

    /// Whether it rang.
    #[inline]
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> bool {
        match self.due {
            None => false,
            Some(due) => self.poll_due(context, due),
        }
    }

    fn poll_due(&mut self, context: &mut Context<'_>, due: Instant) -> bool {
        if self.rings_at.is_none_or(|rings_at| rings_at > due) {
            match &mut self.sleep {
                Some(sleep) => sleep.as_mut().reset(due.into()),
                None => self.sleep = Some(Box::pin(tokio::time::sleep_until(due.into()))),
            }
            self.rings_at = Some(due);
            self.is_running = false;
        }
        let Some(sleep) = &mut self.sleep else {
            return false;
        };
        // It runs already and the task is the same.
        if self.is_running && !sleep.is_elapsed() {
            return false;
        }
        self.is_running = true;
        if sleep.as_mut().poll(context) == Poll::Pending {
            return false;
        }
        self.rings_at = None;
        true
    }
}
