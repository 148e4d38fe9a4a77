//! A command that its node did not execute: sent where it belongs, or again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::inner::Inner;
use crate::Error;
use crate::aio::Response;
use crate::aio::race::by;
use crate::cluster::{Attempts, NodeAddress, Route, Target};
use crate::command::Command;
use crate::observe::Observed;

/// What came of an attempt, and the node that it was made at.
pub(super) type Attempted<T> = (Result<T, Error>, Option<NodeAddress>);

/// Attempts until the command is executed or fails for good. `deadline` is the end of its time.
pub(super) async fn repeat<C: Command + Sync>(
    inner: &Arc<Inner>,
    command: &C,
    route: Route,
    first: Option<(Error, Option<NodeAddress>)>,
    deadline: Option<Instant>,
    observed: &mut Observed,
) -> Result<Response<C>, Error> {
    let is_out = AtomicBool::new(false);
    let work = attempts(inner, command, route, first, &is_out, observed);
    by(deadline, work, &is_out).await
}

async fn attempts<C: Command + Sync>(
    inner: &Arc<Inner>,
    command: &C,
    route: Route,
    mut failed: Option<(Error, Option<NodeAddress>)>,
    is_out: &AtomicBool,
    observed: &mut Observed,
) -> Result<Response<C>, Error> {
    let mut attempts = Attempts::new(inner.config.patience());
    let mut target = Target::Route;
    loop {
        if let Some(failed) = failed {
            let again = inner.again(&mut attempts, failed, route.flags)?;
            inner.pause(again.pause).await?;
            target = again.target;
        }
        match attempt(inner, command, route, &target, is_out, observed).await {
            (Ok(response), _) => return Ok(response),
            (Err(error), from) => failed = Some((error, from)),
        }
    }
}

async fn attempt<C: Command + Sync>(
    inner: &Arc<Inner>,
    command: &C,
    route: Route,
    target: &Target,
    is_out: &AtomicBool,
    observed: &mut Observed,
) -> Attempted<Response<C>> {
    let place = match inner.find(route, target) {
        Ok((place, _)) => place,
        Err(error) => return (Err(error), None),
    };
    observed.at(&place.address);
    let shared = match inner.connected(&place).await {
        Ok(shared) => shared,
        Err(error) => return (Err(error), Some(place.address)),
    };
    is_out.store(true, Ordering::Relaxed);
    let result = match target {
        Target::Asking(_) => shared.run_asking(command).await,
        _ => shared.run(command).await,
    };
    is_out.store(false, Ordering::Relaxed);
    (result, Some(place.address))
}
