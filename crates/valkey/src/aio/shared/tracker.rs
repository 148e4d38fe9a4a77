//! Who hears which keys have changed, on the connection that reads them.

use std::fmt;
use std::sync::Arc;

use onecopy_net::DriveError;
use onecopy_resp_proto::{Protocol, Reply};

use crate::aio::Connection;
use crate::command::Raw;
use crate::{Config, Error};

/// A cache of what the connection has read. Called by the connection's task, in the order of the stream.
pub(in crate::aio) trait Tracker: fmt::Debug + Send + Sync {
    /// What each new connection is told before anything else.
    fn command(&self) -> Raw<'_>;

    /// A push has come. Whether it was about keys.
    fn pushed(&self, push: Reply<'_>) -> bool;

    /// The connection is lost or left, and nobody hears of changes any more.
    fn lost(&self);

    /// Which of the connections of a cache it is for.
    #[cfg(feature = "caching")]
    fn line(&self) -> u64;
}

/// A cache of what several servers say.
pub(in crate::aio) trait Trackers: fmt::Debug + Send + Sync {
    /// The tracker of a new connection.
    fn new_line(&self) -> Arc<dyn Tracker>;

    /// Slots of a cluster have moved, so the nodes that had them say no more of their keys.
    fn moved(&self, is_moved: &dyn Fn(u16) -> bool);
}

/// Connects, and turns the tracking on if there is a tracker.
pub(super) async fn connect(
    config: &Config,
    tracker: Option<&Arc<dyn Tracker>>,
) -> Result<Connection, Error> {
    let Some(tracker) = tracker else {
        return Connection::connect_with(config).await;
    };
    let connecting = async {
        let mut connection = Connection::connect_with(config).await?;
        if connection.protocol() != Protocol::Resp3 {
            return Err(Error::config(
                "client-side caching needs RESP3, and this connection has RESP2: leave protocol at 3, on Valkey or Redis 6.0 and \
                 later"
                    .into(),
            ));
        }
        connection.run_quietly(&tracker.command()).await?;
        Ok(connection)
    };
    let Some(timeout) = config.connect_timeout else {
        return connecting.await;
    };
    let timed = tokio::time::timeout(timeout, connecting).await;
    timed.unwrap_or_else(|_| Err(DriveError::Timeout.into()))
}
