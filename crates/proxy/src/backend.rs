//! The servers of one listener, and which of them is next.

use std::io;
use std::net::ToSocketAddrs;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use onecopy_net::Endpoint;
use onecopy_net::evented::Address;

use crate::config::BackendConfig;
use crate::control::Health;

/// For so long nobody is sent to a server whose last connect failed, unless there is no other.
const SHUNNED_MS: u64 = 2_000;

/// One server, as all workers see it.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) config: BackendConfig,
    /// Sessions on it, or on their way.
    sessions: AtomicUsize,
    /// What the last health check said.
    is_up: AtomicBool,
    /// Milliseconds after `since` until which it is shunned; 0 for not.
    shunned_until: AtomicU64,
    since: Instant,
    pub(crate) failed_connects: AtomicU64,
    pub(crate) health: Health,
    /// Where it is, as its name was resolved last.
    addresses: Mutex<Vec<Address>>,
    turn: AtomicUsize,
}

impl Backend {
    /// Looks up where it is.
    pub(crate) fn new(config: BackendConfig) -> io::Result<Self> {
        let addresses = resolve(&config.endpoint)?;
        Ok(Self {
            config,
            sessions: AtomicUsize::new(0),
            is_up: AtomicBool::new(true),
            shunned_until: AtomicU64::new(0),
            since: Instant::now(),
            failed_connects: AtomicU64::new(0),
            health: Health::default(),
            addresses: Mutex::new(addresses),
            turn: AtomicUsize::new(0),
        })
    }

    /// Where to connect to next: a name's addresses take turns.
    pub(crate) fn address(&self) -> Address {
        let addresses = self
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let turn = self.turn.fetch_add(1, Relaxed);
        addresses[turn % addresses.len()].clone()
    }

    /// All of its addresses, as its name was resolved last.
    pub(crate) fn addresses(&self) -> Vec<Address> {
        let addresses = self.addresses.lock();
        addresses.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    pub(crate) fn sessions(&self) -> usize {
        self.sessions.load(Relaxed)
    }

    pub(crate) fn is_up(&self) -> bool {
        self.is_up.load(Relaxed)
    }

    /// What the health checks have found: down it gets no new sessions.
    pub(crate) fn set_up(&self, is_up: bool) {
        self.is_up.store(is_up, Relaxed);
        if is_up {
            self.shunned_until.store(0, Relaxed);
        }
    }

    /// A connect has failed: others are tried first for a while.
    pub(crate) fn connect_failed(&self) {
        self.failed_connects.fetch_add(1, Relaxed);
        self.health.note_failure();
        self.shunned_until.store(self.now() + SHUNNED_MS, Relaxed);
    }

    /// A connect has worked.
    pub(crate) fn connected(&self) {
        self.health.note_greeting();
        if self.shunned_until.load(Relaxed) != 0 {
            self.shunned_until.store(0, Relaxed);
        }
    }

    fn is_shunned(&self) -> bool {
        let until = self.shunned_until.load(Relaxed);
        until != 0 && self.now() < until
    }

    #[allow(clippy::cast_possible_truncation)] // of 2^64 milliseconds
    fn now(&self) -> u64 {
        self.since.elapsed().as_millis() as u64
    }

    fn has_room(&self) -> bool {
        self.config
            .max_connections
            .is_none_or(|max| self.sessions() < max)
    }
}

/// All addresses of an endpoint, at least one.
pub(crate) fn resolve(endpoint: &Endpoint) -> io::Result<Vec<Address>> {
    match endpoint {
        Endpoint::Unix(path) => Ok(vec![Address::Unix(path.clone())]),
        Endpoint::Tcp { host, port } => {
            let addresses: Vec<_> = (host.as_str(), *port)
                .to_socket_addrs()?
                .map(Address::Tcp)
                .collect();
            if addresses.is_empty() {
                return Err(io::ErrorKind::NotFound.into());
            }
            Ok(addresses)
        }
    }
}

/// A session's place on a server, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place(Arc<Backend>);

impl Place {
    pub(crate) fn backend(&self) -> &Arc<Backend> {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Relaxed);
    }
}

/// The servers of one listener.
#[derive(Debug)]
pub(crate) struct Backends(Vec<Arc<Backend>>);

impl Backends {
    pub(crate) fn new(backends: Vec<Arc<Backend>>) -> Self {
        Self(backends)
    }

    pub(crate) fn all(&self) -> &[Arc<Backend>] {
        &self.0
    }

    /// How many servers they may be: every address counts.
    pub(crate) fn servers(&self) -> usize {
        self.0.iter().map(|backend| backend.addresses().len()).sum()
    }

    /// The server with the fewest sessions for its weight, of those that are up and not among `tried`; one that failed lately
    /// only where there is no other. `None`: nobody is left.
    pub(crate) fn choose(&self, tried: &[Arc<Backend>]) -> Option<Place> {
        let is_candidate = |backend: &&Arc<Backend>| {
            backend.config.weight > 0
                && backend.is_up()
                && backend.has_room()
                && !tried.iter().any(|tried| Arc::ptr_eq(tried, backend))
        };
        let load = |backend: &&Arc<Backend>| {
            // One more than there are, so that weights count from the first session on.
            let share = (backend.sessions() as u64 + 1) << 16;
            (
                backend.is_shunned(),
                share / u64::from(backend.config.weight.max(1)),
            )
        };
        let backend = self.0.iter().filter(is_candidate).min_by_key(load)?;
        backend.sessions.fetch_add(1, Relaxed);
        Some(Place(Arc::clone(backend)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backends(weights: &[u32]) -> Backends {
        let backend = |(port, &weight): (usize, &u32)| {
            let endpoint = Endpoint::Tcp {
                host: "127.0.0.1".into(),
                port: u16::try_from(port + 1).unwrap(),
            };
            Arc::new(
                Backend::new(BackendConfig {
                    weight,
                    ..BackendConfig::new(endpoint)
                })
                .unwrap(),
            )
        };
        Backends::new(weights.iter().enumerate().map(backend).collect())
    }

    fn counts(backends: &Backends) -> Vec<usize> {
        backends
            .all()
            .iter()
            .map(|backend| backend.sessions())
            .collect()
    }

    #[test]
    fn sessions_are_shared_by_weight() {
        let backends = backends(&[1, 3, 0]);
        let places: Vec<_> = (0..8).map(|_| backends.choose(&[]).unwrap()).collect();
        assert_eq!(counts(&backends), [2, 6, 0]);
        drop(places);
        assert_eq!(counts(&backends), [0, 0, 0]);
    }

    #[test]
    fn one_that_failed_is_the_last_to_be_tried() {
        let backends = backends(&[1, 1]);
        backends.all()[0].connect_failed();
        let places: Vec<_> = (0..3).map(|_| backends.choose(&[]).unwrap()).collect();
        assert_eq!(counts(&backends), [0, 3]);
        let tried = [Arc::clone(&backends.all()[1])];
        let other = backends.choose(&tried).unwrap();
        assert_eq!(other.backend().name(), "127.0.0.1:1");
        let tried = backends.all().to_vec();
        assert!(backends.choose(&tried).is_none());
        drop(places);
    }
}
