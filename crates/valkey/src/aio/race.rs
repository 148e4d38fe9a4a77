//! Waits for one of two: work and its deadline, or two futures.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Instant;

use onecopy_net::DriveError;
use tokio::time::timeout_at;

use crate::Error;

/// Which of two futures was ready first.
#[derive(Debug)]
pub(super) enum First<A, B> {
    One(A),
    Other(B),
}

/// Waits for the first of two futures. The other one is dropped.
pub(super) async fn first<A: Future, B: Future>(one: A, other: B) -> First<A::Output, B::Output> {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|context| {
        if let Poll::Ready(output) = one.as_mut().poll(context) {
            return Poll::Ready(First::One(output));
        }
        other.as_mut().poll(context).map(First::Other)
    })
    .await
}

/// Does `work` up to the deadline. It says whether something may be executed at the moment.
pub(super) async fn by<T>(
    deadline: Option<Instant>,
    work: impl Future<Output = Result<T, Error>>,
    is_out: &AtomicBool,
) -> Result<T, Error> {
    let Some(deadline) = deadline else {
        return work.await;
    };
    let worked = timeout_at(deadline.into(), work).await;
    worked.unwrap_or_else(|_| {
        let maybe_executed = is_out.load(Ordering::Relaxed);
        Err(Error::from(DriveError::Timeout).after_sending(maybe_executed))
    })
}
