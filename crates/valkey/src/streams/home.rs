//! Which server has the stream of a consumer.

use std::time::Duration;

use crate::cluster::{NodeAddress, Route, Target};
use crate::{Arg, Config, Error};

/// A cluster, as far as a consumer needs it.
pub(crate) trait FindsNode {
    /// The node of a route, and how to connect to it.
    ///
    /// # Errors
    /// Fails if no node has the slot, or the handle is closed.
    fn home(&mut self, route: Route, target: &Target) -> Result<(NodeAddress, Config), Error>;

    /// Notes why a dedicated connection was lost, and at which node. Returns where the slot is to be looked for next.
    fn next_home(&mut self, failed: (Error, Option<NodeAddress>)) -> Target;

    /// How long a command is repeated.
    fn max_wait(&self) -> Duration;
}

/// Sentinels, as far as a consumer needs them.
pub(crate) trait FindsPrimary {
    /// The primary, and how to connect to it.
    ///
    /// # Errors
    /// Fails if none is known now.
    fn home(&mut self) -> Result<(NodeAddress, Config), Error>;

    /// A dedicated connection to the primary was lost.
    fn lost(&mut self);

    /// How long a command is repeated.
    fn max_wait(&self) -> Duration;
}

/// Where the stream is looked for, by the handles of one API.
#[derive(Debug)]
pub(crate) enum Home<C, S> {
    /// At one server.
    Server,
    Cluster(Box<ClusterHome<C>>),
    Sentinel(Box<SentinelHome<S>>),
}

/// At the primary of its slot.
#[derive(Debug)]
pub(crate) struct ClusterHome<C> {
    pub(crate) cluster: C,
    route: Route,
    target: Target,
    /// The node of the connection.
    at: Option<NodeAddress>,
}

/// At the primary that sentinels watch.
#[derive(Debug)]
pub(crate) struct SentinelHome<S> {
    pub(crate) sentinel: S,
    /// The server of the connection.
    at: Option<NodeAddress>,
}

impl<C: FindsNode, S: FindsPrimary> Home<C, S> {
    pub(crate) fn in_cluster(cluster: C, key: &[u8]) -> Self {
        Self::Cluster(Box::new(ClusterHome {
            cluster,
            route: Route::of_key(&Arg::from(key)),
            target: Target::Primary,
            at: None,
        }))
    }

    pub(crate) fn behind_sentinel(sentinel: S) -> Self {
        Self::Sentinel(Box::new(SentinelHome { sentinel, at: None }))
    }

    /// Whether another server may have it some time.
    #[cfg(feature = "tokio")]
    pub(crate) fn may_move(&self) -> bool {
        !matches!(self, Self::Server)
    }

    /// Whether its server takes commands only behind ASKING.
    pub(crate) fn is_asking(&self) -> bool {
        matches!(self, Self::Cluster(home) if matches!(home.target, Target::Asking(_)))
    }

    /// How to connect to its server now; `None`: as before.
    ///
    /// # Errors
    /// No server is known to have it now.
    pub(crate) fn find(&mut self) -> Result<Option<Config>, Error> {
        let (at, found) = match self {
            Self::Server => return Ok(None),
            Self::Cluster(home) => {
                let found = home.cluster.home(home.route, &home.target)?;
                (&mut home.at, found)
            }
            Self::Sentinel(home) => {
                let found = home.sentinel.home()?;
                (&mut home.at, found)
            }
        };
        let (address, config) = found;
        *at = Some(address);
        Ok(Some(config))
    }

    /// Its connection was lost, or could not be made.
    pub(crate) fn lost(&mut self, error: &Error) {
        match self {
            Self::Server => {}
            Self::Cluster(home) => {
                let failed = (error.clone(), home.at.take());
                home.target = home.cluster.next_home(failed);
            }
            Self::Sentinel(home) => {
                home.at = None;
                home.sentinel.lost();
            }
        }
    }

    /// Whether another server is known to have it by now.
    #[cfg(feature = "tokio")]
    pub(crate) fn has_moved(&mut self) -> bool {
        match self {
            Self::Server => false,
            Self::Cluster(home) => {
                let Ok((primary, _)) = home.cluster.home(home.route, &Target::Primary) else {
                    return false;
                };
                let is_here = home.at.as_ref() == Some(&primary);
                if is_here {
                    // Where ASK has led to, the slot may have arrived.
                    home.target = Target::Primary;
                }
                home.target == Target::Primary && !is_here
            }
            Self::Sentinel(home) => {
                let primary = home.sentinel.home();
                primary.is_ok_and(|(primary, _)| home.at.as_ref() != Some(&primary))
            }
        }
    }

    /// How long a first attempt may take in all; `None`: any time.
    pub(crate) fn max_wait(&self) -> Option<Duration> {
        match self {
            Self::Server => None,
            Self::Cluster(home) => Some(home.cluster.max_wait()),
            Self::Sentinel(home) => Some(home.sentinel.max_wait()),
        }
    }
}
