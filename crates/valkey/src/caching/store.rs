//! The values that are cached, and which of them are out of date. No I/O, and the clock is the caller's.
//!
//! Each key that is cached or being read has a *life*: a flag that all replies that were read of the key share. It ends when the key
//! changes, and the next read gets a new one. A reply belongs to the life that the key had before its command was written, so a
//! change that the server made after it executed the command ends that life, whether it is heard of before the reply is stored or
//! behind that. A reply without a living life is never a hit.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use onecopy_resp_proto::OwnedReply;
use quick_cache::sync::Cache;
use quick_cache::{DefaultHashBuilder, Lifecycle, OptionsBuilder, Weighter};

use super::options::CacheOptions;
use super::stats::CacheStats;
use crate::cluster::key_slot;

/// Bytes that are counted for the bookkeeping of a value.
const OVERHEAD: u64 = 256;

/// What a value has on average, to begin with: how many parts the cache has depends on it.
const ESTIMATED: u64 = 512;

/// Keys that may be remembered without a value before they are looked for.
const SPARE_KEYS: usize = 1 << 10;

/// A cache of replies by their commands, as they are sent.
#[derive(Debug)]
pub(crate) struct Store {
    cache: Cache<Arc<[u8]>, Arc<Entry>, Bytes, DefaultHashBuilder, Evictions>,
    keys: Mutex<Keys>,
    max_age: Option<Duration>,
    max_value: u64,
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
    invalidations: AtomicU64,
    flushes: AtomicU64,
}

/// The lives of keys. Nobody gets hold of one but under the lock, or from somebody who holds it.
#[derive(Debug, Default)]
struct Keys {
    by_name: HashMap<Arc<[u8]>, Key>,
    /// So many were there when those without a value were forgotten last.
    swept: usize,
}

#[derive(Debug)]
struct Key {
    life: Life,
    /// The connection whose server says how it changes; 0: not known yet, or there is one only.
    line: u64,
    /// The commands whose replies are cached, as far as is known: they are dropped when the life ends.
    commands: HashSet<Arc<[u8]>>,
}

/// Whether the key is as it was.
#[derive(Debug, Clone)]
struct Life(Arc<AtomicBool>);

impl Life {
    fn new() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    #[inline]
    fn is_over(&self) -> bool {
        !self.0.load(Ordering::Acquire)
    }

