//! One thread, one event loop, and all that its sessions need.
//!
//! A turn: wait for events, let each session that has one do what it can, let those that had to stop go on, and now and then
//! look at the time. Nothing here blocks but the wait.

mod line;
pub(crate) mod pool;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token, Waker};
use onecopy_net::evented::Stream;

use crate::acceptor::Bell;
use crate::failure::Failure;
use crate::kill::{Answer, Kills};
use crate::log::Log;
use crate::proxy::Listener;
use crate::session::{Context, Session, Status};
use crate::stats::{Counters, Snapshot};
use line::Line;
use pool::Pool;

/// Events taken from the kernel at once.
const EVENTS: usize = 256;

/// How often sessions look at the time.
const TICK: Duration = Duration::from_millis(250);

/// How often memory that nobody needs goes back, in ticks.
const TRIM: u32 = 4;

/// A worker is woken by others through this.
const WAKE: Token = Token(usize::MAX);

/// What a worker is asked for by other threads.
pub(crate) enum Order {
    /// A client that has just come in.
    Session {
        stream: Stream,
        address: Box<str>,
        listener: Arc<Listener>,
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
    /// Sessions leave now, and the thread ends.
    Stop,
}

/// Where a worker's orders come in.
#[derive(Debug)]
pub(crate) struct Mailbox {
    orders: Sender<Order>,
    waker: Waker,
}

/// A worker, for other threads.
#[derive(Debug)]
pub(crate) struct Handle {
    mailbox: Arc<Mailbox>,
    /// Sessions that it has or is about to get.
    pub(crate) sessions: Arc<AtomicUsize>,
    pub(crate) thread: Mutex<Option<JoinHandle<()>>>,
}

impl Handle {
    /// Hands an order over.
    pub(crate) fn order(&self, order: Order) {
        self.mailbox.order(order);
    }
}

impl Mailbox {
    /// Has a session look whether it can go on.
    pub(crate) fn go_on(&self, index: usize) {
        self.order(Order::GoOn { index });
    }

    fn order(&self, order: Order) {
        // A worker that is gone has nobody left to serve.
        if self.orders.send(order).is_ok() {
            let _ = self.waker.wake();
        }
    }
}

/// Starts a worker.
pub(crate) fn start(
    number: usize,
    memory: usize,
    bell: &Arc<Bell>,
    (log, kills): (&Log, &Kills),
) -> io::Result<Handle> {
    let poll = Poll::new()?;
    let waker = Waker::new(poll.registry(), WAKE)?;
    let (orders, inbox) = channel();
    let mailbox = Arc::new(Mailbox { orders, waker });
    let sessions = Arc::new(AtomicUsize::new(0));
    let mut worker = Worker {
        poll,
        inbox,
        mailbox: Arc::clone(&mailbox),
        bell: Arc::clone(bell),
        count: Arc::clone(&sessions),
        sessions: Vec::new(),
        free: Vec::new(),
        freed: Vec::new(),
        busy: VecDeque::new(),
        line: Line::default(),
        pool: Pool::new(memory),
        counters: Counters::default(),
        number,
        log: log.clone(),
        kills: kills.clone(),
        leaves_by: None,
        is_over: false,
    };
    let thread = std::thread::Builder::new()
        .name(format!("worker-{number}"))
        .spawn(move || worker.run())?;
    Ok(Handle {
        mailbox,
        sessions,
        thread: Mutex::new(Some(thread)),
    })
}

struct Worker {
    poll: Poll,
    inbox: Receiver<Order>,
    mailbox: Arc<Mailbox>,
    bell: Arc<Bell>,
    count: Arc<AtomicUsize>,
    /// By half of their streams' tokens.
    sessions: Vec<Option<Box<Session>>>,
    free: Vec<usize>,
    /// Places that were freed in this turn: events of the sessions before may still be on the list.
    freed: Vec<usize>,
    busy: VecDeque<usize>,
    line: Line,
    pool: Pool,
    counters: Counters,
    number: usize,
    log: Log,
    kills: Kills,
    /// Until then all sessions have left, where it is drained.
    leaves_by: Option<Instant>,
    is_over: bool,
}

impl Worker {
    fn run(&mut self) {
        let mut events = Events::with_capacity(EVENTS);
        let mut now = Instant::now();
        let mut next_tick = now + TICK;
        let mut ticks = 0;
        while !self.is_over {
            let timeout = if self.busy.is_empty() && !self.can_serve_line() {
                // The clock is looked at once a turn: a tick may come later by as much as the last one took.
                next_tick.saturating_duration_since(now)
            } else {
                Duration::ZERO
            };
            match self.poll.poll(&mut events, Some(timeout)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // There is no way to serve anybody without events.
                Err(_) => break,
            }
            now = Instant::now();
            self.counters.turns += 1;
            for event in &events {
                if event.token() == WAKE {
                    self.take_orders(now);
                    continue;
                }
                let Token(token) = event.token();
                if let Some(Some(session)) = self.sessions.get_mut(token / 2) {
                    session.note(token % 2 == 0, event);
                    self.go_on(token / 2, now, Session::go_on);
                }
            }
            for _ in 0..self.busy.len() {
                if let Some(index) = self.busy.pop_front() {
                    self.go_on(index, now, Session::go_on_after_others);
                }
            }
            if self.pool.has_line() {
                self.serve_line(now);
            }
            if now >= next_tick {
                next_tick = now + TICK;
                ticks += 1;
                for index in 0..self.sessions.len() {
                    self.go_on(index, now, Session::tick);
                }
                self.relieve(now);
                if ticks % TRIM == 0 {
                    self.pool.trim();
                }
            }
            self.free.append(&mut self.freed);
        }
    }

