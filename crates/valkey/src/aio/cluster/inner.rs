//! What all handles of a cluster have in common: what is known of it, and a connection to each node.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::line::{Found, Line};
use crate::Error;
use crate::aio::shared::Trackers;
use crate::aio::{Shared, SharedOptions, clock};
use crate::cluster::{
    Again, Attempts, ClusterConfig, ClusterError, ClusterStats, Counts, NodeAddress, Place, Route,
    Router, Target, Topology,
};
use crate::command::Flags;
use crate::observe::System;

/// Connections at most, in use or tried: as many as a cluster may have nodes, for each of their roles.
const MAX_LINES: usize = 4_000;

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) config: ClusterConfig,
    /// Of the connection to each node.
    options: Mutex<SharedOptions>,
    /// Who hears which keys change, and which slots move.
    trackers: Option<Arc<dyn Trackers>>,
    state: Mutex<State>,
    /// A refresh is wanted; and whoever does it is woken by that.
    is_wanted: AtomicBool,
    pub(super) refresher: Notify,
    /// The slots were learned anew.
    learned: Notify,
    waiting: AtomicUsize,
    pub(super) system: System,
    counts: Counts,
}

#[derive(Debug)]
struct State {
    router: Router,
    lines: HashMap<Place, Line>,
    is_closed: bool,
    /// Since the handle was made.
    refreshes: u64,
}

impl Inner {
    pub(super) fn new(config: ClusterConfig, options: &SharedOptions) -> Self {
        let seeds = config.seeds.iter().filter_map(NodeAddress::of_endpoint);
        let router = Router::new(config.read_from.clone(), seeds.collect());
        Self {
            config,
            trackers: options.trackers().cloned(),
            options: Mutex::new(options.for_node()),
            state: Mutex::new(State {
                router,
                lines: HashMap::new(),
                is_closed: false,
                refreshes: 0,
            }),
            is_wanted: AtomicBool::new(false),
            refresher: Notify::new(),
            learned: Notify::new(),
            waiting: AtomicUsize::new(0),
            system: System::default(),
            counts: Counts::default(),
        }
    }