    fn end(&self) {
        self.0.store(false, Ordering::Release);
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether only the list of keys has it.
    fn is_unused(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

/// A reply.
#[derive(Debug)]
pub(crate) struct Entry {
    reply: OwnedReply,
    key: Arc<[u8]>,
    life: Life,
    weight: u64,
    expires_at: Option<Instant>,
}

impl Entry {
    #[inline]
    pub(crate) fn reply(&self) -> &OwnedReply {
        &self.reply
    }
}

/// A read that has begun.
#[derive(Debug)]
pub(crate) struct Fetch {
    command: Arc<[u8]>,
    key: Arc<[u8]>,
    life: Life,
}

impl Fetch {
    /// Whether the key has changed since.
    #[cfg(test)]
    pub(crate) fn is_outdated(&self) -> bool {
        self.life.is_over()
    }

    /// Whether it reads the same state of the key.
    pub(crate) fn is_same_life(&self, other: &Self) -> bool {
        self.life.is(&other.life)
    }

    pub(crate) fn command(&self) -> &Arc<[u8]> {
        &self.command
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }
}

impl Store {
    pub(crate) fn new(options: &CacheOptions) -> Self {
        let items = (options.max_bytes / ESTIMATED).max(1);
        let cache = OptionsBuilder::new()
            .weight_capacity(options.max_bytes)
            .estimated_items_capacity(usize::try_from(items).unwrap_or(usize::MAX))
            .build();
        let cache = match cache {
            Ok(built) => {
                Cache::with_options(built, Bytes, DefaultHashBuilder::default(), Evictions)
            }
            // It only fails if one of the two is missing.
            Err(_) => Cache::with(
                1 << 10,
                options.max_bytes,
                Bytes,
                DefaultHashBuilder::default(),
                Evictions,
            ),
        };
        let max_value = options.max_value_bytes.min(cache.shard_capacity() / 8);
        Self {
            cache,
            keys: Mutex::default(),
            max_age: options.max_age,
            max_value,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
            invalidations: AtomicU64::new(0),
            flushes: AtomicU64::new(0),
        }
    }

    /// The reply to a command, if it is cached and its key is as it was.
    #[inline]
    pub(crate) fn get(&self, command: &[u8], now: impl Fn() -> Instant) -> Option<Arc<Entry>> {
        let entry = self.cache.get(command)?;
        if entry.life.is_over()
            || entry
                .expires_at
                .is_some_and(|expires_at| expires_at <= now())
        {
            return None;
        }
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(entry)
    }

    /// A read of a key begins. Call it before the command is written.
    pub(crate) fn begin(&self, command: Arc<[u8]>, key: &[u8]) -> Fetch {
        self.misses.fetch_add(1, Ordering::Relaxed);
        let mut keys = self.lock();
        let known = keys.by_name.get_key_value(key);
        let (key, life) = match known {
            Some((name, known)) => (Arc::clone(name), known.life.clone()),
            None => {
                keys.sweep();
                let (name, life) = (Arc::<[u8]>::from(key), Life::new());
                let key = Key {
                    life: life.clone(),
                    line: 0,
                    commands: HashSet::new(),
                };
                keys.by_name.insert(Arc::clone(&name), key);
                (name, life)
            }
        };
        Fetch { command, key, life }
    }

    /// A read goes over this connection. Call it before the command is written. What was read over another one is dropped, as only one
    /// of them says how the key changes.
    pub(crate) fn bind(&self, fetch: &Fetch, line: u64) {
        let mut keys = self.lock();
        let Some(key) = keys.by_name.get_mut(&fetch.key) else {
            return; // it has changed since
        };
        if key.line == 0 {
            key.line = line;
        }
        if key.line != line && key.life.is(&fetch.life) {
            let key = keys.by_name.remove(&fetch.key);
            drop(keys);
            key.into_iter().for_each(|key| self.end_life(&key));
        }
    }

    /// A read has its reply, which is cached if nothing is against it.
    pub(crate) fn end(
        &self,
        fetch: &Fetch,
        reply: OwnedReply,
        now: impl Fn() -> Instant,
    ) -> Arc<Entry> {
        let size = reply.size() as u64;
        let entry = self.pass(fetch, reply, now);
        if entry.weight <= OVERHEAD + self.max_value && size <= self.max_value {
            self.insert(fetch, &entry);
        }
        entry
    }

    /// A read has its reply, which is not cached: nobody says when its key changes.
    pub(crate) fn pass(
        &self,
        fetch: &Fetch,
        reply: OwnedReply,
        now: impl Fn() -> Instant,
    ) -> Arc<Entry> {
        let names = (fetch.command.len() + fetch.key.len()) as u64;
        Arc::new(Entry {
            key: Arc::clone(&fetch.key),
            life: fetch.life.clone(),
            weight: OVERHEAD + names + reply.size() as u64,
            expires_at: self.max_age.and_then(|max_age| now().checked_add(max_age)),
            reply,
        })
    }

    fn insert(&self, fetch: &Fetch, entry: &Arc<Entry>) {
        let mut keys = self.lock();
        let key = keys.by_name.get_mut(&fetch.key);
        let Some(key) = key.filter(|key| key.life.is(&fetch.life)) else {
            return; // the key has changed
        };
        key.commands.insert(Arc::clone(&fetch.command));
        drop(keys);
        let mut evicted = Vec::new();
        let (command, stored) = (Arc::clone(&fetch.command), Arc::clone(entry));
        self.cache
            .insert_with_lifecycle(command, stored, &mut evicted);
        if fetch.life.is_over() {
            self.drop_outdated(&fetch.command);
        }
        self.forget(evicted);
    }

    /// A key has changed.
    pub(crate) fn invalidate(&self, key: &[u8]) {
        self.invalidations.fetch_add(1, Ordering::Relaxed);
        let removed = self.lock().by_name.remove(key);
        removed.into_iter().for_each(|key| self.end_life(&key));
    }

    fn end_life(&self, key: &Key) {
        key.life.end();
        key.commands
            .iter()
            .for_each(|command| self.drop_outdated(command));
    }

    /// All keys may have changed.
    pub(crate) fn flush(&self) {
        self.flushes.fetch_add(1, Ordering::Relaxed);
        let keys = std::mem::take(&mut *self.lock());
        keys.by_name.values().for_each(|key| key.life.end());
        self.cache.retain(|_, entry| !entry.life.is_over());
    }

    /// All keys that were read over this connection may have changed.
    pub(crate) fn flush_line(&self, line: u64) {
        self.flush_where(|_, key| key.line == line);
    }

    /// All keys of these slots may have changed.
    pub(crate) fn flush_slots(&self, is_moved: &dyn Fn(u16) -> bool) {
        self.flush_where(|name, _| is_moved(key_slot(name)));
    }

    fn flush_where(&self, is_it: impl Fn(&[u8], &Key) -> bool) {
        let mut keys = self.lock();
        let before = keys.by_name.len();
        keys.by_name.retain(|name, key| {
            let ends = is_it(name, key);
            if ends {
                key.life.end();
            }
            !ends
        });
        let has_ended = keys.by_name.len() < before;
        drop(keys);
        if has_ended {
            self.flushes.fetch_add(1, Ordering::Relaxed);
            self.cache.retain(|_, entry| !entry.life.is_over());
        }
    }

    pub(crate) fn stats(&self) -> CacheStats {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheStats {
            hits: count(&self.hits),
            misses: count(&self.misses),
            evictions: count(&self.evictions),
            invalidations: count(&self.invalidations),
            flushes: count(&self.flushes),
            entries: self.cache.len() as u64,
            bytes: self.cache.weight(),
        }
    }

    fn drop_outdated(&self, command: &Arc<[u8]>) {
        self.cache.remove_if(command, |entry| entry.life.is_over());
    }

    /// What the cache had no room for.
    fn forget(&self, evicted: Vec<(Arc<[u8]>, Arc<Entry>)>) {
        for (command, entry) in evicted {
            let mut keys = self.lock();
            let is_gone = self.cache.peek(&command).is_none();
            self.evictions
                .fetch_add(u64::from(is_gone), Ordering::Relaxed);
            let name = Arc::clone(&entry.key);
            let Some(key) = keys.by_name.get_mut(&name) else {
                continue;
            };
            if key.life.is(&entry.life) && is_gone {
                key.commands.remove(&command);
            }
            drop(entry);
            if key.life.is_unused() {
                keys.by_name.remove(&name);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keys {
    /// Forgets keys of which nothing is cached, when they may be as many as the others: reads that failed leave such keys behind.
    fn sweep(&mut self) {
        if self.by_name.len() > 2 * self.swept + SPARE_KEYS {
            self.by_name.retain(|_, key| !key.life.is_unused());
            self.swept = self.by_name.len();
        }
    }
}

/// Weighs replies by their bytes.
#[derive(Debug, Clone, Copy)]
struct Bytes;

impl Weighter<Arc<[u8]>, Arc<Entry>> for Bytes {
    fn weight(&self, _: &Arc<[u8]>, entry: &Arc<Entry>) -> u64 {
        entry.weight
    }
}

/// Collects what the cache had no room for. It is dropped without the cache's lock.
#[derive(Debug, Clone, Copy)]
struct Evictions;

impl Lifecycle<Arc<[u8]>, Arc<Entry>> for Evictions {
    type RequestState = Vec<(Arc<[u8]>, Arc<Entry>)>;

    fn on_evict(&self, evicted: &mut Self::RequestState, command: Arc<[u8]>, entry: Arc<Entry>) {
        evicted.push((command, entry));
    }
}

#[cfg(test)]
mod tests;
