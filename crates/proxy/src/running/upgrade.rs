//! What a running proxy does in an upgrade, as the one that another process takes over from, or as that other process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::Running;
use crate::error::Error;
use crate::listener::Listener;
use crate::lock::lock;
use crate::sockets::Listening;

/// What another process has to know of a pooled listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PassedPool {
    pub(crate) listener: String,
    /// Sessions get numbers from this one on.
    pub(crate) number: u64,
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
            }
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
