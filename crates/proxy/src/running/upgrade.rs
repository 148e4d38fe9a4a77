//! What a running proxy does in an upgrade, as the one that another process takes over from, or as that other process.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::Running;
use crate::error::Error;
use crate::listener::Listener;
use crate::lock::lock;
use crate::mailbox::Order;
use crate::moved::{Arrival, Arrived, Moved, Mover, SessionState};
use crate::pooling::accounts::Account;
use crate::pooling::facts::Facts;
use crate::sockets::Listening;

/// How long a session stays that another process did not take.
const STAYS: Duration = Duration::from_secs(30);

/// What another process has to know of a pooled listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PassedPool {
    pub(crate) listener: String,
    /// Sessions get numbers from this one on.
    pub(crate) number: u64,
    pub(crate) facts: Option<Vec<u8>>,
}

/// After a pool's numbers were passed on, so many more sessions may come in here before they are those of the other process.
const MORE_SESSIONS: u64 = 1 << 20;

impl Running {
    /// Accounts that are read from a server have been read: without them clients would be refused that another process lets in.
    pub(crate) fn check_accounts(&self) -> Result<(), Error> {
        let now = self.in_force();
        let mut all = now.config.listeners.iter();
        let lacking = all.find(|one| one.server_accounts.is_some() && one.accounts.is_empty());
        match lacking {
            None => Ok(()),
            Some(listener) => Err(Error::Takeover(format!(
                "the accounts of listener '{}' can't be read from a server",
                listener.name
            ))),
        }
    }

    /// Another process is about to take over from now on. `false` where one is already, or nobody is let in any more.
    pub(crate) fn begin_upgrade(&self) -> bool {
        let _change = lock(&self.change);
        !self.is_draining() && !self.is_upgrading.swap(true, Relaxed)
    }

    /// It has not taken over: this one goes on.
    pub(crate) fn end_upgrade(&self) {
        self.is_upgrading.store(false, Relaxed);
    }

    /// All sockets that listen, to be passed on.
    pub(crate) fn listening(&self) -> io::Result<Vec<Listening>> {
        let mut all = self.acceptor.listening()?;
        for listening in lock(&self.sockets).control() {
            all.push(listening.try_clone()?);
        }
        Ok(all)
    }

    /// Clients wait in front of the sockets until they are [accepted again](Self::resume).
    pub(crate) fn pause(&self) {
        self.acceptor.pause();
    }

    /// Accepts clients again, and finds those for whom there was no event.
    pub(crate) fn resume(&self) {
        self.acceptor.resume();
    }

    /// The sockets are another process's from now on. Sessions stay.
    pub(crate) fn hand_over(&self) {
        self.is_handed_over.store(true, Relaxed);
        self.is_draining.store(true, Relaxed);
        let mut sockets = lock(&self.sockets);
        sockets.leave_files();
        sockets.forget_control();
        drop(sockets);
        self.acceptor.release();
    }

    /// What another process has to know of the pooled listeners.
    pub(crate) fn pools(&self) -> Vec<PassedPool> {
        let passed = |listener: &Arc<Listener>| {
            let pool = listener.pool.as_ref()?;
            Some(PassedPool {
                listener: listener.config.name.clone(),
                number: pool.number() + MORE_SESSIONS,
                facts: pool.facts().map(|facts| facts.pack()),
            })
        };
        self.in_force()
            .listeners
            .iter()
            .filter_map(passed)
            .collect()
    }

    /// What another process has known of them.
    pub(crate) fn take_pools(&self, all: &[PassedPool]) {
        for listener in &self.in_force().listeners {
            let mut all = all.iter();
            let known = all.find(|known| known.listener == listener.config.name);
            if let (Some(pool), Some(known)) = (&listener.pool, known) {
                pool.skip_to(known.number);
                let facts = known.facts.as_deref();
                if let Some(facts) = facts.and_then(Facts::unpack) {
                    pool.set_facts(facts);
                }
            }
        }
    }

