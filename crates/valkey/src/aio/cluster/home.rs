//! Finds the server for a dedicated connection.

use std::time::Duration;

use super::Cluster;
use crate::cluster::{Attempts, NodeAddress, Route, Target};
use crate::command::Flags;
use crate::{Config, Error};

impl Cluster {
    /// The node of a route, and how to connect to it.
    ///
    /// # Errors
    /// Fails if no node has the slot, or the handle is closed.
    pub(in crate::aio) fn home(
        &self,
        route: Route,
        target: &Target,
    ) -> Result<(NodeAddress, Config), Error> {
        let inner = &self.handle.inner;
        let (place, _) = inner.find(route, target)?;
        let config = place.config(&inner.config.node);
        Ok((place.address, config))
    }

    /// Notes why a connection of its own was lost, and at which node. Returns where the slot is to be looked for next.
    pub(in crate::aio) fn next_home(&self, failed: (Error, Option<NodeAddress>)) -> Target {
        let inner = &self.handle.inner;
        let mut attempts = Attempts::new(inner.config.patience());
        match inner.again(&mut attempts, failed, Flags::READONLY) {
            Ok(again) => again.into_home(),
            Err(_) => {
                inner.want_refresh();
                Target::Primary
            }
        }
    }

    /// How long a command is repeated.
    pub(in crate::aio) fn max_wait(&self) -> Duration {
        self.handle.inner.config.max_wait
    }
}
