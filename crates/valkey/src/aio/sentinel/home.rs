//! Finds the server for a dedicated connection.

use std::time::Duration;

use super::Sentinel;
use crate::cluster::NodeAddress;
use crate::sentinel::server_config;
use crate::streams::FindsPrimary;
use crate::{Config, Error};

impl FindsPrimary for Sentinel {
    fn home(&mut self) -> Result<(NodeAddress, Config), Error> {
        let inner = &self.handle.inner;
        let Some(primary) = inner.current() else {
            inner.want();
            return Err(inner.no_primary());
        };
        let config = server_config(&primary.address, &inner.config.server);
        Ok((primary.address, config))
    }

    fn lost(&mut self) {
        self.refresh();
    }

    fn max_wait(&self) -> Duration {
        self.handle.inner.config.max_wait
    }
}
