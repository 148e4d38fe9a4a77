//! Rows from the connection to a format: small ones as a whole, others value by value in constant memory.

use onecopy_mysql::blocking::Rows;

use super::{Column, Format, Kind, Out, Value};
use crate::failure::Failure;
use crate::progress_line;

/// Rows that are never longer are read whole, which takes less than half of the instructions: 1 MiB.
const BORROWED_ROW: u64 = 1 << 20;

/// Whether no row of these columns is too long to be read whole.
pub(crate) fn are_small(columns: &[Column]) -> bool {
    let max_bytes = columns.iter().map(|column| u64::from(column.max_bytes));
    max_bytes.sum::<u64>() <= BORROWED_ROW
}

/// Writes the next row. Returns `false` behind the last one. `are_small`: what the function of that name says of the columns.
pub(crate) fn write_row(
    rows: &mut Rows<'_>,
    columns: &[Column],
    are_small: bool,
    format: &mut dyn Format,
    out: &mut Out,
) -> Result<bool, Failure> {
    let more = if are_small {
        write_borrowed(rows, columns, format, out)?
    } else {
        write_streamed(rows, columns, format, out)?
    };
    if more {
        format.end_row(out)?;
    }
    Ok(more)
}

fn write_borrowed(
    rows: &mut Rows<'_>,
    columns: &[Column],
    format: &mut dyn Format,
    out: &mut Out,
) -> Result<bool, Failure> {
    let Some(row) = rows.next()? else {
        return Ok(false);
    };
    progress_line::clear();
    for (index, column) in columns.iter().enumerate() {
        match row.bytes(index)? {
            None => format.value(column, None, out)?,
            Some(_) if column.kind == Kind::Bit => write_bit(column, row.get(index)?, format, out)?,
            Some(bytes) => format.bytes(column, bytes, out)?,
        }
    }
    Ok(true)
}

fn write_streamed(
    rows: &mut Rows<'_>,
    columns: &[Column],
    format: &mut dyn Format,
    out: &mut Out,
) -> Result<bool, Failure> {
    let Some(mut row) = rows.next_streaming()? else {
        return Ok(false);
    };
    progress_line::clear();
    for column in columns {
        let Some(mut value) = row.next_column()? else {
            return Err(Failure::other("a row has fewer values than columns"));
        };
        match value.len() {
            None => format.value(column, None, out)?,
            Some(_) if column.kind == Kind::Bit => write_bit(column, value.get()?, format, out)?,
            Some(len) => {
                let bytes = &mut value;
                format.value(column, Some(Value { len, bytes }), out)?;
            }
        }
    }
    Ok(true)
}

fn write_bit(
    column: &Column,
    bits: u64,
    format: &mut dyn Format,
    out: &mut Out,
) -> Result<(), Failure> {
    format.bytes(column, bits.to_string().as_bytes(), out)
}
