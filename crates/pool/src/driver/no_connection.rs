//! Why a pool had no connection for its caller.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::{PoolStats, WaitError};

/// The error of a caller without a connection. `E` is the error of connecting.
#[derive(Debug)]
pub struct NoConnection<E> {
    pub(super) why: WaitError,
    pub(super) waited: Duration,
    pub(super) stats: PoolStats,
    pub(super) max: usize,
    pub(super) last: Option<Arc<E>>,
}

impl<E> NoConnection<E> {
    /// Returns why there was none.
    pub fn why(&self) -> WaitError {
        self.why
    }

    /// Returns the error of the last attempt to connect, if the attempts have failed since the last success.
    pub fn last(&self) -> Option<&E> {
        self.last.as_deref()
    }
}

impl<E: fmt::Display> fmt::Display for NoConnection<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.why, &self.last) {
            (WaitError::Closed, _) => f.write_str("the pool is closed"),
            (WaitError::Refused, Some(last)) => write!(f, "the pool cannot connect: {last}"),
            (WaitError::Refused, None) => f.write_str("the pool cannot connect"),
            (_, Some(last)) => {
                write!(
                    f,
                    "no connection became available within {:?}: the last attempt to connect failed: {last}",
                    self.waited
                )
            }
            (_, None) if self.stats.connecting > 0 => write!(
                f,
                "no connection became available within {:?}: the pool is still connecting",
                self.waited
            ),
            (_, None) => write!(
                f,
                "no connection became available within {:?}: {} of at most {} connections are in use, and {} more callers wait; \
                 return connections earlier, or raise pool-max or pool-acquire-timeout",
                self.waited, self.stats.in_use, self.max, self.stats.waiting
            ),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for NoConnection<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.last().map(|last| last as _)
    }
}
