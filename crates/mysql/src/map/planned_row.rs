//! A row whose columns were found before.

use onecopy_mysql_proto::value::FromValue;

use super::planner::{Slot, described};
use crate::{Error, Row};

/// A row and the columns of it that a type needs, in the type's own order: see [`FromRow`](crate::FromRow).
#[derive(Debug, Clone, Copy)]
pub struct PlannedRow<'r> {
    row: Row<'r>,
    slots: &'r [Slot],
}

impl<'r> PlannedRow<'r> {
    #[inline]
    pub(crate) fn new(row: Row<'r>, slots: &'r [Slot]) -> Self {
        Self { row, slots }
    }

    /// Returns the whole row.
    #[inline]
    #[must_use]
    pub fn row(&self) -> Row<'r> {
        self.row
    }

    /// Returns the first `N` columns, and the rest for the types nested in this one.
    ///
    /// # Errors
    /// Fails if there are fewer columns: `COLUMNS` and `plan` of the type contradict each other.
    #[inline]
    pub fn take<const N: usize>(&self) -> Result<([Slot; N], PlannedRow<'r>), Error> {
        match self.slots.split_first_chunk::<N>() {
            Some((slots, rest)) => Ok((*slots, Self::new(self.row, rest))),
            None => Err(Error::no_slots()),
        }
    }

    /// Splits a nested type's columns off: the first `count`, and the rest.
    ///
    /// # Errors
    /// Fails if there are fewer columns, like [`take`](Self::take).
    #[inline]
    pub fn split(&self, count: usize) -> Result<(PlannedRow<'r>, PlannedRow<'r>), Error> {
        match self.slots.split_at_checked(count) {
            Some((first, rest)) => Ok((Self::new(self.row, first), Self::new(self.row, rest))),
            None => Err(Error::no_slots()),
        }
    }

    /// Returns a column's value.
    ///
    /// # Errors
    /// Fails if the value is NULL and `T` is not an `Option`, or if it does not fit `T`.
    #[inline]
    pub fn get<T: FromValue<'r>>(&self, slot: Slot) -> Result<T, Error> {
        // Where `usize` is shorter, the column of that number does not exist.
        let index = usize::try_from(slot.0).unwrap_or(usize::MAX);
        match self.row.get_at(index) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.of_column(index, error)),
        }
    }

    /// Returns a column's value, or `default` if the result has no such column.
    ///
    /// # Errors
    /// Fails like [`get`](Self::get).
    #[inline]
    pub fn get_or<T: FromValue<'r>>(
        &self,
        slot: Slot,
        default: impl FnOnce() -> T,
    ) -> Result<T, Error> {
        if slot == Slot::MISSING {
            return Ok(default());
        }
        self.get(slot)
    }

    /// Returns whether the result has the column, see [`Planner::column_or_default`](crate::Planner::column_or_default).
    #[must_use]
    pub fn has(&self, slot: Slot) -> bool {
        slot != Slot::MISSING
    }

    /// Returns a column's value as a `T`, converted to a `U`.
    ///
    /// # Errors
    /// Fails like [`get`](Self::get), and with the error of the conversion.
    pub fn try_get<T, U>(&self, slot: Slot) -> Result<U, Error>
    where
        T: FromValue<'r>,
        U: TryFrom<T, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        U::try_from(self.get(slot)?).map_err(|error| self.not_converted(slot, error.into()))
    }

    /// Returns the error of a column whose value the caller could not convert.
    #[cold]
    pub fn not_converted(
        &self,
        slot: Slot,
        error: Box<dyn std::error::Error + Send + Sync>,
    ) -> Error {
        let index = usize::try_from(slot.0).unwrap_or(usize::MAX);
        Error::conversion_of(described(self.row.columns(), index), error)
    }

    /// Returns whether all values of the type are NULL.
    #[must_use]
    pub fn is_all_null(&self) -> bool {
        self.slots.iter().all(|slot| {
            let index = usize::try_from(slot.0).unwrap_or(usize::MAX);
            slot == &Slot::MISSING || self.row.is_null_at(index)
        })
    }

    #[cold]
    fn of_column(&self, index: usize, error: Error) -> Error {
        error.of_column(described(self.row.columns(), index))
    }
}
