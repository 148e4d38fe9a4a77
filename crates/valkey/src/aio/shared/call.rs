//! One caller's wait for an answer.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::failure::Failure;
use super::group::Pieces;
use super::inner::Inner;
use super::queue::{Encode, Outcome};
use super::slab::Index;
use crate::aio::clock;

/// Waits until the command has its answer. The command is written during a poll, straight into the queue that all share.
///
/// # Cancel safety
/// Dropped before the command was written, nothing happens. Later the command is sent, and its reply dropped when it comes.
#[derive(Debug)]
pub(super) struct Call<'s, E> {
    inner: &'s Inner,
    command: E,
    index: Option<Index>,
    /// The command with copies of its large arguments, where they are not shared.
    copy: Option<Box<Pieces>>,
}

impl<'s, E> Call<'s, E> {
    #[inline]
    pub(super) fn new(inner: &'s Inner, command: E) -> Self {
        Self {
            inner,
            command,
            index: None,
            copy: None,
        }
    }
}

impl<E: Encode + Unpin> Future for Call<'_, E> {
    type Output = Result<Outcome, Failure>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let call = self.get_mut();
        if call.copy.is_some() {
            return call.poll_copy(context);
        }
        let (index, command) = (&mut call.index, &call.command);
        let polled = call
            .inner
            .with(|queue| queue.poll(index, command, context.waker(), clock::now));
        match polled {
            Poll::Ready(Err(Failure::NeedsCopy)) => call.poll_copy(context),
            polled => polled,
        }
    }
}

impl<E: Encode> Call<'_, E> {
    /// The same with a copy, which is made before the queue is asked: others do not wait for it.
    #[cold]
    fn poll_copy(&mut self, context: &mut Context<'_>) -> Poll<Result<Outcome, Failure>> {
        let command = match &mut self.copy {
            Some(copy) => copy,
            none => {
                let copy = self.command.copied()?;
                self.inner.with(|queue| queue.count_copied(copy.copied()));
                none.insert(Box::new(copy))
            }
        };
        let index = &mut self.index;
        self.inner
            .with(|queue| queue.poll(index, &**command, context.waker(), clock::now))
    }
}

impl<E> Drop for Call<'_, E> {
    #[inline]
    fn drop(&mut self) {
        if let Some(index) = self.index {
            self.inner.with(|queue| queue.leave(index));
        }
    }
}
