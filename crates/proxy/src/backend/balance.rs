//! Shared connections that leave servers which have more than their share.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::{Backend, Backends, Part};
use crate::config::Role;

impl Backends {
    /// Has shared connections leave servers that have more than their share, as when one has come back: a tenth of what is too many, and at
    /// least one. Those that are made in their place go where there are fewest.
    pub(crate) fn rebalance(&self) {
        let is_equal = |backend: &&Arc<Backend>| {
            backend.serves() == Some(true) && backend.config.role != Role::Backup
        };
        let reads = |backend: &&Arc<Backend>| backend.serves_part(Part::Reads) == Some(true);
        rebalance(self.0.iter().filter(is_equal).collect());
        rebalance(self.0.iter().filter(reads).collect());
    }
}

fn rebalance(mut backends: Vec<&Arc<Backend>>) {
    backends.retain(|backend| backend.config.weight > 0);
    let weight = |backend: &Arc<Backend>| backend.config.weight as usize;
    let (sessions, weights) = backends
        .iter()
        .fold((0, 0), |(sessions, weights), backend| {
            (sessions + backend.sessions(), weights + weight(backend))
        });
    let share = |backend: &Arc<Backend>| (sessions * weight(backend)).div_ceil(weights);
    let takes_more = |backend: &&Arc<Backend>| {
        backend.sessions() < share(backend) && backend.has_room() && !backend.is_shunned()
    };
    let is_uneven = backends.iter().any(takes_more);
    for backend in backends {
        let surplus = backend.sessions().saturating_sub(share(backend));
        let leaves = if is_uneven { surplus.div_ceil(10) } else { 0 };
        backend.state.leaves.store(leaves, Relaxed);
    }
}
