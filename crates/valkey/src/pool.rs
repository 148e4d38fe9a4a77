//! What the pools of both APIs share: what a place in a pool holds, how a returned connection is restored, and the error of a
//! caller without a connection.

mod no_connection;
mod restore;
mod slot;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use onecopy_pool::{Policy, PoolStats, WaitError};

pub(crate) use no_connection::NoConnection;
pub(crate) use restore::{Leave, Reset, is_alive, is_as_new};
pub(crate) use slot::{Health, Pooled, Returned, Slot};

use crate::{Config, Error};

/// What a pool decides by, and why its last attempt to connect failed. Of one lock.
#[derive(Debug)]
pub(crate) struct Core<C, W> {
    pub(crate) policy: Policy<Box<Slot<C>>, W>,
    /// Of the attempts since the last success.
    pub(crate) last_error: Option<Error>,
}

impl<C, W> Core<C, W> {
    /// # Errors
    /// The settings contradict each other.
    pub(crate) fn new(config: &Config) -> Result<Self, Error> {
        let checked = config.pool.check();
        checked.map_err(|error| Error::config(error.to_string()))?;
        Ok(Self {
            policy: Policy::new(config.pool.clone(), seed()),
            last_error: None,
        })
    }

    /// The error of a caller that waited for so long and gets no connection.
    pub(crate) fn no_connection(&self, why: WaitError, waited: Duration) -> Error {
        Error::no_connection(NoConnection {
            why,
            waited,
            stats: self.policy.stats(),
            max: self.policy.config().max,
            last: self.last_error.clone(),
        })
    }

    pub(crate) fn stats(&self) -> PoolStats {
        self.policy.stats()
    }
}

/// Pools of many processes that start together must not have the same jitter.
fn seed() -> u64 {
    static POOLS: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = now.map_or(0, |now| now.subsec_nanos());
    let number = POOLS.fetch_add(1, Ordering::Relaxed);
    (u64::from(std::process::id()) << 32 | u64::from(nanos)).wrapping_add(number)
}
