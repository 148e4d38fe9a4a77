//! The servers of one listener, and which of them is next.

mod addresses;
mod balance;
pub(crate) mod health;
mod membership;
mod part;
mod position;
mod primaries;
mod removal;
mod replication;
mod source;
mod topology;

use std::io;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use onecopy_net::evented::Address;

use crate::config::{BackendConfig, ReplicaReads, Role};

use crate::lock::lock;
use crate::queue::Queue;
use addresses::Addresses;
pub(crate) use addresses::Doubt;
use health::Health;
pub(crate) use membership::{Membership, Standing};
pub(crate) use part::{Name, Part};
pub(crate) use position::Position;
use primaries::{Exclusion, Primaries};
pub(crate) use replication::{Lag, Replication};
pub(crate) use source::{Lineage, ServerId, Source};
pub(crate) use topology::{Identity, Member, Telling, Topology};

/// `ER_CON_COUNT_ERROR`, which a server says in place of a greeting where its own `max_connections` are there.
pub(crate) const TOO_MANY_CONNECTIONS: u16 = 1040;

/// One server, as all workers see it.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) config: BackendConfig,
    /// Where a rule has it.
    name: Option<Name>,
    state: Arc<State>,
}

/// What is known of a server; it outlives a change of how it is configured.
#[derive(Debug)]
struct State {
    /// Sessions on it, or in flight.
    sessions: AtomicUsize,
    /// What the last health check said.
    is_up: AtomicBool,
    /// Set when it is no longer configured: the deadline of its sessions.
    removed: OnceLock<Instant>,
    /// An administrator has sessions leave it.
    is_drained: AtomicBool,
    /// How often an administrator has had all connections leave it, to be made anew where there are fewest.
    moves: AtomicU64,
    /// How many shared connections are to leave it, as others have fewer.
    leaves: AtomicUsize,
    /// How many servers have had its name before.
    servers: AtomicU64,
    /// An [`Exclusion`], which the others decide with it.
    exclusion: AtomicU8,
    /// In its cluster, as the last health check has found it.
    membership: Mutex<Membership>,
    /// Copies of two of its fields, which each read looks at without the lock.
    is_member: AtomicBool,
    may_lag: AtomicBool,
    /// The same of what it replicates from.
    lineage: Mutex<Lineage>,
    /// Those of its listener.
    primaries: OnceLock<Arc<Primaries>>,
    pub(crate) failed_connects: AtomicU64,
    pub(crate) health: Health,
    replication: Replication,
    topology: Topology,
    /// Where it is, as its name was resolved last.
    addresses: Addresses,
    /// Sessions that wait for a place on it or on another one of the listener.
    queue: Arc<Queue>,
}

impl State {
    fn exclude(&self, exclusion: Exclusion) {
        self.exclusion.store(exclusion as u8, SeqCst);
    }

    fn excluded(&self) -> Exclusion {
        Exclusion::from_number(self.exclusion.load(Relaxed))
    }

    fn standing(&self) -> Standing {
        lock(&self.membership).standing
    }

    /// Whether both are members of one cluster.
    fn is_with(&self, other: &Self) -> bool {
        let other = lock(&other.membership).clone();
        lock(&self.membership).is_with(&other)
    }
}

impl Backend {
    /// Looks up where it is.
    pub(crate) fn new(config: BackendConfig, queue: &Arc<Queue>) -> io::Result<Self> {
        let addresses = crate::resolve::resolve(&config.endpoint)?;
        let state = State {
            sessions: AtomicUsize::new(0),
            is_up: AtomicBool::new(true),
            removed: OnceLock::new(),
            is_drained: AtomicBool::new(false),
            moves: AtomicU64::new(0),
            leaves: AtomicUsize::new(0),
            servers: AtomicU64::new(0),
            exclusion: AtomicU8::new(Exclusion::None as u8),
            membership: Mutex::default(),
            is_member: AtomicBool::new(false),
            may_lag: AtomicBool::new(false),
            lineage: Mutex::default(),
            primaries: OnceLock::new(),
            failed_connects: AtomicU64::new(0),
            health: Health::default(),
            replication: Replication::default(),
            topology: Topology::default(),
            addresses: Addresses::new(addresses),
            queue: Arc::clone(queue),
        };
        Ok(Self {
            name: Name::known(&config.name),
            config,
            state: Arc::new(state),
        })
    }

