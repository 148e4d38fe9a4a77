//! Which of a listener's servers is the primary where several take writes, and who is left out.
//!
//! An old primary that comes back after a failover takes writes by default, and knows nothing of what was written since. So the one that
//! serves stays until it takes no writes any more or is down; the others are *second* and get no sessions. At the start, when
//! nobody serves yet, the order of the configuration decides. Members of one cluster all take writes by intent: those beside the
//! primary are on standby, and nobody is alarmed. One that is behind the others has to give way to them.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::State;
use super::membership::Standing;
use super::source::Origin;

/// The servers of one listener, and whether each is to be a primary.
#[derive(Debug, Default)]
pub(super) struct Primaries(Mutex<Order>);

#[derive(Debug, Default)]
struct Order {
    /// In the order of the configuration.
    all: Vec<(Weak<State>, bool)>,
    primary: Weak<State>,
    /// What replicas have to follow. It stays while there is no primary.
    origin: Origin,
    /// Each one's part was known, so that the primary stays.
    is_settled: bool,
}

/// Whether a server is to be left out, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Exclusion {
    None,
    /// It takes writes, and another one that knows nothing of it is the primary.
    Second,
    /// Another member of its cluster is the primary.
    Standby,
    /// Its cluster has members that are not behind.
    Behind,
    /// It is no whole member of its cluster.
    Out,
    /// It replicates from a server that does not follow the primary.
    WrongSource,
}

impl Exclusion {
    pub(super) fn from_number(number: u8) -> Self {
        let all = [
            Self::None,
            Self::Second,
            Self::Standby,
            Self::Behind,
            Self::Out,
            Self::WrongSource,
        ];
        all.get(usize::from(number)).copied().unwrap_or(Self::None)
    }
}

impl Primaries {
    /// These, in this order, from now on.
    pub(super) fn arrange(&self, all: Vec<(Weak<State>, bool)>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all = all;
        self.settle(|| {});
    }

    /// What replicas have to follow.
    pub(super) fn origin(&self) -> Origin {
        let order = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        order.origin.clone()
    }

    /// Decides anew who is the primary behind a change. Nobody is asked in between.
    pub(super) fn settle(&self, change: impl FnOnce()) {
        let mut order = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let each =
            |(state, is_primary): &(Weak<State>, bool)| Some((state.upgrade()?, *is_primary));
        let all: Vec<(Arc<State>, bool)> = order.all.iter().filter_map(each).collect();
        let (primaries, others): (Vec<_>, Vec<_>) =
            all.iter().partition(|(_, is_primary)| *is_primary);
        // Whoever begins to take writes by this change is second until it is decided.
        for (state, _) in &primaries {
            if !is_writable(state) && state.excluded() == Exclusion::None {
                state.exclude(Exclusion::Second);
            }
        }
        change();
        let current = order.primary.upgrade().filter(|_| order.is_settled);
        let writable = primaries
            .iter()
            .map(|(state, _)| state)
            .filter(|state| is_there(state) && is_writable(state));
        let is_current =
            |state: &&Arc<State>| current.as_ref().is_some_and(|one| Arc::ptr_eq(one, state));
        let fine = || writable.clone().filter(|state| !is_behind(state));
        let primary = fine()
            .find(is_current)
            .or_else(|| fine().next())
            .or_else(|| writable.clone().find(is_current))
            .or_else(|| writable.clone().next());
        if let Some(primary) = primary {
            order.origin = Origin::of(primary);
        }
        let of_source = |state: &State| {
            if !order.origin.is_not_of(state, &all) {
                return Exclusion::None;
            }
            if state.excluded() != Exclusion::WrongSource {
                // Its next check says why.
                state.health.hurry();
            }
            Exclusion::WrongSource
        };
        for (state, _) in &primaries {
            let other = primary.filter(|primary| !Arc::ptr_eq(primary, state));
            state.exclude(match other {
                _ if is_out(state) => Exclusion::Out,
                Some(primary) if is_writable(state) => match state.is_with(primary) {
                    true if is_behind(state) => Exclusion::Behind,
                    true => Exclusion::Standby,
                    false => Exclusion::Second,
                },
                _ => of_source(state),
            });
        }
        let is_fine = |(state, _): &&(Arc<State>, bool)| is_there(state) && !is_behind(state);
        let are_fine = others.iter().copied().any(|one| is_fine(&one));
        for (state, _) in others {
            state.exclude(match state.standing() {
                Standing::Out => Exclusion::Out,
                Standing::Behind if are_fine => Exclusion::Behind,
                _ => of_source(state),
            });
        }
        let is_known = |(state, _): &&(Arc<State>, bool)| {
            !is_there(state) || state.health.read_only().is_some()
        };
        order.is_settled |=
            primary.is_some() && primaries.iter().copied().all(|one| is_known(&one));
        order.primary = primary.map(Arc::downgrade).unwrap_or_default();
    }
}

fn is_there(state: &State) -> bool {
    let is_left = state.removed.get().is_some() || state.is_drained.load(SeqCst);
    state.is_up.load(SeqCst) && !is_left && !is_out(state)
}

fn is_writable(state: &State) -> bool {
    state.health.read_only() == Some(false)
}

fn is_behind(state: &State) -> bool {
    state.standing() == Standing::Behind
}

fn is_out(state: &State) -> bool {
    state.standing() == Standing::Out
}
