//! Wrong passwords, and how long the next answer takes.
//!
//! Who guesses learns at most one answer in a while: the answers to one user's logins from one address come one after the other, each
//! a delay behind the one before, whether it is OK or an error; where accounts are read from a server first, an error may come later. More logins at a time do not help, nor does leaving before the answer.
//! Other users, and the same user from other addresses, are not held up.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many wrong passwords cost nothing: people mistype, and a program with an old password is restarted.
const FREE: u32 = 3;

/// The delay of the first one that costs, and the longest one; it doubles.
const FIRST_DELAY: Duration = Duration::from_millis(250);
const LONGEST_DELAY: Duration = Duration::from_secs(4);

/// A login that would be answered later than this is refused at once. Shorter than the connect timeouts of clients.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// After so long without a wrong one all are forgotten.
const MEMORY: Duration = Duration::from_secs(120);

/// So many pairs of user and address are known, some hundred KiB. Then those with the fewest wrong logins make room: who tries many
/// names gains nothing for any of them.
const MOST: usize = 4096;

/// Of an IPv6 address the network, which one machine often has all addresses of.
const NETWORK_BYTES: usize = 8;

/// The wrong logins of one listener.
#[derive(Debug, Default)]
pub(crate) struct WrongLogins {
    hasher: RandomState,
    by_pair: Mutex<HashMap<u64, Entry>>,
    /// Of the entries there are: logins of a listener without any need no lock.
    len: AtomicUsize,
    pub(crate) counts: Counts,
}

/// What was counted.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) wrong: AtomicU64,
    pub(crate) delayed: AtomicU64,
    pub(crate) refused: AtomicU64,
}

/// A user from an address, as a hash: two that fall together share their delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair(u64);

#[derive(Debug)]
struct Entry {
    /// Wrong logins that were or will be answered.
    count: u32,
    /// When the last answer was or will be given.
    answered: Instant,
}

/// When a login is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Now,
    At(Instant),
    /// Too many wait before it, for so long.
    Never(Duration),
}

impl WrongLogins {
    /// `address`: `None` for a Unix socket.
    pub(crate) fn pair(&self, user: &[u8], address: Option<IpAddr>) -> Pair {
        let network = address.map(|address| match address.to_canonical() {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets()[..NETWORK_BYTES].to_vec(),
        });
        Pair(self.hasher.hash_one((user, network)))
    }

    /// The answer to a login whose password is right. What was wrong before is forgotten.
    pub(crate) fn right(&self, pair: Pair, now: Instant) -> Answer {
        if self.len.load(Relaxed) == 0 {
            return Answer::Now;
        }
        let mut by_pair = self.by_pair.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = by_pair.get_mut(&pair.0) else {
            return Answer::Now;
        };
        // It takes as long as if it were wrong: who does not wait for the answer would know it otherwise.
        let at = entry.next(now);
        let answer = self.answer(at, now);
        match answer {
            // Others with the right password are answered with it.
            Answer::At(_) => (entry.count, entry.answered) = (0, at),
            Answer::Now => {
                by_pair.remove(&pair.0);
                self.len.store(by_pair.len(), Relaxed);
            }
            Answer::Never(_) => {}
        }
        answer
    }

    /// The answer to a login whose password is wrong.
    pub(crate) fn wrong(&self, pair: Pair, now: Instant) -> Answer {
        self.counts.wrong.fetch_add(1, Relaxed);
        let mut by_pair = self.by_pair.lock().unwrap_or_else(PoisonError::into_inner);
        if by_pair.len() >= MOST && !by_pair.contains_key(&pair.0) {
            make_room(&mut by_pair, now);
        }
        let entry = by_pair.entry(pair.0).or_insert(Entry {
            count: 0,
            answered: now,
        });
        let at = entry.next(now);
        let answer = self.answer(at, now);
        // One that is not answered takes no time of others.
        if !matches!(answer, Answer::Never(_)) {
            (entry.count, entry.answered) = (entry.count.saturating_add(1), at);
        }
        self.len.store(by_pair.len(), Relaxed);
        answer
    }

    /// A password that was counted as wrong is right after all: what was wrong before is forgotten. Its answer keeps its time, and the
    /// counter, which never falls, has it.
    pub(crate) fn forgive(&self, pair: Pair) {
        let mut by_pair = self.by_pair.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = by_pair.get_mut(&pair.0) {
            entry.count = 0;
        }
    }

    fn answer(&self, at: Instant, now: Instant) -> Answer {
        let wait = at.saturating_duration_since(now);
        if wait.is_zero() {
            return Answer::Now;
        }
        if wait > LONGEST_WAIT {
            self.counts.refused.fetch_add(1, Relaxed);
            return Answer::Never(wait);
        }
        self.counts.delayed.fetch_add(1, Relaxed);
        Answer::At(at)
    }
}

impl Entry {
    /// When the next login may be answered.
    fn next(&mut self, now: Instant) -> Instant {
        if now.saturating_duration_since(self.answered) >= MEMORY {
            self.count = 0;
        }
        self.answered.max(now) + delay(self.count.saturating_add(1))
    }
}

/// The delay of the answer to a login with so many wrong ones, it included.
fn delay(count: u32) -> Duration {
    let Some(doublings) = count.checked_sub(FREE + 1) else {
        return Duration::ZERO;
    };
    let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
    FIRST_DELAY.saturating_mul(factor).min(LONGEST_DELAY)
}

/// Half of them go: those that are forgotten anyway, then those with the fewest wrong logins. Seldom, so that it costs little each time.
#[cold]
fn make_room(by_pair: &mut HashMap<u64, Entry>, now: Instant) {
    by_pair.retain(|_, entry| now.saturating_duration_since(entry.answered) < MEMORY);
    if by_pair.len() <= MOST / 2 {
        return;
    }
    let mut counts: Vec<_> = by_pair.values().map(|entry| entry.count).collect();
    counts.sort_unstable();
    let middle = counts.get(counts.len() / 2).copied().unwrap_or(0);
    let mut excess = by_pair.len() - MOST / 2;
    by_pair.retain(|_, entry| {
        let goes = entry.count <= middle && excess > 0;
        excess -= usize::from(goes);
        !goes
    });
}

#[cfg(test)]
mod tests;
