//! What other threads may ask a worker for, and how it comes to it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::Waker;

use super::accept::ListeningSocket;
use crate::acceptor::Client;
use crate::kill::Answer;
use crate::proxy::Workers;
use crate::stats::Snapshot;

/// What a worker is asked for by other threads.
pub(crate) enum Order {
    /// One that has just come in, and has its place.
    Client(Client),
    /// Where it accepts clients from now on, and who else does; tells whether it can.
    Accept {
        sockets: Vec<ListeningSocket>,
        workers: Arc<Workers>,
        done: Sender<bool>,
    },
    /// What was counted; and the sessions, where they are asked for.
    Snapshot {
        with_clients: bool,
        reply: Sender<Snapshot>,
    },
    /// By which listeners the sessions here came in that have this connection id.
    Find { id: u32, reply: Sender<Vec<String>> },
    /// The end of one session; tells whether it was here.
    Kill {
        id: u32,
        listener: String,
        reply: Sender<bool>,
    },
    /// There may be commands that have to be looked at from now on: listeners have changed, or addresses.
    Watch,
    /// What came of a `KILL` that a session here, by its place and connection id, had run on another backend.
    KillAnswered {
        session: usize,
        asker: u32,
        answer: Answer,
    },
    /// A session may have something to do: what it waited for in a queue may be there.
    GoOn { index: usize },
    /// Sessions leave as soon as no transaction is open, at the latest then: those on backends that were removed, or all.
    Drain { deadline: Instant, all: bool },
    /// Bytes that all buffers may take, and how long one may be kept while others wait.
    Memory {
        bytes: usize,
        stall_timeout: Duration,
    },
    /// Sessions leave now, and the thread ends when they have heard why, within a second or so.
    Stop,
    /// What no order shall ever do.
    #[cfg(test)]
    Panic,
}

/// Where a worker's orders come in.
#[derive(Debug)]
pub(crate) struct Mailbox {
    pub(super) orders: Sender<Order>,
    pub(super) waker: Waker,
}

/// A worker, for other threads.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(super) mailbox: Arc<Mailbox>,
    /// Sessions that it has or is about to get.
    pub(crate) sessions: Arc<AtomicUsize>,
    pub(super) is_dead: Arc<AtomicBool>,
    pub(crate) thread: Mutex<Option<JoinHandle<()>>>,
}

impl Handle {
    /// Whether it has ended without being told to.
    pub(crate) fn is_dead(&self) -> bool {
        self.is_dead.load(SeqCst)
    }

    /// Hands an order over; `false` where nobody is there to take it.
    pub(crate) fn order(&self, order: Order) -> bool {
        self.mailbox.order(order)
    }
}

impl Mailbox {
    /// Has a session look whether it can continue.
    pub(crate) fn go_on(&self, index: usize) {
        self.order(Order::GoOn { index });
    }

    fn order(&self, order: Order) -> bool {
        // A worker that is gone has nobody left to serve.
        let is_there = self.orders.send(order).is_ok();
        if is_there {
            let _ = self.waker.wake();
        }
        is_there
    }
}
