//! What other threads may ask a worker for, and how it comes to it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::Waker;

use crate::client::{Client, ListeningSocket};
use crate::digests::DigestSummary;
use crate::kill::{Answer, For};
use crate::moved::{Arrival, Mover};
use crate::pooling::connection::Connection;
use crate::pooling::pool::Pool;
use crate::pooling::recipient::Recipient;
use crate::queue::Waiter;
use crate::statement_log::Watched;
use crate::stats::Snapshot;

/// What a worker is asked for by other threads.
pub(crate) enum Order {
    /// One that has just come in, and has its place.
    Client(Client),
    /// A session that was elsewhere, and has its place.
    Arrive(Box<Arrival>),
    /// Sessions go to another process, those that can and as soon as they can; or none does.
    Move(Option<Arc<Mover>>),
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
    /// What was counted by digest.
    Digests { reply: Sender<DigestSummary> },
    /// What was counted by digest is forgotten.
    ResetDigests { reply: Sender<()> },
    /// So many digests are kept from now on. Where they were others, all is counted anew.
    KeepDigests(usize),
    /// What of statements is logged from now on; `None`: nothing.
    LogStatements(Option<Arc<Watched>>),
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
    /// What came of a `KILL` that a session here, by its place and connection id, had run on a connection of the proxy's own.
    KillAnswered {
        session: usize,
        asker: u32,
        of: For,
        answer: Answer,
    },
    /// A connection for a session here that waits for one under a number.
    Grant {
        session: usize,
        number: u64,
        connection: Box<Connection>,
    },
    /// There may be room for a connection that a session here waits for under a number.
    LookAgain { session: usize, number: u64 },
    /// The end of a session by another client's `KILL`.
    End { session: usize, id: u32 },
    /// A session is to be killed or interrupted on its server, by a client that is on another.
    KillOnServer {
        session: usize,
        id: u32,
        is_query: bool,
    },
    /// A session of another worker waits for a connection: an idle one is to be given up.
    Spare { pool: Arc<Pool> },
    /// Idle connections of a pool that must not be used any more are closed, or all of them where the pool has changed.
    Tidy { pool: Arc<Pool>, is_changed: bool },
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
    pub(crate) orders: Sender<Order>,
    pub(crate) waker: Waker,
}

/// A worker, for other threads.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) mailbox: Arc<Mailbox>,
    /// Sessions that it has or is about to get.
    pub(crate) sessions: Arc<AtomicUsize>,
    pub(crate) is_dead: Arc<AtomicBool>,
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

impl Waiter for Mailbox {
    fn go_on(&self, session: usize) {
        self.order(Order::GoOn { index: session });
    }
}

impl Recipient for Mailbox {
    fn grant(
        &self,
        session: usize,
        number: u64,
        connection: Box<Connection>,
    ) -> Option<Box<Connection>> {
        let order = Order::Grant {
            session,
            number,
            connection,
        };
        match self.orders.send(order) {
            Ok(()) => {
                let _ = self.waker.wake();
                None
            }
            Err(refused) => match refused.0 {
                Order::Grant { connection, .. } => Some(connection),
                _ => None,
            },
        }
    }

    fn look_again(&self, session: usize, number: u64) {
        self.order(Order::LookAgain { session, number });
    }

    fn end(&self, session: usize, id: u32) {
        self.order(Order::End { session, id });
    }

    fn kill(&self, session: usize, id: u32, is_query: bool) {
        self.order(Order::KillOnServer {
            session,
            id,
            is_query,
        });
    }

    fn spare(&self, pool: &Arc<Pool>) {
        self.order(Order::Spare {
            pool: Arc::clone(pool),
        });
    }
}

impl Mailbox {
    fn order(&self, order: Order) -> bool {
        // A worker that is gone has nobody left to serve.
        let is_there = self.orders.send(order).is_ok();
        if is_there {
            let _ = self.waker.wake();
        }
        is_there
    }
}

/// All workers.
#[derive(Debug)]
pub(crate) struct Workers(pub(crate) Vec<Handle>);

impl Workers {
    /// Sessions that there are.
    pub(crate) fn sessions(&self) -> usize {
        self.0
            .iter()
            .map(|worker| worker.sessions.load(SeqCst))
            .sum()
    }

    /// How many there are that have not died.
    pub(crate) fn running(&self) -> usize {
        self.0.iter().filter(|worker| !worker.is_dead()).count()
    }

    /// Another worker that has so many fewer sessions than this one's `own` that a client is better off there. Where there are
    /// many, a few more or less are not worth the way.
    pub(crate) fn with_fewer(&self, own: usize) -> Option<&Handle> {
        let least = self.least_loaded();
        let sessions = least.sessions.load(SeqCst);
        (own > sessions + sessions / 8 && !least.is_dead()).then_some(least)
    }

    pub(crate) fn least_loaded(&self) -> &Handle {
        // A worker that has died would close the client: prefer one that is alive.
        let load = |worker: &&Handle| (worker.is_dead(), worker.sessions.load(SeqCst));
        self.0.iter().min_by_key(load).unwrap_or(&self.0[0])
    }
}

impl Handle {
    /// Hands a session over that was elsewhere, which counts from now on; `false` where the worker has just died.
    pub(crate) fn take_arrival(&self, arrival: Box<Arrival>) -> bool {
        self.take_order(Order::Arrive(arrival))
    }

    /// Hands a client over, which counts from now on; `false` where the worker has just died, and its place is to be given back.
    pub(crate) fn take(&self, client: Client) -> bool {
        self.take_order(Order::Client(client))
    }

    fn take_order(&self, order: Order) -> bool {
        self.sessions.fetch_add(1, SeqCst);
        if self.order(order) {
            return true;
        }
        // It may have forgotten this one, and given its place back, with all others.
        let less = |sessions: usize| sessions.checked_sub(1);
        self.sessions.fetch_update(SeqCst, SeqCst, less).is_err()
    }
}
