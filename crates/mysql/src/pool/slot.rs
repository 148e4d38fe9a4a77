//! A connection in a pool, and what has to be known of it there.

use onecopy_net::Peeked;
use onecopy_pool::{Health, PoolConfig, Poolable, Returned};

use super::FollowUp;
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

/// A connection and what restores its session. Boxed in the pool, so that it moves at the cost of a pointer.
#[derive(Debug)]
pub(crate) struct Slot<C> {
    pub(crate) conn: C,
    pub(crate) follow_ups: Vec<FollowUp>,
    /// The connection's own number: a borrower can put another connection into its place.
    number: u64,
    /// Bytes that had left when it was handed out.
    sent: u64,
    /// Bytes of memory that could not be given back.
    kept: usize,
}

impl<C: Pooled> Slot<C> {
    pub(crate) fn new(mut conn: C, follow_ups: Vec<FollowUp>) -> Box<Self> {
        let number = conn.link().number();
        Box::new(Self {
            conn,
            follow_ups,
            number,
            sent: 0,
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
    fn check(&mut self, needs_ping: bool, _: &Config) -> Health {
        self.sent = self.conn.link().sent();
        match self.conn.peek() {
            Peeked::Nothing if needs_ping => Health::Unsure,
            Peeked::Nothing => Health::Good,
            // A message of TLS itself is no reason.
            Peeked::Bytes if self.conn.is_tls() => Health::Unsure,
            Peeked::Bytes | Peeked::Closed => Health::Dead,
        }
    }

    fn returned(&mut self, config: &Config) -> Returned {
        let (number, sent) = (self.number, self.sent);
        let link = self.conn.link();
        if link.number() != number || link.is_closed() || link.is_demoted() {
            return Returned::Broken;
        }
        link.set_timeouts(config);
        let is_untouched = link.sent() == sent;
        let is_kept = is_untouched || !config.pool.reset && !link.is_in_transaction();
        if !is_kept || !link.is_quiet() {
            return Returned::Used;
        }
        match link.forget_tokens() {
            Ok(()) => Returned::Clean,
            Err(_) => Returned::Broken,
        }
    }

    fn trim(&mut self, config: &Config) {
        let keep = config.pool.idle_keep;
        let (sent, kept) = (self.sent, self.kept);
        let link = self.conn.link();
        // One that nothing was sent on was trimmed before.
        let is_trimmed = link.sent() == sent && link.held() == kept;
        if link.held() > keep && !is_trimmed {
            link.release(keep);
            self.kept = link.held();
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
