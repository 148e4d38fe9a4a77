//! The sessions that wait for one part of the servers, and how many they are.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::connection::Connection;
use super::line::{Line, QUANTUM};
use super::recipient::Recipient;
use crate::backend::{Name, Part};
use crate::lock::lock;

/// Where a session is that waits: its worker, and its place there.
pub(super) type Seat = (Arc<dyn Recipient>, usize);

/// Who waits for connections of one part: those that wait for replicas wait for nobody else.
#[derive(Debug, Default)]
pub(super) struct Lane {
    line: Mutex<Line<Seat>>,
    waiting: AtomicUsize,
}

impl Lane {
    pub(super) fn line(&self) -> MutexGuard<'_, Line<Seat>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how many wait, after a change.
    pub(super) fn count(&self, line: &Line<Seat>) {
        self.waiting.store(line.len(), SeqCst);
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(SeqCst)
    }

    /// There may be room for another connection.
    pub(super) fn call(&self) {
        if self.waiting() == 0 {
            return;
        }
        if let Some(first) = self.line().first(Instant::now()) {
            let (recipient, session) = &first.place;
            recipient.look_again(*session, first.number);
        }
    }
}

/// The lanes of a pool.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    pub(super) others: Arc<Lane>,
    reads: Arc<Lane>,
    /// Those for the replicas that rules name, of whom nobody else waits for the connections, and whose servers others use too.
    named: Mutex<Vec<(Name, Arc<Lane>)>>,
    has_named: AtomicBool,
}

impl Lanes {
    /// The one for a part.
    pub(super) fn of(&self, part: Part) -> Arc<Lane> {
        let name = match part {
            Part::All | Part::Writes => return Arc::clone(&self.others),
            Part::Reads => return Arc::clone(&self.reads),
            Part::ReadsOf(name) => name,
        };
        let mut named = lock(&self.named);
        if let Some((_, lane)) = named.iter().find(|(one, _)| *one == name) {
            return Arc::clone(lane);
        }
        let lane = Arc::<Lane>::default();
        named.push((name, Arc::clone(&lane)));
        self.has_named.store(true, SeqCst);
        lane
    }

    /// Whether there are some for named replicas.
    #[inline]
    pub(super) fn have_names(&self) -> bool {
        self.has_named.load(SeqCst)
    }

    /// Does something with each of them, first with those that have the fewest servers to choose from.
    pub(super) fn each(&self, mut what: impl FnMut(&Arc<Lane>)) {
        if self.have_names() {
            let named = lock(&self.named).clone();
            named.iter().for_each(|(_, lane)| what(lane));
        }
        what(&self.others);
        what(&self.reads);
    }

    /// Whether a connection is to make room on its server for one of another part, which somebody has waited for long enough.
    #[cold]
    pub(super) fn need_room_of(&self, connection: &Connection, now: Instant) -> bool {
        let backend = connection.place.backend();
        let mut is_needed = false;
        self.each(|lane| {
            if lane.waiting() > 0
                && !Arc::ptr_eq(lane, &connection.key.lane)
                && let Some(first) = lane.line().first(now)
            {
                let has_waited = now.saturating_duration_since(first.since) >= QUANTUM;
                is_needed |= has_waited && backend.serves_part(first.key.part) == Some(true);
            }
        });
        is_needed
    }

    /// How many wait in all.
    pub(super) fn waiting(&self) -> usize {
        let mut waiting = 0;
        self.each(|lane| waiting += lane.waiting());
        waiting
    }
}
