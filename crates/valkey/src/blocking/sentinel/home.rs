//! Finds the server for a dedicated connection.

use std::thread;
use std::time::{Duration, Instant};

use super::Sentinel;
use crate::sentinel::server_config;
use crate::{Config, Error};

impl Sentinel {
    /// How to connect to the primary, which is looked for first if what is known of it `is_stale`, or if it is lost.
    ///
    /// # Errors
    /// Fails if no sentinel leads to it.
    pub(in crate::blocking) fn home(&mut self, is_stale: bool) -> Result<Config, Error> {
        if is_stale || self.primary().is_none() {
            let now = Instant::now();
            thread::sleep(self.pace.next(now).saturating_duration_since(now));
            self.search()?;
        }
        let primary = self.primary().ok_or_else(|| self.no_primary())?;
        Ok(server_config(&primary, &self.config.server))
    }

    /// How long a command is repeated.
    pub(in crate::blocking) fn max_wait(&self) -> Duration {
        self.config.max_wait
    }
}
