//! The values of the row under way, as the caller wants to have them.

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::client::Cell;
use onecopy_mysql_proto::value::{FromValue, FromValueError};
use onecopy_net::DriveError;
use onecopy_wire::{Buffers, Span};

use super::Link;
use crate::shown::shown;
use crate::{ColumnIndex, Error, OwnedRow, Row};

impl Link {
    #[inline]
    pub(crate) fn row(&self, span: Span) -> Row<'_> {
        Row::new(&self.core, &self.buffers, span)
    }

    /// Makes the row's values the caller's own: large ones are moved, the others copied together, once.
    pub(crate) fn owned_row(&mut self, span: Span) -> Result<OwnedRow, Error> {
        OwnedRow::take(&mut self.core, &mut self.buffers, span)
    }

    /// Whether the value's next bytes can be read straight into the caller's slice.
    pub(crate) fn can_read_direct(&mut self) -> Result<bool, Error> {
        let direct = self.core.can_read_direct(&mut self.buffers);
        direct.map_err(|error| self.failed(DriveError::Core(error)))
    }

    /// A whole value of a streamed row as the caller's type.
    pub(crate) fn decode<'v, T: FromValue<'v>>(
        &self,
        index: usize,
        bytes: &'v [u8],
    ) -> Result<T, Error> {
        let column = self.core.definitions().columns().get(index);
        let column = column.ok_or_else(|| Error::no_column(index.to_string()))?;
        let value = column.decode(self.core.is_binary(), bytes);
        if T::COPIES {
            self.buffers.count_owned(bytes.len());
        }
        value
            .map_err(FromValueError::Malformed)
            .and_then(T::from_value)
            .map_err(|error| Error::value(index.to_string(), error))
    }

    /// Moves a value of the current row into `into`: a large one without a copy.
    pub(crate) fn take_value(
        &mut self,
        span: Span,
        column: impl ColumnIndex,
        into: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        let index = column
            .find(self.core.definitions())
            .ok_or_else(|| Error::no_column(shown(format_args!("{column:?}"))))?;
        let cell = *self
            .core
            .cells()
            .get(index)
            .ok_or_else(|| Error::no_column(index.to_string()))?;
        if cell.is_taken() {
            return Err(Error::taken(index.to_string()));
        }
        into.clear();
        if !cell.is_null() {
            move_value(&mut self.buffers, cell, span, into)?;
            // Not before: a value that found no memory is still there.
            self.core.take_cell(index);
        }
        Ok(!cell.is_null())
    }
}

/// The value's bytes into `into`: its home as it is, or a copy.
pub(crate) fn move_value(
    buffers: &mut Buffers,
    cell: Cell,
    row: Span,
    into: &mut Vec<u8>,
) -> Result<(), Error> {
    let span = cell.span(row);
    if let Some(home) = buffers.take_home(span) {
        *into = home;
        return Ok(());
    }
    let bytes = buffers.bytes(span);
    into.try_reserve_exact(bytes.len())
        .map_err(|_| ProtocolError::OutOfMemory {
            bytes: bytes.len() as u64,
        })?;
    into.extend_from_slice(bytes);
    buffers.count_owned(bytes.len());
    Ok(())
}
