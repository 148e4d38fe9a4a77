//! What is counted of a pool.

use std::sync::atomic::{AtomicU64, AtomicUsize};

use super::pin::Pin;

/// What was counted since the start, and what there is now.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) connects: AtomicU64,
    pub(crate) failed_connects: AtomicU64,
    /// How often a connection had to wait because of `connect-rate`.
    pub(crate) delayed_connects: AtomicU64,
    /// Logins that servers have refused, and commands that were refused because of them without another try.
    pub(crate) refused_logins: AtomicU64,
    pub(crate) refused_commands: AtomicU64,
    /// Statements that took longer than `query-timeout`.
    pub(crate) query_timeouts: AtomicU64,
    pub(crate) waits: AtomicU64,
    pub(crate) wait_micros: AtomicU64,
    pub(crate) timeouts: AtomicU64,
    pub(crate) replays: AtomicU64,
    pub(crate) resets: AtomicU64,
    /// Statements that were sent to replicas, and those that were to be and went to the primary: no replica was there, or the one that
    /// was there did not have the session's own changes in time.
    pub(crate) replica_reads: AtomicU64,
    pub(crate) reads_without_replica: AtomicU64,
    pub(crate) reads_ahead_of_replica: AtomicU64,
    /// How often a replica was asked to wait for a session's own changes.
    pub(crate) read_waits: AtomicU64,
    /// Reads that were sent once more, as their server was lost.
    pub(crate) read_retries: AtomicU64,
    pub(crate) pins: [AtomicU64; Pin::COUNT],
    /// Sessions that are pinned now.
    pub(crate) pinned: [AtomicUsize; Pin::COUNT],
}
