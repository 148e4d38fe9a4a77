//! Connections that are made before a client needs them, so that there are `min` of them.

use std::sync::Arc;
use std::time::Instant;

use mio::event::Event;
use mio::{Registry as Poller, Token};

use super::connecting::Connecting;
use crate::listener::Listener;
use crate::open_files;
use crate::pooling::connection::Connection;
use crate::pooling::connections::Connections;
use crate::session::peer::Peer;

/// A connection that is made for nobody yet.
pub(crate) struct WarmUp {
    connecting: Connecting,
    server: Peer,
}

impl WarmUp {
    /// Begins one where a listener's pool has fewer than it is to keep. It is of the kind that was made last: before the first client
    /// nobody knows what clients agree on.
    pub(crate) fn begin(
        listener: &Listener,
        connections: &mut Connections,
        poller: &Poller,
        now: Instant,
    ) -> Option<Self> {
        let pool = listener.pool.as_ref()?;
        if pool.waiting_for_primary() > 0 || pool.connections() >= pool.config().min {
            return None;
        }
        let key = pool.last_key()?;
        let account = listener.accounts.find(&key.user)?;
        if !account.can_log_in() {
            return None;
        }
        let all = listener.backends.all().iter();
        let refused = all.filter(|backend| {
            let refused = pool.refusals.find(Some(&key.user), backend, now);
            refused.is_some()
        });
        let refused: Vec<_> = refused.map(Arc::clone).collect();
        let place = listener.backends.choose_for(key.part, &refused, &[]).ok()?;
        let address = Arc::new(place.backend().next_address(&[])?);
        let room = pool.grow(place.backend(), &key, now).ok()?;
        let backend = Arc::clone(place.backend());
        let slot = connections.open_for_nobody();
        pool.note_idle(&connections.recipient, 0);
        let begun = Connecting::begin(
            (listener, account),
            (place, room),
            &key,
            Arc::clone(&address),
            slot,
            (poller, now),
        );
        match begun {
            Ok((connecting, server)) => Some(Self { connecting, server }),
            Err(error) => {
                connections.forget(slot);
                if !open_files::are_used_up(&error) {
                    backend.connect_failed(&address);
                }
                None
            }
        }
    }

    /// The token of its stream.
    pub(crate) fn token(&self) -> Token {
        Connections::token(self.connecting.slot)
    }

    pub(crate) fn note(&mut self, event: &Event) {
        self.server.note(event);
    }

    /// Does what can be done now. Whether it is over: whether it is there.
    pub(crate) fn go_on(&mut self, poller: &Poller, now: Instant) -> Option<bool> {
        let has_failed = now >= self.connecting.deadline
            || match self.connecting.go_on(&mut self.server) {
                Ok(true) => return Some(true),
                Ok(false) => false,
                Err(_) => true,
            }
            || self.server.stream.needs_room()
                && (self.server.stream)
                    .await_room(poller, self.token())
                    .is_err();
        has_failed.then_some(false)
    }

    /// The connection.
    pub(crate) fn finish(self, now: Instant) -> Box<Connection> {
        self.connecting.finish(self.server.stream, now)
    }

    /// The server does not let it in now. Gives the place of the worker's connections that it had.
    pub(crate) fn fail(self, now: Instant) -> usize {
        let slot = self.connecting.slot;
        let _ = self.connecting.failed(now);
        slot
    }
}
