//! How long an abandoned statement is read before it is cancelled.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Link;
use super::deadlines::{deadline_in, earlier};
use crate::Abandoned;
use crate::cancel::Target;

/// What was abandoned is read for at least this long before it is cancelled: on one machine a login takes less than a
/// millisecond, and a new session and its thread cost the server more than the wait.
const MIN_PATIENCE: Duration = Duration::from_millis(10);

/// And at most this long, however slow the login was.
const MAX_PATIENCE: Duration = Duration::from_secs(1);

/// The deadline of a connection for an order is at least this: the server may be busy with what is to be cancelled.
const MIN_ORDER: Duration = Duration::from_secs(1);

/// And this many times what the connection's own took.
const ORDER_LOGINS: u32 = 8;

impl Link {
    /// Starts the time that an abandoned statement is read for before it is cancelled, unless it has already started: as long as
    /// another login takes. It is at most a quarter of the time that the call has left, so that the rest is available for the
    /// order.
    pub(super) fn start_drain(&mut self) {
        // A reset takes no time; and among some hundred thousand drops MariaDB once closed the connection behind one, of
        // which an order is the likely cause.
        if self.core.is_resetting() {
            return;
        }
        let Some(way) = &self.way else { return };
        if self.patience.is_some() || self.abandoned == Abandoned::Drain {
            return;
        }
        let patience = way.took.clamp(MIN_PATIENCE, MAX_PATIENCE);
        let left = self
            .deadline()
            .map(|deadline| deadline.saturating_duration_since(Instant::now()) / 4);
        self.be_patient(left.map_or(patience, |left| patience.min(left)));
    }

    fn be_patient(&mut self, patience: Duration) {
        self.patience = deadline_in(Some(patience)).map(|until| (until, patience));
    }

    /// Until when to drain: for as long as it is cheaper than an order, or to the deadline.
    pub(crate) fn drain_until(&self) -> Option<Instant> {
        let patience = self.patience.map(|(until, _)| until);
        earlier(patience, self.deadline())
    }

    /// Whether draining has taken longer than an order would.
    pub(crate) fn is_slow(&self) -> bool {
        self.patience
            .is_some_and(|(until, _)| Instant::now() >= until)
    }

    /// Returns what is needed to give an order for the statement that is being drained: the target, the statement's generation,
    /// and the deadline for connecting. If the order fails or has no effect, the next one follows after twice the time.
    pub(crate) fn order(&mut self) -> (Arc<Target>, u64, Option<Instant>) {
        let target = Arc::clone(self.target());
        let generation = target.turn.keep_under_way();
        let took = self.way.as_ref().map_or(Duration::ZERO, |way| way.took);
        let connect = took.saturating_mul(ORDER_LOGINS).max(MIN_ORDER);
        let left = self
            .deadline()
            .map(|deadline| deadline.saturating_duration_since(Instant::now()) / 2);
        let connect = left.map_or(connect, |left| connect.min(left));
        (target, generation, deadline_in(Some(connect)))
    }

    /// Notes that the order was given, successfully or not: the drained statement gets time again.
    pub(crate) fn ordered(&mut self) {
        let patience = self.patience.map_or(MIN_PATIENCE, |(_, patience)| patience);
        self.be_patient(patience.saturating_mul(2));
    }

    /// Nothing is left to be drained.
    pub(crate) fn drained(&mut self) {
        self.patience = None;
        self.finish();
    }
}
