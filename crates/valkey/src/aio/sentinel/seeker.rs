//! The task that looks for the primary: one search at a time, however many commands want one.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use onecopy_pool::Jitter;
use tokio::time::{sleep_until, timeout_at};

use super::inner::{Inner, Primary};
use super::search::search;
use crate::aio::clock;
use crate::aio::race::{First, first};
use crate::sentinel::Pace;

/// The time between two searches that nothing has asked for, at least.
const SHORTEST_REFRESH: Duration = Duration::from_secs(1);

/// Runs until the handle is closed.
pub(super) async fn run(inner: Arc<Inner>) {
    let mut pace = Pace::new();
    // The one that made the handle.
    pace.begin(clock::now());
    let jitter = Jitter::default();
    loop {
        wait_until_wanted(&inner, &jitter).await;
        let hinted = inner.hinted.notified();
        if inner.is_closed() {
            return;
        }
        let begins = sleep_until(pace.next(clock::now()).into());
        if let First::Other(()) = first(begins, hinted).await {
            pace.hinted();
            inner.want();
            continue;
        }
        pace.begin(clock::now());
        match first(search(&inner), inner.hinted.notified()).await {
            First::One(Ok(())) => pace.succeeded(),
            // It is wanted again by those who still need it.
            First::One(Err(error)) => {
                pace.failed();
                inner.failed(error);
            }
            First::Other(()) => {
                pace.hinted();
                inner.want();
            }
        }
    }
}

/// Waits until somebody wants a search, one is due, the primary is lost, or the handle is closed.
async fn wait_until_wanted(inner: &Inner, jitter: &Jitter) {
    let interval = inner.config.refresh_interval;
    let due = interval.map(|interval| interval.max(SHORTEST_REFRESH));
    let due = due.and_then(|interval| jitter.end_of(Some(interval), 4, clock::now()));
    // Of a primary that is lost already everybody has heard.
    let mut primary = inner.current();
    while !inner.is_wanted() && !inner.is_closed() {
        let wanted = until(due, inner.seeker.notified());
        match first(wanted, lost(&primary)).await {
            First::One(true) => {}
            First::One(false) => return,
            First::Other(()) => {
                primary = None;
                inner.want();
            }
        }
    }
}

/// Whether it has come by then.
async fn until(due: Option<Instant>, wanted: impl Future<Output = ()>) -> bool {
    match due {
        None => {
            wanted.await;
            true
        }
        Some(due) => timeout_at(due.into(), wanted).await.is_ok(),
    }
}

async fn lost(primary: &Option<Primary>) {
    match primary {
        Some(primary) => primary.shared.ended().await,
        None => pending().await,
    }
}
