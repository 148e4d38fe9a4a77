//! The registry of subscriptions under its lock, apart from the queue's: a message to a thousand readers holds up no command.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use onecopy_resp_proto::{Client, Frame};
use onecopy_wire::{Buffers, WireError};

use super::registry::Registry;
use crate::Error;
use crate::pubsub::Asked;

/// Commands that are written together: with more, a server that answers slowly would make the queue grow without a bound.
const MOST_ORDERS: usize = 1 << 10;

#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    state: Mutex<State>,
    /// What is read for each batch of commands, without the lock. Only hints: who changes the registry wakes its server.
    has_orders: AtomicBool,
    is_any: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    registry: Registry,
    /// The task of a connection that only has subscriptions.
    companion: Option<Waker>,
}

impl Subscriptions {
    /// Does something under the lock; then wakes whom that concerns, without it. `true`: there is something to be sent.
    pub(super) fn with<T>(
        &self,
        act: impl FnOnce(&mut Registry, &mut Vec<Waker>) -> T,
    ) -> (T, bool) {
        let mut wakers = Vec::new();
        let mut state = self.lock();
        let done = act(&mut state.registry, &mut wakers);
        let has_orders = state.registry.has_orders();
        self.has_orders.store(has_orders, Ordering::Release);
        let is_any = state.registry.is_any();
        self.is_any.store(is_any, Ordering::Release);
        let is_over = state.registry.ended().is_some();
        if has_orders || is_over || is_any && !state.registry.is_up() {
            wakers.extend(state.companion.take());
        }
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        (done, has_orders)
    }

    /// The same for a message.
    pub(super) fn dispatch(
        &self,
        core: &Client,
        buffers: &mut Buffers,
        frame: Frame,
    ) -> Result<(), WireError> {
        self.with(|registry, wakers| registry.dispatch(core, buffers, frame, wakers))
            .0
    }

    /// The commands to be written next.
    pub(super) fn take_orders(&self, into: &mut Vec<Asked>) {
        self.with(|registry, _| registry.take_orders(MOST_ORDERS, into));
    }

    pub(super) fn answered(&self, asked: &Asked, refused: Option<&Error>) {
        self.with(|registry, wakers| registry.answered(asked, refused, wakers));
    }

    #[inline]
    pub(super) fn has_orders(&self) -> bool {
        self.has_orders.load(Ordering::Acquire)
    }

    /// Whether anything is subscribed to.
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        self.is_any.load(Ordering::Acquire)
    }

    /// Whether the companion has something to do: `false` if it is over.
    pub(super) fn poll_companion(
        &self,
        context: &Context<'_>,
        is_ready: impl FnOnce(&Registry) -> bool,
    ) -> Poll<bool> {
        let mut state = self.lock();
        if state.registry.ended().is_some() {
            return Poll::Ready(false);
        }
        if is_ready(&state.registry) {
            return Poll::Ready(true);
        }
        state.companion = Some(context.waker().clone());
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