    /// The names of the backends that are drained, each once.
    pub(crate) fn drained(&self) -> Vec<String> {
        let now = self.in_force();
        let all = now.listeners.iter().flat_map(|one| one.backends.all());
        let drained = all.filter(|backend| backend.is_drained());
        let names: BTreeSet<_> = drained.map(|backend| backend.name().to_owned()).collect();
        names.into_iter().collect()
    }

    /// Backends of these names were drained with another process, and are here.
    pub(crate) fn take_drained(&self, names: &[String]) {
        for listener in &self.in_force().listeners {
            let all = listener.backends.all().iter();
            let meant = all.filter(|backend| names.iter().any(|name| name == backend.name()));
            meant.for_each(|backend| backend.drain(true));
        }
    }

    /// The name of a listener whose new transactions wait.
    pub(crate) fn paused(&self) -> Option<String> {
        let now = self.in_force();
        let mut all = now.listeners.iter();
        let paused = all.find(|one| one.pool.as_ref().is_some_and(|pool| pool.is_paused()));
        paused.map(|listener| listener.config.name.clone())
    }

    /// Gives a session that was with another process to a worker.
    ///
    /// # Errors
    /// Why it has to stay where it is.
    pub(crate) fn take_session(&self, bytes: &[u8], socket: OwnedFd) -> Result<(), &'static str> {
        let state = SessionState::unpack(bytes).ok_or("it has another form")?;
        if self.is_draining() {
            return Err("the proxy is draining");
        }
        let now = self.in_force();
        let mut listeners = now.listeners.iter();
        let listener = listeners.find(|one| one.config.name == state.listener);
        let listener = listener.ok_or("there is no listener of its name")?;
        if listener.pool.is_none() || listener.config.requires_tls && state.address.is_some() {
            return Err("its listener is another one");
        }
        let account = listener.accounts.find(&state.user);
        if !account.is_some_and(Account::can_log_in) {
            return Err("its account can't log in to a server yet");
        }
        let max = listener.config.max_user_connections;
        let user_place = max.map(|max| listener.registry.admit(&state.user, max));
        let user_place = match user_place {
            None => None,
            Some(place) => Some(place.ok_or("its user has too many sessions")?),
        };
        if !self.acceptor.enter() {
            return Err("there are too many sessions");
        }
        let session = Arrived {
            listener: Arc::clone(listener),
            state,
            user_place,
            stays_until: None,
        };
        let arrival = Box::new(Arrival { socket, session });
        if !self.workers.least_loaded().take_arrival(arrival) {
            self.acceptor.leave();
        }
        Ok(())
    }

    /// Has a session go on where it was: another process has not taken it.
    pub(crate) fn take_back(&self, moved: Moved) {
        let Some(state) = SessionState::unpack(&moved.bytes) else {
            return;
        };
        let max = moved.listener.config.max_user_connections;
        let user_place = max.and_then(|max| moved.listener.registry.admit(&state.user, max));
        let session = Arrived {
            listener: moved.listener,
            state,
            user_place,
            stays_until: Some(Instant::now() + STAYS),
        };
        let socket = moved.socket;
        let arrival = Box::new(Arrival { socket, session });
        self.acceptor.enter_anyway();
        let worker = self.workers.0.get(moved.worker);
        if !worker.is_some_and(|worker| worker.take_arrival(arrival)) {
            self.acceptor.leave();
        }
    }

    /// Sessions go to another process from now on, or none does.
    pub(crate) fn move_sessions(&self, mover: Option<&Arc<Mover>>) {
        for worker in &self.workers.0 {
            worker.order(Order::Move(mover.cloned()));
        }
    }

    /// Sessions that are left with the process before this one.
    pub(crate) fn left_behind(&self) -> usize {
        self.left_behind.load(Relaxed)
    }

    pub(crate) fn set_left_behind(&self, sessions: usize) {
        self.left_behind.store(sessions, Relaxed);
    }
}
