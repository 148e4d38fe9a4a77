//! Where a backend is: each of its addresses, and what came of the last connects to it.
//!
//! A name may have addresses of several servers, of one server in two families, or both. Those of the family that the
//! system's resolver puts first take turns, so that servers share sessions; those of the other one are for when none of these
//! can be had. One that fails is passed over for a while, twice as long each time, and for all but one session when that is
//! over: whatever it costs to find out that it is still dead, one session at a time pays it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use onecopy_net::evented::Address;

/// For so long an address is passed over whose connect failed for the first time.
const SHUNNED: Duration = Duration::from_secs(2);

/// And at the most, with a minute: a server that comes back is not to wait for much longer.
const LONGEST_DOUBLINGS: u32 = 5;

/// A backend's addresses, at least one.
#[derive(Debug)]
pub(super) struct Addresses(Mutex<List>);

#[derive(Debug)]
struct List {
    known: Vec<Known>,
    turn: usize,
}

#[derive(Debug, Clone)]
struct Known {
    address: Address,
    /// Connects that failed since the last that did not.
    failures: u32,
    /// Until then it is passed over.
    shunned_until: Option<Instant>,
    /// A session finds out whether it is back.
    is_tried: bool,
}

/// How many addresses of a backend did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    None,
    Some,
    All,
}

impl Known {
    fn new(address: Address) -> Self {
        Self {
            address,
            failures: 0,
            shunned_until: None,
            is_tried: false,
        }
    }

    fn is_shunned(&self, now: Instant) -> bool {
        self.shunned_until.is_some_and(|until| now < until)
    }

    fn shun(&mut self, now: Instant) {
        let doublings = self.failures.saturating_sub(1).min(LONGEST_DOUBLINGS);
        self.shunned_until = Some(now + SHUNNED * (1 << doublings));
    }
}

impl Addresses {
    pub(super) fn new(found: Vec<Address>) -> Self {
        let known = found.into_iter().map(Known::new).collect();
        Self(Mutex::new(List { known, turn: 0 }))
    }

    /// Where to connect to, of those that are not among `tried`; one that is passed over only where there is no other.
    pub(super) fn next(&self, tried: &[Address], now: Instant) -> Option<Address> {
        let mut list = self.lock();
        list.turn = list.turn.wrapping_add(1);
        let first = list.known.first().map(|known| is_ipv6(&known.address));
        let rank = |known: &Known| {
            let until = known.shunned_until.filter(|_| known.is_shunned(now));
            (until, Some(is_ipv6(&known.address)) != first)
        };
        let is_left = |known: &&Known| !tried.contains(&known.address);
        let best = list.known.iter().filter(is_left).map(rank).min()?;
        let is_best = |known: &Known| is_left(&known) && rank(known) == best;
        let count = list.known.iter().filter(|known| is_best(known)).count();
        let at = list.turn % count;
        let mut group = list.known.iter().enumerate();
        let (at, _) = group.by_ref().filter(|(_, known)| is_best(known)).nth(at)?;
        let known = list.known.get_mut(at)?;
        if known.failures > 0 && !known.is_shunned(now) {
            // This session finds out for the others.
            known.shun(now);
            known.is_tried = true;
        }
        Some(known.address.clone())
    }

    /// How many are left beside those that were tried.
    pub(super) fn left(&self, tried: &[Address]) -> usize {
        let list = self.lock();
        let left = |known: &&Known| !tried.contains(&known.address);
        list.known.iter().filter(left).count()
    }

    /// The same without those that are passed over, where there are others.
    pub(super) fn shares(&self, tried: &[Address], now: Instant) -> usize {
        let list = self.lock();
        let left = |known: &&Known| !tried.contains(&known.address);
        let left = list.known.iter().filter(left);
        match left.clone().filter(|known| !known.is_shunned(now)).count() {
            0 => left.count(),
            fine => fine,
        }
    }

    pub(super) fn all(&self) -> Vec<Address> {
        let list = self.lock();
        list.known
            .iter()
            .map(|known| known.address.clone())
            .collect()
    }

    /// Those that are not passed over, and those whose last connect failed.
    pub(super) fn by_health(&self) -> (Vec<Address>, Vec<Address>) {
        let list = self.lock();
        let (doubted, fine): (Vec<_>, Vec<_>) = list
            .known
            .iter()
            .cloned()
            .partition(|known| known.failures > 0);
        let addresses = |known: Vec<Known>| known.into_iter().map(|known| known.address).collect();
        (addresses(fine), addresses(doubted))
    }

    /// A connect to it has failed. One to an address that is no longer known tells nothing, nor does one that was under way when
    /// another one failed: it would have a hundred sessions that were refused together pass for a hundred attempts.
    pub(super) fn failed(&self, address: &Address, now: Instant) {
        self.with(address, |known| {
            let was_tried = std::mem::take(&mut known.is_tried);
            if known.is_shunned(now) && !was_tried {
                return;
            }
            known.failures = known.failures.saturating_add(1);
            known.shun(now);
        });
    }

    /// A connect to it has worked.
    pub(super) fn worked(&self, address: &Address) {
        self.with(address, |known| *known = Known::new(known.address.clone()));
    }

    /// Whether all of them are passed over.
    pub(super) fn are_shunned(&self, now: Instant) -> bool {
        self.lock().known.iter().all(|known| known.is_shunned(now))
    }

    /// How many of them have failed at their last connect.
    pub(super) fn doubt(&self) -> Doubt {
        let list = self.lock();
        match list.known.iter().filter(|known| known.failures > 0).count() {
            0 => Doubt::None,
            failed if failed < list.known.len() => Doubt::Some,
            _ => Doubt::All,
        }
    }

    /// Whether there are some, and none of them is known.
    pub(super) fn are_all_new(&self, found: &[Address]) -> bool {
        let list = self.lock();
        let is_known = |address: &Address| list.known.iter().any(|known| known.address == *address);
        !found.is_empty() && !found.iter().any(is_known)
    }

    /// These from now on; those that stay keep what is known of them. Gives those before, in the order of their text as
    /// `found` is compared with them; `None` where nothing has changed, or where nothing was found.
    pub(super) fn move_to(&self, found: &[Address]) -> Option<[String; 2]> {
        let mut list = self.lock();
        let text = |addresses: &mut dyn Iterator<Item = &Address>| {
            let mut texts: Vec<_> = addresses.map(ToString::to_string).collect();
            texts.sort_unstable();
            texts.dedup();
            texts.join(", ")
        };
        let after = text(&mut found.iter());
        let before = text(&mut list.known.iter().map(|known| &known.address));
        if found.is_empty() || after == before {
            return None;
        }
        let mut known: Vec<Known> = Vec::new();
        for address in found {
            if known.iter().any(|known| known.address == *address) {
                continue;
            }
            let old = list.known.iter().find(|known| known.address == *address);
            known.push(old.cloned().unwrap_or_else(|| Known::new(address.clone())));
        }
        list.known = known;
        Some([after, before])
    }

    fn with(&self, address: &Address, change: impl FnOnce(&mut Known)) {
        let mut list = self.lock();
        if let Some(known) = list
            .known
            .iter_mut()
            .find(|known| known.address == *address)
        {
            change(known);
        }
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_ipv6(address: &Address) -> bool {
    matches!(address, Address::Tcp(address) if address.is_ipv6())
}

#[cfg(test)]
mod tests;
