//! The task that asks for the slots: one refresh at a time, however many commands want one.

use std::sync::Arc;

use onecopy_pool::Jitter;
use tokio::time::{sleep_until, timeout_at};

use super::inner::Inner;
use crate::aio::together::Together;
use crate::aio::{Connection, clock};
use crate::cluster::{
    Asked, NodeAddress, Query, REFRESH_INTERVAL, RefreshPace, Topology, more_telling, no_topology,
};
use crate::{Error, raw};

/// Runs until the handle is closed.
pub(super) async fn run(inner: Arc<Inner>) {
    let mut pace = RefreshPace::new(Jitter::default());
    // The one that made the handle.
    pace.begin(clock::now());
    loop {
        wait_until_wanted(&inner, &pace).await;
        if inner.is_closed() {
            return;
        }
        sleep_until(pace.next(clock::now()).into()).await;
        if inner.is_closed() {
            return;
        }
        pace.begin(clock::now());
        // What failed is wanted again by those who still need it.
        let _ = refresh(&inner).await;
    }
}

async fn wait_until_wanted(inner: &Inner, pace: &RefreshPace) {
    let interval = inner.config.refresh_interval;
    let due = interval.and_then(|interval| pace.due(interval.max(REFRESH_INTERVAL), clock::now()));
    while !inner.is_wanted() && !inner.is_closed() {
        let wanted = inner.refresher.notified();
        match due {
            None => wanted.await,
            Some(due) => {
                if timeout_at(due.into(), wanted).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Asks one node after the other, until one helps.
pub(super) async fn refresh(inner: &Inner) -> Result<(), Error> {
    let mut last = None;
    for address in inner.begin_refresh() {
        match ask(&address, inner).await {
            Ok(topology) => {
                inner.learn(topology);
                ask_for_zones(inner).await;
                return Ok(());
            }
            Err(error) => last = Some(more_telling(last, error)),
        }
    }
    Err(no_topology(last))
}

/// Asks nodes where they are, once each. Those that don't answer are asked again at the next refresh.
async fn ask_for_zones(inner: &Inner) {
    let nodes = inner.with_router(|router| router.without_zone());
    let asked = nodes.into_iter().map(|address| async move {
        let node = &inner.config.node;
        let config = Query::new(&address, node).config(node);
        let mut connection = Connection::connect_with(&config).await?;
        let info = connection.run_quietly(&raw("INFO").arg("server")).await?;
        Ok::<_, Error>((address, info))
    });
    for (address, info) in Together::new(asked).await.into_iter().flatten() {
        inner.with_router(|router| router.learn_zone(&address, info.reply().bytes()));
    }
}

async fn ask(address: &NodeAddress, inner: &Inner) -> Result<Topology, Error> {
    let node = &inner.config.node;
    let mut query = Query::new(address, node);
    let mut connection = Connection::connect_with(&query.config(node)).await?;
    inner.system.learn(connection.session());
    loop {
        let reply = connection.run_quietly(&query.command()).await;
        if let Asked::Topology(topology) = query.answered(reply)? {
            return Ok(topology);
        }
    }
}
