//! The rows of a result, together in memory.

use onecopy_mysql_proto::Error as ProtocolError;

use crate::Error;
use crate::link::Link;

/// What a value counts beside its bytes, NULL too: for its place in the row.
const A_VALUE: u64 = 32;

/// Rows that are collected, as many as [`Config::max_result_bytes`](crate::Config::max_result_bytes) allows.
pub(crate) struct Collected<T> {
    rows: Vec<T>,
    bytes: u64,
    max: Option<u64>,
}

impl<T> Collected<T> {
    pub(crate) fn new(link: &Link) -> Self {
        Self {
            rows: Vec::new(),
            bytes: 0,
            max: link.max_result_bytes,
        }
    }

    /// Counts the row that was read last, and makes room for it: before its values are copied.
    ///
    /// # Errors
    /// Fails if there is no room.
    #[inline]
    pub(crate) fn make_room(&mut self, link: &Link) -> Result<(), Error> {
        if let Some(max) = self.max {
            self.count(link, max)?;
        }
        let bytes = ((self.rows.len() + 1) * size_of::<T>()) as u64;
        let reserved = self.rows.try_reserve(1);
        Ok(reserved.map_err(|_| ProtocolError::OutOfMemory { bytes })?)
    }

    fn count(&mut self, link: &Link, max: u64) -> Result<(), Error> {
        let cells = link.core.cells().iter();
        let row: u64 = cells.map(|cell| A_VALUE + cell.len() as u64).sum();
        self.bytes = self.bytes.saturating_add(row);
        if self.bytes > max {
            return Err(Error::result_too_large(max));
        }
        Ok(())
    }

    /// Adds the row that there is room for.
    #[inline]
    pub(crate) fn push(&mut self, row: T) {
        self.rows.push(row);
    }

    pub(crate) fn into_rows(self) -> Vec<T> {
        self.rows
    }
}
