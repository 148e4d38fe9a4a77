//! The transaction of a connection, as far as the client began it.
//!
//! Level 1 is the transaction; each further level is a savepoint in it. `held` is what callers hold, `open` what the server has. A
//! difference is noted here, and resolved before the next command:
//!
//! ```text
//!   held < open    a level was dropped: roll back to `held`, in the same write as the next command
//!   held > open    the server has rolled back: nothing is executed until the levels are given up
//! ```

use onecopy_mysql_proto::StatusFlags;

use super::{Before, Link};
use crate::{Error, TransactionOptions};

/// Ends the transaction whatever `completion_type` says: no other one begins with it, and the connection stays.
const COMMIT: &str = "COMMIT AND NO CHAIN NO RELEASE";
const ROLLBACK: &str = "ROLLBACK AND NO CHAIN NO RELEASE";

/// The levels of a connection's transaction.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// Something must be checked before the next command.
    pub(super) is_unsettled: bool,
    /// What callers hold.
    held: u32,
    /// What the server has, as far as known.
    open: u32,
    /// A level is being opened: it may be open without a reply that confirms it, or only its isolation level may be set.
    is_beginning: bool,
    /// An error was received that may have rolled back all levels.
    is_in_doubt: bool,
    /// The level that the outstanding prelude rolls back to.
    unwinding: Option<u32>,
}

/// How a level is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    Commit,
    RollBack,
}

impl Link {
    /// Refuses a transaction in a transaction, which would commit the outer one.
    pub(crate) fn check_no_transaction(&self) -> Result<(), Error> {
        if self.levels.held > 0 || self.is_in_transaction() {
            return Err(Error::nested_transaction());
        }
        Ok(())
    }

    /// Whether a transaction is open, according to the server's last status.
    pub(crate) fn is_in_transaction(&self) -> bool {
        let status = self.core.ok().status_flags;
        status.contains(StatusFlags::IN_TRANS)
    }

    /// The statements that begin a transaction. Until [`begun`](Self::begun), their effects must be undone.
    pub(crate) fn begin_transaction(
        &mut self,
        options: &TransactionOptions,
    ) -> (Option<&'static str>, &'static str) {
        self.start_beginning();
        (options.isolation_sql(), options.start_sql())
    }

    /// The statement that begins another level in the transaction, and its number.
    pub(crate) fn begin_savepoint(&mut self) -> Result<(String, u32), Error> {
        if self.levels.held == 0 || !self.is_in_transaction() {
            return Err(Error::transaction_over());
        }
        self.start_beginning();
        let level = self.levels.held + 1;
        Ok((format!("SAVEPOINT {}", savepoint(level)), level))
    }

    fn start_beginning(&mut self) {
        self.note_prelude();
        self.levels.is_beginning = true;
        self.levels.is_unsettled = true;
    }

    /// The level has begun.
    pub(crate) fn begun(&mut self, level: u32) {
        self.note_prelude();
        self.levels.is_beginning = false;
        (self.levels.held, self.levels.open) = (level, level);
    }

    /// The statement that leaves a level; an error if the server has left it already; none is needed if it will be rolled
    /// back.
    pub(crate) fn leave(&mut self, level: u32, leave: Leave) -> Result<Option<String>, Error> {
        let is_gone = !self.is_in_transaction() || self.levels.open < level;
        match (leave, level) {
            (Leave::RollBack, _) if is_gone => Ok(None),
            (Leave::Commit, _) if is_gone => Err(Error::transaction_over()),
            (Leave::Commit, 1) => Ok(Some(COMMIT.into())),
            (Leave::RollBack, 1) => Ok(Some(ROLLBACK.into())),
            (Leave::Commit, _) => Ok(Some(format!("RELEASE SAVEPOINT {}", savepoint(level)))),
            (Leave::RollBack, _) => Ok(Some(format!("ROLLBACK TO {}", savepoint(level)))),
        }
    }

    /// The server has left the level.
    pub(crate) fn left(&mut self, level: u32) {
        self.note_prelude();
        let below = level.saturating_sub(1);
        self.levels.open = self.levels.open.min(below);
        self.levels.held = self.levels.held.min(below);
    }

    /// The owner of the level was dropped: if the server still has the level, it is rolled back before the next command.
    pub(crate) fn release_level(&mut self, level: u32) {
        self.levels.held = self.levels.held.min(level.saturating_sub(1));
        self.levels.is_unsettled |= self.levels.open > self.levels.held;
    }

    /// No caller can hold the transaction any more.
    pub(crate) fn release_transaction(&mut self) {
        self.release_level(1);
    }

    /// The session is a new one: it has no transaction, no statement and no query attributes.
    pub(crate) fn forget_session(&mut self) {
        // None are never too many.
        let _ = self.core.set_query_attributes(&[]);
        self.cache.clear();
        let held = self.levels.held;
        self.levels = Levels {
            held,
            is_unsettled: held > 0,
            ..Levels::default()
        };
    }

    /// Some errors roll back the whole transaction, without saying so. Errors about syntax and data never do.
    #[cold]
    pub(super) fn doubt(&mut self, sql_state: Option<&str>) {
        let class = sql_state.and_then(|state| state.get(..2));
        if self.levels.open > 0 && !matches!(class, Some("21" | "22" | "23" | "42" | "0A")) {
            self.levels.is_in_doubt = true;
            self.levels.is_unsettled = true;
        }
    }

    /// The server was asked for its status.
    pub(crate) fn verified(&mut self) {
        self.levels.is_in_doubt = false;
        if !self.is_in_transaction() {
            self.levels.open = 0;
        }
    }

    fn note_prelude(&mut self) {
        if self.core.take_prelude_done()
            && let Some(level) = self.levels.unwinding.take()
        {
            self.levels.open = self.levels.open.min(level);
            self.levels.is_beginning = false;
        }
    }

    /// Resolves the levels: the last step before a command. A rollback is queued as its prelude.
    #[cold]
    pub(super) fn settle_levels(&mut self) -> Result<Before, Error> {
        self.note_prelude();
        self.levels.unwinding = None;
        let levels = &self.levels;
        let (held, open) = (levels.held, levels.open);
        if levels.is_beginning && held == 0 {
            return self.unwind(0);
        }
        if levels.is_in_doubt && held > 0 {
            return Ok(Before::Verify);
        }
        if held > open {
            self.ended();
            return Err(Error::transaction_over());
        }
        if open > held && (self.is_in_transaction() || levels.is_in_doubt) {
            return self.unwind(held);
        }
        // A savepoint that was begun and is not held changes nothing. A statement may have ended the
        // transaction: its holder gets that error at the commit.
        self.levels = Levels {
            held,
            open: held,
            ..Levels::default()
        };
        Ok(Before::Ready)
    }

    fn unwind(&mut self, level: u32) -> Result<Before, Error> {
        let buffers = &mut self.buffers;
        match level {
            0 => self.core.prelude(buffers, ROLLBACK.as_bytes())?,
            level => {
                let sql = format!("ROLLBACK TO {}", savepoint(level + 1));
                self.core.prelude(buffers, sql.as_bytes())?;
            }
        }
        self.levels.unwinding = Some(level);
        Ok(if self.pipelining {
            Before::Ready
        } else {
            Before::Prelude
        })
    }
}

/// The name of a savepoint.
fn savepoint(level: u32) -> String {
    format!("onecopy_{level}")
}
