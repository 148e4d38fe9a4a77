//! The prepared statements that are open.

use super::RelayError;
use crate::packet::execute::LAST_PREPARED;

/// The most that MySQL's `max_prepared_stmt_count` can be set to, for all connections together.
const MAX_STATEMENTS: usize = 4 << 20;

/// A list of up to so many bytes stays when its last statement is closed.
const KEPT: usize = 64;

/// The server's numbers of the statements that are open.
#[derive(Debug, Default)]
pub(super) struct Statements {
    /// Ascending; servers count up, so that a new one goes to the end.
    open: Vec<u32>,
    /// Which one MariaDB takes for [`LAST_PREPARED`].
    last: Option<u32>,
}

impl Statements {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn last(&self) -> Option<u32> {
        self.last
    }

    /// Bytes of memory that the list takes.
    pub(super) fn memory(&self) -> usize {
        self.open.capacity() * size_of::<u32>()
    }

    pub(super) fn insert(&mut self, id: u32) -> Result<(), RelayError> {
        let max = MAX_STATEMENTS;
        if let Err(place) = self.open.binary_search(&id) {
            if self.open.len() == max {
                return Err(RelayError::TooManyStatements { max });
            }
            self.open
                .try_reserve(1)
                .map_err(|_| RelayError::out_of_memory(size_of::<u32>() * (self.open.len() + 1)))?;
            self.open.insert(place, id);
        }
        self.last = Some(id);
        Ok(())
    }

    /// A prepare failed: no statement is the last one any more.
    pub(super) fn forget_last(&mut self) {
        self.last = None;
    }

    /// One that is not open is nothing to the server either.
    pub(super) fn close(&mut self, id: u32) {
        let id = match (id, self.last) {
            (LAST_PREPARED, Some(last)) => last,
            _ => id,
        };
        if self.last == Some(id) {
            self.last = None;
        }
        if let Ok(place) = self.open.binary_search(&id) {
            self.open.remove(place);
        }
        if self.open.is_empty() && self.open.capacity() * size_of::<u32>() > KEPT {
            self.open = Vec::new();
        }
    }

    /// The server has forgotten all of them.
    pub(super) fn forget_all(&mut self) {
        *self = Self::default();
    }
}
