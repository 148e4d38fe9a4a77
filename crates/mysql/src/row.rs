//! A borrowed row.

use std::fmt;

use onecopy_mysql_proto::client::{Cell, ClientCore, Definitions};
use onecopy_mysql_proto::value::{FromValue, FromValueError, Value};
use onecopy_wire::{Buffers, Span};

use crate::shown::{shown, shown_bytes};
use crate::{ColumnIndex, Error};

/// A row, borrowed from the connection's buffers until the next call on its [`Rows`](crate::blocking::Rows). It is `Copy` and
/// needs no allocation.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::blocking::Connection;
///
/// # fn main() -> Result<(), onecopy_mysql::Error> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop")?;
///
/// let mut rows = conn.query("SELECT 7 AS id, 'cup' AS name, NULL AS note")?;
/// if let Some(row) = rows.next()? {
///     let id: u8 = row.get("id")?; // checked: a value that does not fit is an error
///     let name: &str = row.get(1)?; // borrowed
///     let note: Option<&str> = row.get("note")?; // NULL
///     println!("{id} {name} {note:?}");
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Copy)]
pub struct Row<'r> {
    /// Looked up once a row: they are asked for each value.
    definitions: &'r Definitions,
    cells: &'r [Cell],
    bytes: &'r [u8],
    binary: bool,
    buffers: &'r Buffers,
}

impl<'r> Row<'r> {
    #[inline]
    pub(crate) fn new(core: &'r ClientCore, buffers: &'r Buffers, span: Span) -> Self {
        Self {
            definitions: core.definitions(),
            cells: core.cells(),
            bytes: buffers.bytes(span),
            binary: core.is_binary(),
            buffers,
        }
    }

    /// Returns the row's columns.
    #[inline]
    pub fn columns(&self) -> &'r Definitions {
        self.definitions
    }

    /// Returns the number of columns.
    #[inline]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns whether the row has no columns. A server's row has at least one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a column's value as type `T`. `&str` and `&[u8]` are borrowed; `String` and `Vec<u8>` are copies.
    ///
    /// # Errors
    /// Fails if there is no such column, if the value is NULL and `T` is not an `Option`, if a number does not fit, if text is
    /// not UTF-8, or if there is no memory for a copy. In the last case the value can still be borrowed.
    #[inline]
    pub fn get<T: FromValue<'r>>(&self, column: impl ColumnIndex) -> Result<T, Error> {
        self.get_at(self.find(column)?)
    }

    /// The same for a column whose position is known.
    #[inline]
    pub(crate) fn get_at<T: FromValue<'r>>(&self, index: usize) -> Result<T, Error> {
        let value = self.value_at(index)?;
        if T::COPIES
            && let Some(bytes) = value.as_bytes()
        {
            self.buffers.count_owned(bytes.len());
        }
        T::from_value(value).map_err(|error| self.bad_value(index, error))
    }

    /// Returns a column's value in the column's own type.
    ///
    /// # Errors
    /// Fails if there is no such column, or if the value does not have its column's type, which is an error of the server.
    #[inline(always)]
    pub fn value(&self, column: impl ColumnIndex) -> Result<Value<'r>, Error> {
        self.value_at(self.find(column)?)
    }

    /// Returns all values in order, each in its column's own type.
    ///
    /// # Errors
    /// Each item fails like [`value`](Self::value).
    #[inline(always)]
    pub fn values(&self) -> impl Iterator<Item = Result<Value<'r>, Error>> + use<'r> {
        let row = *self;
        (0..row.len()).map(move |index| row.value_at(index))
    }

    /// Returns a column's bytes as received, or `None` for NULL. They are text in the text protocol, and the type's binary format
    /// in the binary protocol.
    ///
    /// # Errors
    /// Fails if there is no such column.
    #[inline]
    pub fn bytes(&self, column: impl ColumnIndex) -> Result<Option<&'r [u8]>, Error> {
        self.bytes_at(self.find(column)?)
    }

    /// Returns whether the value is NULL, and not merely missing or taken.
    pub(crate) fn is_null_at(&self, index: usize) -> bool {
        self.cells.get(index).is_some_and(|cell| cell.is_null())
    }

    #[inline]
    fn find(&self, column: impl ColumnIndex) -> Result<usize, Error> {
        match column.find(self.definitions) {
            Some(index) => Ok(index),
            None => Err(Error::no_column(shown(format_args!("{column:?}")))),
        }
    }

    #[inline]
    fn bytes_at(&self, index: usize) -> Result<Option<&'r [u8]>, Error> {
        let Some(cell) = self.cells.get(index) else {
            return Err(Error::no_column(index.to_string()));
        };
        match cell.within(self.bytes) {
            Some(bytes) => Ok(Some(bytes)),
            None if cell.is_null() => Ok(None),
            None => self.bytes_elsewhere(index, *cell),
        }
    }

    #[cold]
    fn bytes_elsewhere(&self, index: usize, cell: Cell) -> Result<Option<&'r [u8]>, Error> {
        match cell.home() {
            Some(span) => Ok(Some(self.buffers.bytes(span))),
            None => Err(Error::taken(self.name(index))),
        }
    }

    /// Values of binary rows are found here, in the caller's code, and read by one call.
    #[inline(always)]
    fn value_at(&self, index: usize) -> Result<Value<'r>, Error> {
        if self.binary
            && let (Some(cell), Some(column)) =
                (self.cells.get(index), self.definitions.columns().get(index))
            && let Some(bytes) = cell.within(self.bytes)
        {
            let value = column.decode_plain(bytes);
            if !value.is_null() {
                return Ok(value);
            }
        }
        self.other_value_at(index)
    }

    /// NULL, text rows, DECIMAL and BIT, large values, and whatever is wrong.
    #[inline(never)]
    fn other_value_at(&self, index: usize) -> Result<Value<'r>, Error> {
        let Some(bytes) = self.bytes_at(index)? else {
            return Ok(Value::Null);
        };
        let Some(column) = self.definitions.columns().get(index) else {
            return Err(Error::no_column(index.to_string()));
        };
        match column.decode(self.binary, bytes) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.bad_value(index, FromValueError::Malformed(error))),
        }
    }

    #[cold]
    fn bad_value(&self, index: usize, error: FromValueError) -> Error {
        Error::value(self.name(index), error)
    }

    #[cold]
    fn name(&self, index: usize) -> String {
        let name = self.columns().name(index).unwrap_or_default();
        format!("{index} ({})", shown_bytes(name))
    }
}

/// Shows sizes only: a row may be large, and its values do not belong in a log.
impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row")
            .field("columns", &self.len())
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}
