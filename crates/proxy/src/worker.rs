//! One thread, one event loop, and all that its sessions need.
//!
//! A turn: wait for events, let each session that has one do what it can, let those that had to stop continue, and now and then
//! look at the time. Nothing here blocks but the wait.
//!
//! Sessions that are logged in come first. What comes of a client before, and of one that leaves, is work of calls: a connection to
//! the server, one to be refused there. It waits in a separate queue, of which each iteration does a little, so that a burst of clients
//! holds up nobody who is in.

mod accept;
mod aside;
mod line;
mod moving;
mod pooled;
mod unfinished;
mod warm;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token, Waker};

use crate::alarm::Alarm;
use crate::buffers::Pool;
use crate::client::Client;
use crate::codec::Codec;
use crate::digests::Digests;
use crate::failure::Failure;
use crate::gate::Gate;
use crate::kill::{For, Kills};
use crate::lock::lock;
use crate::log::Log;
use crate::mailbox::{Handle, Mailbox, Order};
use crate::moved::Mover;
use crate::pooling::connections::{self, Connections};
use crate::pooling::recipient::Recipient;
use crate::queue::Waiter;
use crate::session::{Context, Session, Status, WarmUp};
use crate::stats::{Counters, Snapshot};
use accept::Accepting;
use aside::Aside;
use line::Line;
use unfinished::Unfinished;

/// Events taken from the kernel at once.
const EVENTS: usize = 256;

/// How often sessions look at the time.
const TICK: Duration = Duration::from_millis(250);

/// How often unused memory is returned, in ticks.
const TRIM: u32 = 4;

/// When it is stopped: sessions have a second to take their last words, and then notice it at their next look at the time.
const LAST_WORDS: Duration = Duration::from_millis(1_500);

/// A worker is woken by others through this.
const WAKE: Token = Token(usize::MAX);

/// Starts a worker.
pub(crate) fn start(
    number: usize,
    room: (usize, usize),
    gate: &Arc<Gate>,
    (log, kills, alarm): (&Log, &Kills, &Alarm),
) -> io::Result<Handle> {
    let (mut worker, handle) = Worker::new(number, room, gate, (log, kills))?;
    let name = format!("worker-{number}");
    let (alarm, dead, count) = (
        alarm.clone(),
        Arc::clone(&handle.is_dead),
        Arc::clone(&handle.sessions),
    );
    let gate = Arc::clone(gate);
    let thread = std::thread::Builder::new()
        .name(name.clone())
        .spawn(move || {
            if let Some(why) = Alarm::watch(|| worker.run()) {
                dead.store(true, SeqCst);
                // Its clients see their connections end.
                drop(worker);
                gate.leave(count.swap(0, SeqCst));
                // Others accept in its place.
                gate.ring();
                alarm.ring(&name, &why);
            }
        })?;
    *lock(&handle.thread) = Some(thread);
    Ok(handle)
}

pub(crate) struct Worker {
    poll: Poll,
    inbox: Receiver<Order>,
    /// Its mailbox, as queues see it.
    waiter: Arc<dyn Waiter>,
    gate: Arc<Gate>,
    accepting: Accepting,
    count: Arc<AtomicUsize>,
    /// By half of their streams' tokens.
    sessions: Vec<Option<Box<Session>>>,
    free: Vec<usize>,
    /// Places that were freed in this turn: events of the sessions before may still be on the list.
    freed: Vec<usize>,
    busy: VecDeque<usize>,
    aside: Aside,
    unfinished: Unfinished,
    line: Line,
    pool: Pool,
    connections: Connections,
    /// Connections that are made before a client needs them.
    warm_ups: Vec<WarmUp>,
    codec: Codec,
    counters: Counters,
    digests: Digests,
    number: usize,
    log: Log,
    kills: Kills,
    /// How sessions go to another process, where they do.
    mover: Option<Arc<Mover>>,
    /// Until then all sessions have left, where it is drained.
    leaves_by: Option<Instant>,
    /// The thread ends when nobody is there, at the latest then.
    ends_by: Option<Instant>,
}