    /// The same server, configured otherwise.
    pub(crate) fn with_config(&self, config: BackendConfig) -> Self {
        Self {
            name: Name::known(&config.name),
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

    /// Where it is now, as a look-up says. Tells what has changed; `None` where nothing has, or where nothing was found. Of another
    /// server nothing is known.
    pub(crate) fn move_to(&self, found: &[Address]) -> Option<String> {
        if self.state.addresses.are_all_new(found) {
            self.forget_part();
        }
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

    /// How far it is behind its primary.
    pub(crate) fn replication(&self) -> &Replication {
        &self.state.replication
    }

    /// What it has told of itself and of other servers.
    pub(crate) fn topology(&self) -> &Topology {
        &self.state.topology
    }

    /// Makes a change by which another one may be the primary.
    fn change(&self, change: impl FnOnce()) {
        match self.state.primaries.get() {
            Some(primaries) => primaries.settle(change),
            None => change(),
        }
    }

    /// What the health checks have found: whether it takes no writes, as far as it says, and how it stands in its cluster.
    pub(crate) fn set_part(&self, is_read_only: Option<bool>, membership: Membership) {
        self.change(|| {
            let state = &self.state;
            self.health().set_read_only(is_read_only);
            let is_member = membership.standing != Standing::Alone;
            state.is_member.store(is_member, Relaxed);
            state.may_lag.store(membership.reports_lag, Relaxed);
            *lock(&state.membership) = membership;
        });
    }

    /// Its name is about to be another server's.
    fn forget_part(&self) {
        self.state.servers.fetch_add(1, SeqCst);
        self.state.replication.forget();
        self.state.topology.forget();
        self.note_lineage(Lineage::default());
        if self.health().read_only().is_some() {
            self.health().await_part();
            self.set_part(None, Membership::default());
            self.health().hurry();
        }
    }

    /// Which server of those that have had its name this is.
    pub(crate) fn server_number(&self) -> u64 {
        self.state.servers.load(SeqCst)
    }

    /// It has told a client that it is no part of its cluster now: it is left until a check finds otherwise.
    pub(crate) fn leave_cluster(&self) {
        if matches!(self.state.standing(), Standing::Full | Standing::Behind) {
            self.change(|| lock(&self.state.membership).standing = Standing::Out);
        }
    }

    /// Whether it takes writes, is to be the primary, and another one is, which does not get them.
    pub(crate) fn is_second(&self) -> bool {
        self.exclusion() == Exclusion::Second
    }

    /// Whether it must not be used, as a member of a cluster that has lost the others.
    pub(crate) fn is_out(&self) -> bool {
        self.exclusion() == Exclusion::Out
    }

    /// Whether it is no whole member of its cluster, or one that is behind the others.
    pub(crate) fn is_desynced(&self) -> bool {
        matches!(self.exclusion(), Exclusion::Out | Exclusion::Behind)
    }

    fn exclusion(&self) -> Exclusion {
        match self.state.excluded() {
            // So are others for as long as it is being decided.
            Exclusion::Second | Exclusion::Standby
                if self.config.role != Role::Primary
                    || self.health().read_only() != Some(false) =>
            {
                Exclusion::None
            }
            Exclusion::WrongSource if !self.config.role.asks() => Exclusion::None,
            exclusion => exclusion,
        }
    }

    /// Sessions leave it between transactions, or may come again.
    pub(crate) fn drain(&self, is_drained: bool) {
        self.change(|| self.state.is_drained.store(is_drained, Relaxed));
    }

    /// The connections that there are now leave it between transactions.
    pub(crate) fn move_away(&self) {
        self.state.moves.fetch_add(1, Relaxed);
    }

    /// What a connection that is made now remembers.
    pub(crate) fn moves(&self) -> u64 {
        self.state.moves.load(Relaxed)
    }

    /// Whether a shared connection that asks is to leave it. Each `true` is for one.
    pub(crate) fn takes_leave(&self) -> bool {
        let leaves = &self.state.leaves;
        let one_less = |leaves: usize| leaves.checked_sub(1);
        leaves.load(Relaxed) > 0 && leaves.fetch_update(Relaxed, Relaxed, one_less).is_ok()
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.state.is_drained.load(Relaxed)
    }

    /// Whether it is drained or removed, and would be used otherwise.
    pub(crate) fn is_only_drained(&self) -> bool {
        let plays = self.config.role.is_played(self.health().read_only());
        let is_left = self.is_drained() || self.is_removed();
        is_left && self.is_up() && !self.is_out() && plays != Some(false)
    }

    /// What the health checks have found: down it gets no new sessions.
    pub(crate) fn set_up(&self, is_up: bool) {
        if !is_up {
            self.state.replication.forget();
        }
        self.change(|| self.state.is_up.store(is_up, Relaxed));
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
        match self.is_up() && !self.is_removed() && !self.is_drained() {
            true if self.exclusion() != Exclusion::None => Some(false),
            true => self.config.role.is_played(self.health().read_only()),
            false => Some(false),
        }
    }

    /// The same for a part of the listener's work.
    pub(crate) fn serves_part(&self, part: Part) -> Option<bool> {
        match part {
            Part::All => self.serves(),
            Part::Writes if self.config.role == Role::Replica => Some(false),
            Part::Writes => self.serves(),
            Part::Reads => Some(self.serves_reads()),
            Part::ReadsOf(name) => Some(self.name == Some(name) && self.serves_reads()),
        }
    }

    /// Whether its weight lets it have sessions for a part. One without any has the statements that rules send there.
    fn gets(&self, part: Part) -> bool {
        self.config.weight > 0 || matches!(part, Part::ReadsOf(_))
    }

    /// Whether its part is not known, and soon will be.
    pub(crate) fn is_part_awaited(&self, part: Part) -> bool {
        self.health().is_part_awaited() && self.serves_part(part).is_none()
    }

    /// Whether it is a replica now, and keeps up with its primary; or a whole member of the primary's cluster.
    fn serves_reads(&self) -> bool {
        self.config.role.asks()
            && self.is_up()
            && !self.is_removed()
            && !self.is_drained()
            && match self.exclusion() {
                Exclusion::Out | Exclusion::Behind | Exclusion::WrongSource => false,
                Exclusion::Standby => !self.lags_as_member(),
                Exclusion::None | Exclusion::Second => {
                    self.health().read_only() == Some(true) && self.replication().keeps_up()
                }
            }
    }

    /// Whether it is a member of a cluster whose members all take the same writes.
    pub(crate) fn is_member(&self) -> bool {
        self.state.is_member.load(Relaxed)
    }

    fn lags_as_member(&self) -> bool {
        self.state.may_lag.load(Relaxed) && !self.replication().keeps_up()
    }

    /// Whether it would serve reads if it were not so far behind.
    pub(crate) fn is_lagging(&self) -> bool {
        self.replication().serves_reads()
            && match self.exclusion() {
                Exclusion::Standby => self.lags_as_member(),
                _ => self.health().read_only() == Some(true) && !self.replication().keeps_up(),
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
        let mut known = backends.iter().map(|backend| &backend.state.primaries);
        let primaries = known.find_map(OnceLock::get).cloned().unwrap_or_default();
        let mut order = Vec::new();
        for backend in &backends {
            let _ = backend.state.primaries.set(Arc::clone(&primaries));
            let is_primary = backend.config.role == Role::Primary;
            order.push((Arc::downgrade(&backend.state), is_primary));
        }
        primaries.arrange(order);
        Self(backends)
    }

    /// Clients wait for one that serves, or were refused: those that may are checked soon.
    pub(crate) fn hurry(&self) {
        let may = |backend: &&Arc<Backend>| !backend.is_removed() && !backend.is_drained();
        let all = self.0.iter().filter(may);
        all.for_each(|backend| backend.health().hurry());
    }

    pub(crate) fn all(&self) -> &[Arc<Backend>] {
        &self.0
    }

    /// How many servers they may be: every address counts.
    pub(crate) fn servers(&self) -> usize {
        self.0.iter().map(|backend| backend.addresses().len()).sum()
    }

    /// Whether replicas serve reads, and which.
    pub(crate) fn set_reads(&self, reads: Option<ReplicaReads>) {
        for backend in &self.0 {
            backend.change(|| backend.replication().configure(reads));
        }
    }

    /// Whether they are asked for other servers.
    pub(crate) fn set_discovery(&self, is_on: bool) {
        for backend in &self.0 {
            backend.topology().set_asked(is_on);
        }
    }

    /// Whether any of them serves a part of the work.
    pub(crate) fn serve_part(&self, part: Part) -> bool {
        let mut all = self.0.iter();
        all.any(|backend| backend.serves_part(part) != Some(false) && backend.gets(part))
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
        self.choose_for(Part::All, tried, full)
    }

    /// The same for a part of the listener's work.
    pub(crate) fn choose_for(
        &self,
        part: Part,
        tried: &[Arc<Backend>],
        full: &[Arc<Backend>],
    ) -> Result<Place, Nobody> {
        let is_candidate = |backend: &&Arc<Backend>| {
            backend.gets(part)
                && backend.serves_part(part) != Some(false)
                && !tried.iter().any(|tried| Arc::ptr_eq(tried, backend))
        };
        // Backups come last, and before them those whose part is not known.
        let rank = |backend: &Arc<Backend>| {
            let is_backup = backend.config.role == Role::Backup;
            (is_backup, backend.serves_part(part).is_none())
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
mod tests;