    /// Has one session do something, and sees to what is to become of it.
    #[inline]
    fn go_on(
        &mut self,
        index: usize,
        now: Instant,
        act: impl FnOnce(&mut Session, &mut Context<'_>) -> Status,
    ) {
        let Some(Some(session)) = self.sessions.get_mut(index) else {
            return;
        };
        let mut context = Context {
            pool: &mut self.pool,
            poller: self.poll.registry(),
            counters: &mut self.counters,
            log: &self.log,
            kills: &self.kills,
            worker: self.number,
            mailbox: &self.mailbox,
            index,
            now,
        };
        match act(session, &mut context) {
            Status::Waiting => {}
            Status::Busy => {
                if session.note_busy() {
                    self.busy.push_back(index);
                }
            }
            Status::Starved => {
                if session.note_starved() {
                    self.line_up(index);
                }
            }
            Status::Over => {
                session.leave(&mut context);
                self.sessions[index] = None;
                self.freed.push(index);
                self.count.fetch_sub(1, SeqCst);
                self.bell.ring();
            }
        }
    }

    fn take_orders(&mut self, now: Instant) {
        while let Ok(order) = self.inbox.try_recv() {
            match order {
                Order::Session {
                    stream,
                    address,
                    listener,
                } => {
                    let index = self.free.pop().unwrap_or_else(|| {
                        self.sessions.push(None);
                        self.sessions.len() - 1
                    });
                    let session = Session::new(stream, address, Token(2 * index), listener, now);
                    self.sessions[index] = Some(Box::new(session));
                    self.go_on(index, now, Session::begin);
                    if let Some(deadline) = self.leaves_by {
                        self.go_on(index, now, |session, context| {
                            session.leave_by(deadline, context)
                        });
                    }
                }
                Order::Snapshot {
                    with_clients,
                    reply,
                } => {
                    // Whoever asked may have stopped waiting.
                    let _ = reply.send(self.snapshot(with_clients, now));
                }
                Order::Find { id, reply } => {
                    let all = self.sessions.iter().flatten();
                    let found = all.filter(|session| session.connection_id() == id);
                    let _ = reply.send(found.map(|session| session.listener_name()).collect());
                }
                Order::Watch => {
                    let all = self.sessions.iter_mut().flatten();
                    all.for_each(|session| session.watch_commands());
                }
                Order::Kill {
                    id,
                    listener,
                    reply,
                } => {
                    let is_it = |session: &Option<Box<Session>>| {
                        session.as_ref().is_some_and(|session| {
                            session.connection_id() == id && session.listener_name() == listener
                        })
                    };
                    let found = self.sessions.iter().position(is_it);
                    if let Some(index) = found {
                        self.go_on(index, now, |session, context| {
                            session.stop(Failure::killed(), context)
                        });
                    }
                    let _ = reply.send(found.is_some());
                }
                Order::KillAnswered {
                    session,
                    asker,
                    answer,
                } => self.go_on(session, now, |session, context| {
                    session.kill_answered(asker, &answer, context)
                }),
                Order::GoOn { index } => self.go_on(index, now, Session::go_on),
                Order::Drain { deadline, all } => {
                    if all {
                        self.leaves_by = Some(deadline);
                    }
                    for index in 0..self.sessions.len() {
                        self.go_on(index, now, |session, context| {
                            if all || session.is_on_removed() {
                                return session.leave_by(deadline, context);
                            }
                            Status::Waiting
                        });
                    }
                }
                Order::Memory {
                    bytes,
                    stall_timeout,
                } => {
                    self.pool.set_budget(bytes);
                    self.line.stall_timeout = stall_timeout;
                }
                Order::Stop => {
                    for index in 0..self.sessions.len() {
                        self.go_on(index, now, |session, context| {
                            session.stop(Failure::shutdown(), context)
                        });
                    }
                    self.is_over = true;
                }
            }
        }
    }

    fn snapshot(&self, with_clients: bool, now: Instant) -> Snapshot {
        let sessions = self.sessions.iter().flatten();
        Snapshot {
            sessions: sessions.clone().count(),
            counters: self.counters.clone(),
            meter: sessions
                .clone()
                .fold(self.pool.meter(), |sum, session| session.meter(sum)),
            buffer_bytes: self.pool.bytes(),
            buffers_lent: self.pool.lent(),
            login_and_tls_bytes: self.pool.of_logins_and_tls(),
            sessions_in_line: self.line.len(),
            clients: if with_clients {
                sessions.map(|session| session.describe(now)).collect()
            } else {
                Vec::new()
            },
        }
    }
}
