//! The state machine.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use crate::gate::Gate;
use crate::lease::Idle;
use crate::waiters::{Outcome, Waiters};
use crate::{Checkout, CloseReason, Connecting, Jitter, Lease, PoolConfig, PoolStats, Ticket};

/// Up to this part of a lifetime is taken off at random.
const LIFETIME_SHARE: u32 = 8;

/// A returned connection is expected to be restored within this time, so no connection is opened for a waiter before that: a login
/// costs more than a reset. After this time the reset may be a slow one.
const RESTORE_PATIENCE: Duration = Duration::from_millis(20);

/// The state machine of a pool. `C` is a connection, `W` what wakes a waiter.
///
/// After any call, do what [`poll_action`](Self::poll_action) returns until it returns nothing, and see that
/// [`handle_timeout`](Self::handle_timeout) is called at the time of [`poll_timeout`](Self::poll_timeout). Two calls can leave
/// nothing to do: [`has_work`](Self::has_work) returns whether the common path may skip this.
///
/// See [the crate](crate) for an example.
#[derive(Debug)]
pub struct Policy<C, W> {
    config: PoolConfig,
    /// The one that was used last is at the back. Nobody waits while there is one.
    idle: VecDeque<Idle<C>>,
    waiters: Waiters<C, W>,
    gate: Gate,
    in_use: usize,
    restoring: usize,
    to_wake: VecDeque<W>,
    to_close: VecDeque<(C, CloseReason)>,
    is_closed: bool,
    /// When something is due, as far as the driver knows or is told next.
    armed: Option<Instant>,
    /// The driver has to be told.
    is_late: bool,
    counters: PoolStats,
    jitter: Jitter,
}

/// What the pool must do next.
#[derive(Debug)]
#[non_exhaustive]
pub enum Action<C, W> {
    /// Wake this waiter: it calls [`Policy::poll_wait`].
    Wake(W),
    /// Open a connection, and report the result.
    Connect(Connecting),
    /// Close this connection. It no longer counts.
    Close(C, CloseReason),
}

/// The state of a waiter.
#[derive(Debug)]
pub enum Wait<C> {
    /// It has a connection.
    Ready(Checkout<C>),
    /// It still waits, at most until this time.
    Pending(Ticket, Option<Instant>),
    /// It gets no connection.
    Failed(WaitError),
}

/// Why a waiter got no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitError {
    /// It waited for the acquire timeout.
    Timeout,
    /// The server refuses every connection, and the pool has none.
    Refused,
    /// The pool is closed.
    Closed,
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "no connection became available within the acquire timeout",
            Self::Refused => "no connection can be made",
            Self::Closed => "the pool is closed",
        })
    }
}

impl std::error::Error for WaitError {}

impl<C, W> Policy<C, W> {
    /// Creates an empty pool. `seed` is for jitter: use another one in each process.
    ///
    /// Settings that [`PoolConfig::check`] refuses are replaced by the nearest valid ones.
    pub fn new(config: PoolConfig, seed: u64) -> Self {
        let max = config.max.max(1);
        let config = PoolConfig {
            max,
            min: config.min.min(max),
            max_connecting: config.max_connecting.max(1),
            ..config
        };
        Self {
            config,
            idle: VecDeque::new(),
            waiters: Waiters::default(),
            gate: Gate::default(),
            in_use: 0,
            restoring: 0,
            to_wake: VecDeque::new(),
            to_close: VecDeque::new(),
            is_closed: false,
            armed: None,
            is_late: true,
            counters: PoolStats::default(),
            jitter: Jitter::new(seed),
        }
    }

    /// Returns the settings in effect.
    pub fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// Takes an idle connection, if there is one. Costs no allocation.
    #[inline]
    pub fn try_acquire(&mut self, now: Instant) -> Option<Checkout<C>> {
        let idle = self.idle.pop_back()?;
        self.in_use += 1;
        self.counters.acquired += 1;
        let ping_at = idle.since.checked_add(self.config.ping_after);
        Some(Checkout {
            needs_ping: ping_at.is_some_and(|ping_at| now >= ping_at),
            conn: idle.conn,
            lease: Lease {
                expires: idle.expires,
                is_restoring: false,
            },
        })
    }

    /// Adds a waiter to the queue. `since` is when it began to wait. It goes to the front if it was served already, with a
    /// connection that turned out to be dead.
    pub fn wait(&mut self, now: Instant, since: Instant, waiter: W, at_front: bool) -> Ticket {
        let ticket = self.waiters.push(waiter, since, at_front);
        if self.is_closed {
            self.fail_all(WaitError::Closed);
        }
        self.serve();
        self.note_patience(now);
        ticket
    }

