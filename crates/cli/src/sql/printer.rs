//! The rows of a result, from the connection to the output.

use onecopy_mysql::blocking::Rows;

use super::cancel::Cancel;
use crate::failure::Failure;
use crate::output::{Column, Format, Kind, Out, Value};

/// Rows that are never longer are read whole, which takes 40 % of the instructions; others value by value, in constant memory:
/// 1 MiB.
const LENT_ROW: u64 = 1 << 20;

/// Writes rows as they come, until a signal cancels the statement.
pub(super) struct Printer {
    pub(super) cancel: Cancel,
    pub(super) format: Box<dyn Format>,
    pub(super) out: Out,
}

impl Printer {
    /// Writes the rows of this result, and says how many there were.
    pub(super) fn show_rows(
        &mut self,
        rows: &mut Rows<'_>,
        columns: &[Column],
    ) -> Result<u64, Failure> {
        self.format.begin(columns, &mut self.out)?;
        match self.write_rows(rows, columns) {
            Ok(count) => {
                self.format.end(&mut self.out)?;
                Ok(count)
            }
            Err(Failure::ReaderGone) => Err(Failure::ReaderGone),
            Err(failure) => {
                self.format.break_off(&mut self.out)?;
                Err(failure)
            }
        }
    }

    fn write_rows(&mut self, rows: &mut Rows<'_>, columns: &[Column]) -> Result<u64, Failure> {
        let max_bytes: u64 = columns
            .iter()
            .map(|column| u64::from(column.max_bytes))
            .sum();
        let is_small = max_bytes <= LENT_ROW;
        let mut count = 0;
        loop {
            self.cancel.check()?;
            let more = if is_small {
                self.write_borrowed_row(rows, columns)?
            } else {
                self.write_streamed_row(rows, columns)?
            };
            if !more {
                return Ok(count);
            }
            self.format.end_row(&mut self.out)?;
            count += 1;
        }
    }

    fn write_borrowed_row(
        &mut self,
        rows: &mut Rows<'_>,
        columns: &[Column],
    ) -> Result<bool, Failure> {
        let Some(row) = rows.next()? else {
            return Ok(false);
        };
        for (index, column) in columns.iter().enumerate() {
            match row.bytes(index)? {
                Some(_) if column.kind == Kind::Bit => self.write_bit(column, row.get(index)?)?,
                Some(mut bytes) => {
                    let value = Value {
                        len: bytes.len() as u64,
                        bytes: &mut bytes,
                    };
                    self.format.value(column, Some(value), &mut self.out)?;
                }
                None => self.format.value(column, None, &mut self.out)?,
            }
        }
        Ok(true)
    }

    fn write_streamed_row(
        &mut self,
        rows: &mut Rows<'_>,
        columns: &[Column],
    ) -> Result<bool, Failure> {
        let Some(mut row) = rows.next_streaming()? else {
            return Ok(false);
        };
        for column in columns {
            let Some(mut value) = row.next_column()? else {
                return Err(Failure::other("a row has fewer values than columns"));
            };
            match value.len() {
                Some(_) if column.kind == Kind::Bit => self.write_bit(column, value.get()?)?,
                Some(len) => {
                    let value = Value {
                        len,
                        bytes: &mut value,
                    };
                    self.format.value(column, Some(value), &mut self.out)?;
                }
                None => self.format.value(column, None, &mut self.out)?,
            }
        }
        Ok(true)
    }

    fn write_bit(&mut self, column: &Column, bits: u64) -> Result<(), Failure> {
        let digits = bits.to_string();
        let value = Value {
            len: digits.len() as u64,
            bytes: &mut digits.as_bytes(),
        };
        self.format.value(column, Some(value), &mut self.out)
    }
}
