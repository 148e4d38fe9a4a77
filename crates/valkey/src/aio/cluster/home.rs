//! Finds the server for a dedicated connection.

use std::time::Duration;

use super::Cluster;
use crate::cluster::{Attempts, NodeAddress, Route, Target};
use crate::command::Flags;
use crate::streams::FindsNode;
use crate::{Config, Error};

impl FindsNode for Cluster {
    fn home(&mut self, route: Route, target: &Target) -> Result<(NodeAddress, Config), Error> {
        let inner = &self.handle.inner;
        let (place, _) = inner.find(route, target)?;
        let config = place.config(&inner.config.node);
        Ok((place.address, config))
    }

    fn next_home(&mut self, failed: (Error, Option<NodeAddress>)) -> Target {
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

    fn max_wait(&self) -> Duration {
        self.handle.inner.config.max_wait
    }
}
