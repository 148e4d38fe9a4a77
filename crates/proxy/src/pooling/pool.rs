//! The connections of one listener: how many there may be, who waits for one, and what its clients are told.
//!
//! ```text
//!   session --take--> an idle connection of its own worker
//!           --grow--> a new one, while there may be more
//!           --wait--> in [line](super::line); whoever gives one back hands it to the next that can use it, also on another worker
//! ```

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use onecopy_mysql_proto::Capabilities;
use onecopy_pool::Jitter;

use super::clients::Clients;
use super::connection::Connection;
use super::counts::Counts;
use super::facts::Facts;
use super::lane::{Lane, Lanes, Seat};
use super::limiter::Limiter;
use super::line::{Free, Next, QUANTUM, UserInfo, Waiting};
use super::recipient::Recipient;
use super::refusals::{Refusal, Refusals};
use super::rules::Rules;
use super::servers::{NoRoom, Servers};
use super::state::State;
use super::statements::Texts;
use crate::backend::{Backend, Part};
use crate::config::{AccountConfig, PoolConfig, RuleConfig};

/// Up to this part of a lifetime is taken off at random.
const LIFETIME_SHARE: u32 = 10;

/// Which connections a session can use: those that were logged in alike.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) user: Box<[u8]>,
    pub(crate) capabilities: Capabilities,
    pub(crate) collation: u8,
    /// The user's place in the pool's line.
    pub(crate) user_at: usize,
    /// What they are for.
    pub(crate) part: Part,
    /// Where sessions wait for them.
    pub(super) lane: Arc<Lane>,
    /// What the user may send in a time.
    pub(crate) limiter: Arc<Limiter>,
    /// Counts how often its connections were given up as a whole.
    generation: AtomicU64,
    /// What differs from a fresh connection behind a reset, once that is known.
    pub(crate) after_reset: OnceLock<Arc<State>>,
    /// Sessions that give their connection back as soon as another one waits.
    pub(crate) rests: AtomicUsize,
}

impl Key {
    /// What connections that are begun now have to remember.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(SeqCst)
    }
}

/// The connections of one listener, as all workers see them.
#[derive(Debug)]
pub(crate) struct Pool {
    config: RwLock<PoolConfig>,
    servers: Servers,
    lanes: Lanes,
    /// An administrator has it wait.
    is_paused: AtomicBool,
    next: AtomicU64,
    keys: Mutex<Vec<Weak<Key>>>,
    /// That of the connection that was made last.
    last_key: Mutex<Option<Arc<Key>>>,
    limiters: Mutex<HashMap<Box<[u8]>, Arc<Limiter>>>,
    /// Idle connections by worker, for those that look for one elsewhere.
    idle: Mutex<Vec<(Arc<dyn Recipient>, usize)>>,
    facts: Mutex<Option<Arc<Facts>>>,
    jitter: Jitter,
    rules: RwLock<Arc<Rules>>,
    /// Counts their changes; 0 while there have been none.
    rules_generation: AtomicU64,
    pub(crate) refusals: Refusals,
    pub(crate) texts: Texts,
    pub(crate) clients: Clients,
    pub(crate) counts: Counts,
}

/// A place in the line; given up when it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    pool: Arc<Pool>,
    key: Arc<Key>,
    pub(crate) number: u64,
    pub(crate) since: Instant,
}

/// A connection's place in the pool's limit; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    pool: Arc<Pool>,
    backend: Arc<Backend>,
    lane: Arc<Lane>,
    user_at: usize,
}

impl Pool {
    pub(crate) fn new(config: PoolConfig) -> Arc<Self> {
        Arc::new(Self {
            config: RwLock::new(config),
            servers: Servers::default(),
            lanes: Lanes::default(),
            is_paused: AtomicBool::new(false),
            next: AtomicU64::new(1),
            keys: Mutex::default(),
            last_key: Mutex::default(),
            limiters: Mutex::default(),
            idle: Mutex::default(),
            facts: Mutex::default(),
            jitter: Jitter::default(),
            rules: RwLock::default(),
            rules_generation: AtomicU64::new(0),
            refusals: Refusals::default(),
            texts: Texts::default(),
            clients: Clients::default(),
            counts: Counts::default(),
        })
    }

