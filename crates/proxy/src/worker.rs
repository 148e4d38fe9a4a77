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
mod unfinished;

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
use crate::failure::Failure;
use crate::gate::Gate;
use crate::kill::Kills;
use crate::log::Log;
use crate::mailbox::{Handle, Mailbox, Order};
use crate::queue::Waiter;
use crate::session::{Context, Session, Status};
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
    (memory, most_ungreeted): (usize, usize),
    gate: &Arc<Gate>,
    (log, kills, alarm): (&Log, &Kills, &Alarm),
) -> io::Result<Handle> {
    let poll = Poll::new()?;
    let waker = Waker::new(poll.registry(), WAKE)?;
    let (orders, inbox) = channel();
    let mailbox = Arc::new(Mailbox { orders, waker });
    let sessions = Arc::new(AtomicUsize::new(0));
    let mut worker = Worker {
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
        codec: Codec::default(),
        counters: Counters::default(),
        number,
        log: log.clone(),
        kills: kills.clone(),
        leaves_by: None,
        ends_by: None,
    };
    let is_dead = Arc::new(AtomicBool::new(false));
    let name = format!("worker-{number}");
    let (alarm, dead, count) = (alarm.clone(), Arc::clone(&is_dead), Arc::clone(&sessions));
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
    Ok(Handle {
        mailbox,
        sessions,
        is_dead,
        thread: Mutex::new(Some(thread)),
    })
}

struct Worker {
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
    codec: Codec,
    counters: Counters,
    number: usize,
    log: Log,
    kills: Kills,
    /// Until then all sessions have left, where it is drained.
    leaves_by: Option<Instant>,
    /// The thread ends when nobody is there, at the latest then.
    ends_by: Option<Instant>,
}

impl Worker {
    fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        let mut now = Instant::now();
        let mut next_tick = now + TICK;
        let mut ticks = 0;
        while !self.is_over(now) {
            let is_at_rest = self.busy.is_empty() && self.aside.is_empty();
            let timeout = if is_at_rest && !self.can_serve_line() {
                let next = self
                    .unfinished
                    .due_at()
                    .map_or(next_tick, |due| due.min(next_tick));
                // The clock is looked at once a turn: a tick may come later by as much as the last one took.
                next.saturating_duration_since(now)
            } else {
                Duration::ZERO
            };
            match self.poll.poll(&mut events, Some(timeout)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // There is no way to serve anybody without events.
                Err(error) => return Err(error),
            }
            now = Instant::now();
            self.counters.iterations += 1;
            for event in &events {
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
                } else {
                    self.note_unfinished(token, event);
                }
            }
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
            if now >= next_tick {
                next_tick = now + TICK;
                ticks += 1;
                for index in 0..self.sessions.len() {
                    match &self.sessions[index] {
                        Some(session) if session.is_in_transit() => {
                            self.go_on(index, now, Session::tick);
                        }
                        Some(session) if session.is_due(now) => self.set_aside(index),
                        _ => {}
                    }
                }
                self.tick_unfinished(now);
                self.relieve(now);
                self.go_on_accepting();
                if ticks % TRIM == 0 {
                    self.pool.trim();
                    self.codec.trim();
                }
            }
            self.free.append(&mut self.freed);
            if !self.unfinished.left.is_empty() {
                self.take_unfinished(now);
            }
        }
        Ok(())
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
            poller: self.poll.registry(),
            counters: &mut self.counters,
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
        let index = self.free.pop().unwrap_or_else(|| {
            self.sessions.push(None);
            self.sessions.len() - 1
        });
        let session = Session::new(client, Token(2 * index), now);
        self.sessions[index] = Some(Box::new(session));
        self.go_on(index, now, Session::begin);
        self.set_aside(index);
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
