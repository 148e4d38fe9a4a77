//! Sessions that go to another process, and those that come from one.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

use mio::Token;

use super::Worker;
use crate::moved::Arrival;
use crate::session::{Session, stream_of};

impl Worker {
    /// Sends those that may go, as far as there is room for them on the way. The others are looked at again at the next tick.
    #[cold]
    pub(super) fn move_some(&mut self, now: Instant) {
        let Some(mover) = self.mover.clone() else {
            return;
        };
        for index in 0..self.sessions.len() {
            if !mover.has_room() {
                return;
            }
            let session = self.sessions.get(index).and_then(Option::as_ref);
            if session.is_some_and(|session| session.may_move(now)) {
                let mover = Arc::clone(&mover);
                self.go_on(index, now, |session, context| session.go(&mover, context));
            }
        }
    }

    /// A session that was elsewhere. It has its place, and counts here.
    #[cold]
    pub(super) fn arrive(&mut self, arrival: Arrival, now: Instant) {
        let Ok(stream) = stream_of(arrival.socket) else {
            self.count.fetch_sub(1, SeqCst);
            return self.gate.leave(1);
        };
        let index = self.place();
        let session = Session::arriving(stream, &arrival.session, Token(2 * index), now);
        self.sessions[index] = Some(Box::new(session));
        self.go_on(index, now, |session, context| {
            session.arrive(arrival.session, context)
        });
        self.send_away_with_others(index, now);
    }
}
