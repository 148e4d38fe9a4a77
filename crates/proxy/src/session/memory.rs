//! What a session holds, and what it gives up where others need it.

use super::{Context, End, Phase, Session, Status};
use crate::failure::Failure;
use crate::worker::pool::Pool;

/// What a client that is logging in may send where memory is used up: more than any response without many attributes.
const LOGIN_BYTES: usize = 4 << 10;

impl Session {
    /// Tells the pool what it holds beside loans: packets of a login, and TLS's buffers.
    pub(super) fn count_memory(&mut self, pool: &mut Pool) {
        let login = match &self.phase {
            Phase::Login(login) => login.buffer_bytes(),
            _ => 0,
        };
        let server = self.server.as_ref();
        let server = server.map_or(0, |server| server.stream.buffer_bytes());
        let bytes = login + self.client.stream.buffer_bytes() + server;
        pool.count(&mut self.own_bytes, bytes);
    }

    /// Whether memory is used up, and the client, who may be anybody, asks for more than others need.
    pub(super) fn asks_too_much(&self, pool: &Pool) -> bool {
        match &self.phase {
            Phase::Login(login) => pool.is_over() && login.client_bytes() > LOGIN_BYTES,
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

    /// Others stand in line: gives up what is not needed now. Gives how far it is with what it keeps; the same number once
    /// more says that nothing of it has left. `None` where it keeps nothing that is of use to others.
    pub(crate) fn give_up(&mut self, pool: &mut Pool) -> Option<u64> {
        if !matches!(self.phase, Phase::Transit) {
            return None;
        }
        self.up.give_up(pool);
        self.down.give_up(pool);
        self.release_tls();
        self.count_memory(pool);
        let progress = [self.up.progress(), self.down.progress()];
        progress.into_iter().flatten().reduce(u64::wrapping_add)
    }

    /// Ends it because it has kept for too long what others stand in line for.
    pub(crate) fn stop_stalled(&mut self, context: &mut Context<'_>) -> Status {
        let who = match self.down.is_empty() {
            true => "the backend took nothing",
            false => "the client took nothing",
        };
        self.end(End::Failed(Failure::stalled(who)), context)
    }
}
