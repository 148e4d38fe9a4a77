//! Finds the columns that a type needs.

use std::any::type_name;
use std::fmt::Write;

use onecopy_mysql_proto::client::Definitions;
use onecopy_mysql_proto::value::{FromValue, FromValueError, ValueKind};

use super::sql_type::sql_type;
use crate::Error;
use crate::shown::{shown, shown_bytes};

/// The place of a column in the result, as [`Planner`] found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(pub(super) u32);

impl Slot {
    /// The column does not exist, and need not.
    pub(super) const MISSING: Self = Self(u32::MAX);
}

/// Finds the columns of a result that a type needs, once for all of its rows: see [`FromRow`](crate::FromRow).
#[derive(Debug)]
pub struct Planner<'p> {
    columns: &'p Definitions,
    slots: &'p mut Vec<Slot>,
    /// The next column by position.
    next: usize,
    /// What the names of the columns start with.
    prefix: String,
}

impl<'p> Planner<'p> {
    pub(super) fn new(columns: &'p Definitions, slots: &'p mut Vec<Slot>) -> Self {
        Self {
            columns,
            slots,
            next: 0,
            prefix: String::new(),
        }
    }

    /// Returns the columns of the result.
    #[must_use]
    pub fn columns(&self) -> &'p Definitions {
        self.columns
    }

    /// Adds the column of this name, of which each value becomes a `T`. ASCII case does not count.
    ///
    /// # Errors
    /// Fails if there is no such column, if there are several, or if no value of its type becomes a `T`.
    pub fn column<'v, T: FromValue<'v>>(&mut self, name: &str) -> Result<(), Error> {
        let index = self.find(name)?.ok_or_else(|| self.no_column(name))?;
        self.add(index, T::accepts, type_name::<T>())
    }

    /// Adds the column of this name if there is one: see [`PlannedRow::get_or`](super::PlannedRow::get_or).
    ///
    /// # Errors
    /// Fails if there are several such columns, or if no value of its type becomes a `T`.
    pub fn column_or_default<'v, T: FromValue<'v>>(&mut self, name: &str) -> Result<(), Error> {
        match self.find(name)? {
            Some(index) => self.add(index, T::accepts, type_name::<T>()),
            None => self.push(Slot::MISSING),
        }
    }

    /// Adds the next column by position, from the first one on.
    ///
    /// # Errors
    /// Fails if the result has no more columns, or if no value of the column's type becomes a `T`.
    pub fn next_column<'v, T: FromValue<'v>>(&mut self) -> Result<(), Error> {
        let index = self.next;
        if index >= self.columns.len() {
            let count = self.columns.len();
            return Err(Error::no_column(format!("{index}: it has {count}")));
        }
        self.next += 1;
        self.add(index, T::accepts, type_name::<T>())
    }

    /// Adds the columns of another type, whose names have `prefix` in front of them in this result.
    ///
    /// # Errors
    /// Fails with the error of `plan`.
    pub fn nested(
        &mut self,
        prefix: &str,
        plan: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let len = self.prefix.len();
        self.prefix.push_str(prefix);
        plan(self)?;
        self.prefix.truncate(len);
        Ok(())
    }

    fn find(&self, name: &str) -> Result<Option<usize>, Error> {
        let (prefix, name) = (self.prefix.as_bytes(), name.as_bytes());
        let mut found = (0..self.columns.len()).filter(|&index| {
            let column = self.columns.name(index).unwrap_or_default();
            column.len() == prefix.len() + name.len()
                && column[..prefix.len()].eq_ignore_ascii_case(prefix)
                && column[prefix.len()..].eq_ignore_ascii_case(name)
        });
        match (found.next(), found.next()) {
            (Some(first), Some(second)) => Err(self.ambiguous(first, second)),
            (first, _) => Ok(first),
        }
    }

    fn add(
        &mut self,
        index: usize,
        accepts: fn(ValueKind) -> bool,
        wanted: &'static str,
    ) -> Result<(), Error> {
        // Within the columns.
        let found = self.columns.columns()[index].kind();
        if found != ValueKind::Null && !accepts(found) {
            let column = described(self.columns, index);
            return Err(Error::value(
                column,
                FromValueError::WrongKind { wanted, found },
            ));
        }
        // A result has fewer than 2^32 columns: each has a definition of 22 bytes or more, within a limit below 4 GiB.
        self.push(u32::try_from(index).map_or(Slot::MISSING, Slot))
    }

    fn push(&mut self, slot: Slot) -> Result<(), Error> {
        let bytes = size_of::<Slot>() as u64;
        self.slots
            .try_reserve(1)
            .map_err(|_| onecopy_mysql_proto::Error::OutOfMemory { bytes })?;
        self.slots.push(slot);
        Ok(())
    }

    #[cold]
    fn no_column(&self, name: &str) -> Error {
        let mut text = format!("{:?}; it has ", format!("{}{name}", self.prefix));
        for index in 0..self.columns.len() {
            if text.len() > 256 {
                text.push_str(", ...");
                break;
            }
            let name = self.columns.name(index).unwrap_or_default();
            let separator = if index == 0 { "" } else { ", " };
            // Writing to a string can't fail.
            let _ = write!(text, "{separator}{}", shown_bytes(name));
        }
        Error::no_column(shown(text))
    }

    #[cold]
    fn ambiguous(&self, first: usize, second: usize) -> Error {
        let of = |index| shown_bytes(self.columns.table(index).unwrap_or_default());
        Error::ambiguous(shown(format_args!(
            "{} of `{}` and {} of `{}`",
            described(self.columns, first),
            of(first),
            described(self.columns, second),
            of(second),
        )))
    }
}

/// A column in an error: `1 (name, VARCHAR)`.
#[cold]
pub(super) fn described(columns: &Definitions, index: usize) -> String {
    let name = shown_bytes(columns.name(index).unwrap_or_default());
    match columns.columns().get(index) {
        Some(column) => format!("{index} ({name}, {})", sql_type(column)),
        None => format!("{index} ({name})"),
    }
}
