//! A command that its server did not execute: sent again, to the primary.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::inner::{Inner, closed};
use crate::Error;
use crate::aio::race::by;
use crate::aio::{Response, Shared, clock};
use crate::command::{Command, Flags};
use crate::observe::Observed;
use crate::sentinel::Attempts;

/// Attempts until the command is executed or fails for good. `first` is what came of the first attempt, and the number of the
/// connection if that was the primary's. `deadline` is the end of its time.
pub(super) async fn repeat<C: Command + Sync>(
    inner: &Arc<Inner>,
    command: &C,
    first: Option<(Error, Option<u64>)>,
    deadline: Option<Instant>,
    observed: &mut Observed,
) -> Result<Response<C>, Error> {
    let is_out = AtomicBool::new(false);
    let work = attempts(inner, command, first, &is_out, observed);
    by(deadline, work, &is_out).await
}

async fn attempts<C: Command + Sync>(
    inner: &Arc<Inner>,
    command: &C,
    first: Option<(Error, Option<u64>)>,
    is_out: &AtomicBool,
    observed: &mut Observed,
) -> Result<Response<C>, Error> {
    let mut attempts = Attempts::new(inner.config.max_wait);
    let flags = command.flags();
    let mut failed = first.unwrap_or_else(|| (inner.no_primary(), None));
    loop {
        let (shared, number) = next(inner, &mut attempts, failed, flags).await?;
        observed.at_endpoint(shared.endpoint());
        is_out.store(true, Ordering::Relaxed);
        let result = shared.run(command).await;
        is_out.store(false, Ordering::Relaxed);
        match result {
            Ok(response) => return Ok(response),
            Err(error) => failed = (error, Some(number)),
        }
    }
}

/// Waits until there is a primary, and gives its connection with the number.
async fn next(
    inner: &Arc<Inner>,
    attempts: &mut Attempts,
    mut failed: (Error, Option<u64>),
    flags: Flags,
) -> Result<(Shared, u64), Error> {
    loop {
        let (error, from) = failed;
        if inner.is_closed() {
            return Err(error);
        }
        let again = attempts.failed(error, flags, clock::now())?;
        if again.leaves
            && let Some(number) = from
        {
            inner.leave(number);
        }
        if again.searches {
            inner.want();
        }
        inner.pause(again.pause).await?;
        match inner.find(false)? {
            Some((shared, Some(number))) => return Ok((shared, number)),
            _ => failed = (inner.no_primary(), None),
        }
    }
}

/// The connection to the primary, as soon as there is one.
pub(super) async fn primary(
    inner: &Arc<Inner>,
    deadline: Option<Instant>,
) -> Result<Shared, Error> {
    if inner.is_closed() {
        return Err(closed());
    }
    if let Some((shared, _)) = inner.find(false)? {
        return Ok(shared);
    }
    let work = async {
        let mut attempts = Attempts::new(inner.config.max_wait);
        let failed = (inner.no_primary(), None);
        let (shared, _) = next(inner, &mut attempts, failed, Flags::NONE).await?;
        Ok(shared)
    };
    by(deadline, work, &AtomicBool::new(false)).await
}
