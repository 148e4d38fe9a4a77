//! Rows to a format: small ones as a whole, others value by value in constant memory.

use onecopy_mysql::blocking::Rows;

use crate::failure::Failure;
use crate::output::{Column, Format, Kind, Out, Value};
use crate::transfer::Transfer;

/// Rows that are never longer are read whole, which takes less than half of the instructions: 1 MiB.
const LENT_ROW: u64 = 1 << 20;

/// Writes the rest of the result.
pub(super) fn write_rows(
    rows: &mut Rows<'_>,
    columns: &[Column],
    format: &mut dyn Format,
    out: &mut Out,
    progress: &mut Transfer,
) -> Result<(), Failure> {
    let max_bytes: u64 = columns
        .iter()
        .map(|column| u64::from(column.max_bytes))
        .sum();
    let is_small = max_bytes <= LENT_ROW;
    loop {
        let more = if is_small {
            write_borrowed(rows, columns, format, out)?
        } else {
            write_streamed(rows, columns, format, out)?
        };
        if !more {
            return Ok(());
        }
        format.end_row(out)?;
        progress.row(|rows| rows);
    }
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
