//! Finds the server for a dedicated connection.

use std::time::Duration;

use super::Cluster;
use crate::cluster::{NodeAddress, Route, Target};
use crate::command::Flags;
use crate::streams::FindsNode;
use crate::{Config, Error};

impl FindsNode for Cluster {
    fn home(&mut self, route: Route, target: &Target) -> Result<(NodeAddress, Config), Error> {
        self.refresh_if_due();
        let place = self.router.place(route, target)?;
        let config = place.config(&self.config.node);
        Ok((place.address, config))
    }

    fn next_home(&mut self, failed: (Error, Option<NodeAddress>)) -> Target {
        let mut attempts = self.attempts();
        match self.again(&mut attempts, failed, Flags::READONLY) {
            Ok(again) => again.into_home(),
            Err(_) => {
                self.want_refresh();
                Target::Primary
            }
        }
    }

    fn max_wait(&self) -> Duration {
        self.config.max_wait
    }
}
