//! The servers of one listener, and which of them is next.

mod addresses;
pub(crate) mod health;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::time::Instant;

use onecopy_net::evented::Address;

use crate::config::{BackendConfig, Role};

use crate::queue::Queue;
use addresses::Addresses;
pub(crate) use addresses::Doubt;
use health::Health;

/// `ER_CON_COUNT_ERROR`, which a server says in place of a greeting where its own `max_connections` are there.
pub(crate) const TOO_MANY_CONNECTIONS: u16 = 1040;

/// One server, as all workers see it.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) config: BackendConfig,
    state: Arc<State>,
}

/// What is known of a server; it outlives a change of how it is configured.
#[derive(Debug)]
struct State {
    /// Sessions on it, or in flight.
    sessions: AtomicUsize,
    /// What the last health check said.
    is_up: AtomicBool,
    /// It is no longer configured.
    is_removed: AtomicBool,
    pub(crate) failed_connects: AtomicU64,
    pub(crate) health: Health,
    /// Where it is, as its name was resolved last.
    addresses: Addresses,
    /// Sessions that wait for a place on it or on another one of the listener.
    queue: Arc<Queue>,
}

impl Backend {
    /// Looks up where it is.
    pub(crate) fn new(config: BackendConfig, queue: &Arc<Queue>) -> io::Result<Self> {
        let addresses = crate::resolve::resolve(&config.endpoint)?;
        let state = State {
            sessions: AtomicUsize::new(0),
            is_up: AtomicBool::new(true),
            is_removed: AtomicBool::new(false),
            failed_connects: AtomicU64::new(0),
            health: Health::default(),
            addresses: Addresses::new(addresses),
            queue: Arc::clone(queue),
        };
        Ok(Self {
            config,
            state: Arc::new(state),
        })
    }

    /// The same server, configured otherwise.
    pub(crate) fn with_config(&self, config: BackendConfig) -> Self {
        Self {
            config,
            state: Arc::clone(&self.state),
        }
    }

    /// Whether both are the same server, however it is configured.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }

    /// Where to connect to next, of those that were not tried. `None` where all were.
    pub(crate) fn next_address(&self, tried: &[Address]) -> Option<Address> {
        self.state.addresses.next(tried, Instant::now())
    }

    /// How many there are beside those that were tried.
    pub(crate) fn addresses_left(&self, tried: &[Address]) -> usize {
        self.state.addresses.left(tried)
    }

    /// Among how many of its addresses the time to connect is to be shared.
    pub(crate) fn shares(&self, tried: &[Address]) -> usize {
        self.state.addresses.shares(tried, Instant::now())
    }

    /// All of its addresses, as its name was resolved last.
    pub(crate) fn addresses(&self) -> Vec<Address> {
        self.state.addresses.all()
    }

    /// Those that are thought well of, and those whose last connect failed.
    pub(crate) fn addresses_by_health(&self) -> (Vec<Address>, Vec<Address>) {
        self.state.addresses.by_health()
    }

    /// How many of its addresses are to be asked whether they are back.
    pub(crate) fn doubt(&self) -> Doubt {
        self.state.addresses.doubt()
    }

    /// Where it is now, as a look-up says. Tells what has changed; `None` where nothing has, or where nothing was found.
    pub(crate) fn move_to(&self, found: &[Address]) -> Option<String> {
        let [after, before] = self.state.addresses.move_to(found)?;
        let name = self.name();
        Some(format!("backend '{name}' moved from {before} to {after}"))
    }

    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    pub(crate) fn sessions(&self) -> usize {
        self.state.sessions.load(SeqCst)
    }

    pub(crate) fn is_up(&self) -> bool {
        self.state.is_up.load(Relaxed)
    }

    pub(crate) fn failed_connects(&self) -> u64 {
        self.state.failed_connects.load(Relaxed)
    }

    /// What the checks know of it.
    pub(crate) fn health(&self) -> &Health {
        &self.state.health
    }

    /// It is no longer configured: nobody is sent to it.
    pub(crate) fn remove(&self) {
        self.state.is_removed.store(true, Relaxed);
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.state.is_removed.load(Relaxed)
    }

    /// What the health checks have found: down it gets no new sessions.
    pub(crate) fn set_up(&self, is_up: bool) {
        self.state.is_up.store(is_up, Relaxed);
    }

    /// A session's connect has failed: other addresses and backends are tried first for a while.
    pub(crate) fn connect_failed(&self, address: &Address) {
        self.state.failed_connects.fetch_add(1, Relaxed);
        self.does_not_answer(address);
        // Readers of the note must already see that the address is doubted.
        self.state.health.note_failure();
    }

    /// The same found out by a check.
    pub(crate) fn does_not_answer(&self, address: &Address) {
        self.state.addresses.failed(address, Instant::now());
    }

    /// A session's connect has worked.
    pub(crate) fn connected(&self, address: &Address) {
        self.state.health.note_greeting();
        self.answers(address);
    }

