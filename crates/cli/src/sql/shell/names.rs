//! Names of databases, tables, columns and routines, read in the background over a connection of its own.

mod known;
mod load;

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use onecopy_mysql::Config;

pub(super) use known::Known;

/// Tab waits at most so long for names that are being read; the next one finds them.
const PATIENCE: Duration = Duration::from_millis(300);

/// What is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wish {
    Database(Option<String>),
    /// The columns of a table, where its database has too many to read all.
    Table(Option<String>, String),
    /// All that was read before: something has changed.
    Again,
}

/// Reads nothing before it is asked.
#[derive(Clone)]
pub(super) struct Names(Arc<Shared>);

struct Shared {
    known: Mutex<Known>,
    changed: Condvar,
    /// To the thread that reads; `None` where there is none.
    wishes: Option<Mutex<Sender<Wish>>>,
}

impl Names {
    /// Names of this server.
    pub(super) fn of(config: &Config) -> Self {
        let (sender, receiver) = mpsc::channel();
        let mut known = Known::default();
        known.set_current(config.database.as_deref());
        let names = Self::new(known, Some(Mutex::new(sender)));
        let (reader, config) = (names.clone(), config.clone());
        // It ends with the process. Where it can't be started nothing but keywords is completed.
        let name = String::from("names");
        let _ = thread::Builder::new()
            .name(name)
            .spawn(move || reader.read(&config, &receiver));
        names
    }

    /// Names that are given.
    #[cfg(test)]
    pub(super) fn fixed(known: Known) -> Self {
        Self::new(known, None)
    }

    fn new(known: Known, wishes: Option<Mutex<Sender<Wish>>>) -> Self {
        Self(Arc::new(Shared {
            known: Mutex::new(known),
            changed: Condvar::new(),
            wishes,
        }))
    }

    /// Somebody types: the names of this database will be needed. Costs nothing the second time.
    pub(super) fn prefetch(&self) {
        let known = self.lock();
        if known.needs(None) {
            self.wish(known, Wish::Database(None));
        }
    }

    /// Another database is in use.
    pub(super) fn set_current(&self, database: Option<&str>) {
        self.lock().set_current(database);
    }

    /// Tables may have changed: what was read is read again, and is known meanwhile.
    pub(super) fn reload(&self) {
        let mut known = self.lock();
        known.forget_asked();
        if !known.is_empty() {
            self.wish(known, Wish::Again);
        }
    }

    /// All that is known, once that which is wanted is, and after a moment at the latest.
    pub(super) fn known(&self, wanted: &[(Option<String>, Option<String>)]) -> Known {
        let until = Instant::now() + PATIENCE;
        let mut known = self.lock();
        let mut wished: Vec<Wish> = Vec::new();
        loop {
            let needed = wanted.iter().filter_map(|(database, table)| {
                let database = database.as_deref();
                if known.needs(database) {
                    return Some(Wish::Database(database.map(str::to_owned)));
                }
                let table = table
                    .as_deref()
                    .filter(|table| known.needs_columns(database, table))?;
                Some(Wish::Table(database.map(str::to_owned), table.to_owned()))
            });
            let needed: Vec<Wish> = needed.collect();
            let left = until.saturating_duration_since(Instant::now());
            if needed.is_empty() || left.is_zero() || self.0.wishes.is_none() {
                return known.clone();
            }
            for wish in needed {
                if !wished.contains(&wish) {
                    wished.push(wish.clone());
                    self.wish(known, wish);
                    known = self.lock();
                }
            }
            let waited = self.0.changed.wait_timeout(known, left);
            known = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Unless it was requested already and has not arrived yet.
    fn wish(&self, mut known: MutexGuard<'_, Known>, wish: Wish) {
        let key = format!("{wish:?}");
        if let Some(wishes) = &self.0.wishes
            && known.mark_asked(&key)
        {
            let _ = wishes
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .send(wish);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fulfils wishes until nobody is left who could have one. The connection is closed after each: a shell that is not used
    /// holds one only.
    fn read(&self, config: &Config, wishes: &Receiver<Wish>) {
        while let Ok(first) = wishes.recv() {
            let mut all = vec![first];
            all.extend(wishes.try_iter());
            let current = self.lock().current();
            let read = load::read(config, current.as_deref(), &all, &self.0.known);
            let mut known = self.lock();
            for wish in &all {
                known.mark_answered(&format!("{wish:?}"), read.is_ok());
            }
            drop(known);
            self.0.changed.notify_all();
        }
    }
}
