//! Which server has the stream of a consumer.

use crate::aio::{Cluster, Sentinel};
use crate::cluster::{NodeAddress, Route, Target};
use crate::{Arg, Config, Error};

/// Where the stream is looked for.
#[derive(Debug)]
pub(super) enum Home {
    /// At one server.
    Server,
    Cluster(ClusterHome),
    Sentinel(SentinelHome),
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
    at: Option<NodeAddress>,
}

impl Home {
    pub(super) fn in_cluster(cluster: Cluster, key: &[u8]) -> Self {
        Self::Cluster(ClusterHome {
            cluster,
            route: Route::of_key(&Arg::from(key)),
            target: Target::Primary,
            at: None,
        })
    }

    pub(super) fn behind_sentinel(sentinel: Sentinel) -> Self {
        Self::Sentinel(SentinelHome { sentinel, at: None })
    }

    /// Whether it may be at another server some time.
    pub(super) fn may_move(&self) -> bool {
        !matches!(self, Self::Server)
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
        let (at, found) = match self {
            Self::Server => return Ok(None),
            Self::Cluster(home) => {
                let found = home.cluster.home(home.route, &home.target)?;
                (&mut home.at, found)
            }
            Self::Sentinel(home) => (&mut home.at, home.sentinel.home()?),
        };
        let (address, config) = found;
        *at = Some(address);
        Ok(Some(config))
    }

    /// Its connection was lost, or could not be made.
    pub(super) fn lost(&mut self, error: &Error) {
        match self {
            Self::Server => {}
            Self::Cluster(home) => {
                let failed = (error.clone(), home.at.take());
                home.target = home.cluster.next_home(failed);
            }
            Self::Sentinel(home) => {
                home.at = None;
                home.sentinel.refresh();
            }
        }
    }

    /// Whether it is known to be at another server by now.
    pub(super) fn has_moved(&self) -> bool {
        let (now, at) = match self {
            Self::Server => return false,
            Self::Cluster(home) => (home.cluster.home(home.route, &home.target), &home.at),
            Self::Sentinel(home) => (home.sentinel.home(), &home.at),
        };
        now.is_ok_and(|(now, _)| at.as_ref() != Some(&now))
    }

    /// Why it is not looked for any more.
    pub(super) fn ended(&self) -> Option<Error> {
        match self {
            Self::Server => None,
            Self::Cluster(home) => home.cluster.ended(),
            Self::Sentinel(home) => home.sentinel.ended(),
        }
    }
}
