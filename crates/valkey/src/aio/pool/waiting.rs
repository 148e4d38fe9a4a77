//! A caller that waits for a connection.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use ::tokio::time::timeout_at;
use onecopy_pool::{Checkout, Ticket, Wait, WaitError};

use super::super::Connection;
use super::shared::Shared;
use crate::Error;
use crate::pool::Slot;

/// Its turn passes to the next one if it is dropped.
struct Waiting<'s> {
    shared: &'s Arc<Shared>,
    since: Instant,
    is_again: bool,
    ticket: Option<Ticket>,
}

impl Shared {
    /// Waits for a connection. `is_again`: at the front.
    ///
    /// # Errors
    /// There is none in time, or never will be.
    pub(super) async fn wait(
        self: &Arc<Self>,
        since: Instant,
        is_again: bool,
    ) -> Result<Checkout<Box<Slot<Connection>>>, Error> {
        self.start();
        let mut waiting = Waiting {
            shared: self,
            since,
            is_again,
            ticket: None,
        };
        let timeout = self.config().pool.acquire_timeout;
        let until = timeout.and_then(|timeout| since.checked_add(timeout));
        let granted = poll_fn(|context| waiting.poll(context));
        let granted = match until {
            None => granted.await,
            Some(until) => match timeout_at(until.into(), granted).await {
                Ok(granted) => granted,
                Err(_) => waiting.last(),
            },
        };
        granted.map_err(|why| self.core().no_connection(why, since.elapsed()))
    }
}

impl Waiting<'_> {
    fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Checkout<Box<Slot<Connection>>>, WaitError>> {
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
    fn last(&mut self) -> Result<Checkout<Box<Slot<Connection>>>, WaitError> {
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

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.shared.core().policy.leave(ticket, Instant::now());
            self.shared.act();
        }
    }
}
