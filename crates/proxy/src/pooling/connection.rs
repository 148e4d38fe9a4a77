//! A connection to a backend that sessions share, and what is known of its state.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onecopy_mysql_proto::relay::RelayError;
use onecopy_mysql_proto::{Capabilities, StatusFlags};
use onecopy_net::evented::{Address, Stream};

use super::exchange::Exchange;
use super::pool::{Key, Room};
use super::setup;
use super::state::{Baseline, State};
use super::statements::Prepared;
use crate::backend::{Part, Place};
use crate::config::PoolConfig;

/// A connection that is logged in.
#[derive(Debug)]
pub(crate) struct Connection {
    /// `None` while a session has it in its own hands.
    pub(crate) stream: Option<Stream>,
    /// Its place among its worker's connections.
    pub(crate) slot: usize,
    pub(crate) key: Arc<Key>,
    /// Its place in the pool's limit.
    pub(crate) room: Room,
    /// Its place on the backend.
    pub(crate) place: Place,
    /// Shared: a hand-over must not copy a path.
    pub(crate) address: Arc<Address>,
    /// The backend's id of it.
    pub(crate) id: u32,
    /// The number of its server, by [`Clients::number_of`](super::clients::Clients::number_of).
    pub(crate) server: u32,
    pub(crate) capabilities: Capabilities,
    pub(crate) status: StatusFlags,
    /// How a fresh connection is.
    pub(crate) baseline: Arc<Baseline>,
    /// What differs from that behind a reset.
    pub(crate) after_reset: Arc<State>,
    /// How this one is.
    pub(crate) actual: Arc<State>,
    /// What `LAST_INSERT_ID()` is on it, as far as it is known.
    pub(crate) last_insert_id: Option<u64>,
    /// There may be warnings or an error of the last session's.
    pub(crate) has_diagnostics: bool,
    /// Several statements may come in one command. A reset leaves that as it is.
    pub(crate) has_several: bool,
    pub(crate) prepared: Prepared,
    /// The last session that used it, by a number that no other has.
    pub(crate) last_user: u64,
    pub(crate) expires: Option<Instant>,
    /// Its key's, and its backend's moves, when its login began.
    pub(crate) generation: u64,
    pub(crate) moves: u64,
    pub(crate) made: Instant,
    pub(crate) idle_since: Instant,
    /// The memory of the last exchange of the proxy's own, for the next one.
    pub(crate) spare: Option<Box<Exchange>>,
}

impl Connection {
    /// Begins an exchange of the proxy's own with whole packets, which are about to be sent.
    pub(crate) fn exchange(&mut self, packets: &[u8]) -> Result<Box<Exchange>, RelayError> {
        match self.spare.take() {
            Some(spare) => spare.again(packets),
            None => Exchange::new(self.capabilities, packets),
        }
    }

    /// An exchange is over: the next one needs no memory of its own.
    pub(crate) fn keep_exchange(&mut self, exchange: Box<Exchange>) {
        self.spare = Some(exchange).filter(|exchange| exchange.is_reusable());
    }

    /// Whether its server is no MariaDB.
    pub(crate) fn is_mysql(&self) -> bool {
        setup::is_mysql(self.capabilities)
    }

    /// Whether its server tells which transactions a session has made.
    pub(crate) fn tells_transactions(&self) -> bool {
        let is_on = |name| self.baseline.get(name) == Some(b"ON");
        // MySQL gives no ids to what it does not log.
        self.capabilities.contains(Capabilities::SESSION_TRACK)
            && is_on(b"log_bin")
            && (!self.is_mysql() || is_on(b"gtid_mode"))
    }

    /// How many statements may be kept prepared on it. All of a pool's connections together take at most half of what the server allows:
    /// the rest is for others.
    pub(crate) fn most_statements(&self, pool: &PoolConfig) -> usize {
        let allowed = self.baseline.get(b"max_prepared_stmt_count");
        let allowed = allowed.and_then(|value| str::from_utf8(value).ok()?.parse().ok());
        let share = allowed.map_or(usize::MAX, |allowed: usize| allowed / 2 / pool.max.max(1));
        pool.statements.min(share.max(1))
    }

    /// Whether it may still be given to a session.
    pub(crate) fn is_usable(&self, now: Instant) -> bool {
        self.expires.is_none_or(|expires| now < expires)
            && self.generation == self.key.generation()
            && self.is_served()
            && !self.leaves_for_balance()
    }

    /// Whether its server has more than its share. One for a named server would be made there again.
    fn leaves_for_balance(&self) -> bool {
        !matches!(self.key.part, Part::ReadsOf(_)) && self.place.backend().takes_leave()
    }

    /// Whether its server is one to stay on.
    pub(crate) fn is_served(&self) -> bool {
        let backend = self.place.backend();
        self.moves == backend.moves() && backend.serves_part(self.key.part) != Some(false)
    }

    /// Whether it has been idle for longer than it is kept, or there are too many.
    pub(crate) fn is_spare(&self, now: Instant) -> bool {
        let pool = self.room.pool();
        if pool.is_over(self.place.backend()) {
            return true;
        }
        let config = pool.config();
        let idle = now.saturating_duration_since(self.idle_since);
        let patience = self.server_patience();
        patience.is_some_and(|patience| idle >= patience / 2)
            || idle >= config.idle_timeout && pool.connections() > config.min
    }

    /// How long the server lets it be idle, as far as that is known. It is closed well before, so that the server's close does not come
    /// across a command.
    fn server_patience(&self) -> Option<Duration> {
        const NAME: &[u8] = b"wait_timeout";
        let value = self.actual.get(NAME).or_else(|| self.baseline.get(NAME))?;
        let seconds = std::str::from_utf8(value).ok()?.parse().ok()?;
        Some(Duration::from_secs(seconds))
    }
}
