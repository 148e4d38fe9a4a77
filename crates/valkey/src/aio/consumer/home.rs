//! Which server has the stream of a consumer.

use std::time::Duration;

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
    pub(super) fn has_moved(&mut self) -> bool {
        match self {
            Self::Server => false,
            Self::Cluster(home) => {
                let primary = home.cluster.home(home.route, &Target::Primary);
                let is_here = primary
                    .map(|(primary, _)| home.at.as_ref() == Some(&primary))
                    .ok();
                // Where ASK has led to, the slot may have arrived.
                if is_here == Some(true) {
                    home.target = Target::Primary;
                }
                home.target == Target::Primary && is_here == Some(false)
            }
            Self::Sentinel(home) => {
                let primary = home.sentinel.home();
                primary.is_ok_and(|(primary, _)| home.at.as_ref() != Some(&primary))
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

    /// Why it is not looked for any more.
    pub(super) fn ended(&self) -> Option<Error> {
        match self {
            Self::Server => None,
            Self::Cluster(home) => home.cluster.ended(),
            Self::Sentinel(home) => home.sentinel.ended(),
        }
    }
}
