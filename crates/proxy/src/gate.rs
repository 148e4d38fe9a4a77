//! How many clients may come in, and who waits: for the acceptor, and for workers, which let clients in themselves.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::Sender;

use mio::Waker;
use onecopy_net::Endpoint;
use onecopy_net::evented;

use crate::client::Client;
use crate::listener::Listener;
use crate::open_files::Room;
use crate::queue::Patience;
use crate::sockets::Listening;

/// What is told where there is no descriptor for a client.
pub(crate) const NOT_ACCEPTED: &str = "no clients are accepted until file descriptors are free";

/// What is accepted, and how many.
#[derive(Debug)]
pub(crate) struct Ways {
    pub(crate) sockets: Vec<Way>,
    pub(crate) max_connections: usize,
    /// For how many there are descriptors.
    pub(crate) room: Room,
    pub(crate) patience: Patience,
}

/// One address.
#[derive(Debug)]
pub(crate) struct Way {
    /// As it was configured; by it a socket is known.
    pub(crate) endpoint: Endpoint,
    pub(crate) listener: Arc<Listener>,
    /// A new socket; `None`: the one that listens already.
    pub(crate) socket: Option<evented::Listener>,
}

/// What the acceptor is asked for.
pub(crate) enum Command {
    /// One that a worker could not let in.
    Client(Client),
    /// These ways from now on; says so when it is so.
    Serve(Ways, Sender<()>),
    /// The sockets once more, to be passed on.
    Listening(Sender<io::Result<Vec<Listening>>>),
    /// Nobody is accepted at the sockets, which stay open.
    Pause(Sender<()>),
    /// Clients are accepted again, or looked for where somebody else has accepted them.
    Resume(Sender<()>),
    /// The sockets are closed; whoever waits in front of them is accepted elsewhere.
    Release(Sender<()>),
    /// None, and the thread ends.
    Stop,
}

#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) commands: Sender<Command>,
    pub(crate) waker: Waker,
    /// Clients that wait, and those in flight to the acceptor, who come before others too.
    waiting: AtomicUsize,
    passed_on: AtomicUsize,
    /// Sessions that there are, and as many as there may be.
    sessions: AtomicUsize,
    max_sessions: AtomicUsize,
}

impl Gate {
    pub(crate) fn new(commands: Sender<Command>, waker: Waker) -> Self {
        Self {
            commands,
            waker,
            waiting: AtomicUsize::new(0),
            passed_on: AtomicUsize::new(0),
            sessions: AtomicUsize::new(0),
            max_sessions: AtomicUsize::new(0),
        }
    }

    pub(crate) fn set_max_sessions(&self, max: usize) {
        self.max_sessions.store(max, SeqCst);
    }

    /// Sessions that end from now on wake the acceptor unless this is 0.
    pub(crate) fn set_waiting(&self, waiting: usize) {
        self.waiting.store(waiting, SeqCst);
    }

    /// Takes a place for a session, where there is one.
    pub(crate) fn enter(&self) -> bool {
        let max = self.max_sessions.load(SeqCst);
        let one_more = |sessions: usize| (sessions < max).then_some(sessions + 1);
        let entered = self.sessions.fetch_update(SeqCst, SeqCst, one_more);
        entered.is_ok()
    }

    /// The same for a client that overtakes nobody.
    #[inline]
    pub(crate) fn enter_at_once(&self) -> bool {
        self.waiting.load(SeqCst) + self.passed_on.load(SeqCst) == 0 && self.enter()
    }

    /// Takes a place also where there is none: for what a session has left behind in its own.
    pub(crate) fn enter_anyway(&self) {
        self.sessions.fetch_add(1, SeqCst);
    }

    /// So many sessions have ended.
    #[inline]
    pub(crate) fn leave(&self, sessions: usize) {
        // A worker that dies may have one counted that was in flight to it.
        let less = |all: usize| Some(all.saturating_sub(sessions));
        let _ = self.sessions.fetch_update(SeqCst, SeqCst, less);
        if self.waiting.load(SeqCst) > 0 {
            self.ring();
        }
    }

    /// Has the acceptor look around.
    pub(crate) fn ring(&self) {
        let _ = self.waker.wake();
    }

    /// Leaves a client to the acceptor, who has it wait, or tells it that it can't come in.
    #[cold]
    pub(crate) fn pass_on(&self, client: Client) {
        self.passed_on.fetch_add(1, SeqCst);
        if self.commands.send(Command::Client(client)).is_ok() {
            self.ring();
        } else {
            // It has died: the client is closed.
            self.has_come();
        }
    }

    /// A client that was passed on has arrived.
    pub(crate) fn has_come(&self) {
        let less = |passed_on: usize| passed_on.checked_sub(1);
        let _ = self.passed_on.fetch_update(SeqCst, SeqCst, less);
    }

    /// The acceptor has died: nobody waits any more.
    pub(crate) fn forget(&self) {
        self.waiting.store(0, SeqCst);
        self.passed_on.store(0, SeqCst);
    }
}
