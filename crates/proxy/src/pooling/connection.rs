//! A connection to a backend that sessions share, and what is known of its state.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onecopy_mysql_proto::{Capabilities, StatusFlags};
use onecopy_net::evented::{Address, Stream};

use super::pool::{Key, Room};
use super::state::{Baseline, State};
use super::statements::Prepared;
use crate::backend::Place;

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
    /// Its key's when its login began.
    pub(crate) generation: u64,
    pub(crate) made: Instant,
    pub(crate) idle_since: Instant,
}

impl Connection {
    /// Whether its server is no MariaDB, which does not have this capability.
    pub(crate) fn is_mysql(&self) -> bool {
        self.capabilities.contains(Capabilities::LONG_PASSWORD)
    }

    /// Whether it may still be given to a session.
    pub(crate) fn is_usable(&self, now: Instant) -> bool {
        let backend = self.place.backend();
        self.expires.is_none_or(|expires| now < expires)
            && self.generation == self.key.generation()
            && backend.serves() != Some(false)
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
