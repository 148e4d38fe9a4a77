//! A connection in a pool, and what has to be known of it there.

use onecopy_net::Peeked;

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

/// A connection of a pool. Boxed there, so that it moves at the cost of a pointer.
#[derive(Debug)]
pub(crate) struct Slot<C> {
    pub(crate) conn: C,
    /// The connection's own number: a borrower can put another connection into its place.
    number: u64,
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
    /// Replies are outstanding, or its state has to be restored.
    Used,
    /// It is unusable.
    Broken,
}

impl<C: Pooled> Slot<C> {
    pub(crate) fn new(mut conn: C) -> Box<Self> {
        let number = conn.link().number();
        Box::new(Self { conn, number })
    }

    /// The connection is about to be handed out.
    #[inline]
    pub(crate) fn check(&mut self, needs_ping: bool, config: &Config) -> Health {
        match self.conn.peek() {
            Peeked::Nothing if needs_ping => Health::Unsure,
            Peeked::Nothing => Health::Good,
            // A message of TLS itself, or a push that a borrower asked for, is no reason.
            Peeked::Bytes if self.conn.is_tls() || !config.pool.reset => Health::Unsure,
            Peeked::Bytes | Peeked::Closed => Health::Dead,
        }
    }

    /// The connection was returned: nothing of its borrower stays at the client.
    pub(crate) fn returned(&mut self, config: &Config) -> Returned {
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
        if link.begin().is_err() {
            return Returned::Broken;
        }
        match link.is_quiet() {
            true => Returned::Clean,
            false => Returned::Used,
        }
    }

    /// It becomes idle.
    pub(crate) fn trim(&mut self, config: &Config) {
        let keep = config.pool.idle_keep;
        let link = self.conn.link();
        if link.holds_more(keep) {
            link.release(keep);
        }
        self.conn.release_tls(keep);
    }
}
