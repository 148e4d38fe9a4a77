//! What a client of a cluster has done.

use std::sync::atomic::{AtomicU64, Ordering};

use super::attempts::{Again, Target};

/// The counts of a client of a cluster since it was made, and what it is doing now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ClusterStats {
    /// Primaries that have slots, as far as is known.
    pub primaries: usize,
    /// Nodes to which there is a connection now.
    pub connections: usize,
    /// How often the slots were asked for, in success or not.
    pub refreshes: u64,
    /// Commands that were sent to another node because their slot has moved: MOVED.
    pub moved: u64,
    /// Commands that were sent to another node because their slot is moving: ASK.
    pub asked: u64,
    /// Commands that were sent again for another reason: their node could not be reached, or was not ready.
    pub repeated: u64,
}

/// What is counted.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    moved: AtomicU64,
    asked: AtomicU64,
    repeated: AtomicU64,
}

impl Counts {
    /// A command is sent again.
    pub(crate) fn add(&self, again: &Again) {
        let count = match again.target {
            Target::Node(_) => &self.moved,
            Target::Asking(_) => &self.asked,
            Target::Route | Target::Primary => &self.repeated,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn stats(
        &self,
        primaries: usize,
        connections: usize,
        refreshes: u64,
    ) -> ClusterStats {
        ClusterStats {
            primaries,
            connections,
            refreshes,
            moved: self.moved.load(Ordering::Relaxed),
            asked: self.asked.load(Ordering::Relaxed),
            repeated: self.repeated.load(Ordering::Relaxed),
        }
    }
}
