//! An upgrade to another binary without a lost connection.

use std::path::PathBuf;
use std::time::Duration;

/// How a new process takes over from a running one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradeConfig {
    /// The path of the Unix socket on which a running proxy waits for its successor; `None`: off.
    pub socket: Option<PathBuf>,
    /// How long the new process may take until it serves. After that the old one goes on.
    pub ready_timeout: Duration,
    /// How long sessions may stay with the old process. After that they are [drained](super::DrainConfig).
    pub stay_timeout: Duration,
}

impl Default for UpgradeConfig {
    fn default() -> Self {
        Self {
            socket: None,
            ready_timeout: Duration::from_secs(60),
            stay_timeout: Duration::from_secs(24 * 3600),
        }
    }
}
