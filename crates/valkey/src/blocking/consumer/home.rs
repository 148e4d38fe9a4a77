//! Which server has the stream of a consumer.

use std::time::Duration;

use crate::blocking::{Cluster, Sentinel};
use crate::cluster::{NodeAddress, Route, Target};
use crate::{Arg, Config, Error};

/// Where the stream is looked for.
#[derive(Debug)]
pub(super) enum Home {
    /// At one server.
    Server,
    Cluster(Box<ClusterHome>),
    Sentinel(Box<SentinelHome>),
}

/// At the primary of its slot.
#[derive(Debug)]
pub(super) struct ClusterHome {
    cluster: Cluster,
    route: Route,
    target: Target,
    at: Option<NodeAddress>,
}

/// At the primary that sentinels watch.
#[derive(Debug)]
pub(super) struct SentinelHome {
    sentinel: Sentinel,
    /// Who is the primary was asked before the connection was lost.
    is_stale: bool,
}

impl Home {
    pub(super) fn in_cluster(cluster: Cluster, key: &[u8]) -> Self {
        Self::Cluster(Box::new(ClusterHome {
            cluster,
            route: Route::of_key(&Arg::from(key)),
            target: Target::Primary,
            at: None,
        }))
    }

    pub(super) fn behind_sentinel(sentinel: Sentinel) -> Self {
        Self::Sentinel(Box::new(SentinelHome {
            sentinel,
            is_stale: false,
        }))
    }

    /// Whether its server takes commands only behind ASKING.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self, Self::Cluster(home) if matches!(home.target, Target::Asking(_)))
    }

    /// How to connect to its server now; `None`: as before.
    ///
    /// # Errors
    /// No server is known to have it now.
    pub(super) fn find(&mut self) -> Result<Option<Config>, Error> {
        match self {
            Self::Server => Ok(None),
            Self::Cluster(home) => {
                let (address, config) = home.cluster.home(home.route, &home.target)?;
                home.at = Some(address);
                Ok(Some(config))
            }
            Self::Sentinel(home) => {
                let config = home.sentinel.home(home.is_stale)?;
                home.is_stale = false;
                Ok(Some(config))
            }
        }
    }

    /// How long a first attempt may take in all; `None`: as long as it takes.
    pub(super) fn max_wait(&self) -> Option<Duration> {
        match self {
            Self::Server => None,
            Self::Cluster(home) => Some(home.cluster.max_wait()),
            Self::Sentinel(home) => Some(home.sentinel.max_wait()),
        }
    }

    /// Its connection was lost, or could not be made.
    pub(super) fn lost(&mut self, error: &Error) {
        match self {
            Self::Server => {}
            Self::Cluster(home) => {
                let failed = (error.clone(), home.at.take());
                home.target = home.cluster.next_home(failed);
            }
            Self::Sentinel(home) => home.is_stale = true,
        }
    }
}
