//! The rows of a result, from the connection to the output.

use onecopy_mysql::blocking::Rows;

use super::cancel::Cancel;
use crate::failure::Failure;
use crate::output::{self, Column, Format, Out};

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
        let are_small = output::are_small(columns);
        let (format, out) = (&mut *self.format, &mut self.out);
        let mut count = 0;
        loop {
            self.cancel.check()?;
            if !output::write_row(rows, columns, are_small, format, out)? {
                return Ok(count);
            }
            count += 1;
        }
    }
}