    pub(crate) fn config(&self) -> PoolConfig {
        *self.config.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another configuration from now on, for sessions that are there too. Whether it is another one.
    pub(crate) fn set_config(&self, config: PoolConfig) -> bool {
        {
            let mut current = self.config.write().unwrap_or_else(PoisonError::into_inner);
            if *current == config {
                return false;
            }
            *current = config;
        }
        self.servers.configure(&config);
        self.call();
        true
    }

    /// These rules from now on, for sessions that are there too.
    ///
    /// # Errors
    /// Says what is wrong with an expression; then nothing changes.
    pub(crate) fn set_rules(&self, configs: &[RuleConfig]) -> Result<(), String> {
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        if rules.is_empty() && configs.is_empty() {
            return Ok(());
        }
        *rules = Arc::new(Rules::new(configs, &rules)?);
        self.rules_generation.fetch_add(1, SeqCst);
        Ok(())
    }

    pub(crate) fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Another number where the rules may be others.
    #[inline]
    pub(crate) fn rules_generation(&self) -> u64 {
        self.rules_generation.load(SeqCst)
    }

    /// Whether new transactions wait.
    #[inline]
    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused.load(SeqCst)
    }

    /// Has new transactions wait, or go on.
    pub(crate) fn pause(&self, is_paused: bool) {
        self.is_paused.store(is_paused, SeqCst);
        self.call();
    }

    pub(crate) fn jitter(&self) -> &Jitter {
        &self.jitter
    }

    /// Gives up the connections of some users, which log in otherwise now or not at all: those that are free go at the workers' next
    /// look at them, others when they get free. Sessions that are there keep theirs until then.
    pub(crate) fn renew(&self, is_concerned: impl Fn(&[u8]) -> bool) {
        let keys = lock(&self.keys);
        let keys = keys.iter().filter_map(Weak::upgrade);
        keys.filter(|key| is_concerned(&key.user)).for_each(|key| {
            key.generation.fetch_add(1, SeqCst);
        });
    }

    /// What servers have refused is tried again: it may be right now.
    pub(crate) fn forget_refusals(&self) {
        self.refusals.clear_all();
        self.lanes.each(|lane| lane.line().unblock(None));
        self.call();
    }

    /// The limits of users, for sessions that are there too.
    pub(crate) fn limit(&self, accounts: &[AccountConfig]) {
        for account in accounts {
            let limiter = self.limiter(account.user.as_bytes());
            limiter.set(account.statement_rate);
        }
    }

    fn limiter(&self, user: &[u8]) -> Arc<Limiter> {
        let mut limiters = lock(&self.limiters);
        Arc::clone(limiters.entry(user.into()).or_default())
    }

    /// A statement of a user was refused because of its limit.
    pub(crate) fn note_limited(&self, key: &Key) {
        key.lane.line().note_limited(key.user_at);
    }

