//! Servers that a listener finds by itself.

use std::time::Duration;

use super::{BackendConfig, ListenerConfig};

/// So many are found by one listener at most, whatever servers tell.
pub(crate) const MOST_DISCOVERED: usize = 64;

/// How a listener finds servers that are not configured: those that its servers tell of.
///
/// A server is asked for its replicas (those with `report_host`, or `report-host` in its file), and for the other members of its Galera
/// cluster or replication group. A server that is found has all settings of the one that told of it. Replicas of a server with the role
/// [`Any`](super::Role::Any) are left out, as they would get writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiscoveryConfig {
    /// How long a server stays that no other one tells of any more.
    pub forget_after: Duration,
}

impl Default for DiscoveryConfig {
    fn default() -> Self {
        Self {
            forget_after: Duration::from_secs(300),
        }
    }
}

impl ListenerConfig {
    /// Has these servers in place of those that it has found so far; those of the configuration stay, and come first.
    pub(crate) fn take_discovered(&mut self, found: impl IntoIterator<Item = BackendConfig>) {
        self.backends.retain(|backend| !backend.is_discovered);
        if self.discovery.is_none() {
            return;
        }
        for backend in found {
            let is_known =
                |own: &BackendConfig| own.endpoint == backend.endpoint || own.name == backend.name;
            if backend.is_discovered && !self.backends.iter().any(is_known) {
                self.backends.push(backend);
            }
        }
    }
}