    /// The same found out by a check.
    pub(crate) fn answers(&self, address: &Address) {
        self.state.addresses.worked(address);
    }

    /// Whether it receives new sessions: it answers and has its role. `None` if the role is not known yet.
    pub(crate) fn serves(&self) -> Option<bool> {
        match self.is_up() && !self.is_removed() {
            true => self.config.role.is_played(self.health().read_only()),
            false => Some(false),
        }
    }

    fn is_shunned(&self) -> bool {
        self.state.addresses.are_shunned(Instant::now())
    }

    /// Takes a place; `false` where as many are taken as may be.
    fn enter(&self) -> bool {
        let most = self.config.max_connections.unwrap_or(usize::MAX);
        let one_more = |sessions| (sessions < most).then_some(sessions + 1);
        let sessions = &self.state.sessions;
        sessions.fetch_update(SeqCst, SeqCst, one_more).is_ok()
    }

    /// Whether it may have one more session.
    pub(crate) fn has_room(&self) -> bool {
        let most = self.config.max_connections;
        most.is_none_or(|max| self.sessions() < max)
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
        self.0.state.sessions.fetch_sub(1, SeqCst);
        self.0.state.queue.call();
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

    /// Whether any of them may get sessions that come now.
    pub(crate) fn serve(&self) -> bool {
        self.0.iter().any(|backend| backend.serves() != Some(false))
    }

    /// The server with the fewest sessions for its weight, of those that are up, play their part and are not among `tried`. One
    /// that failed lately only where there is no other, not even a backup; one whose part is not known only where none is
    /// known to be right. Those that are `full` by their own account are passed over as others without room.
    pub(crate) fn choose(
        &self,
        tried: &[Arc<Backend>],
        full: &[Arc<Backend>],
    ) -> Result<Place, Nobody> {
        let is_candidate = |backend: &&Arc<Backend>| {
            backend.config.weight > 0
                && backend.serves() != Some(false)
                && !tried.iter().any(|tried| Arc::ptr_eq(tried, backend))
        };
        // Backups come last, and before them those whose part is not known.
        let rank = |backend: &Arc<Backend>| {
            let is_backup = backend.config.role == Role::Backup;
            (is_backup, backend.serves().is_none())
        };
        let load = |backend: &&Arc<Backend>| {
            // One more than there are, so that weights count from the first session on.
            let share = (backend.sessions() as u64 + 1) << 16;
            (
                backend.is_shunned(),
                rank(backend),
                share / u64::from(backend.config.weight.max(1)),
            )
        };
        let candidates = self.0.iter().filter(is_candidate);
        loop {
            // Backends of lower preference are not asked, even if these are full: then sessions wait for a place.
            let fine = candidates.clone().filter(|backend| !backend.is_shunned());
            let first = fine.map(rank).min();
            let is_in_reach =
                |backend: &&Arc<Backend>| first.is_none_or(|first| rank(backend) <= first);
            let is_full =
                |backend: &&Arc<Backend>| full.iter().any(|one| Arc::ptr_eq(one, backend));
            let with_room = candidates
                .clone()
                .filter(|backend| backend.has_room() && !is_full(backend));
            match with_room.filter(is_in_reach).min_by_key(load) {
                // Another worker may have taken the last place meanwhile.
                Some(backend) if backend.enter() => return Ok(Place(Arc::clone(backend))),
                Some(_) => {}
                None if candidates.clone().next().is_some() => return Err(Nobody::Full),
                None => return Err(Nobody::Up),
            }
        }
    }
}

/// Why nobody was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nobody {
    /// Those that are left have as many sessions as they may.
    Full,
    /// None is left that is up.
    Up,
}

#[cfg(test)]
mod tests {
    use onecopy_net::Endpoint;

    use super::*;

    fn backends(weights: &[u32]) -> Backends {
        let backend = |(port, &weight): (usize, &u32)| {
            let endpoint = Endpoint::Tcp {
                host: "127.0.0.1".into(),
                port: u16::try_from(port + 1).unwrap(),
            };
            Arc::new(
                Backend::new(
                    BackendConfig {
                        weight,
                        max_connections: Some(100),
                        ..BackendConfig::new(endpoint)
                    },
                    &Arc::default(),
                )
                .unwrap(),
            )
        };
        Backends::new(weights.iter().enumerate().map(backend).collect())
    }

    fn with_roles(roles: &[Role]) -> Backends {
        let known = backends(&vec![1; roles.len()]);
        let with_role = |(backend, &role): (&Arc<Backend>, &Role)| {
            let config = BackendConfig {
                role,
                max_connections: Some(3),
                ..backend.config.clone()
            };
            Arc::new(backend.with_config(config))
        };
        Backends::new(known.all().iter().zip(roles).map(with_role).collect())
    }

