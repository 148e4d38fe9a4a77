//! A connection that is being made, for a session or for nobody yet.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

use mio::Registry as Poller;
use onecopy_mysql_proto::Capabilities;
use onecopy_net::evented::{self, Address, Stream};

use super::backend_login::{BackendLogin, BackendStep};
use crate::backend::Place;
use crate::listener::Listener;
use crate::pooling::accounts::Account;
use crate::pooling::connection::Connection;
use crate::pooling::connections::Connections;
use crate::pooling::pool::{Key, Room};
use crate::pooling::state::{Baseline, State};
use crate::pooling::statements::Prepared;
use crate::session::first_options;
use crate::session::peer::Peer;

/// A connection that is being made.
pub(super) struct Connecting {
    login: BackendLogin,
    pub(super) slot: usize,
    pub(super) deadline: Instant,
    pub(super) place: Place,
    room: Room,
    key: Arc<Key>,
    pub(super) address: Arc<Address>,
    /// When it was begun, and its key's generation then.
    made: Instant,
    generation: u64,
    moves: u64,
    is_connected: bool,
}

impl Connecting {
    /// Begins it at an address of the place's backend, under a token of the worker's.
    ///
    /// # Errors
    /// As the kernel's. The address counts as failed where it is to blame.
    pub(super) fn begin(
        (listener, account): (&Listener, &Account),
        (place, room): (Place, Room),
        key: &Arc<Key>,
        address: Arc<Address>,
        slot: usize,
        (poller, now): (&Poller, Instant),
    ) -> io::Result<(Self, Peer)> {
        let token = Connections::token(slot);
        let mut stream = evented::connect(&address)?;
        let is_connected = stream.connected()?;
        match is_connected {
            true => stream.register_for_reading(poller, token)?,
            false => stream.register(poller, token)?,
        }
        let backend = Arc::clone(place.backend());
        let _ = stream.set_options(&first_options(backend.config.socket));
        let mut server = Peer::new(stream);
        (server.is_readable, server.is_writable) = (false, is_connected);
        let login = BackendLogin::new(
            &backend.config,
            account,
            (Some(key.capabilities), Some(key.collation)),
            key.part,
            matches!(*address, Address::Unix(_)),
            listener.config.reencrypt_passwords,
        );
        let pool = room.pool();
        pool.counts.connects.fetch_add(1, SeqCst);
        pool.refusals.begin(&key.user, &backend, now);
        let connecting = Self {
            login,
            slot,
            deadline: now + backend.config.connect_timeout,
            moves: backend.moves(),
            place,
            room,
            key: Arc::clone(key),
            address,
            made: now,
            generation: key.generation(),
            is_connected,
        };
        Ok((connecting, server))
    }

    /// Does what can be done now; `true` once it is logged in and set up.
    ///
    /// # Errors
    /// Says why the backend does not let the proxy in.
    pub(super) fn go_on(&mut self, server: &mut Peer) -> Result<bool, String> {
        if !self.is_connected {
            if !server.is_writable {
                return Ok(false);
            }
            let connected = server.stream.connected();
            self.is_connected = connected.map_err(|error| error.to_string())?;
            if !self.is_connected {
                server.is_writable = false;
                return Ok(false);
            }
        }
        Ok(self.login.go_on(server)? == BackendStep::Done)
    }

    /// The connection, once it is logged in.
    pub(super) fn finish(self, stream: Stream, now: Instant) -> Box<Connection> {
        let Self {
            slot,
            place,
            room,
            key,
            address,
            made,
            generation,
            moves,
            ..
        } = self;
        let done = self.login.finish();
        place.backend().connected(&address);
        let pool = room.pool();
        let server = pool.clients.number_of(&address);
        pool.logged_in(&key, place.backend());
        pool.set_facts(done.facts);
        let expires = pool.expiry(now);
        let baseline = Baseline::from_rows(done.variables);
        let after_reset = Arc::new(State::after_reset(&baseline, &done.after_reset));
        let _ = key.after_reset.set(Arc::clone(&after_reset));
        Box::new(Connection {
            stream: Some(stream),
            slot,
            key,
            room,
            place,
            server,
            address,
            id: done.connection_id,
            capabilities: done.capabilities,
            status: done.status,
            baseline: Arc::new(baseline),
            after_reset,
            actual: Arc::new(State::default()),
            last_insert_id: Some(0),
            has_diagnostics: false,
            has_several: done.capabilities.contains(Capabilities::MULTI_STATEMENTS),
            prepared: Prepared::default(),
            last_user: 0,
            expires,
            generation,
            moves,
            made,
            idle_since: now,
            spare: None,
        })
    }

    /// It has failed. Whether the server has refused it, so that it is not tried again for a while.
    pub(super) fn failed(self, now: Instant) -> bool {
        let (pool, backend) = (self.room.pool(), self.place.backend());
        pool.counts.failed_connects.fetch_add(1, SeqCst);
        if !self.login.has_greeted() {
            backend.connect_failed(&self.address);
        }
        let Some(refusal) = self.login.refusal() else {
            return false;
        };
        pool.refused(&self.key, backend, refusal.clone(), now);
        true
    }
}
