//! An owned row.

use std::sync::Arc;

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::client::{ClientCore, Definitions};
use onecopy_mysql_proto::owned;
use onecopy_mysql_proto::value::{FromValue, FromValueError, Value};
use onecopy_wire::{Buffers, Span};

use crate::link::move_value;
use crate::shown::{shown, shown_bytes};
use crate::{ColumnIndex, Error};

/// An owned row. Its small values share one allocation; each large value keeps the allocation that it was read into.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::blocking::Connection;
///
/// # fn main() -> Result<(), onecopy_mysql::Error> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop")?;
///
/// let mut rows = conn.query("SELECT name, photo FROM product WHERE id = 7")?;
/// if let Some(mut row) = rows.next_owned()? {
///     let photo: Option<Vec<u8>> = row.take_bytes("photo")?; // moved, not copied
///     println!("{}: {:?} bytes", row.get::<&str>("name")?, photo.map(|photo| photo.len()));
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct OwnedRow {
    columns: Arc<Definitions>,
    binary: bool,
    /// The small values, one behind the other.
    bytes: Vec<u8>,
    values: Vec<Place>,
}

#[derive(Debug, Clone)]
enum Place {
    Null,
    Small { start: usize, end: usize },
    Large(Vec<u8>),
    Taken,
}

impl OwnedRow {
    pub(crate) fn take(
        core: &mut ClientCore,
        buffers: &mut Buffers,
        span: Span,
    ) -> Result<Self, Error> {
        // All memory first: a row that fails half way would have lost its large values.
        let columns = core.shared_definitions(buffers)?;
        let cells = core.cells();
        let small = cells
            .iter()
            .filter(|cell| !cell.is_large())
            .map(|cell| cell.len())
            .sum();
        let mut bytes = owned::with_capacity(small).map_err(ProtocolError::of_call)?;
        let mut values = owned::with_capacity(cells.len()).map_err(ProtocolError::of_call)?;
        for cell in cells {
            values.push(if cell.is_null() {
                Place::Null
            } else if cell.is_taken() {
                Place::Taken
            } else if cell.is_large() {
                let mut value = Vec::new();
                move_value(buffers, *cell, span, &mut value)?;
                Place::Large(value)
            } else {
                let start = bytes.len();
                bytes.extend_from_slice(buffers.bytes(cell.span(span)));
                Place::Small {
                    start,
                    end: bytes.len(),
                }
            });
        }
        buffers.count_owned(bytes.len());
        Ok(Self {
            columns,
            binary: core.is_binary(),
            bytes,
            values,
        })
    }

    /// Returns the row's columns.
    pub fn columns(&self) -> &Definitions {
        &self.columns
    }

    /// Returns the number of columns.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether the row has no columns. A server's row has at least one.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns a column's value as type `T`.
    ///
    /// # Errors
    /// Fails like [`Row::get`](crate::Row::get).
    pub fn get<'r, T: FromValue<'r>>(&'r self, column: impl ColumnIndex) -> Result<T, Error> {
        let index = self.find(column)?;
        T::from_value(self.value(index)?).map_err(|error| self.bad_value(index, error))
    }

    /// Returns a column's value in the column's own type.
    ///
    /// # Errors
    /// Fails like [`Row::value`](crate::Row::value).
    pub fn value(&self, column: impl ColumnIndex) -> Result<Value<'_>, Error> {
        let index = self.find(column)?;
        let Some(bytes) = self.bytes(index)? else {
            return Ok(Value::Null);
        };
        let column = &self.columns.columns()[index];
        let value = column.decode(self.binary, bytes);
        value.map_err(|error| self.bad_value(index, FromValueError::Malformed(error)))
    }

    /// Returns a column's bytes as received, or `None` for NULL.
    ///
    /// # Errors
    /// Fails if there is no such column, or if its value was taken.
    pub fn bytes(&self, column: impl ColumnIndex) -> Result<Option<&[u8]>, Error> {
        let index = self.find(column)?;
        match &self.values[index] {
            Place::Null => Ok(None),
            Place::Small { start, end } => Ok(Some(&self.bytes[*start..*end])),
            Place::Large(value) => Ok(Some(value)),
            Place::Taken => Err(Error::taken(self.name(index))),
        }
    }

    /// Takes a column's bytes out of the row, or returns `None` for NULL. A large value is moved, a small one is copied.
    ///
    /// # Errors
    /// Fails if there is no such column, if its value was already taken, or if there is no memory for the copy. In the last case
    /// the value stays in the row.
    pub fn take_bytes(&mut self, column: impl ColumnIndex) -> Result<Option<Vec<u8>>, Error> {
        let index = self.find(column)?;
        let value = match &mut self.values[index] {
            Place::Null => return Ok(None),
            Place::Small { start, end } => {
                owned::bytes(&self.bytes[*start..*end]).map_err(ProtocolError::of_call)?
            }
            Place::Large(value) => std::mem::take(value),
            Place::Taken => return Err(Error::taken(self.name(index))),
        };
        self.values[index] = Place::Taken;
        Ok(Some(value))
    }

    fn find(&self, column: impl ColumnIndex) -> Result<usize, Error> {
        column
            .find(&self.columns)
            .ok_or_else(|| Error::no_column(shown(format_args!("{column:?}"))))
    }

    #[cold]
    fn bad_value(&self, index: usize, error: FromValueError) -> Error {
        Error::value(self.name(index), error)
    }

    #[cold]
    fn name(&self, index: usize) -> String {
        let name = self.columns.name(index).unwrap_or_default();
        format!("{index} ({})", shown_bytes(name))
    }
}
