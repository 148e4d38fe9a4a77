//! Waits for several futures at the same time.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The results of all, in order.
pub(super) struct Together<F: Future>(Vec<One<F>>);

enum One<F: Future> {
    Waits(Pin<Box<F>>),
    Done(Option<F::Output>),
}

impl<F: Future> Together<F> {
    pub(super) fn new(futures: impl IntoIterator<Item = F>) -> Self {
        let futures = futures.into_iter();
        Self(futures.map(|future| One::Waits(Box::pin(future))).collect())
    }
}

/// Nothing in it is pinned but what its boxes hold.
impl<F: Future> Unpin for Together<F> {}

impl<F: Future> Future for Together<F> {
    type Output = Vec<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let all = &mut self.get_mut().0;
        let mut is_done = true;
        for one in all.iter_mut() {
            if let One::Waits(future) = one {
                match future.as_mut().poll(context) {
                    Poll::Ready(output) => *one = One::Done(Some(output)),
                    Poll::Pending => is_done = false,
                }
            }
        }
        if !is_done {
            return Poll::Pending;
        }
        let outputs = all.drain(..).filter_map(|one| match one {
            One::Done(output) => output,
            One::Waits(_) => None,
        });
        Poll::Ready(outputs.collect())
    }
}
