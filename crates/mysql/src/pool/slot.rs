//! A connection in a pool, and what has to be known of it there.

use onecopy_net::Peeked;

use super::FollowUp;
use crate::Config;
use crate::link::Link;

/// What a pool does with a connection of either API.
pub(crate) trait Pooled {
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
}

/// Whether an idle connection can be handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    Good,
    /// Not before it has answered a ping.
    Unsure,
    Dead,
}

/// What has to be done with a returned connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Returned {
    /// Nothing.
    Clean,
    /// Its session has to be restored.
    Used,
    /// It is unusable.
    Broken,
}

impl<C: Pooled> Slot<C> {
    pub(crate) fn new(mut conn: C, follow_ups: Vec<FollowUp>) -> Box<Self> {
        let number = conn.link().number();
        Box::new(Self {
            conn,
            follow_ups,
            number,
            sent: 0,
        })
    }

    /// The connection is about to be handed out.
    #[inline]
    pub(crate) fn check(&mut self, needs_ping: bool) -> Health {
        self.sent = self.conn.link().sent();
        match self.conn.peek() {
            Peeked::Nothing if needs_ping => Health::Unsure,
            Peeked::Nothing => Health::Good,
            // A message of TLS itself is no reason.
            Peeked::Bytes if self.conn.is_tls() => Health::Unsure,
            Peeked::Bytes | Peeked::Closed => Health::Dead,
        }
    }

    /// The connection was returned: nothing of its borrower stays at the client.
    pub(crate) fn returned(&mut self, config: &Config) -> Returned {
        let (number, sent) = (self.number, self.sent);
        let link = self.conn.link();
        if link.number() != number || link.is_closed() || link.is_demoted() {
            return Returned::Broken;
        }
        link.set_timeouts(config);
        let is_untouched = link.sent() == sent && link.is_quiet();
        let is_kept = !config.pool.reset && link.is_quiet() && !link.is_in_transaction();
        if !is_untouched && !is_kept {
            return Returned::Used;
        }
        match link.forget_tokens() {
            Ok(()) => Returned::Clean,
            Err(_) => Returned::Broken,
        }
    }

    /// It becomes idle.
    pub(crate) fn trim(&mut self, config: &Config) {
        let keep = config.pool.idle_keep;
        self.conn.link().trim(keep);
        self.conn.release_tls(keep);
    }
}