    /// Returns the state of a waiter.
    pub fn poll_wait(&mut self, ticket: Ticket, now: Instant) -> Wait<C> {
        match self.waiters.take(ticket) {
            Outcome::Granted(checkout, since) => {
                self.counters.acquired += 1;
                let wait = now.saturating_duration_since(since);
                self.counters.count_wait(wait);
                Wait::Ready(checkout)
            }
            Outcome::Failed(error) => Wait::Failed(error),
            Outcome::Waiting(ticket, since) => {
                let timeout = self.config.acquire_timeout;
                let until = timeout.and_then(|timeout| since.checked_add(timeout));
                if until.is_none_or(|until| now < until) {
                    return Wait::Pending(ticket, until);
                }
                self.waiters.remove(ticket);
                self.counters.timed_out += 1;
                Wait::Failed(WaitError::Timeout)
            }
        }
    }

    /// Returns the waker of a waiter, so that it can be replaced; `None` if it has been woken already.
    pub fn waiter_mut(&mut self, ticket: &Ticket) -> Option<&mut W> {
        self.waiters.waiter_mut(ticket)
    }

    /// Removes a waiter that no longer waits. A connection that it was granted goes to the next one.
    pub fn leave(&mut self, ticket: Ticket, now: Instant) {
        if let Some(checkout) = self.waiters.remove(ticket) {
            self.put_back(checkout.lease, checkout.conn, now);
        }
    }

    /// Reports that a returned connection is being restored. It still counts towards the maximum, and is expected back soon.
    pub fn begin_restore(&mut self, lease: &mut Lease, now: Instant) {
        if !lease.is_restoring {
            lease.is_restoring = true;
            self.in_use -= 1;
            self.restoring += 1;
            self.note_patience(now);
        }
    }

    /// Takes back a connection that is ready for the next borrower: it goes to the first waiter, or becomes idle.
    pub fn give_back(&mut self, lease: Lease, conn: C, now: Instant) {
        self.put_back(lease, conn, now);
    }

    /// Reports that a connection is lost. Drop it before this call.
    pub fn lost(&mut self, lease: Lease, reason: CloseReason) {
        self.release(&lease);
        self.counters.closed.count(reason);
    }

    /// Reports that a connection was opened.
    pub fn connected(&mut self, connecting: Connecting, conn: C, now: Instant) {
        self.gate.succeeded(connecting);
        self.counters.connects += 1;
        self.in_use += 1;
        let lease = Lease {
            expires: self
                .jitter
                .end_of(self.config.lifetime, LIFETIME_SHARE, now),
            is_restoring: false,
        };
        self.put_back(lease, conn, now);
    }

    /// Reports a failed attempt to connect. `is_final`: the server refused the login, or the settings are wrong, so that another
    /// attempt will hardly succeed. All waiters then fail if the pool has no connection at all.
    pub fn connect_failed(&mut self, connecting: Connecting, is_final: bool, now: Instant) {
        self.gate
            .failed(connecting, &self.config, &self.jitter, now);
        self.counters.connect_failures += 1;
        if is_final && self.open() == 0 {
            self.fail_all(WaitError::Refused);
        }
        self.is_late = true;
    }

    /// Closes the pool: waiters fail, idle connections are closed, and the others are closed when they are returned.
    pub fn close(&mut self) {
        self.is_closed = true;
        self.fail_all(WaitError::Closed);
        while let Some(idle) = self.idle.pop_front() {
            self.discard(idle.conn, CloseReason::Shutdown);
        }
    }

    /// Returns whether a connection would be kept if it were given back now: the pool is open, and the connection is not too old.
    pub fn is_wanted(&self, lease: &Lease, now: Instant) -> bool {
        !self.is_closed && lease.expires.is_none_or(|expires| now < expires)
    }

    /// Returns whether something is due earlier than what [`poll_timeout`](Self::poll_timeout) returned last, once: call
    /// `poll_timeout` soon after.
    pub fn take_late(&mut self) -> bool {
        std::mem::take(&mut self.is_late)
    }

    /// Returns whether the pool was closed.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Returns whether the pool was closed and no connection is left.
    pub fn is_drained(&self) -> bool {
        self.is_closed && self.size() == 0 && self.to_close.is_empty()
    }

    /// Returns whether [`poll_action`](Self::poll_action) or [`poll_timeout`](Self::poll_timeout) has news.
    #[inline]
    pub fn has_work(&self, now: Instant) -> bool {
        self.is_late
            || !self.to_wake.is_empty()
            || !self.to_close.is_empty()
            || self.wants_connection(now)
    }

    /// Returns the next thing to do.
    pub fn poll_action(&mut self, now: Instant) -> Option<Action<C, W>> {
        if let Some(waiter) = self.to_wake.pop_front() {
            return Some(Action::Wake(waiter));
        }
        if let Some((conn, reason)) = self.to_close.pop_front() {
            return Some(Action::Close(conn, reason));
        }
        if !self.wants_connection(now) {
            return None;
        }
        if self.gate.is_open(&self.config, now) {
            return Some(Action::Connect(self.gate.start()));
        }
        // Who wants it may have come after the driver asked what is due.
        self.note(self.gate.opens_at(&self.config));
        None
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) has to be called next. Looks at every idle connection.
    pub fn poll_timeout(&mut self, now: Instant) -> Option<Instant> {
        let age = self.idle.iter().filter_map(|idle| idle.expires).min();
        let oldest = self.idle.front().filter(|_| self.open() > self.config.min);
        let idle = oldest.and_then(|oldest| self.idle_until(oldest.since));
        let connect = self
            .wants_connection(now)
            .then(|| self.gate.opens_at(&self.config))
            .flatten();
        // Connections that are allowed already are returned as actions.
        let patience = self
            .patience_until()
            .filter(|_| self.size() < self.config.max);
        let later = |due: &Instant| *due > now;
        let due = [age, idle, connect.filter(later), patience.filter(later)];
        self.is_late = false;
        self.armed = due.into_iter().flatten().min();
        self.armed
    }