    /// Where a command goes, and the connection, if there is one.
    #[inline]
    pub(super) fn find(
        &self,
        route: Route,
        target: &Target,
    ) -> Result<(Place, Option<Shared>), Error> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(closed());
        }
        let place = state.router.place(route, target)?;
        let shared = state.lines.get(&place).and_then(Line::shared).cloned();
        Ok((place, shared))
    }

    /// The connection to the primary of a command, if there is one, which says of the keys that are read how they change. `bind` is called
    /// with its line before it can be known that the slot has moved, so that the move is seen by what `bind` has noted.
    #[cfg(feature = "caching")]
    pub(super) fn find_tracked(
        &self,
        route: Route,
        bind: &dyn Fn(u64),
    ) -> Result<Option<(NodeAddress, Shared)>, Error> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(closed());
        }
        let place = state.router.place(route, &Target::Primary)?;
        let Some(shared) = state.lines.get(&place).and_then(Line::shared) else {
            return Ok(None);
        };
        Ok(shared.line().map(|line| {
            bind(line);
            (place.address, shared.clone())
        }))
    }

    /// The connection to a node, which is made if there is none. All who need it meanwhile wait for the same attempt.
    pub(super) async fn connected(self: &Arc<Self>, place: &Place) -> Result<Shared, Error> {
        loop {
            let mut attempt = {
                let mut state = self.lock();
                if state.is_closed {
                    return Err(closed());
                }
                let has_room = state.lines.len() < MAX_LINES;
                if !has_room && !state.lines.contains_key(place) {
                    return Err(Error::offline(None));
                }
                let line = state.lines.entry(place.clone()).or_default();
                match line.find(|| self.connect(place)) {
                    Found::Up(shared) => return Ok(shared),
                    Found::Down(error) => return Err(Error::offline(Some(&error))),
                    Found::Connecting(attempt) => attempt,
                }
            };
            // An error says that it has ended, and so does a value.
            let _ = attempt.changed().await;
        }
    }

    /// Connects in a task of its own: whoever has asked for it may leave.
    fn connect(self: &Arc<Self>, place: &Place) -> tokio::sync::watch::Receiver<()> {
        let (done, attempt) = tokio::sync::watch::channel(());
        let (inner, place) = (Arc::clone(self), place.clone());
        tokio::spawn(async move {
            let config = place.config(&inner.config.node);
            let connected = Shared::connect_with(&config, inner.node_options()).await;
            let connected = connected.map(Shared::quiet);
            let mut state = inner.lock();
            if state.is_closed {
                return;
            }
            if let Some(line) = state.lines.get_mut(&place) {
                line.ended(connected);
            }
            drop(state);
            drop(done);
        });
        attempt
    }

    fn node_options(&self) -> SharedOptions {
        let options = self.options.lock();
        options.unwrap_or_else(PoisonError::into_inner).for_node()
    }

    /// What to do after an attempt that has failed at this node; what it has shown of the cluster is noted.
    ///
    /// # Errors
    /// Fails if nothing is to be done.
    pub(super) fn again(
        &self,
        attempts: &mut Attempts,
        (error, from): (Error, Option<NodeAddress>),
        flags: Flags,
    ) -> Result<Again, Error> {
        if self.is_closed() {
            return Err(error);
        }
        let again = attempts.failed(error, from.as_ref(), flags, clock::now())?;
        self.counts.add(&again);
        self.note(&again);
        Ok(again)
    }

    fn note(&self, again: &Again) {
        if let Some((slot, to)) = &again.moved {
            self.lock().router.moved(*slot, to);
            if let Some(trackers) = &self.trackers {
                trackers.moved(&|moved| moved == *slot);
            }
        }
        if again.wants_refresh {
            self.want_refresh();
        }
    }

    pub(super) fn want_refresh(&self) {
        if !self.is_wanted.swap(true, Ordering::AcqRel) {
            self.refresher.notify_one();
        }
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Acquire)
    }

    /// A refresh begins: what is wanted from now on is wanted of the next one. Returns the nodes to ask.
    pub(super) fn begin_refresh(&self) -> Vec<NodeAddress> {
        self.is_wanted.store(false, Ordering::Release);
        let mut state = self.lock();
        state.refreshes += 1;
        let State { router, lines, .. } = &mut *state;
        router.candidates(|address| {
            let on = |is_replica| Place {
                address: address.clone(),
                is_replica,
            };
            let is_up = |place| {
                lines
                    .get(&place)
                    .and_then(Line::shared)
                    .is_some_and(Shared::is_connected)
            };
            is_up(on(false)) || is_up(on(true))
        })
    }

    pub(super) fn learn(&self, topology: Topology) {
        let mut dropped = Vec::new();
        let mut state = self.lock();
        let State { router, lines, .. } = &mut *state;
        let old = self.trackers.is_some().then(|| router.topology().clone());
        router.learn(topology);
        let new = old.is_some().then(|| router.topology().clone());
        // Connections to nodes that are gone, or that have another role. They end when those who use them have finished.
        lines.retain(|place, line| {
            let is_kept = router.has(place);
            if !is_kept {
                dropped.push(std::mem::take(line));
            }
            is_kept
        });
        drop(state);
        drop(dropped);
        if let (Some(trackers), Some(old), Some(new)) = (&self.trackers, old, new) {
            trackers.moved(&|slot| {
                let (old, new) = (old.primary(slot), new.primary(slot));
                old.map(|node| &node.address) != new.map(|node| &node.address)
            });
        }
        self.learned.notify_waiters();
    }

    /// Waits before an attempt: for so long, or until the slots are learned anew.
    ///
    /// # Errors
    /// Fails if too many wait.
    pub(super) async fn pause(&self, pause: Duration) -> Result<(), Error> {
        if pause.is_zero() {
            return Ok(());
        }
        let waiting = Waiting::new(&self.waiting);
        if waiting.before >= self.config.max_waiting {
            let waiting = waiting.before;
            return Err(Error::cluster_error(ClusterError::TooManyWaiting {
                waiting,
            }));
        }
        let _ = tokio::time::timeout(pause, self.learned.notified()).await;
        Ok(())
    }

    /// Something with what is known of the cluster.
    pub(super) fn with_router<T>(&self, act: impl FnOnce(&mut Router) -> T) -> T {
        act(&mut self.lock().router)
    }

    pub(super) fn stats(&self) -> ClusterStats {
        let connections = self.connections();
        let state = self.lock();
        let primaries = state.router.topology().primaries().len();
        self.counts.stats(primaries, connections, state.refreshes)
    }

    pub(super) fn refreshes(&self) -> u64 {
        self.lock().refreshes
    }

    /// Connections that were made, and those that are used now.
    pub(super) fn connections(&self) -> usize {
        let state = self.lock();
        let up = state.lines.values().filter_map(Line::shared);
        up.filter(|shared| shared.is_connected()).count()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Takes no more commands. Returns the connections.
    pub(super) fn close(&self) -> Vec<Shared> {
        let mut state = self.lock();
        state.is_closed = true;
        let lines = std::mem::take(&mut state.lines);
        drop(state);
        self.refresher.notify_one();
        self.learned.notify_waiters();
        lines.into_values().filter_map(Line::into_shared).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn closed() -> Error {
    Error::closed("the handle of the cluster was closed")
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
