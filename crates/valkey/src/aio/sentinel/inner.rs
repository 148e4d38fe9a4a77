//! What all handles have in common: what is known, and the connections.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::replica::Replica;
use crate::aio::{Shared, SharedOptions, clock};
use crate::cluster::{NodeAddress, ReadFrom};
use crate::observe::System;
use crate::sentinel::{Answers, Book, SentinelConfig, SentinelError, Switch};
use crate::{Config, Error};

/// How long commands that were sent may still be answered on a connection that is left.
const GRACE: Duration = Duration::from_millis(500);

/// Announcements of new primaries end a search that is under way at most so often: a sentinel that makes them all the time must not
/// keep searches from their end.
const HINT_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) config: SentinelConfig,
    /// Of the connection to each server.
    options: Mutex<SharedOptions>,
    state: Mutex<State>,
    /// A search is wanted; and whoever does it is woken by that.
    is_wanted: AtomicBool,
    pub(super) seeker: Notify,
    /// What was begun to be searched for is old news.
    pub(super) hinted: Notify,
    /// There is a primary, or a new reason why there is none.
    changed: Notify,
    /// The handle is closed.
    pub(super) closing: Notify,
    waiting: AtomicUsize,
    pub(super) system: System,
}

#[derive(Debug)]
struct State {
    book: Book,
    primary: Option<Primary>,
    replicas: Vec<Replica>,
    turn: usize,
    /// Why there is no primary.
    last_error: Option<Error>,
    next_number: u64,
    searches: u64,
    last_hint: Option<Instant>,
    is_closed: bool,
}

/// A server that has said that it is the primary.
#[derive(Debug, Clone)]
pub(super) struct Primary {
    pub(super) address: NodeAddress,
    pub(super) shared: Shared,
    /// Of this connection, among all that there were.
    pub(super) number: u64,
}

impl Inner {
    pub(super) fn new(config: SentinelConfig, options: &SharedOptions) -> Self {
        Self {
            options: Mutex::new(options.for_one_connection()),
            state: Mutex::new(State {
                book: Book::new(config.seeds()),
                primary: None,
                replicas: Vec::new(),
                turn: 0,
                last_error: None,
                next_number: 0,
                searches: 0,
                last_hint: None,
                is_closed: false,
            }),
            config,
            is_wanted: AtomicBool::new(false),
            seeker: Notify::new(),
            hinted: Notify::new(),
            changed: Notify::new(),
            closing: Notify::new(),
            waiting: AtomicUsize::new(0),
            system: System::default(),
        }
    }

