//! Finds the server for a dedicated connection.

use std::time::Duration;

use super::Sentinel;
use crate::cluster::NodeAddress;
use crate::sentinel::server_config;
use crate::{Config, Error};

impl Sentinel {
    /// The primary, and how to connect to it.
    ///
    /// # Errors
    /// Fails if none is known now.
    pub(in crate::aio) fn home(&self) -> Result<(NodeAddress, Config), Error> {
        let inner = &self.handle.inner;
        let Some(primary) = inner.current() else {
            inner.want();
            return Err(inner.no_primary());
        };
        let config = server_config(&primary.address, &inner.config.server);
        Ok((primary.address, config))
    }

    /// How long a command is repeated.
    pub(in crate::aio) fn max_wait(&self) -> Duration {
        self.handle.inner.config.max_wait
    }
}