    /// Closes connections that are too old. May be called at any time.
    pub fn handle_timeout(&mut self, now: Instant) {
        // What is due now is not armed any more.
        self.is_late = true;
        let is_old = |idle: &Idle<C>| idle.expires.is_some_and(|expires| expires <= now);
        let mut index = 0;
        while let Some(idle) = self.idle.get(index) {
            if is_old(idle) {
                if let Some(idle) = self.idle.remove(index) {
                    self.discard(idle.conn, CloseReason::Lifetime);
                }
            } else {
                index += 1;
            }
        }
        while self.open() > self.config.min
            && let Some(oldest) = self.idle.front()
            && self
                .idle_until(oldest.since)
                .is_some_and(|until| until <= now)
            && let Some(idle) = self.idle.pop_front()
        {
            self.discard(idle.conn, CloseReason::Idle);
        }
    }

    /// Returns a snapshot of the counters.
    pub fn stats(&self) -> PoolStats {
        PoolStats {
            size: self.size(),
            idle: self.idle.len(),
            in_use: self.in_use,
            restoring: self.restoring,
            connecting: self.gate.connecting(),
            waiting: self.waiters.waiting(),
            ..self.counters
        }
    }

    fn put_back(&mut self, lease: Lease, conn: C, now: Instant) {
        self.release(&lease);
        if self.is_closed {
            return self.discard(conn, CloseReason::Shutdown);
        }
        let expires = lease.expires;
        if expires.is_some_and(|expires| expires <= now) {
            return self.discard(conn, CloseReason::Lifetime);
        }
        let earliest = match (expires, self.idle_until(now)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self.note(earliest);
        self.idle.push_back(Idle {
            conn,
            expires,
            since: now,
        });
        self.serve();
    }

    /// Hands idle connections to waiters. There is at most one, which was returned just now.
    fn serve(&mut self) {
        while self.waiters.waiting() > 0
            && let Some(idle) = self.idle.pop_back()
        {
            let checkout = Checkout {
                conn: idle.conn,
                lease: Lease {
                    expires: idle.expires,
                    is_restoring: false,
                },
                needs_ping: false,
            };
            if let Ok(waiter) = self.waiters.grant(checkout) {
                self.in_use += 1;
                self.to_wake.push_back(waiter);
            }
        }
    }

    fn fail_all(&mut self, error: WaitError) {
        while let Some(waiter) = self.waiters.fail_first(error) {
            self.to_wake.push_back(waiter);
        }
    }

    fn release(&mut self, lease: &Lease) {
        if lease.is_restoring {
            self.restoring -= 1;
        } else {
            self.in_use -= 1;
        }
    }

    fn discard(&mut self, conn: C, reason: CloseReason) {
        self.counters.closed.count(reason);
        self.to_close.push_back((conn, reason));
    }

    /// Whether one more connection is needed and allowed, apart from the limit on connects.
    #[inline]
    fn wants_connection(&self, now: Instant) -> bool {
        if self.is_closed || self.size() >= self.config.max {
            return false;
        }
        let is_patient = self.patience_until().is_some_and(|until| now < until);
        let restored = if is_patient { self.restoring } else { 0 };
        self.waiters.waiting() > self.gate.connecting() + restored || self.size() < self.config.min
    }

    /// Until when the first waiter waits for connections that are being restored. `None` if there are none of these.
    fn patience_until(&self) -> Option<Instant> {
        let since = self.waiters.first_since().filter(|_| self.restoring > 0)?;
        since.checked_add(RESTORE_PATIENCE)
    }

    /// A waiter or a connection to be restored has arrived.
    fn note_patience(&mut self, now: Instant) {
        // Once it is over there is nothing more to be noted.
        let until = self.patience_until().filter(|until| *until > now);
        self.note(until);
    }

    /// Something is due at that time.
    fn note(&mut self, due: Option<Instant>) {
        if let Some(due) = due
            && self.armed.is_none_or(|armed| due < armed)
        {
            self.armed = Some(due);
            self.is_late = true;
        }
    }

    fn idle_until(&self, since: Instant) -> Option<Instant> {
        since.checked_add(self.config.idle_timeout?)
    }

    /// Connections that exist.
    fn open(&self) -> usize {
        self.idle.len() + self.in_use + self.restoring
    }

    fn size(&self) -> usize {
        self.open() + self.gate.connecting()
    }
}