    fn choose(backends: &Backends, count: usize) -> Vec<Place> {
        (0..count)
            .map(|_| backends.choose(&[], &[]).unwrap())
            .collect()
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
        let places: Vec<_> = (0..8).map(|_| backends.choose(&[], &[]).unwrap()).collect();
        assert_eq!(counts(&backends), [2, 6, 0]);
        drop(places);
        assert_eq!(counts(&backends), [0, 0, 0]);
    }

    #[test]
    fn one_that_failed_is_the_last_to_be_tried() {
        let backends = backends(&[1, 1]);
        let address = backends.all()[0].addresses().remove(0);
        backends.all()[0].connect_failed(&address);
        let places: Vec<_> = (0..3).map(|_| backends.choose(&[], &[]).unwrap()).collect();
        assert_eq!(counts(&backends), [0, 3]);
        let tried = [Arc::clone(&backends.all()[1])];
        let other = backends.choose(&tried, &[]).unwrap();
        assert_eq!(other.backend().name(), "127.0.0.1:1");
        let tried = backends.all().to_vec();
        assert_eq!(backends.choose(&tried, &[]).unwrap_err(), Nobody::Up);
        drop(places);
    }

    #[test]
    fn nobody_is_sent_to_one_that_is_full_or_removed() {
        let backends = backends(&[1, 1]);
        let places: Vec<_> = (0..200)
            .map(|_| backends.choose(&[], &[]).unwrap())
            .collect();
        assert_eq!(backends.choose(&[], &[]).unwrap_err(), Nobody::Full);
        drop(places);
        backends.all()[0].remove();
        let _places: Vec<_> = (0..3).map(|_| backends.choose(&[], &[]).unwrap()).collect();
        assert_eq!(counts(&backends), [0, 3]);
        backends.all()[1].remove();
        assert_eq!(backends.choose(&[], &[]).unwrap_err(), Nobody::Up);
    }

    #[test]
    fn writers_go_to_the_server_that_takes_writes_and_follow_it() {
        let backends = with_roles(&[Role::Primary, Role::Primary]);
        let is_read_only = |at: usize, is| backends.all()[at].health().set_read_only(is);
        is_read_only(0, Some(false));
        is_read_only(1, Some(true));
        drop(choose(&backends, 3));
        let places = choose(&backends, 2);
        assert_eq!(counts(&backends), [2, 0]);
        is_read_only(0, Some(true));
        assert_eq!(backends.choose(&[], &[]).unwrap_err(), Nobody::Up);
        assert!(!backends.serve());
        is_read_only(1, Some(false));
        let more = choose(&backends, 1);
        assert_eq!(counts(&backends), [2, 1], "those that are there stay");
        drop((places, more));
        is_read_only(0, None);
        let _places = choose(&backends, 3);
        assert_eq!(counts(&backends), [0, 3], "one that is not known waits");
        assert_eq!(backends.choose(&[], &[]).unwrap_err(), Nobody::Full);
        is_read_only(1, Some(true));
        assert!(backends.serve());
        let _more = choose(&backends, 1);
        assert_eq!(
            counts(&backends),
            [1, 3],
            "and is tried where none is known"
        );
    }

    #[test]
    fn readers_go_to_replicas_and_to_the_backup_only_without_them() {
        let backends = with_roles(&[Role::Replica, Role::Replica, Role::Backup]);
        let [one, two, _] = backends.all() else {
            panic!()
        };
        one.health().set_read_only(Some(true));
        two.health().set_read_only(Some(true));
        let places = choose(&backends, 6);
        assert_eq!(counts(&backends), [3, 3, 0]);
        let full = backends.choose(&[], &[]).unwrap_err();
        assert_eq!(full, Nobody::Full, "a backup is not for those who wait");
        drop(places);
        one.set_up(false);
        two.health().set_read_only(Some(false));
        let places = choose(&backends, 1);
        assert_eq!(counts(&backends), [0, 0, 1], "one down, one promoted");
        drop(places);
        two.health().set_read_only(Some(true));
        two.connect_failed(&two.addresses()[0]);
        let _places = choose(&backends, 1);
        assert_eq!(counts(&backends), [0, 0, 1], "one down, one that fails");
        let tried = [Arc::clone(&backends.all()[2])];
        let place = backends.choose(&tried, &[]).unwrap();
        assert!(Arc::ptr_eq(place.backend(), two), "better than nobody");
    }

    #[test]
    fn a_look_up_moves_a_backend_only_where_it_finds_something_else() {
        let backends = backends(&[1]);
        let backend = &backends.all()[0];
        let tcp = |text: &str| Address::Tcp(text.parse().unwrap());
        assert_eq!(backend.move_to(&[]), None);
        assert_eq!(backend.move_to(&[tcp("127.0.0.1:1")]), None);
        let found = [tcp("127.0.0.3:1"), tcp("127.0.0.2:1")];
        let change = backend.move_to(&found).unwrap();
        assert_eq!(
            change,
            "backend '127.0.0.1:1' moved from 127.0.0.1:1 to 127.0.0.2:1, 127.0.0.3:1"
        );
        assert_eq!(backend.move_to(&found), None);
    }
}
