//! One timer, which rings at the latest when it is due.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::task::coop;
use tokio::time::Sleep;

/// Made when it is needed first. Deadlines move on with every command: the timer is left where it is when a later one is set,
/// rings too early then, and is set again.
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

    /// Whether it is to ring.
    pub(super) fn is_set(&self) -> bool {
        self.due.is_some()
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
        // A task that has used up its tokio budget is told to wait and poll again, and the runtime does not know the timer.
        self.is_running = coop::has_budget_remaining();
        if sleep.as_mut().poll(context) == Poll::Pending {
            return false;
        }
        self.rings_at = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_timer_that_is_set_when_the_tasks_turn_is_used_up_rings_all_the_same() {
        let mut timer = Timer::default();
        let rings = poll_fn(|context| {
            if timer.due.is_none() {
                while let Poll::Ready(step) = coop::poll_proceed(context) {
                    step.made_progress();
                }
                timer.set(Some(Instant::now() + Duration::from_millis(10)));
            }
            match timer.poll(context) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        });
        let long = Duration::from_secs(60);
        tokio::time::timeout(long, rings).await.expect("it is lost");
    }
}
