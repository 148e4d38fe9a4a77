//! Logins that servers have refused, and when they are tried again.
//!
//! Each command of each client would try again what a server has just refused: a wrong password, too many connections. So one that
//! was refused is tried again only after a while, which grows. Until then clients hear at once what the server has said last.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use onecopy_pool::{Backoff, Jitter};

use crate::backend::Backend;
use crate::failure::Failure;

/// After refusals in a row.
const BACKOFF: Backoff = Backoff {
    first: Duration::from_millis(100),
    longest: Duration::from_secs(5),
    share: 4,
};

/// What a server has said in place of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    pub(crate) sql_state: Option<[u8; 5]>,
    pub(crate) message: String,
    /// It was said before the greeting, and so to everybody.
    pub(crate) is_of_server: bool,
}

/// What a client gets for a command that is not sent.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) code: u16,
    pub(crate) sql_state: [u8; 5],
    pub(crate) message: String,
    /// The session ends with it.
    pub(crate) is_end: bool,
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self {
            code: failure.code,
            sql_state: failure.sql_state,
            message: failure.message,
            is_end: false,
        }
    }
}

/// The refusals that hold of one listener's logins.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    entries: Mutex<Vec<Entry>>,
    /// Of the entries there are: without any no lock is taken.
    len: AtomicUsize,
    jitter: Jitter,
}

#[derive(Debug)]
struct Entry {
    backend: Arc<Backend>,
    /// `None`: of any user.
    user: Option<Box<[u8]>>,
    refusal: Refusal,
    /// How many there were in a row.
    count: u32,
    until: Instant,
    /// A login is under way that is to find out whether it still holds.
    is_tried: bool,
}

impl Refusals {
    /// What a user hears of a backend at present, and when it is tried again; `None` where it may be tried. `user`: `None` where only
    /// what holds for everybody counts.
    pub(crate) fn find(
        &self,
        user: Option<&[u8]>,
        backend: &Arc<Backend>,
        now: Instant,
    ) -> Option<(Refusal, Instant)> {
        if self.len.load(SeqCst) == 0 {
            return None;
        }
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut held = entries
            .iter()
            .filter(|entry| entry.is_of(user, backend) && now < entry.until);
        held.next()
            .map(|entry| (entry.refusal.clone(), entry.until))
    }

    /// A login is begun. Nobody else tries before it is known what comes of it, or before it would be tried again anyway.
    pub(crate) fn begin(&self, user: &[u8], backend: &Arc<Backend>, now: Instant) {
        if self.len.load(SeqCst) == 0 {
            return;
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in entries.iter_mut() {
            if entry.is_of(Some(user), backend) {
                entry.until = now + self.delay(entry.count.saturating_add(1));
                entry.is_tried = true;
            }
        }
    }

    /// A server has refused a login.
    pub(crate) fn note(
        &self,
        user: &[u8],
        backend: &Arc<Backend>,
        refusal: Refusal,
        now: Instant,
    ) -> Instant {
        let user: Option<Box<[u8]>> = match refusal.is_of_server {
            true => None,
            false => Some(user.into()),
        };
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| !entry.backend.is_removed());
        let known = entries
            .iter_mut()
            .find(|entry| entry.user == user && entry.backend.is_same(backend));
        let until = match known {
            // Several were begun before the first one was refused: they count as one.
            Some(entry) if now < entry.until && !entry.is_tried => entry.until,
            Some(entry) => {
                entry.count = entry.count.saturating_add(1);
                entry.refusal = refusal;
                entry.until = now + self.delay(entry.count);
                entry.is_tried = false;
                entry.until
            }
            None => {
                let until = now + self.delay(1);
                entries.push(Entry {
                    backend: Arc::clone(backend),
                    user,
                    refusal,
                    count: 1,
                    until,
                    is_tried: false,
                });
                until
            }
        };
        self.len.store(entries.len(), SeqCst);
        until
    }

    /// A login has succeeded.
    pub(crate) fn clear(&self, user: &[u8], backend: &Arc<Backend>) {
        if self.len.load(SeqCst) == 0 {
            return;
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| !entry.is_of(Some(user), backend));
        self.len.store(entries.len(), SeqCst);
    }

    /// What was refused may be right now: the configuration has changed.
    pub(crate) fn clear_all(&self) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.clear();
        self.len.store(0, SeqCst);
    }

    /// How many there are now.
    pub(crate) fn len(&self) -> usize {
        self.len.load(SeqCst)
    }

    fn delay(&self, count: u32) -> Duration {
        BACKOFF.pause(count, &self.jitter)
    }
}

impl Entry {
    fn is_of(&self, user: Option<&[u8]>, backend: &Arc<Backend>) -> bool {
        (self.user.is_none() || self.user.as_deref() == user) && self.backend.is_same(backend)
    }
}

#[cfg(test)]
mod tests;