    /// The connection for a command that only reads or not, and its number if it is the primary's; `None` if there is none.
    ///
    /// # Errors
    /// Fails if the handle is closed.
    #[inline]
    pub(super) fn find(
        self: &Arc<Self>,
        reads: bool,
    ) -> Result<Option<(Shared, Option<u64>)>, Error> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(closed());
        }
        if reads
            && self.config.reads_from_replicas()
            && let Some(shared) = self.reader(&mut state)
        {
            return Ok(Some((shared, None)));
        }
        let primary = state
            .primary
            .as_ref()
            .filter(|primary| !primary.shared.is_closed());
        Ok(primary.map(|primary| (primary.shared.clone(), Some(primary.number))))
    }

    /// The connection to the primary and its number, if there is one, which says of the keys that are read how they change. `bind` is
    /// called with its line before the connection can be left, so that this is seen by what `bind` has noted.
    #[cfg(feature = "caching")]
    pub(super) fn find_tracked(&self, bind: &dyn Fn(u64)) -> Result<Option<(Shared, u64)>, Error> {
        let state = self.lock();
        if state.is_closed {
            return Err(closed());
        }
        let primary = state.primary.as_ref();
        let primary = primary.filter(|primary| !primary.shared.is_closed());
        Ok(primary.and_then(|primary| {
            bind(primary.shared.line()?);
            Some((primary.shared.clone(), primary.number))
        }))
    }

    /// A replica whose turn it is, if it has a connection. Others get one in the background.
    fn reader(self: &Arc<Self>, state: &mut State) -> Option<Shared> {
        state.turn = state.turn.wrapping_add(1);
        let count = state.replicas.len();
        let turns = count + usize::from(self.config.read_from == ReadFrom::Any);
        let turn = state.turn % turns.max(1);
        // The last turn may be the primary's.
        let offsets = if turn < count { 0..count } else { 0..0 };
        for offset in offsets {
            let replica = state.replicas.get_mut((turn + offset) % count)?;
            if let Some(shared) = replica.find(|address| self.connect(address)) {
                return Some(shared);
            }
        }
        None
    }

    fn connect(self: &Arc<Self>, address: &NodeAddress) {
        tokio::spawn(super::replica::connect(Arc::clone(self), address.clone()));
    }

    /// An attempt to connect to a replica has ended.
    pub(super) fn replica_connected(&self, address: &NodeAddress, connected: Option<Shared>) {
        let mut state = self.lock();
        let replica = state
            .replicas
            .iter_mut()
            .find(|replica| replica.address == *address);
        if let Some(replica) = replica {
            replica.ended(connected);
        }
    }

    /// The settings of the connection to a server.
    pub(super) fn server_config(&self, address: &NodeAddress) -> (Config, SharedOptions) {
        let options = self.options.lock();
        let options = options
            .unwrap_or_else(PoisonError::into_inner)
            .for_one_connection();
        let config = crate::sentinel::server_config(address, &self.config.server);
        (config, options)
    }

    pub(super) fn want(&self) {
        if !self.is_wanted.swap(true, Ordering::AcqRel) {
            self.seeker.notify_one();
        }
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Acquire)
    }

    /// A search begins: what is wanted from now on is wanted of the next one. Returns the sentinels to ask.
    pub(super) fn begin_search(&self) -> Vec<NodeAddress> {
        self.is_wanted.store(false, Ordering::Release);
        let mut state = self.lock();
        state.searches += 1;
        state.book.candidates()
    }

    /// The connection to the primary that there is.
    pub(super) fn current(&self) -> Option<Primary> {
        let state = self.lock();
        let primary = state.primary.as_ref();
        primary
            .filter(|primary| !primary.shared.is_closed())
            .cloned()
    }

    /// A server is the primary, from now on.
    pub(super) fn use_primary(&self, address: &NodeAddress, shared: Shared) {
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        state.next_number += 1;
        let number = state.next_number;
        let primary = Primary {
            address: address.clone(),
            shared,
            number,
        };
        let old = state.primary.replace(primary);
        drop(state);
        if let Some(old) = old {
            old.shared.retire(GRACE);
        }
    }

    /// A sentinel has led to the primary.
    pub(super) fn learn(&self, sentinel: &NodeAddress, answers: &Answers) {
        let mut state = self.lock();
        state.last_error = None;
        state.book.led_to_it(sentinel);
        state.book.learn(sentinel, &answers.sentinels);
        let is_listed = |replica: &Replica| answers.replicas.contains(&replica.address);
        let (kept, left): (Vec<_>, Vec<_>) = std::mem::take(&mut state.replicas)
            .into_iter()
            .partition(is_listed);
        state.replicas = kept;
        for address in &answers.replicas {
            let is_known = |replica: &Replica| replica.address == *address;
            if !state.replicas.iter().any(is_known) && *address != answers.primary {
                state.replicas.push(Replica::new(address));
            }
        }
        drop(state);
        left.into_iter()
            .filter_map(Replica::into_shared)
            .for_each(|shared| shared.retire(GRACE));
        self.changed.notify_waiters();
    }

    /// A sentinel has not led to the primary.
    pub(super) fn misled(&self, sentinel: &NodeAddress) {
        self.lock().book.failed(sentinel);
    }

    /// A search has ended without a primary.
    pub(super) fn failed(&self, error: Error) {
        self.lock().last_error = Some(error);
        self.changed.notify_waiters();
    }

    /// The connection of this number leads to a server that is not the primary any more.
    pub(super) fn leave(&self, number: u64) {
        let mut state = self.lock();
        let is_it = |primary: &mut Primary| primary.number == number;
        let left = state.primary.take_if(is_it);
        drop(state);
        if let Some(left) = left {
            left.shared.retire(GRACE);
        }
    }

    /// A sentinel announces that there is another primary.
    pub(super) fn switched(&self, switch: &Switch) {
        let now = clock::now();
        let mut state = self.lock();
        let is_old = |primary: &mut Primary| primary.address == switch.old;
        let left = match switch.old == switch.new {
            true => None,
            false => state.primary.take_if(is_old),
        };
        let is_known = state
            .primary
            .as_ref()
            .is_some_and(|primary| primary.address == switch.new);
        let is_hint = !is_known
            && state
                .last_hint
                .is_none_or(|last| now >= last + HINT_INTERVAL);
        if is_hint {
            state.last_hint = Some(now);
        }
        drop(state);
        if let Some(left) = left {
            left.shared.retire(GRACE);
        }
        self.want();
        if is_hint {
            self.hinted.notify_waiters();
        }
    }

    /// Why there is no primary.
    pub(super) fn no_primary(&self) -> Error {
        let last = self.lock().last_error.clone();
        last.unwrap_or_else(|| Error::offline(None))
    }

    /// Waits before an attempt: for so long, or until there is news.
    ///
    /// # Errors
    /// Fails if too many wait.
    pub(super) async fn pause(&self, pause: Duration) -> Result<(), Error> {
        let waiting = Waiting::new(&self.waiting);
        if waiting.before >= self.config.max_waiting {
            let waiting = waiting.before;
            return Err(Error::sentinel_error(SentinelError::TooManyWaiting {
                waiting,
            }));
        }
        let _ = tokio::time::timeout(pause, self.changed.notified()).await;
        Ok(())
    }

    pub(super) fn primary(&self) -> Option<NodeAddress> {
        Some(self.current()?.address)
    }

    pub(super) fn replicas(&self) -> Vec<NodeAddress> {
        let state = self.lock();
        let addresses = state.replicas.iter().map(|replica| replica.address.clone());
        addresses.collect()
    }

    pub(super) fn sentinels(&self) -> Vec<NodeAddress> {
        self.lock().book.known().to_vec()
    }

    pub(super) fn searches(&self) -> u64 {
        self.lock().searches
    }

    pub(super) fn connections(&self) -> usize {
        let state = self.lock();
        let replicas = state.replicas.iter().filter_map(Replica::shared);
        let primary = state.primary.iter().map(|primary| &primary.shared);
        let all = replicas.chain(primary);
        all.filter(|shared| shared.is_connected()).count()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Takes no more commands. Returns the connections.
    pub(super) fn close(&self) -> Vec<Shared> {
        let mut state = self.lock();
        state.is_closed = true;
        let primary = state.primary.take().map(|primary| primary.shared);
        let replicas = std::mem::take(&mut state.replicas);
        drop(state);
        // Each of them has one task, which may be about to wait.
        self.seeker.notify_one();
        self.closing.notify_one();
        self.hinted.notify_waiters();
        self.changed.notify_waiters();
        let replicas = replicas.into_iter().filter_map(Replica::into_shared);
        replicas.chain(primary).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn closed() -> Error {
    Error::closed("the handle of the sentinels was closed")
}

/// A caller that waits, as long as it lives.
struct Waiting<'w> {
    all: &'w AtomicUsize,
    before: usize,
}

impl<'w> Waiting<'w> {
    fn new(all: &'w AtomicUsize) -> Self {
        let before = all.fetch_add(1, Ordering::Relaxed);
        Self { all, before }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(1, Ordering::Relaxed);
    }
}
