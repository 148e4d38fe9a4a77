//! Statements by digest: how often, how long, how many rows and bytes. Each worker counts its own, and they are put together when somebody
//! looks.
//!
//! ```text
//!   statement --> template of the session's last one? --> of one with the same start? --> digest, from the text
//!                        |                                     |                              |
//!                        +-------------------------------------+------------------------------+--> entry of the table
//! ```
//!
//! A digest costs about fifty instructions for each byte, a statement through the proxy five to eight thousand: so it is computed once
//! for each text, and a [`Template`](onecopy_mysql_proto::digest::Template) finds it again. `docs/design/digests.md` has the numbers.

mod summary;
mod table;
mod templates;

use std::sync::Arc;
use std::time::Instant;

use onecopy_mysql_proto::digest::Digester;
use onecopy_mysql_proto::relay::Tally;

use crate::statement_log::{StatementLogs, Watched};
use crate::stats::Taken;

pub(crate) use summary::{Counts, DigestInfo, DigestSummary};
use table::Table;
use templates::Templates;

/// So much of a digest's text is kept, and matched by rules.
pub(crate) const TEXT_BYTES: usize = 4 << 10;

/// So much of a statement is looked at: the digest of a longer one is that of its start.
pub(crate) const STATEMENT_BYTES: usize = 4 << 10;

/// A digest: its text and the hash of that.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Digest {
    pub(crate) hash: u64,
    pub(crate) text: Box<str>,
}

impl Digest {
    /// The hash as people see it: 16 hexadecimal digits.
    pub(crate) fn name(&self) -> String {
        format!("{:016x}", self.hash)
    }
}

/// A digest, and where it was in the table when it was looked for last.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) digest: Arc<Digest>,
    place: Place,
}

/// An entry of the table, as long as no other digest has its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    slot: u32,
    generation: u32,
}

impl Place {
    /// That of a command which is not counted.
    pub(crate) const NONE: Self = Self {
        slot: u32::MAX,
        generation: 0,
    };

    /// That of a statement for which there was no place in the table.
    const UNPLACED: Self = Self {
        slot: u32::MAX,
        generation: 1,
    };
}

impl Default for Place {
    fn default() -> Self {
        Self::NONE
    }
}

/// What became of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) taken: Taken,
    pub(crate) tally: Tally,
    pub(crate) failed: bool,
    /// Of the command, and of its reply.
    pub(crate) bytes_from_client: u64,
    pub(crate) bytes_from_backend: u64,
}

/// Where a session's last statement was found: most often the next one is like it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hint(u32);

impl Hint {
    /// There are fewer places than 32 bits can say.
    fn at(place: usize) -> Self {
        Self(u32::try_from(place).unwrap_or(u32::MAX))
    }
}

/// The digests of one worker.
#[derive(Debug)]
pub(crate) struct Digests {
    table: Table,
    templates: Templates,
    digester: Digester,
    /// Where statements are logged: here because it is asked at once whether they are looked at, for either of both.
    pub(crate) logs: StatementLogs,
    is_watching: bool,
}

impl Digests {
    /// Keeps at most `max` digests; counts nothing where that is 0.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            table: Table::new(max),
            templates: Templates::new(max),
            digester: Digester::new(TEXT_BYTES),
            logs: StatementLogs::default(),
            is_watching: max > 0,
        }
    }

    /// Statements are logged by these conditions from now on.
    pub(crate) fn log(&mut self, watched: Option<Arc<Watched>>) {
        self.logs.watch(watched);
        self.is_watching = self.is_on() || self.logs.has_statements();
    }

    /// Whether statements are looked at: counted or logged.
    #[inline]
    pub(crate) fn is_watching(&self) -> bool {
        self.is_watching
    }

    /// Forgets all, and keeps so many from now on.
    pub(crate) fn reset(&mut self, max: usize) {
        self.table.reset(max);
        self.templates = Templates::new(max);
        self.is_watching = max > 0 || self.logs.has_statements();
    }

    pub(crate) fn max(&self) -> usize {
        self.table.max()
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.table.max() > 0
    }

    /// A whole statement begins. `None` where the session's last one was another one.
    #[inline]
    pub(crate) fn begin_like_last(&mut self, sql: &[u8], hint: Hint) -> Option<Place> {
        let found = self.templates.at(hint.0 as usize)?;
        let place = found.known.place;
        (found.template.matches(sql) && self.table.begin(place)).then_some(place)
    }

    /// A statement begins. `sql`: its text, or the start of it where it is not whole.
    pub(crate) fn begin(
        &mut self,
        sql: &[u8],
        is_whole: bool,
        hint: &mut Hint,
        now: Instant,
    ) -> Place {
        match self.templates.find(sql).filter(|_| is_whole) {
            Some(at) => {
                *hint = Hint::at(at);
                match self.templates.at_mut(at) {
                    Some(found) => self.table.begin_known(&mut found.known, now),
                    None => Place::NONE,
                }
            }
            None => {
                let mut known = self.digest(sql, is_whole, now);
                let place = self.table.begin_known(&mut known, now);
                if is_whole && let Some(at) = self.templates.insert(sql, known) {
                    *hint = Hint::at(at);
                }
                place
            }
        }
    }

    /// The digest of a statement that is prepared, for its executions.
    #[cold]
    pub(crate) fn know(&mut self, sql: &[u8], is_whole: bool, now: Instant) -> Known {
        if is_whole
            && let Some(at) = self.templates.find(sql)
            && let Some(found) = self.templates.at(at)
        {
            return found.known.clone();
        }
        let known = self.digest(sql, is_whole, now);
        if is_whole {
            self.templates.insert(sql, known.clone());
        }
        known
    }

    /// A statement begins whose digest is known.
    #[inline]
    pub(crate) fn begin_known(&mut self, known: &mut Known, now: Instant) -> Place {
        if self.table.begin(known.place) {
            return known.place;
        }
        self.table.begin_known(known, now)
    }

    /// The reply to a statement is over.
    #[inline]
    pub(crate) fn end(&mut self, place: Place, outcome: &Outcome, now: Instant) {
        self.table.end(place, outcome, now);
    }

    /// A statement gets no reply, or was answered by the proxy.
    pub(crate) fn forget(&mut self, place: Place) {
        self.table.forget(place);
    }

    pub(crate) fn summary(&self, now: Instant) -> DigestSummary {
        self.table.summary(now)
    }

    fn digest(&mut self, sql: &[u8], is_whole: bool, now: Instant) -> Known {
        let hash = match is_whole {
            true => self.digester.digest(sql),
            false => self.digester.digest_start(sql),
        };
        self.table.know(hash, self.digester.text(), now)
    }
}

#[cfg(test)]
mod tests;
