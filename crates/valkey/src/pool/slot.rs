//! A connection in a pool, and what has to be known of it there.

use onecopy_net::Peeked;
use onecopy_pool::{Health, PoolConfig, Poolable, Returned};

use crate::link::Link;
use crate::{Config, Error};

/// What a pool does with a connection of either API.
pub(crate) trait Pooled: Send + 'static {
    fn link(&mut self) -> &mut Link;

    /// What the server has done while nobody used the connection.
    fn peek(&self) -> Peeked;

    fn is_tls(&self) -> bool;

    /// Gives back the memory of TLS above `keep`.
    fn release_tls(&mut self, keep: usize);
}

/// A connection of a pool. Boxed there, so that it moves at the cost of a pointer.
#[derive(Debug)]
pub(crate) struct Slot<C> {
    pub(crate) conn: C,
    /// The connection's own number: a borrower can put another connection into its place.
    number: u64,
    /// Bytes of memory that could not be given back.
    kept: usize,
}

impl<C: Pooled> Slot<C> {
    pub(crate) fn new(mut conn: C) -> Box<Self> {
        let number = conn.link().number();
        Box::new(Self {
            conn,
            number,
            kept: 0,
        })
    }
}

impl<C: Pooled> Poolable for Slot<C> {
    type Config = Config;
    type Error = Error;

    fn pool_config(config: &Config) -> &PoolConfig {
        &config.pool
    }

    #[inline]
    fn check(&mut self, needs_ping: bool, config: &Config) -> Health {
        match self.conn.peek() {
            Peeked::Nothing if needs_ping => Health::Unsure,
            Peeked::Nothing => Health::Good,
            // A message of TLS itself, or a push that a borrower asked for, is no reason.
            Peeked::Bytes if self.conn.is_tls() || !config.pool.reset => Health::Unsure,
            Peeked::Bytes | Peeked::Closed => Health::Dead,
        }
    }

    fn returned(&mut self, config: &Config) -> Returned {
        let number = self.number;
        let link = self.conn.link();
        if link.number() != number || link.is_closed() {
            return Returned::Broken;
        }
        // The server would hand the awaited element to nobody: it notices a closed connection, and leaves the element there.
        if link.is_blocked() {
            return Returned::Broken;
        }
        link.forget_listener();
        link.set_command_timeout(config.command_timeout);
        let is_changed = config.pool.reset && link.is_touched();
        if is_changed || link.is_watching() {
            return Returned::Used;
        }
        // Withdraws what was queued and not sent.
        if !link.is_quiet() && link.begin().is_err() {
            return Returned::Broken;
        }
        match link.is_quiet() {
            true => Returned::Clean,
            false => Returned::Used,
        }
    }

    fn trim(&mut self, config: &Config) {
        let keep = config.pool.idle_keep;
        let kept = self.kept;
        let link = self.conn.link();
        let held = link.capacity();
        if held > keep && held != kept {
            link.release(keep);
            self.kept = link.capacity();
        }
        self.conn.release_tls(keep);
    }

    fn is_final(error: &Error) -> bool {
        error.is_final()
    }

    fn closed(cause: &'static str) -> Error {
        Error::closed(cause)
    }
}
