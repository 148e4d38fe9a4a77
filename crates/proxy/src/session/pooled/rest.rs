//! A session whose connection has to be asked something before others can use it: it is asked once others need it, and not before.
//! The next command of the same session needs no question, and finds what the last one has left.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

use super::Pooled;

impl Pooled {
    /// A reply is over: how long the session may rest with its connection behind it, should that have to be asked something.
    pub(super) fn rest_from(&mut self, now: Instant) {
        self.rest_until = now + self.pool.config().warning_hold;
    }

    /// Rests with its connection, unless another session waits for one, it has rested for long, or its server is to be left.
    pub(super) fn rest(&mut self, now: Instant) -> bool {
        if !self.may_rest(now) {
            self.stop_resting();
            return false;
        }
        if !self.is_resting {
            self.is_resting = true;
            self.key.rests.fetch_add(1, SeqCst);
        }
        true
    }

    pub(super) fn rests(&self, now: Instant) -> bool {
        self.is_resting && self.may_rest(now)
    }

    fn may_rest(&self, now: Instant) -> bool {
        self.pool.waiting_for(&self.key) == 0 && now < self.rest_until && self.is_served()
    }

    /// It uses its connection again, or gives it back.
    pub(super) fn stop_resting(&mut self) {
        if std::mem::take(&mut self.is_resting) && self.key.rests.fetch_sub(1, SeqCst) == 1 {
            // Those that waited for it may make new ones.
            self.pool.call();
        }
    }
}
