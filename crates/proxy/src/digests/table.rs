//! The digests that take most of the servers' time, in bounded memory: a space-saving sketch.
//!
//! When the table is full, a new digest takes the place of the one with the least weight, and inherits its weight, as that may be its
//! own from before. A digest's weight is the time of its statements, in microseconds, and one for each. So every digest whose statements
//! take more than one part in `max` of all weight is in the table (Metwally, Agrawal, El Abbadi: "Efficient Computation of Frequent and
//! Top-k Elements in Data Streams", 2005). What is reported of a digest is only what was counted since it is in the table; what was
//! counted of those that have left it is in the sum of the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::summary::{Counts, DigestInfo, DigestSummary};
use super::{Digest, Known, Outcome, Place};

#[derive(Debug)]
struct Entry {
    digest: Arc<Digest>,
    /// Which of the digests that had this place.
    generation: u32,
    /// Statements without a reply yet: it does not leave before they have one.
    running: u32,
    counts: Counts,
    /// Of the digest that it has displaced.
    inherited: u64,
    first: Instant,
    last: Instant,
}

impl Entry {
    fn weight(&self) -> u64 {
        let own = self.counts.latency.sum + self.counts.statements();
        self.inherited.saturating_add(own)
    }
}

#[derive(Debug)]
pub(super) struct Table {
    max: usize,
    entries: Vec<Entry>,
    /// By hash of the text.
    by_hash: HashMap<u64, u32>,
    /// Of digests that had to leave, and of statements for which there was no place.
    others: Counts,
    displaced: u64,
    /// The next one to be used: no two entries have had the same.
    generation: u32,
    since: Instant,
}

impl Table {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            entries: Vec::new(),
            by_hash: HashMap::new(),
            others: Counts::default(),
            displaced: 0,
            generation: 0,
            since: Instant::now(),
        }
    }

    /// Statements under way are not counted when they end.
    pub(super) fn reset(&mut self, max: usize) {
        *self = Self {
            generation: self.generation,
            ..Self::new(max)
        };
    }

    pub(super) fn max(&self) -> usize {
        self.max
    }

    #[inline]
    fn entry(&mut self, place: Place) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(place.slot as usize)?;
        (entry.generation == place.generation).then_some(entry)
    }

    /// Counts a statement that begins; `false` where its digest has left the place.
    #[inline]
    pub(super) fn begin(&mut self, place: Place) -> bool {
        match self.entry(place) {
            Some(entry) => {
                entry.running += 1;
                true
            }
            None => false,
        }
    }

    /// The same of a digest that is in the table from now on.
    pub(super) fn begin_known(&mut self, known: &mut Known, now: Instant) -> Place {
        if !self.begin(known.place) {
            known.place = self.place(&known.digest, now);
            self.begin(known.place);
        }
        known.place
    }

    /// A digest by its text, which is copied only where it is not known.
    pub(super) fn know(&mut self, hash: u64, text: &str, now: Instant) -> Known {
        let slot = self.by_hash.get(&hash);
        let entry = slot.and_then(|slot| self.entries.get(*slot as usize));
        let known = entry.filter(|entry| *entry.digest.text == *text);
        let digest = match known {
            Some(entry) => Arc::clone(&entry.digest),
            None => Arc::new(Digest {
                hash,
                text: text.into(),
            }),
        };
        let place = self.place(&digest, now);
        Known { digest, place }
    }

    /// Where a digest is, or is from now on. Two texts with one hash, which no two are known to have, would count as one.
    fn place(&mut self, digest: &Arc<Digest>, now: Instant) -> Place {
        if let Some(slot) = self.by_hash.get(&digest.hash)
            && let Some(entry) = self.entries.get(*slot as usize)
        {
            return Place {
                slot: *slot,
                generation: entry.generation,
            };
        }
        let (slot, inherited) = match self.entries.len() < self.max {
            true => (self.entries.len(), 0),
            false => match self.displace() {
                Some(displaced) => displaced,
                None => return Place::UNPLACED,
            },
        };
        self.generation = self.generation.wrapping_add(1);
        let entry = Entry {
            digest: Arc::clone(digest),
            generation: self.generation,
            running: 0,
            counts: Counts::default(),
            inherited,
            first: now,
            last: now,
        };
        let place = Place {
            // There are as many as the configuration says, which is fewer.
            slot: u32::try_from(slot).unwrap_or(u32::MAX),
            generation: entry.generation,
        };
        self.by_hash.insert(digest.hash, place.slot);
        match self.entries.get_mut(slot) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
        place
    }

    /// Frees the place of the digest with the least weight. `None` where all have statements under way.
    #[cold]
    fn displace(&mut self) -> Option<(usize, u64)> {
        let all = self.entries.iter().enumerate();
        let free = all.filter(|(_, entry)| entry.running == 0);
        let (slot, least) = free.min_by_key(|(_, entry)| entry.weight())?;
        self.others.merge(&least.counts);
        self.displaced += 1;
        self.by_hash.remove(&least.digest.hash);
        Some((slot, least.weight()))
    }

    #[inline]
    pub(super) fn end(&mut self, place: Place, outcome: &Outcome, now: Instant) {
        if let Some(entry) = self.entry(place) {
            entry.running = entry.running.saturating_sub(1);
            entry.last = now;
            entry.counts.add(outcome);
        } else if place == Place::UNPLACED {
            self.others.add(outcome);
        }
    }

    pub(super) fn forget(&mut self, place: Place) {
        if let Some(entry) = self.entry(place) {
            entry.running = entry.running.saturating_sub(1);
        }
    }

    pub(super) fn summary(&self, now: Instant) -> DigestSummary {
        let info = |entry: &Entry| DigestInfo {
            digest: Arc::clone(&entry.digest),
            running: entry.running.into(),
            counts: entry.counts.clone(),
            first: now.saturating_duration_since(entry.first),
            last: now.saturating_duration_since(entry.last),
        };
        DigestSummary {
            digests: self.entries.iter().map(info).collect(),
            others: self.others.clone(),
            displaced: self.displaced,
            since: now.saturating_duration_since(self.since),
        }
    }
}
