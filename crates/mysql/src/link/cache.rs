//! An LRU cache of prepared statements by their text.
//!
//! ```text
//!   index                     entries, linked from the newest to the oldest
//!   hash of a text  ------>   | text, statement, newer, older |
//! ```
//!
//! A lookup is one hash over the text and one comparison, without an allocation. An evicted statement is closed like any dropped
//! statement: together with the connection's next command.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::owned;

use crate::Statement;

/// Longer texts are not kept: 32 KiB. Such texts are generated, and rarely repeated.
const MAX_TEXT: usize = 32 << 10;

/// No entry.
const NONE: u32 = u32::MAX;

/// The statements of one connection. `S` is the statement; tests have ids of their own.
#[derive(Debug)]
pub(crate) struct StatementCache<S = Statement> {
    capacity: usize,
    /// Entries by the hash of their text. Two texts with the same hash replace each other.
    index: HashMap<u64, u32, BuildHasherDefault<Hashed>>,
    entries: Vec<Entry<S>>,
    newest: u32,
    oldest: u32,
}

#[derive(Debug)]
struct Entry<S> {
    hash: u64,
    text: Vec<u8>,
    statement: S,
    newer: u32,
    older: u32,
}

impl<S> StatementCache<S> {
    /// A cache of at most `capacity` statements.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.min(NONE as usize),
            index: HashMap::default(),
            entries: Vec::new(),
            newest: NONE,
            oldest: NONE,
        }
    }

    /// Returns the statement of that text, and makes it the newest entry.
    #[inline]
    pub(super) fn find(&mut self, text: &[u8]) -> Option<&S> {
        let number = self.number(text)?;
        if self.newest != number {
            self.unlink(number);
            self.link(number);
        }
        Some(&self.entries.get(number as usize)?.statement)
    }

    fn number(&self, text: &[u8]) -> Option<u32> {
        let number = *self.index.get(&hash(text))?;
        let entry = self.entries.get(number as usize)?;
        (entry.text == text).then_some(number)
    }

    /// Adds a statement, and evicts the oldest if the cache is full. With a capacity of 0 the statement is dropped.
    ///
    /// # Errors
    /// `OutOfMemory`; the statement is dropped.
    pub(super) fn insert(&mut self, text: &[u8], statement: S) -> Result<(), ProtocolError> {
        if self.capacity == 0 || text.len() > MAX_TEXT {
            return Ok(());
        }
        let hash = hash(text);
        if let Some(&number) = self.index.get(&hash) {
            self.take_out(number);
        }
        while self.entries.len() >= self.capacity {
            self.take_out(self.oldest);
        }
        let bytes = (self.entries.len() + 1) * size_of::<Entry<S>>();
        let out_of_memory = |_| ProtocolError::OutOfMemory {
            bytes: bytes as u64,
        };
        self.index.try_reserve(1).map_err(out_of_memory)?;
        self.entries.try_reserve(1).map_err(out_of_memory)?;
        let text = owned::bytes(text).map_err(ProtocolError::of_call)?;
        let number = u32::try_from(self.entries.len()).unwrap_or(NONE);
        self.entries.push(Entry {
            hash,
            text,
            statement,
            newer: NONE,
            older: NONE,
        });
        self.index.insert(hash, number);
        self.link(number);
        Ok(())
    }

    /// Drops the statement of that text.
    pub(super) fn remove(&mut self, text: &[u8]) {
        if let Some(number) = self.number(text) {
            self.take_out(number);
        }
    }

    /// Drops all of them.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.capacity);
    }

    /// Takes an entry out, in whose place the last one goes.
    fn take_out(&mut self, number: u32) {
        self.unlink(number);
        let entry = self.entries.swap_remove(number as usize);
        self.index.remove(&entry.hash);
        let Some(moved) = self.entries.get(number as usize) else {
            return;
        };
        let (hash, newer, older) = (moved.hash, moved.newer, moved.older);
        self.index.insert(hash, number);
        self.set_older(newer, number);
        self.set_newer(older, number);
    }

    /// Makes an entry the newest.
    fn link(&mut self, number: u32) {
        let older = self.newest;
        if let Some(entry) = self.entries.get_mut(number as usize) {
            (entry.newer, entry.older) = (NONE, older);
        }
        self.set_newer(older, number);
        self.newest = number;
    }

    fn unlink(&mut self, number: u32) {
        let Some(entry) = self.entries.get(number as usize) else {
            return;
        };
        let (newer, older) = (entry.newer, entry.older);
        self.set_older(newer, older);
        self.set_newer(older, newer);
    }

    /// What is behind `number`, or behind all of them, is `older`.
    fn set_older(&mut self, number: u32, older: u32) {
        match self.entries.get_mut(number as usize) {
            Some(entry) => entry.older = older,
            None => self.newest = older,
        }
    }

    /// What is before `number`, or before all of them, is `newer`.
    fn set_newer(&mut self, number: u32, newer: u32) {
        match self.entries.get_mut(number as usize) {
            Some(entry) => entry.newer = newer,
            None => self.oldest = newer,
        }
    }
}

/// A hash of bytes, eight at a time. It need not be strong: texts with the same hash only replace each other.
#[inline]
fn hash(text: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = text.len() as u64;
    let (words, rest) = text.as_chunks::<8>();
    for word in words {
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    hash = (hash.rotate_left(5) ^ u64::from_le_bytes(last)).wrapping_mul(FACTOR);
    // The table looks at the upper bits and the lower ones.
    hash ^ (hash >> 32)
}

/// Takes a number as its own hash.
#[derive(Debug, Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash(bytes);
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests;
