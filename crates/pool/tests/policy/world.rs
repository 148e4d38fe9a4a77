//! A pool of numbers, its clock, and what it asked for.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use onecopy_pool::{
    Action, Checkout, CloseReason, Connecting, Policy, PoolConfig, Ticket, Wait, WaitError,
};

/// A pool whose connections and waiters are numbers.
pub(crate) struct World {
    pub(crate) pool: Policy<u32, u32>,
    pub(crate) now: Instant,
    /// Connects under way, the oldest first.
    pub(crate) connecting: VecDeque<Connecting>,
    /// Waiters that were woken.
    pub(crate) woken: Vec<u32>,
    pub(crate) closed: Vec<(u32, CloseReason)>,
    next: u32,
}

impl World {
    pub(crate) fn new(set: impl FnOnce(&mut PoolConfig)) -> Self {
        let mut config = PoolConfig::default();
        set(&mut config);
        let mut world = Self {
            pool: Policy::new(config, 7),
            now: Instant::now(),
            connecting: VecDeque::new(),
            woken: Vec::new(),
            closed: Vec::new(),
            next: 0,
        };
        world.act();
        world
    }

    /// Does what the pool asks for.
    pub(crate) fn act(&mut self) {
        while let Some(action) = self.pool.poll_action(self.now) {
            match action {
                Action::Wake(waiter) => self.woken.push(waiter),
                Action::Connect(connecting) => self.connecting.push_back(connecting),
                Action::Close(conn, reason) => self.closed.push((conn, reason)),
                _ => unreachable!(),
            }
        }
    }

    /// Lets time pass, and calls the pool at each time it asked for.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due) = self.pool.poll_timeout(self.now).filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.pool.handle_timeout(self.now);
            self.act();
            assert_ne!(
                self.pool.poll_timeout(self.now),
                Some(due),
                "the pool asks for the same time again"
            );
        }
        self.now = end;
    }

    pub(crate) fn wait(&mut self, waiter: u32) -> Ticket {
        let ticket = self.pool.wait(self.now, self.now, waiter, false);
        self.act();
        ticket
    }

    /// The oldest connect succeeds; returns the connection's number.
    pub(crate) fn connect(&mut self) -> u32 {
        let connecting = self.connecting.pop_front().unwrap();
        self.next += 1;
        self.pool.connected(connecting, self.next, self.now);
        self.act();
        self.next
    }

    pub(crate) fn fail(&mut self, is_final: bool) {
        let connecting = self.connecting.pop_front().unwrap();
        self.pool.connect_failed(connecting, is_final, self.now);
        self.act();
    }

    pub(crate) fn take(&mut self, ticket: Ticket) -> Checkout<u32> {
        match self.pool.poll_wait(ticket, self.now) {
            Wait::Ready(checkout) => checkout,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn error(&mut self, ticket: Ticket) -> WaitError {
        match self.pool.poll_wait(ticket, self.now) {
            Wait::Failed(error) => error,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn give_back(&mut self, checkout: Checkout<u32>) {
        self.pool.give_back(checkout.lease, checkout.conn, self.now);
        self.act();
    }

    /// A connection, made for it if there is none.
    pub(crate) fn acquire(&mut self) -> Checkout<u32> {
        if let Some(checkout) = self.pool.try_acquire(self.now) {
            return checkout;
        }
        let ticket = self.wait(0);
        self.connect();
        self.take(ticket)
    }
}
