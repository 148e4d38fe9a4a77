//! Which of a session's own changes a read on another server has to see.

use super::{ReadSplit, is_galera};
use crate::backend::Part;
use crate::moved::MovedChanges;
use crate::pooling::connection::Connection;
use crate::session::pooled::Pooled;
use crate::session::pooled::failover::READ_ONLY;

/// Whether its server is a member of a MySQL group.
fn is_in_group(connection: &Connection) -> bool {
    connection.is_mysql() && connection.place.backend().is_member()
}

impl ReadSplit {
    /// Its own changes, as another process has to know them; `None` where they are not known before a server is asked.
    pub(in crate::session::pooled) fn moved(&self) -> Option<MovedChanges> {
        (!self.has_hidden).then(|| MovedChanges {
            position: self.own.text().into(),
            count: self.changes,
            has_untold: self.has_untold,
            only_primary: self.only_primary,
        })
    }

    /// Those of a session that was elsewhere. Where nothing is known of them, all reads go to the primary.
    pub(in crate::session::pooled) fn restore(&mut self, changes: Option<&MovedChanges>) {
        let Some(changes) = changes else {
            self.only_primary = true;
            return;
        };
        let is_known = changes.position.is_empty() || self.own.note(&changes.position);
        self.changes = changes.count;
        // Nothing says where they were made.
        self.is_of_group = true;
        self.has_untold = changes.has_untold;
        self.only_primary = changes.only_primary || !is_known;
    }
}

impl Pooled {
    /// The primary has told of a transaction of the session's own.
    pub(in crate::session::pooled) fn note_own_change(&mut self, reported: &[u8]) {
        let is_of_primary = self.key.part == Part::Writes;
        let is_of_group = self.connection.as_deref().is_some_and(is_in_group);
        if let Some(reads) = &mut self.reads
            && is_of_primary
            && !reported.is_empty()
        {
            reads.is_of_group |= is_of_group;
            if !reads.own.note(reported) {
                self.note_untold();
            }
        }
    }

    /// It has changed something, and nothing says which transaction it was.
    fn note_untold(&mut self) {
        let is_galera = self.connection.as_deref().is_some_and(is_galera);
        if let Some(reads) = &mut self.reads {
            match is_galera {
                true => reads.has_untold = true,
                false => reads.only_primary = true,
            }
        }
    }

    /// The primary may have told of a transaction of the session's own without its id.
    pub(in crate::session::pooled) fn note_hidden_change(&mut self) {
        let is_of_primary = self.key.part == Part::Writes;
        if let Some(reads) = &mut self.reads {
            reads.has_hidden |= is_of_primary;
        }
    }

    pub(in crate::session::pooled) fn has_hidden_change(&self) -> bool {
        self.reads.as_ref().is_some_and(|reads| reads.has_hidden)
    }

    /// The session's last transaction, as the connection that made it has it.
    pub(in crate::session::pooled) fn found_own_change(&mut self, last: Option<&[u8]>) {
        self.note_own_change(last.unwrap_or_default());
        if let Some(reads) = &mut self.reads {
            reads.has_hidden = false;
        }
        if last.is_none() {
            self.note_untold();
        }
    }

    /// A statement is over. What it may have changed without the server's word of it is read from the primary.
    pub(in crate::session::pooled) fn note_untold_change(&mut self, error: Option<u16>) {
        let (Some(reads), Some(connection)) = (&mut self.reads, &self.connection) else {
            return;
        };
        let look = self.current.look;
        match connection.key.part {
            // A function has tried to write.
            Part::Reads | Part::ReadsOf(_) => {
                reads.only_primary |= error.is_some_and(|code| READ_ONLY.contains(&code));
            }
            _ => {
                reads.changes += 1;
                if look.may_change() && !connection.tells_transactions() {
                    self.note_untold();
                }
            }
        }
    }
}
