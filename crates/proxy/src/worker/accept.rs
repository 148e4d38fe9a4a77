//! The sockets at which a worker accepts clients.
//!
//! All workers have the same ones, and the kernel wakes one that waits. So a client has its session on the thread that has
//! accepted it, unless another worker has fewer sessions, or as many are there as there may be.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

use mio::Token;
use onecopy_net::evented::AcceptError;

use super::Worker;
use crate::client::{Client, ListeningSocket};
use crate::gate::NOT_ACCEPTED;
use crate::listener::Listener;
use crate::mailbox::Workers;

/// The first socket's; the others' are below.
const FIRST: usize = usize::MAX - 1;

/// None is below: sessions' are.
pub(super) const LAST: usize = usize::MAX / 2;

/// For each so many sessions one client more is accepted in a turn, as turns are long where there are many; up to so many.
const SESSIONS_A_CLIENT: usize = 64;
const MOST_CLIENTS: usize = 16;

fn clients_a_turn(sessions: usize) -> usize {
    1 + (sessions / SESSIONS_A_CLIENT).min(MOST_CLIENTS)
}

#[derive(Debug, Default)]
pub(super) struct Accepting {
    sockets: Vec<ListeningSocket>,
    /// Nobody is accepted before the next look at the time, for lack of descriptors.
    is_paused: bool,
    workers: Option<Arc<Workers>>,
}

impl Accepting {
    /// Of the sockets at which clients come in.
    pub(super) fn listeners(&self) -> impl Iterator<Item = &Arc<Listener>> {
        self.sockets.iter().map(|listening| &listening.listener)
    }
}

impl Worker {
    /// These from now on; whether it can.
    pub(super) fn accept_at(
        &mut self,
        sockets: Vec<ListeningSocket>,
        workers: Arc<Workers>,
    ) -> bool {
        self.stop_accepting();
        self.accepting = Accepting {
            sockets,
            is_paused: true,
            workers: Some(workers),
        };
        self.go_on_accepting()
    }

    /// From now on.
    pub(super) fn accept_nobody(&mut self) {
        self.stop_accepting();
        self.accepting = Accepting::default();
    }

    /// Where it had stopped for a while.
    pub(super) fn go_on_accepting(&mut self) -> bool {
        if !std::mem::take(&mut self.accepting.is_paused) {
            return true;
        }
        let poller = self.poll.registry();
        let mut sockets = self.accepting.sockets.iter().zip(0..);
        let can_all = sockets
            .all(|(listening, at)| listening.socket.share(poller, Token(FIRST - at)).is_ok());
        if !can_all {
            self.stop_accepting();
        }
        can_all
    }

    fn stop_accepting(&mut self) {
        for listening in &self.accepting.sockets {
            // One that is not there fails.
            let _ = listening.socket.deregister(self.poll.registry());
        }
        self.accepting.is_paused = true;
    }

    /// A client, where the event is of such a socket, and some more where turns are long: the kernel tells again where there are
    /// others, this worker or another.
    pub(super) fn accept_some(&mut self, token: usize, now: Instant) {
        if self.aside.is_full() {
            // The kernel tells again, this worker or another.
            return;
        }
        for _ in 0..clients_a_turn(self.count.load(SeqCst)) {
            let Some(listening) = self.accepting.sockets.get(FIRST - token) else {
                return;
            };
            match listening.accept() {
                Ok(Some(client)) => self.let_in(client, now),
                // Another worker was quicker.
                Ok(None) => return,
                // It was that client's own trouble.
                Err(AcceptError::Connection(_)) => {}
                Err(error) => {
                    if let AcceptError::Exhausted(_) = error {
                        self.log.out_of_files(NOT_ACCEPTED);
                    }
                    return self.stop_accepting();
                }
            }
        }
    }

    fn let_in(&mut self, client: Client, now: Instant) {
        if !self.gate.enter_at_once() {
            return self.gate.pass_on(client);
        }
        let own = self.count.load(SeqCst);
        let workers = self.accepting.workers.as_ref();
        if let Some(other) = workers.and_then(|workers| workers.with_fewer(own)) {
            if !other.take(client) {
                self.gate.leave(1);
            }
            return;
        }
        self.count.fetch_add(1, SeqCst);
        self.begin(client, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_sessions_let_more_clients_in_at_a_turn() {
        for (sessions, clients) in [(0, 1), (63, 1), (64, 2), (640, 11), (1024, 17), (9000, 17)] {
            assert_eq!(clients_a_turn(sessions), clients, "{sessions}");
        }
    }
}
