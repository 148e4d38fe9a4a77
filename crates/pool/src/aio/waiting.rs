//! A caller that waits for a connection, or for the end.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::time::timeout_at;

use super::{Connect, Tasks};
use crate::driver::{NoConnection, Shared};
use crate::{Checkout, Ticket, Wait, WaitError};

/// Its turn passes to the next one if it is dropped.
struct Waiting<'s, C: Connect> {
    shared: &'s Arc<Shared<C, Tasks>>,
    since: Instant,
    is_again: bool,
    ticket: Option<Ticket>,
}

impl<C: Connect> Shared<C, Tasks> {
    /// Waits for a connection. `is_again`: at the front.
    ///
    /// # Errors
    /// There is none in time, or never will be.
    pub(super) async fn wait(
        self: &Arc<Self>,
        since: Instant,
        is_again: bool,
    ) -> Result<Checkout<Box<C>>, Box<NoConnection<C::Error>>> {
        Tasks::start(self);
        let mut waiting = Waiting {
            shared: self,
            since,
            is_again,
            ticket: None,
        };
        let timeout = C::pool_config(self.config()).acquire_timeout;
        let until = timeout.and_then(|timeout| since.checked_add(timeout));
        let granted = poll_fn(|context| waiting.poll(context));
        let granted = match until {
            None => granted.await,
            Some(until) => match timeout_at(until.into(), granted).await {
                Ok(granted) => granted,
                Err(_) => waiting.last(),
            },
        };
        granted.map_err(|why| self.no_connection(why, since))
    }

    /// Waits until a closed pool has no connection any more.
    pub(super) async fn wait_drained(&self) {
        loop {
            let mut drained = pin!(self.runner.drained.notified());
            drained.as_mut().enable();
            if self.core().policy.is_drained() {
                return;
            }
            drained.await;
        }
    }
}

impl<C: Connect> Waiting<'_, C> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Checkout<Box<C>>, WaitError>> {
        let now = Instant::now();
        let mut core = self.shared.core();
        let is_new = self.ticket.is_none();
        let ticket = match self.ticket.take() {
            Some(ticket) => {
                if let Some(waker) = core.policy.waiter_mut(&ticket) {
                    waker.clone_from(context.waker());
                }
                ticket
            }
            None => {
                let waker = context.waker().clone();
                core.policy.wait(now, self.since, waker, self.is_again)
            }
        };
        let polled = match core.policy.poll_wait(ticket, now) {
            Wait::Ready(checkout) => Poll::Ready(Ok(checkout)),
            Wait::Failed(why) => Poll::Ready(Err(why)),
            Wait::Pending(ticket, _) => {
                self.ticket = Some(ticket);
                Poll::Pending
            }
        };
        drop(core);
        if is_new {
            self.shared.act();
        }
        polled
    }

    /// The time is over: what came just now counts.
    fn last(&mut self) -> Result<Checkout<Box<C>>, WaitError> {
        let Some(ticket) = self.ticket.take() else {
            return Err(WaitError::Timeout);
        };
        let polled = self.shared.core().policy.poll_wait(ticket, Instant::now());
        match polled {
            Wait::Ready(checkout) => Ok(checkout),
            Wait::Failed(why) => Err(why),
            // Only if the runtime's clock is ahead.
            Wait::Pending(ticket, _) => {
                self.ticket = Some(ticket);
                Err(WaitError::Timeout)
            }
        }
    }
}

impl<C: Connect> Drop for Waiting<'_, C> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.shared.core().policy.leave(ticket, Instant::now());
            self.shared.act();
        }
    }
}
