//! The worker's part of pooled connections: whose events are whose, and who gets one that was waited for.

use std::time::{Duration, Instant};

use mio::event::Event;

use super::Worker;
use crate::pooling::connection::Connection;
use crate::session::Status;

/// How often sessions are asked whether they still keep their connection for a command that asks for warnings.
pub(super) const HOLD_LOOK: Duration = Duration::from_millis(5);

impl Worker {
    /// Connections that were kept for a next command go back where others wait for them, and those that nobody uses are offered.
    #[cold]
    pub(super) fn end_holds(&mut self, now: Instant) {
        for _ in 0..self.connections.held() {
            let Some(index) = self.connections.next_held() else {
                break;
            };
            let mut is_held = false;
            self.go_on(index, now, |session, context| {
                is_held = session.end_hold(context);
                match is_held {
                    true => Status::Waiting,
                    false => session.go_on(context),
                }
            });
            if is_held {
                self.connections.hold(index);
            }
        }
        self.connections.offer_unused(now, self.poll.registry());
    }

    /// An event of a connection that sessions share.
    pub(super) fn note_pooled(&mut self, token: usize, event: &Event, now: Instant) {
        if !self.warm_ups.is_empty() && self.note_warm_up(token, event, now) {
            return;
        }
        let Some(index) = self.connections.owner(token) else {
            return self
                .connections
                .note(token, event, now, self.poll.registry());
        };
        if let Some(Some(session)) = self.sessions.get_mut(index) {
            session.note(false, event);
            self.go_on(index, now, crate::session::Session::go_on);
        }
    }

    /// Sessions of this worker that were given a connection in this turn go on.
    pub(super) fn grant(&mut self, now: Instant) {
        for _ in 0..self.connections.granted() {
            let Some((session, number, connection)) = self.connections.next_granted() else {
                return;
            };
            self.give(session, number, connection, now);
        }
    }

    /// A connection from another worker.
    pub(super) fn take_grant(
        &mut self,
        session: usize,
        number: u64,
        connection: Box<Connection>,
        now: Instant,
    ) {
        let adopted = self
            .connections
            .adopt(connection, session, self.poll.registry());
        if let Some(connection) = adopted {
            self.give(session, number, connection, now);
        }
    }

    fn give(&mut self, session: usize, number: u64, connection: Box<Connection>, now: Instant) {
        if !matches!(self.sessions.get(session), Some(Some(_))) {
            // It has left meanwhile.
            return self
                .connections
                .release(connection, now, self.poll.registry());
        }
        self.go_on(session, now, |session, context| {
            session.granted(number, connection, context)
        });
    }
}
