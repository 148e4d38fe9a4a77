//! The worker's part of connections that are made before a client needs them.

use std::sync::Arc;
use std::time::Instant;

use mio::event::Event;

use super::Worker;
use crate::session::WarmUp;

impl Worker {
    /// Begins one connection for each pool that has fewer than it is to keep, and goes on with those that were begun before.
    pub(super) fn warm_up(&mut self, now: Instant) {
        for at in (0..self.warm_ups.len()).rev() {
            self.go_on_warming_up(at, now);
        }
        if self.ends_by.is_some() || self.leaves_by.is_some() {
            return;
        }
        let listeners = self.accepting.listeners();
        let mut listeners: Vec<_> = listeners.map(Arc::clone).collect();
        listeners.dedup_by(|one, other| Arc::ptr_eq(one, other));
        for listener in listeners {
            let poller = self.poll.registry();
            let begun = WarmUp::begin(&listener, &mut self.connections, poller, now);
            self.warm_ups.extend(begun);
        }
    }

    /// An event of one of them; `false` where it is of another's.
    pub(super) fn note_warm_up(&mut self, token: usize, event: &Event, now: Instant) -> bool {
        let mut all = self.warm_ups.iter_mut();
        let Some(at) = all.position(|one| one.token().0 == token) else {
            return false;
        };
        if let Some(one) = self.warm_ups.get_mut(at) {
            one.note(event);
        }
        self.go_on_warming_up(at, now);
        true
    }

    fn go_on_warming_up(&mut self, at: usize, now: Instant) {
        let poller = self.poll.registry();
        let one = self.warm_ups.get_mut(at);
        let Some(is_there) = one.and_then(|one| one.go_on(poller, now)) else {
            return;
        };
        let one = self.warm_ups.swap_remove(at);
        match is_there {
            true => self.connections.release(one.finish(now), now, poller),
            false => self.connections.forget(one.fail(now)),
        }
    }
}