/// Where a worker is in its turns.
pub(crate) struct Turns {
    events: Events,
    /// When the last one began.
    now: Instant,
    next_tick: Instant,
    ticks: u32,
    /// Whether time passes. Otherwise it is always as late as at the start.
    has_clock: bool,
}

impl Turns {
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        Self {
            events: Events::with_capacity(EVENTS),
            now,
            next_tick: now + TICK,
            ticks: 0,
            has_clock: true,
        }
    }

    /// Turns in which nothing happens because time has passed: what they cost is the same on every machine.
    #[cfg(feature = "measure")]
    pub(crate) fn without_clock() -> Self {
        Self {
            has_clock: false,
            ..Self::new()
        }
    }
}

impl Worker {
    /// A worker that does nothing before somebody has it take its turns, and what others reach it by.
    pub(crate) fn new(
        number: usize,
        (memory, most_ungreeted): (usize, usize),
        gate: &Arc<Gate>,
        (log, kills): (&Log, &Kills),
    ) -> io::Result<(Self, Handle)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let (orders, inbox) = channel();
        let mailbox = Arc::new(Mailbox { orders, waker });
        let sessions = Arc::new(AtomicUsize::new(0));
        let worker = Self {
            poll,
            inbox,
            waiter: Arc::clone(&mailbox) as Arc<dyn Waiter>,
            gate: Arc::clone(gate),
            accepting: Accepting::default(),
            count: Arc::clone(&sessions),
            sessions: Vec::new(),
            free: Vec::new(),
            freed: Vec::new(),
            busy: VecDeque::new(),
            aside: Aside::default(),
            unfinished: Unfinished::new(most_ungreeted),
            line: Line::default(),
            pool: Pool::new(memory),
            warm_ups: Vec::new(),
            connections: Connections::new(Arc::clone(&mailbox) as Arc<dyn Recipient>),
            codec: Codec::default(),
            counters: Counters::default(),
            digests: Digests::new(0),
            number,
            log: log.clone(),
            kills: kills.clone(),
            mover: None,
            leaves_by: None,
            ends_by: None,
        };
        let handle = Handle {
            mailbox,
            sessions,
            is_dead: Arc::new(AtomicBool::new(false)),
            thread: Mutex::new(None),
        };
        Ok((worker, handle))
    }

    fn run(&mut self) -> io::Result<()> {
        let mut turns = Turns::new();
        while !self.is_over(turns.now) {
            self.turn(&mut turns)?;
        }
        Ok(())
    }

    /// Waits for events, and does what they are for.
    pub(crate) fn turn(&mut self, turns: &mut Turns) -> io::Result<()> {
        let is_at_rest =
            self.busy.is_empty() && self.aside.is_empty() && !self.connections.has_granted();
        let timeout = if is_at_rest && !self.can_serve_line() {
            let next = self
                .unfinished
                .due_at()
                .map_or(turns.next_tick, |due| due.min(turns.next_tick));
            let next = match self.connections.is_pressed() {
                true => next.min(turns.now + pooled::HOLD_LOOK),
                false => next,
            };
            let wakes_at = self.connections.wakes_at();
            let next = wakes_at.map_or(next, |wakes_at| next.min(wakes_at));
            // The clock is looked at once a turn: a tick may come later by as much as the last one took.
            next.saturating_duration_since(turns.now)
        } else {
            Duration::ZERO
        };
        match self.poll.poll(&mut turns.events, Some(timeout)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            // There is no way to serve anybody without events.
            Err(error) => return Err(error),
        }
        if turns.has_clock {
            turns.now = Instant::now();
        }
        let now = turns.now;
        self.counters.iterations += 1;
        for event in &turns.events {
            if event.token() == WAKE {
                self.take_orders(now);
                continue;
            }
            let Token(token) = event.token();
            if token >= accept::LAST {
                self.accept_some(token, now);
                continue;
            }
            if let Some(Some(session)) = self.sessions.get_mut(token / 2) {
                session.note(token % 2 == 0, event);
                if session.is_in_transit() {
                    self.go_on(token / 2, now, Session::go_on);
                } else {
                    self.set_aside(token / 2);
                }
            } else if token >= connections::FIRST {
                self.note_pooled(token, event, now);
            } else {
                self.note_unfinished(token, event);
            }
        }
        if self.connections.is_pressed() {
            self.end_holds(now);
        }
        let wakes_at = self.connections.wakes_at();
        if wakes_at.is_some_and(|when| when <= now) {
            self.connections.wake(now);
        }
        self.grant(now);
        for _ in 0..self.busy.len() {
            if let Some(index) = self.busy.pop_front() {
                self.go_on(index, now, Session::go_on_after_others);
            }
        }
        if self.can_serve_line() {
            self.serve_line(now);
        }
        if !self.aside.is_empty() {
            self.take_from_aside(now);
        }
        if self.unfinished.due_at().is_some() {
            self.begin_unfinished(now);
        }
        if now >= turns.next_tick {
            turns.next_tick = now + TICK;
            turns.ticks += 1;
            self.tick(turns.ticks, now);
        }
        self.free.append(&mut self.freed);
        self.connections.end_turn();
        if !self.unfinished.left.is_empty() {
            self.take_unfinished(now);
        }
        Ok(())
    }

    /// Sees to all that has waited for the time to pass.
    fn tick(&mut self, ticks: u32, now: Instant) {
        for index in 0..self.sessions.len() {
            match &self.sessions[index] {
                Some(session) if session.is_in_transit() => {
                    self.go_on(index, now, Session::tick);
                }
                Some(session) if session.is_due(now) => self.set_aside(index),
                _ => {}
            }
        }
        if self.mover.is_some() {
            self.move_some(now);
        }
        self.connections.tick(now);
        self.warm_up(now);
        self.tick_unfinished(now);
        self.relieve(now);
        self.go_on_accepting();
        if ticks.is_multiple_of(TRIM) {
            self.pool.trim();
            self.codec.trim();
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        let is_empty = || self.sessions.iter().all(Option::is_none) && self.unfinished.is_empty();
        self.ends_by.is_some_and(|by| now >= by || is_empty())
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
            codec: &mut self.codec,
            connections: &mut self.connections,
            poller: self.poll.registry(),
            counters: &mut self.counters,
            digests: &mut self.digests,
            log: &self.log,
            kills: &self.kills,
            unfinished: &mut self.unfinished.left,
            worker: self.number,
            waiter: &self.waiter,
            index,
            now,
        };
        let mut status = act(session, &mut context);
        if status != Status::Over && session.await_room(&context).is_err() {
            status = Status::Over;
        }
        match status {
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
                let was_in_line = session.is_starved();
                self.sessions[index] = None;
                self.forget(index, was_in_line);
                self.freed.push(index);
                self.count.fetch_sub(1, SeqCst);
                self.gate.leave(1);
            }
        }
    }

    /// A session for a client that has its place and counts here.
    fn begin(&mut self, client: Client, now: Instant) {
        let index = self.place();
        let session = Session::new(client, Token(2 * index), now);
        self.sessions[index] = Some(Box::new(session));
        self.go_on(index, now, Session::begin);
        self.set_aside(index);
        self.send_away_with_others(index, now);
    }

    /// A free place for a session.
    fn place(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.sessions.push(None);
            self.sessions.len() - 1
        })
    }

    /// A session has come, and leaves again where all do.
    fn send_away_with_others(&mut self, index: usize, now: Instant) {
        if self.ends_by.is_some() {
            self.go_on(index, now, |session, context| {
                session.stop(Failure::shutdown(), context)
            });
        }
        if let Some(deadline) = self.leaves_by {
            self.go_on(index, now, |session, context| {
                session.leave_by(deadline, context)
            });
        }
    }

    fn take_orders(&mut self, now: Instant) {
        while let Ok(order) = self.inbox.try_recv() {
            match order {
                Order::Client(client) => self.begin(client, now),
                Order::Arrive(arrival) => self.arrive(*arrival, now),
                Order::Move(mover) => self.mover = mover,
                Order::Accept {
                    sockets,
                    workers,
                    done,
                } => {
                    let _ = done.send(self.accept_at(sockets, workers));
                }
                Order::Snapshot {
                    with_clients,
                    reply,
                } => {
                    // The caller may have stopped waiting.
                    let _ = reply.send(self.snapshot(with_clients, now));
                }
                Order::Digests { reply } => {
                    let _ = reply.send(self.digests.summary(now));
                }
                Order::ResetDigests { reply } => {
                    self.digests.reset(self.digests.max());
                    let _ = reply.send(());
                }
                Order::KeepDigests(max) => {
                    if self.digests.max() != max {
                        self.digests.reset(max);
                    }
                }
                Order::LogStatements(watched) => self.digests.log(watched),
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
                    of,
                    answer,
                } => self.go_on(session, now, |session, context| match of {
                    For::Client => session.kill_answered(asker, &answer, context),
                    For::Timeout(number) => session.timeout_killed(asker, number, context),
                }),
                Order::Grant {
                    session,
                    number,
                    connection,
                } => self.take_grant(session, number, connection, now),
                Order::LookAgain { session, number } => {
                    self.go_on(session, now, |session, context| {
                        session.look_again(number, context)
                    });
                }
                Order::End { session, id } => {
                    let found = self.sessions.get(session).and_then(Option::as_ref);
                    if found.is_some_and(|session| session.connection_id() == id) {
                        self.go_on(session, now, |session, context| {
                            session.stop(Failure::killed(), context)
                        });
                    }
                }
                Order::KillOnServer {
                    session,
                    id,
                    is_query,
                } => {
                    self.go_on(session, now, |session, context| {
                        session.kill_on_server(id, is_query, context)
                    });
                }
                Order::Spare { pool } => {
                    self.connections.spare(&pool, now, self.poll.registry());
                }
                Order::Tidy { pool, is_changed } => {
                    self.connections.tidy(&pool, is_changed, now);
                }
                Order::GoOn { index } => self.go_on(index, now, Session::go_on),
                Order::Drain { deadline, all } => {
                    if all {
                        self.leaves_by = Some(deadline);
                    }
                    for index in 0..self.sessions.len() {
                        self.go_on(index, now, |session, context| {
                            if all || session.is_stranded() {
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
                    self.accept_nobody();
                    for index in 0..self.sessions.len() {
                        self.go_on(index, now, |session, context| {
                            session.stop(Failure::shutdown(), context)
                        });
                    }
                    self.ends_by = Some(now + LAST_WORDS);
                }
                #[cfg(test)]
                Order::Panic => panic!("as it was told"),
            }
        }
    }

    fn snapshot(&self, with_clients: bool, now: Instant) -> Snapshot {
        let sessions = self.sessions.iter().flatten();
        Snapshot {
            sessions: sessions.clone().count(),
            counters: self.counters.clone(),
            pools: Vec::new(),
            meter: sessions
                .clone()
                .fold(self.pool.meter(), |sum, session| session.meter(sum)),
            compression: self.codec.counts,
            buffer_bytes: self.pool.bytes(),
            buffers_in_use: self.pool.borrowed(),
            login_and_tls_bytes: self.pool.of_logins_and_tls(),
            sessions_waiting_for_buffer: self.line.len(),
            clients: if with_clients {
                sessions.map(|session| session.describe(now)).collect()
            } else {
                Vec::new()
            },
        }
    }
}
