//! The prepared statements of a bulk, each for one number of rows, and the number of rows that is worth one.

use onecopy_mysql_proto::packet::ParameterType;

use crate::bulk::template::Template;
use crate::{Error, ProtocolError, Statement};

/// The maximum number of parameters of a statement; the protocol's is 65,535. Servers keep some hundred bytes for each, and take more time
/// for a row where those exceed the CPU's cache: see `docs/design/bulk.md`.
const MAX_PARAMETERS: usize = 1 << 12;

/// Statements that are kept: one for full batches, and one for those of another size, as a caller has that flushes at a number of
/// rows.
const KEPT: usize = 2;

/// A statement for a number of rows.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) statement: Statement,
    rows: u64,
    /// The types of its last execution, which the server has kept; empty before the first.
    pub(super) sent_types: Vec<ParameterType>,
}

/// The statements of a bulk. The default is none, and none to come.
#[derive(Debug, Default)]
pub(super) struct Statements {
    /// The last one used is the first.
    kept: Vec<Prepared>,
    /// The number of rows that the next one is for.
    wanted: u64,
    /// The rows of a full batch, and their maximum. 0: nothing is prepared.
    full_rows: u64,
    max_rows: u64,
    max_bytes: usize,
    /// Batches one after the other that had their bytes before their rows.
    short_batches: u32,
}

impl Statements {
    pub(super) fn new(template: &Template, max_rows: u64, max_bytes: usize) -> Self {
        let most = most_rows(template, max_rows, max_bytes);
        Self {
            full_rows: most,
            max_rows: most,
            max_bytes,
            ..Self::default()
        }
    }

    /// The rows of a full batch; `None` where nothing is prepared.
    pub(super) fn full_rows(&self) -> Option<u64> {
        (self.full_rows > 0).then_some(self.full_rows)
    }

    pub(super) fn are_prepared(&self) -> bool {
        !self.kept.is_empty()
    }

    /// The number of rows to prepare a statement for, after a batch in text of this size.
    pub(super) fn first(&mut self, rows: u64, bytes: usize) -> Option<u64> {
        if self.full_rows == 0 || self.are_prepared() {
            return None;
        }
        self.full_rows = if bytes >= self.max_bytes {
            fewer(rows)
        } else {
            rows
        };
        self.wanted = self.full_rows;
        Some(self.wanted)
    }

    /// The number of rows to prepare a statement for; `None` if there is one for so many.
    pub(super) fn missing(&mut self, rows: u64) -> Option<u64> {
        match self.kept.iter().position(|prepared| prepared.rows == rows) {
            Some(index) => {
                self.kept.swap(0, index);
                None
            }
            None => {
                self.wanted = rows;
                Some(rows)
            }
        }
    }

    /// Keeps the statement that was asked for, and drops the one that was not used for longest: it is closed with the next command.
    ///
    /// # Errors
    /// The server has found other parameters in it.
    pub(super) fn add(&mut self, statement: Statement, columns: usize) -> Result<(), Error> {
        let expected = u16::try_from(columns as u64 * self.wanted).unwrap_or(u16::MAX);
        if statement.parameters() != expected {
            let given = usize::from(statement.parameters());
            return Err(ProtocolError::ParameterCount { expected, given }.into());
        }
        self.kept.truncate(KEPT - 1);
        let rows = self.wanted;
        let prepared = Prepared {
            statement,
            rows,
            sent_types: Vec::new(),
        };
        self.kept.insert(0, prepared);
        Ok(())
    }

    /// The statement for so many rows, which is there once [`missing`](Self::missing) was asked.
    pub(super) fn of(&mut self, rows: u64) -> Result<&mut Prepared, Error> {
        let first = self.kept.first_mut();
        let found = first.filter(|prepared| prepared.rows == rows);
        found.ok_or_else(|| ProtocolError::StatementClosed.into())
    }

    /// Follows the size of the rows: a statement for more rows than a batch has bytes for is never executed, and one for few rows costs
    /// the server more a row.
    pub(super) fn sent(&mut self, rows: u64, bytes: usize) {
        if rows >= self.full_rows {
            self.short_batches = 0;
            if bytes < self.max_bytes / 4 {
                self.full_rows = (2 * self.full_rows).min(self.max_rows);
            }
        } else if bytes >= self.max_bytes {
            self.short_batches += 1;
            // One large row says nothing of the next ones.
            if self.short_batches >= 2 {
                self.short_batches = 0;
                self.full_rows = fewer(rows);
            }
        }
    }
}

/// So many that the next rows, which may be a little larger, fit.
fn fewer(rows: u64) -> u64 {
    (rows - rows / 8).max(1)
}

/// The most rows that one statement can have. 0 where that is not worth it.
fn most_rows(template: &Template, max_rows: u64, max_bytes: usize) -> u64 {
    if !template.takes_rows() {
        return 1;
    }
    let around = 1 + template.head().len() + template.tail().len();
    let by_text = max_bytes.saturating_sub(around) / (template.row_bytes() + 1);
    let by_parameters = MAX_PARAMETERS / template.parameters().max(1);
    let most = u64::try_from(by_text.min(by_parameters)).unwrap_or(u64::MAX);
    if most < 2 { 0 } else { most.min(max_rows) }
}

#[cfg(test)]
mod tests;
