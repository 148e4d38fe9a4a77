//! Who hears which keys change, on one connection.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Cache;
use crate::Reply;
use crate::aio::shared::{Tracker, Trackers};
use crate::caching::Invalidation;
use crate::command::Raw;

/// The only connection.
impl Tracker for Cache {
    fn command(&self) -> Raw<'_> {
        self.options.command()
    }

    fn pushed(&self, push: Reply<'_>) -> bool {
        self.hear(push, || self.store.flush())
    }

    fn lost(&self) {
        self.store.flush();
    }

    fn line(&self) -> u64 {
        0
    }
}

/// One of several connections: what it says of all keys is about those that were read over it.
#[derive(Debug)]
struct Line {
    cache: Arc<Cache>,
    number: u64,
}

impl Tracker for Line {
    fn command(&self) -> Raw<'_> {
        self.cache.options.command()
    }

    fn pushed(&self, push: Reply<'_>) -> bool {
        self.cache.hear(push, || self.lost())
    }

    fn lost(&self) {
        self.cache.store.flush_line(self.number);
    }

    fn line(&self) -> u64 {
        self.number
    }
}

impl Trackers for Arc<Cache> {
    fn new_line(&self) -> Arc<dyn Tracker> {
        Arc::new(Line {
            cache: Self::clone(self),
            // 0 is no line.
            number: self.lines.fetch_add(1, Ordering::Relaxed) + 1,
        })
    }

    fn moved(&self, is_moved: &dyn Fn(u16) -> bool) {
        self.store.flush_slots(is_moved);
    }
}

impl Cache {
    /// Takes a push. Whether it was about keys.
    fn hear(&self, push: Reply<'_>, flush: impl Fn()) -> bool {
        match Invalidation::of(push) {
            None => return false,
            Some(Invalidation::All) => flush(),
            Some(keys) => keys.each(|key| self.store.invalidate(key)),
        }
        true
    }
}
