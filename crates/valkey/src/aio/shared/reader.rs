//! One reader's queue of messages, between the connection's task and its own.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::Error;
use crate::pubsub::{Backlog, Delivery, Gap, OwnedMessage, SubscriptionOptions};

#[derive(Debug)]
pub(super) struct Reader {
    id: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    backlog: Backlog,
    /// Who waits for a message.
    waker: Option<Waker>,
    /// Subscriptions that are not confirmed yet, the first refusal, and who waits for them.
    joining: usize,
    refused: Option<Error>,
    joiner: Option<Waker>,
    /// Why nothing comes any more.
    ended: Option<Error>,
}

impl Reader {
    pub(super) fn new(id: u64, options: SubscriptionOptions) -> Self {
        Self {
            id,
            state: Mutex::new(State {
                backlog: Backlog::new(options),
                waker: None,
                joining: 0,
                refused: None,
                joiner: None,
                ended: None,
            }),
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Adds a message; whether it takes any more.
    pub(super) fn push(&self, message: OwnedMessage, wakers: &mut Vec<Waker>) -> bool {
        let mut state = self.lock();
        if state.ended.is_some() {
            return false;
        }
        if let Err(overflow) = state.backlog.push(message) {
            state.ended = Some(Error::slow_reader(overflow));
        }
        wakers.extend(state.waker.take());
        state.ended.is_none()
    }

    pub(super) fn push_gap(&self, gap: Gap, wakers: &mut Vec<Waker>) {
        let mut state = self.lock();
        state.backlog.push_gap(gap);
        wakers.extend(state.waker.take());
    }

    /// Nothing comes any more, behind what is there.
    pub(super) fn end(&self, error: &Error, wakers: &mut Vec<Waker>) {
        let mut state = self.lock();
        state.ended.get_or_insert_with(|| error.clone());
        wakers.extend(state.waker.take());
        wakers.extend(state.joiner.take());
    }

    /// A subscription was asked for.
    pub(super) fn joins(&self) {
        self.lock().joining += 1;
    }

    /// It was confirmed, refused, or is not wanted any more.
    pub(super) fn joined(&self, refused: Option<Error>, wakers: &mut Vec<Waker>) {
        let mut state = self.lock();
        state.joining = state.joining.saturating_sub(1);
        if let Some(error) = refused {
            state.refused.get_or_insert(error);
        }
        if state.joining == 0 {
            wakers.extend(state.joiner.take());
        }
    }

    /// Whether all that was asked for is answered.
    pub(super) fn poll_all_answered(&self, context: &Context<'_>) -> Poll<Result<(), Error>> {
        let mut state = self.lock();
        if let Some(error) = &state.ended {
            return Poll::Ready(Err(error.clone()));
        }
        if state.joining > 0 {
            state.joiner = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    /// The first refusal of what was asked for.
    pub(super) fn take_refusal(&self) -> Option<Error> {
        self.lock().refused.take()
    }

    pub(super) fn poll_next(
        &self,
        context: &Context<'_>,
    ) -> Poll<Result<Delivery<OwnedMessage>, Error>> {
        let mut state = self.lock();
        if let Some(next) = state.next() {
            return Poll::Ready(next);
        }
        match &mut state.waker {
            Some(known) if known.will_wake(context.waker()) => {}
            stored => *stored = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    pub(super) fn try_next(&self) -> Option<Result<Delivery<OwnedMessage>, Error>> {
        self.lock().next()
    }

    /// Drops the messages of subscriptions that are not wanted any more.
    pub(super) fn forget(&self, is_unwanted: impl Fn(&OwnedMessage) -> bool) {
        self.lock().backlog.forget(is_unwanted);
    }

    /// Unread messages, and their bytes.
    pub(super) fn unread(&self) -> (usize, usize) {
        let state = self.lock();
        (state.backlog.len(), state.backlog.bytes())
    }

    pub(super) fn dropped(&self) -> u64 {
        self.lock().backlog.dropped_in_all()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next(&mut self) -> Option<Result<Delivery<OwnedMessage>, Error>> {
        match self.backlog.pop() {
            Some(next) => Some(Ok(next)),
            None => self.ended.clone().map(Err),
        }
    }
}
