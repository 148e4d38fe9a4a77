//! What a session holds, and what it gives up where others need it.

use std::time::Instant;

use super::peer::Peer;
use super::{Context, End, Phase, Session, Status};
use crate::buffers::{OF_NO_USE, Pool};
use crate::failure::Failure;

/// How far a session is with what came from its client, with what came from its backend, with what was made of these and has not
/// left, and with what was not checked.
pub(crate) type Progress = [Option<u64>; 4];

/// What a client that is logging in may send where memory is used up: more than any response without many attributes.
const LOGIN_BYTES: usize = 4 << 10;

/// The same of its TLS: a record, as of a certificate of its own with the ones that vouch for it.
const HELLO_BYTES: usize = 16 << 10;

impl Session {
    /// Tells the pool what it holds beside loans: packets of a login, TLS's buffers, and the relay's lists.
    pub(super) fn count_memory(&mut self, pool: &mut Pool) {
        let own = match &self.phase {
            Phase::Login(login) => login.buffer_bytes(),
            Phase::PooledLogin(login) => login.buffer_bytes(),
            Phase::Pooled(pooled) => self.relay.memory() + pooled.memory(),
            _ => self.relay.memory(),
        };
        let server = self.server.as_ref();
        let server = server.map_or(0, |server| server.stream.buffer_bytes());
        let bytes = own + self.counted.memory() + self.client.stream.buffer_bytes() + server;
        pool.count(&mut self.own_bytes, bytes);
    }

    /// Whether memory is used up, and the client, who may be anybody, asks for more than others need.
    pub(super) fn asks_too_much(&self, pool: &Pool) -> bool {
        match &self.phase {
            Phase::Login(login) => {
                let is_much = login.client_bytes() > LOGIN_BYTES
                    || self.client.stream.unread_len() > HELLO_BYTES;
                is_much && (pool.is_over() || pool.is_short())
            }
            Phase::PooledLogin(login) => {
                let is_much = login.client_bytes() > LOGIN_BYTES
                    || self.client.stream.unread_len() > HELLO_BYTES;
                is_much && (pool.is_over() || pool.is_short())
            }
            _ => false,
        }
    }

    /// Gives back what TLS holds for a session in which nothing happens.
    pub(super) fn release_tls(&mut self) {
        self.client.stream.release(0);
        if let Some(server) = &mut self.server {
            server.stream.release(0);
        }
    }

    /// Others are queued: tries again to send what the other side has not taken. A kernel says that it takes more only
    /// when a third of what it holds has left, which is megabytes: a slow reader would look like one that reads nothing. A
    /// login that has come with much ends.
    pub(crate) fn press_on(&mut self, context: &mut Context<'_>) -> Status {
        if self.asks_too_much(context.pool) {
            return self.end(Failure::out_of_memory().into(), context);
        }
        let holds_some = self.up.cleared > 0 || self.down.cleared > 0 || self.unsent_len() > 0;
        if !matches!(self.phase, Phase::Transit | Phase::Pooled(_)) || !holds_some {
            return Status::Waiting;
        }
        self.client.is_writable = true;
        if let Some(server) = &mut self.server {
            server.is_writable = true;
        }
        self.go_on(context)
    }

    /// What TLS and compression hold that has not left.
    fn unsent_len(&self) -> usize {
        let server = self.server.as_ref();
        self.client.unsent_len() + server.map_or(0, |server| server.unsent_len())
    }

    /// What TLS and compression have read and nobody takes, and commands that were sent ahead, where that is much: a session in
    /// line would continue with it.
    fn waiting_len(&self) -> usize {
        let of = |peer: &Peer| peer.unread_len();
        let read = of(&self.client) + self.server.as_ref().map_or(0, of);
        let len = read + self.relay.sent_ahead_bytes();
        match self.is_starved || len <= OF_NO_USE {
            true => 0,
            false => len,
        }
    }

    /// What it holds beside loans, as the pool knows it.
    pub(crate) fn beside_loans(&self) -> usize {
        let server = self.server.as_ref().map_or(0, Peer::charged);
        self.own_bytes as usize + self.client.charged() + server
    }

    /// Others are queued: gives up what is not needed now. Returns the progress of everything that it keeps: by how much the
    /// number is larger a while later, so many bytes were read or written. `None` for what is of no use to others.
    pub(crate) fn give_up(&mut self, pool: &mut Pool) -> Progress {
        if !matches!(self.phase, Phase::Transit | Phase::Pooled(_)) {
            return Progress::default();
        }
        self.up.give_up(pool);
        self.down.give_up(pool);
        self.release_tls();
        self.count_memory(pool);
        // The fewer are left the further it is.
        let left = |len: usize| (len > 0).then(|| 0u64.wrapping_sub(len as u64));
        [
            self.up.progress(),
            self.down.progress(),
            left(self.unsent_len()),
            left(self.waiting_len()),
        ]
    }

    /// Whether it is queued for buffers.
    pub(crate) fn is_starved(&self) -> bool {
        self.is_starved
    }

    /// Whether it is queued and none of its bytes has moved in this iteration of the loop.
    pub(crate) fn waits_since_before(&self, now: Instant) -> bool {
        self.is_starved && self.moved != now
    }

    /// Whether something waits for the client to take it.
    fn is_left_by_client(&self) -> bool {
        !self.down.is_empty() || self.client.has_unsent()
    }

    /// Whether the only thing that it keeps from others is what it needs to continue when it is served.
    pub(crate) fn only_waits(&self) -> bool {
        self.is_starved && self.up.cleared == 0 && self.down.cleared == 0 && self.unsent_len() == 0
    }

    /// Ends it because it has kept for too long the buffers that others are queued for.
    pub(crate) fn stop_stalled(&mut self, context: &mut Context<'_>) -> Status {
        let who = match self.is_left_by_client() {
            false => "the backend did not read",
            true => "the client did not read",
        };
        let status = self.end(End::Failed(Failure::stalled(who)), context);
        // A client that took nothing before takes no last words: what it keeps from others goes now, not in a second.
        match self.is_left_by_client() {
            true => Status::Over,
            false => status,
        }
    }
}
