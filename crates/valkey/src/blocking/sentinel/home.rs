//! Finds the server for a dedicated connection.

use std::thread;
use std::time::{Duration, Instant};

use super::Sentinel;
use crate::cluster::NodeAddress;
use crate::sentinel::server_config;
use crate::streams::FindsPrimary;
use crate::{Config, Error};

impl FindsPrimary for Sentinel {
    /// Looks for it first if there is no connection to it.
    fn home(&mut self) -> Result<(NodeAddress, Config), Error> {
        if self.primary().is_none() {
            let now = Instant::now();
            thread::sleep(self.pace.next(now).saturating_duration_since(now));
            self.search()?;
        }
        let primary = self.primary().ok_or_else(|| self.no_primary())?;
        let config = server_config(&primary, &self.config.server);
        Ok((primary, config))
    }

    /// The handle's own connection may be lost in the same way, unnoticed.
    fn lost(&mut self) {
        self.primary = None;
    }

    fn max_wait(&self) -> Duration {
        self.config.max_wait
    }
}