    /// A number that no other session or ticket has.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, SeqCst)
    }

    /// Numbers below this one are another process's.
    pub(crate) fn skip_to(&self, number: u64) {
        self.next.fetch_max(number, SeqCst);
    }

    /// The key of sessions that log in alike.
    pub(crate) fn key(
        &self,
        user: &[u8],
        capabilities: Capabilities,
        collation: u8,
        part: Part,
    ) -> Arc<Key> {
        let mut keys = lock(&self.keys);
        let mut known = keys.iter().filter_map(Weak::upgrade);
        let same = known.find(|key| {
            *key.user == *user
                && key.capabilities == capabilities
                && (key.collation, key.part) == (collation, part)
        });
        same.unwrap_or_else(|| {
            keys.retain(|key| key.strong_count() > 0);
            let lane = self.lanes.of(part);
            let user_at = lane.line().user(user);
            let key = Arc::new(Key {
                user: user.into(),
                capabilities,
                collation,
                user_at,
                part,
                lane,
                limiter: self.limiter(user),
                generation: AtomicU64::new(0),
                after_reset: OnceLock::new(),
                rests: AtomicUsize::new(0),
            });
            keys.push(Arc::downgrade(&key));
            key
        })
    }

    /// The key of the connection that was made last.
    pub(crate) fn last_key(&self) -> Option<Arc<Key>> {
        lock(&self.last_key).clone()
    }

    pub(crate) fn facts(&self) -> Option<Arc<Facts>> {
        lock(&self.facts).clone()
    }

    pub(crate) fn set_facts(&self, facts: Facts) {
        *lock(&self.facts) = Some(Arc::new(facts));
    }

    /// A place for one more connection to a backend.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn grow(
        self: &Arc<Self>,
        backend: &Arc<Backend>,
        key: &Key,
        now: Instant,
    ) -> Result<Room, NoRoom> {
        let grown = self.servers.grow(backend, &self.config(), now);
        self.note_delay(grown)?;
        key.lane.line().takes(key.user_at);
        Ok(Room {
            pool: Arc::clone(self),
            backend: Arc::clone(backend),
            lane: Arc::clone(&key.lane),
            user_at: key.user_at,
        })
    }

    /// Whether there are as many connections as may be to each of these.
    pub(crate) fn is_full<'b>(&self, backends: impl Iterator<Item = &'b Arc<Backend>>) -> bool {
        self.servers.are_full(backends, self.config().max)
    }

    /// The right to connect once for another purpose than a connection of the pool's.
    ///
    /// # Errors
    /// When there is one.
    pub(crate) fn connect_once(&self, backend: &Arc<Backend>, now: Instant) -> Result<(), Instant> {
        let connects = self.servers.connect_once(backend, &self.config(), now);
        match self.note_delay(connects) {
            Err(NoRoom::Until(when)) => Err(when),
            Ok(()) | Err(NoRoom::Full) => Ok(()),
        }
    }

    fn note_delay(&self, outcome: Result<(), NoRoom>) -> Result<(), NoRoom> {
        if let Err(NoRoom::Until(_)) = outcome {
            self.counts.delayed_connects.fetch_add(1, SeqCst);
        }
        outcome
    }

    /// Whether there are more connections to a backend than there may be.
    pub(crate) fn is_over(&self, backend: &Arc<Backend>) -> bool {
        self.servers.have_excess() && self.servers.is_over(backend, self.config().max)
    }

    /// When a connection that is made now has to end: those that were made together do not end together.
    pub(crate) fn expiry(&self, now: Instant) -> Option<Instant> {
        self.jitter
            .end_of(self.config().lifetime, LIFETIME_SHARE, now)
    }

    /// Connections that there are, or that are being made.
    pub(crate) fn connections(&self) -> usize {
        self.servers.connections()
    }

    pub(crate) fn idle(&self) -> usize {
        lock(&self.idle).iter().map(|(_, count)| count).sum()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.lanes.waiting()
    }

    /// How many wait for connections of a part, or of another one that may be of the same servers.
    #[inline]
    pub(crate) fn waiting_for(&self, key: &Key) -> usize {
        match self.lanes.have_names() {
            true => self.waiting(),
            false => key.lane.waiting(),
        }
    }

    /// How many wait for connections that are not for reads alone.
    pub(crate) fn waiting_for_primary(&self) -> usize {
        self.lanes.others.waiting()
    }

    /// What there is of each user.
    pub(crate) fn users(&self) -> Vec<UserInfo> {
        let mut users: Vec<UserInfo> = Vec::new();
        self.lanes.each(|lane| {
            for more in lane.line().info() {
                match users.iter_mut().find(|user| user.name == more.name) {
                    Some(user) => user.add(&more),
                    None => users.push(more),
                }
            }
        });
        users
    }

    /// The last place of the line, or an earlier one that was lost without fault.
    pub(crate) fn wait(
        self: &Arc<Self>,
        key: &Arc<Key>,
        (recipient, session): (&Arc<dyn Recipient>, usize),
        again: Option<(u64, Instant)>,
        now: Instant,
    ) -> Ticket {
        let is_new = again.is_none();
        let (number, since) = again.unwrap_or_else(|| {
            self.counts.waits.fetch_add(1, SeqCst);
            (self.number(), now)
        });
        {
            let lane = &key.lane;
            let mut line = lane.line();
            let waiting = Waiting {
                number,
                key: Arc::clone(key),
                since,
                place: (Arc::clone(recipient), session),
            };
            line.enter(waiting, is_new);
            lane.count(&line);
        }
        // Another worker may have one that nobody uses, or that a session keeps only in case that it is asked for warnings.
        for (other, _) in lock(&self.idle).iter() {
            if !Arc::ptr_eq(other, recipient) {
                other.spare(self);
            }
        }
        Ticket {
            pool: Arc::clone(self),
            key: Arc::clone(key),
            number,
            since,
        }
    }

    /// Says how many idle connections a worker has.
    pub(crate) fn note_idle(&self, worker: &Arc<dyn Recipient>, change: isize) {
        let mut idle = lock(&self.idle);
        match idle.iter_mut().find(|(one, _)| Arc::ptr_eq(one, worker)) {
            Some((_, count)) => *count = count.saturating_add_signed(change),
            None => idle.push((Arc::clone(worker), usize::try_from(change).unwrap_or(0))),
        }
    }

    /// Who gets a connection that is free.
    pub(crate) fn next_for(
        &self,
        connection: &Connection,
        own: &Arc<dyn Recipient>,
        now: Instant,
    ) -> Next<Seat> {
        let lane = &connection.key.lane;
        let has_served = || now.saturating_duration_since(connection.made) >= QUANTUM;
        if self.lanes.have_names()
            && has_served()
            && self.lanes.need_room_of(connection, now)
            && self.can_replace(connection, now)
            && !self.is_paused()
        {
            return Next::Close;
        }
        if lane.waiting() == 0 || self.is_paused() {
            return Next::Nobody;
        }
        let free = Free {
            age: now.saturating_duration_since(connection.made),
            idle: now.saturating_duration_since(connection.idle_since),
            makes_room: self.can_replace(connection, now),
        };
        let mut line = lane.line();
        let is_near = |(recipient, _): &Seat| Arc::ptr_eq(recipient, own);
        let next = line.next_for(&connection.key, free, is_near, now);
        lane.count(&line);
        if let Next::Session(one) = &next {
            self.note_wait(now.saturating_duration_since(one.since));
        }
        next
    }

    fn can_replace(&self, connection: &Connection, now: Instant) -> bool {
        let (backend, max) = (connection.place.backend(), self.config().max);
        self.servers.can_replace(backend, max, now)
    }

    fn note_wait(&self, waited: Duration) {
        let waited = u64::try_from(waited.as_micros()).unwrap_or(u64::MAX);
        self.counts.wait_micros.fetch_add(waited, SeqCst);
    }

    /// There may be room for another connection: the session that it is for looks again. It keeps its place until it has one.
    pub(crate) fn call(&self) {
        self.lanes.each(|lane| lane.call());
    }

    /// Whether a session may make a connection: nobody else is to have the place. `number`: that of its ticket.
    pub(crate) fn may_grow(&self, key: &Key, number: Option<u64>, now: Instant) -> bool {
        let lane = &key.lane;
        lane.waiting() == 0 || lane.line().may_connect(number, now)
    }

    /// Whether a session may take an idle connection of its kind: nobody waits for it who came before.
    pub(crate) fn may_take(&self, key: &Arc<Key>, number: Option<u64>) -> bool {
        let lane = &key.lane;
        lane.waiting() == 0 || lane.line().may_take(key, number)
    }

    /// Whether an idle connection may be closed for a session of another kind that waits.
    pub(crate) fn may_replace(&self, connection: &Connection, key: &Key, now: Instant) -> bool {
        let idle = now.saturating_duration_since(connection.idle_since);
        let owner = connection.key.user_at;
        let is_due = match connection.key.part == key.part {
            true => key.lane.line().may_replace(owner, key.user_at, idle),
            // Mostly one of another part makes room on another server.
            false => {
                let backend = connection.place.backend();
                let has_names = self.lanes.have_names();
                has_names && idle >= QUANTUM && backend.serves_part(key.part) == Some(true)
            }
        };
        is_due && self.can_replace(connection, now)
    }

    /// A server has refused a login of a user. When it is tried again.
    pub(crate) fn refused(
        &self,
        key: &Key,
        backend: &Arc<Backend>,
        refusal: Refusal,
        now: Instant,
    ) -> Instant {
        self.counts.refused_logins.fetch_add(1, SeqCst);
        self.refusals.note(&key.user, backend, refusal, now)
    }

    /// A login of a user has succeeded.
    pub(crate) fn logged_in(&self, key: &Arc<Key>, backend: &Arc<Backend>) {
        // `min` connections are kept for what every client does.
        if !key.part.is_of_replicas() {
            *lock(&self.last_key) = Some(Arc::clone(key));
        }
        if self.refusals.len() > 0 {
            self.refusals.clear(&key.user, backend);
            key.lane.line().unblock(Some(key.user_at));
        }
    }

    /// Whether a user's sessions can wait for connections of theirs, as no new ones can be made before a time.
    pub(crate) fn can_wait(&self, key: &Key, until: Instant) -> bool {
        let mut line = key.lane.line();
        line.block(key.user_at, until);
        line.held(key.user_at) > 0
    }
}

impl Ticket {
    /// Its session is served, or goes in vain.
    pub(crate) fn end(self, is_in_vain: bool, now: Instant) {
        let waited = now.saturating_duration_since(self.since);
        self.pool.note_wait(waited);
        self.key
            .lane
            .line()
            .note_wait(self.key.user_at, waited, is_in_vain);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let lane = &self.key.lane;
        let was_first = {
            let mut line = lane.line();
            let was_first = line.leave(self.key.user_at, self.number);
            lane.count(&line);
            was_first
        };
        if was_first {
            lane.call();
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.pool.servers.shrink(&self.backend);
        self.lane.line().gives_back(self.user_at);
        self.pool.call();
    }
}

impl Room {
    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
