//! The bounds that the queue keeps.

use std::time::Duration;

/// What may be under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) max_in_flight: u64,
    pub(super) max_unsent_bytes: u64,
    pub(super) command_timeout: Option<Duration>,
    /// `None`: nobody waits for a connection.
    pub(super) offline: Option<Offline>,
}

/// What may wait for a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offline {
    pub(super) max_commands: u64,
    pub(super) max_bytes: u64,
    pub(super) max_wait: Duration,
}
