//! Finds the server for a dedicated connection.

use std::time::Duration;

use super::Cluster;
use crate::cluster::{NodeAddress, Route, Target};
use crate::command::Flags;
use crate::{Config, Error};

impl Cluster {
    /// The node of a route, and how to connect to it.
    ///
    /// # Errors
    /// Fails if no node has the slot.
    pub(in crate::blocking) fn home(
        &mut self,
        route: Route,
        target: &Target,
    ) -> Result<(NodeAddress, Config), Error> {
        self.refresh_if_due();
        let place = self.router.place(route, target)?;
        let config = place.config(&self.config.node);
        Ok((place.address, config))
    }

    /// Notes why a connection of its own was lost, and at which node. Returns where the slot is to be looked for next.
    pub(in crate::blocking) fn next_home(
        &mut self,
        failed: (Error, Option<NodeAddress>),
    ) -> Target {
        let mut attempts = self.attempts();
        match self.again(&mut attempts, failed, Flags::READONLY) {
            Ok(again) => again.into_home(),
            Err(_) => {
                self.want_refresh();
                Target::Primary
            }
        }
    }

    /// How long a command is repeated.
    pub(in crate::blocking) fn max_wait(&self) -> Duration {
        self.config.max_wait
    }
}
