//! Why a pool had no connection for its caller.

use std::fmt;
use std::time::Duration;

use onecopy_pool::{PoolStats, WaitError};

use crate::Error;

/// The caller's error.
#[derive(Debug)]
pub(crate) struct NoConnection {
    pub(crate) why: WaitError,
    pub(crate) waited: Duration,
    pub(crate) stats: PoolStats,
    pub(crate) max: usize,
    /// The error of the last attempt to connect, if the last attempt failed.
    pub(crate) last: Option<Error>,
}

impl NoConnection {
    pub(crate) fn is_timeout(&self) -> bool {
        self.why == WaitError::Timeout
    }
}

impl fmt::Display for NoConnection {
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
