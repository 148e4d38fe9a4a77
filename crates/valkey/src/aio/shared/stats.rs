//! What a shared handle has done, and what it is doing.

use crate::Meter;

/// The counts of a shared handle since it was made, and what it is doing now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SharedStats {
    /// Whether there is a connection now, as far as is known.
    pub is_connected: bool,
    /// Connections that were made. The first counts too.
    pub connects: u64,
    /// Calls that were accepted: commands, pipelines and transactions, the handle's own commands included.
    pub calls: u64,
    /// Requests without a reply now.
    pub in_flight: u64,
    /// Callers that wait for room or for a connection now.
    pub waiting: u64,
    /// Bytes of requests that were not sent yet.
    pub unsent_bytes: u64,
    /// Bytes of commands that wait for a connection.
    pub offline_bytes: u64,
    /// Dedicated connections that are borrowed now.
    pub dedicated_in_use: usize,
    /// Dedicated connections that are open and idle.
    pub dedicated_idle: usize,
    /// As [`Shared::unexpected_replies`](super::Shared::unexpected_replies).
    pub unexpected_replies: u64,
    /// As [`Shared::meter`](super::Shared::meter).
    pub meter: Meter,
    /// As [`Shared::dedicated_meter`](super::Shared::dedicated_meter).
    pub dedicated_meter: Meter,
}
