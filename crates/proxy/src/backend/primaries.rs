//! Which of a listener's servers is the primary where several take writes.
//!
//! An old primary that comes back after a failover takes writes by default, and knows nothing of what was written since. So the one that
//! serves stays until it takes no writes any more or is down; the others are *second* and get no sessions. At the start, when
//! nobody serves yet, the order of the configuration decides.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::State;

/// The servers of one listener that are to be primaries.
#[derive(Debug, Default)]
pub(super) struct Primaries(Mutex<Order>);

#[derive(Debug, Default)]
struct Order {
    /// In the order of the configuration.
    all: Vec<Weak<State>>,
    primary: Weak<State>,
    /// Each one's part was known, so that the primary stays.
    is_settled: bool,
}

impl Primaries {
    /// These, in this order, from now on.
    pub(super) fn arrange(&self, all: Vec<Weak<State>>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all = all;
        self.settle(|| {});
    }

    /// Decides anew who is the primary behind a change. Nobody is asked in between.
    pub(super) fn settle(&self, change: impl FnOnce()) {
        let mut order = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<Arc<State>> = order.all.iter().filter_map(Weak::upgrade).collect();
        // Whoever begins to take writes by this change is second until it is decided.
        for state in &all {
            if !is_writable(state) {
                state.is_second.store(true, SeqCst);
            }
        }
        change();
        let mut writable = all
            .iter()
            .filter(|state| is_there(state) && is_writable(state));
        let current = order.primary.upgrade().filter(|_| order.is_settled);
        let is_current =
            |state: &&Arc<State>| current.as_ref().is_some_and(|one| Arc::ptr_eq(one, state));
        let primary = writable.clone().find(is_current).or(writable.next());
        for state in &all {
            let is_other = primary.is_some_and(|primary| !Arc::ptr_eq(primary, state));
            state
                .is_second
                .store(is_other && is_writable(state), SeqCst);
        }
        let is_known = |state: &Arc<State>| !is_there(state) || state.health.read_only().is_some();
        order.is_settled |= primary.is_some() && all.iter().all(is_known);
        order.primary = primary.map(Arc::downgrade).unwrap_or_default();
    }
}

fn is_there(state: &State) -> bool {
    state.is_up.load(SeqCst) && !state.is_removed.load(SeqCst) && !state.is_drained.load(SeqCst)
}

fn is_writable(state: &State) -> bool {
    state.health.read_only() == Some(false)
}
