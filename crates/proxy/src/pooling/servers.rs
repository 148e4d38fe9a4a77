//! How many connections of a pool there are to each server, and how many more may be made, and when.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use onecopy_pool::{Jitter, TokenBucket};

use crate::backend::Backend;
use crate::config::PoolConfig;

/// Who waits for the right to connect does so up to this part of an interval longer, by chance, so that several proxies do not come
/// together.
const JITTER: u32 = 4;

/// The servers of one pool.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    servers: Mutex<Vec<Server>>,
    /// There may be more connections than there may be since a change of the configuration.
    has_excess: AtomicBool,
    jitter: Jitter,
}

#[derive(Debug)]
struct Server {
    backend: Arc<Backend>,
    /// Connections that there are or that are being made.
    count: usize,
    connects: Option<TokenBucket>,
}

/// Why there is no place for one more connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// There are as many as may be.
    Full,
    /// As many were made lately as may be: there is one then.
    Until(Instant),
}

impl Servers {
    /// Another configuration holds from now on.
    pub(crate) fn configure(&self, config: &PoolConfig) {
        for server in self.lock().iter_mut() {
            server.connects = config.connect_rate.map(TokenBucket::new);
        }
        self.has_excess.store(true, SeqCst);
    }

    /// Counts one more connection, which is about to be made.
    ///
    /// # Errors
    /// Why it must not be made now.
    pub(crate) fn grow(
        &self,
        backend: &Arc<Backend>,
        config: &PoolConfig,
        now: Instant,
    ) -> Result<(), NoRoom> {
        let mut servers = self.lock();
        let server = find(&mut servers, backend, config);
        if server.count >= config.max {
            return Err(NoRoom::Full);
        }
        self.take_connect(server, config, now)?;
        server.count += 1;
        Ok(())
    }

    /// The right to connect once for another purpose.
    ///
    /// # Errors
    /// When there is one.
    pub(crate) fn connect_once(
        &self,
        backend: &Arc<Backend>,
        config: &PoolConfig,
        now: Instant,
    ) -> Result<(), NoRoom> {
        let mut servers = self.lock();
        self.take_connect(find(&mut servers, backend, config), config, now)
    }

    fn take_connect(
        &self,
        server: &mut Server,
        config: &PoolConfig,
        now: Instant,
    ) -> Result<(), NoRoom> {
        let (Some(bucket), Some(rate)) = (&mut server.connects, config.connect_rate) else {
            return Ok(());
        };
        bucket.take(now).map_err(|when| {
            let wait = rate.interval() / JITTER;
            NoRoom::Until(when + self.jitter.shortened(wait, 1))
        })
    }

    /// One connection less.
    pub(crate) fn shrink(&self, backend: &Arc<Backend>) {
        let mut servers = self.lock();
        let mut servers = servers.iter_mut();
        if let Some(server) = servers.find(|one| one.backend.is_same(backend)) {
            server.count = server.count.saturating_sub(1);
        }
    }

    /// Whether closing a connection to a backend makes room for another one, which could be made at once.
    pub(crate) fn can_replace(&self, backend: &Arc<Backend>, max: usize, now: Instant) -> bool {
        let servers = self.lock();
        let server = servers.iter().find(|one| one.backend.is_same(backend));
        let is_full = server.is_some_and(|server| server.count >= max);
        let bucket = server.and_then(|server| server.connects.as_ref());
        (is_full || !backend.has_room()) && bucket.is_none_or(|bucket| bucket.next(now).is_none())
    }

    /// Whether there may be more than there may be of a server's. Free of cost where there are not.
    #[inline]
    pub(crate) fn have_excess(&self) -> bool {
        self.has_excess.load(SeqCst)
    }

    /// Whether there are more than that to a backend.
    pub(crate) fn is_over(&self, backend: &Arc<Backend>, max: usize) -> bool {
        let servers = self.lock();
        if servers.iter().all(|server| server.count <= max) {
            self.has_excess.store(false, SeqCst);
            return false;
        }
        let server = servers.iter().find(|one| one.backend.is_same(backend));
        server.is_some_and(|server| server.count > max)
    }

    /// Whether there are so many or more to each of these backends.
    pub(crate) fn are_full<'b>(
        &self,
        mut backends: impl Iterator<Item = &'b Arc<Backend>>,
        max: usize,
    ) -> bool {
        let servers = self.lock();
        backends.all(|backend| {
            let mut known = servers.iter();
            known.any(|server| server.count >= max && server.backend.is_same(backend))
        })
    }

    /// Connections that there are, or that are being made.
    pub(crate) fn connections(&self) -> usize {
        self.lock().iter().map(|server| server.count).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Server>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What there is to a backend.
fn find<'s>(
    servers: &'s mut Vec<Server>,
    backend: &Arc<Backend>,
    config: &PoolConfig,
) -> &'s mut Server {
    let known = servers.iter().position(|one| one.backend.is_same(backend));
    let at = known.unwrap_or_else(|| {
        servers.retain(|server| server.count > 0 || !server.backend.is_removed());
        servers.push(Server {
            backend: Arc::clone(backend),
            count: 0,
            connects: config.connect_rate.map(TokenBucket::new),
        });
        servers.len() - 1
    });
    &mut servers[at]
}
