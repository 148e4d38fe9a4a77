//! A row that is lent.

use onecopy_mysql_proto::client::{Cell, ClientCore, Definitions};
use onecopy_mysql_proto::value::{FromValue, FromValueError, Value};
use onecopy_wire::{Buffers, Span};

use crate::{ColumnIndex, Error};

/// A row, lent from the connection's buffers: `Copy`, no allocation, gone with the next call on its rows.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r> {
    core: &'r ClientCore,
    buffers: &'r Buffers,
    span: Span,
}

impl<'r> Row<'r> {
    #[inline]
    pub(crate) fn new(core: &'r ClientCore, buffers: &'r Buffers, span: Span) -> Self {
        Self {
            core,
            buffers,
            span,
        }
    }

    /// The row's columns.
    #[inline]
    pub fn columns(&self) -> &'r Definitions {
        self.core.definitions()
    }

    /// Number of columns.
    #[inline]
    pub fn len(&self) -> usize {
        self.core.cells().len()
    }

    /// Whether there is no column; a row of a server has at least one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A column as the caller's type. `&str` and `&[u8]` are lent, `String` and `Vec<u8>` copied.
    ///
    /// # Errors
    /// No such column, NULL for a type that is not an `Option`, a number that does not fit, text that is not UTF-8.
    #[inline]
    pub fn get<T: FromValue<'r>>(&self, column: impl ColumnIndex) -> Result<T, Error> {
        let index = self.find(column)?;
        let value = self.value_at(index)?;
        if T::COPIES
            && let Value::Bytes(bytes) = value
        {
            self.buffers.count_owned(bytes.len());
        }
        T::from_value(value).map_err(|error| self.bad_value(index, error))
    }

    /// A column in its own type.
    ///
    /// # Errors
    /// No such column, or a value that is not of its column's type: a server's mistake.
    #[inline]
    pub fn value(&self, column: impl ColumnIndex) -> Result<Value<'r>, Error> {
        self.value_at(self.find(column)?)
    }

    /// A column's bytes as they came, `None` for NULL: text in the text protocol, the type's own form in the binary one.
    ///
    /// # Errors
    /// No such column.
    #[inline]
    pub fn bytes(&self, column: impl ColumnIndex) -> Result<Option<&'r [u8]>, Error> {
        Ok(self.bytes_at(self.cell(self.find(column)?)?))
    }

    #[inline]
    fn find(&self, column: impl ColumnIndex) -> Result<usize, Error> {
        column
            .find(self.columns())
            .ok_or_else(|| Error::no_column(format!("{column:?}")))
    }

    #[inline]
    fn cell(&self, index: usize) -> Result<Cell, Error> {
        match self.core.cells().get(index) {
            Some(cell) if cell.is_taken() => Err(Error::taken(self.name(index))),
            Some(cell) => Ok(*cell),
            None => Err(Error::no_column(index.to_string())),
        }
    }

    #[inline]
    fn bytes_at(&self, cell: Cell) -> Option<&'r [u8]> {
        (!cell.is_null()).then(|| self.buffers.bytes(cell.span(self.span)))
    }

    #[inline]
    fn value_at(&self, index: usize) -> Result<Value<'r>, Error> {
        let Some(bytes) = self.bytes_at(self.cell(index)?) else {
            return Ok(Value::Null);
        };
        let column = &self.columns().columns()[index];
        let value = if self.core.is_binary() {
            Value::decode_binary(column.column_type, column.flags, column.collation, bytes)
        } else {
            Value::decode_text(column.column_type, column.flags, column.collation, bytes)
        };
        value.map_err(|error| self.bad_value(index, FromValueError::Malformed(error)))
    }

    #[cold]
    fn bad_value(&self, index: usize, error: FromValueError) -> Error {
        Error::value(self.name(index), error)
    }

    #[cold]
    fn name(&self, index: usize) -> String {
        let name = self.columns().name(index).unwrap_or_default();
        format!("{index} ({})", String::from_utf8_lossy(name))
    }
}
