//! A row whose values are read in order, each with a reader.

use onecopy_mysql_proto::client::{Reply, RowMode};

use super::{ColumnReader, Connection};
use crate::Error;

/// A row whose values are read strictly in order, in constant memory. If it is dropped early, the rest of the row is skipped.
///
/// # Example
/// ```no_run
/// use std::{fs::File, io};
///
/// use onecopy_mysql::blocking::Connection;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop")?;
/// let mut rows = conn.query("SELECT name, photo FROM product WHERE id = 7")?;
/// while let Some(mut row) = rows.next_streaming()? {
///     while let Some(mut column) = row.next_column()? {
///         let mut file = File::create(column.name().as_ref())?;
///         io::copy(&mut column, &mut file)?;
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct StreamingRow<'r> {
    conn: &'r mut Connection,
    ended: bool,
}

impl<'r> StreamingRow<'r> {
    pub(super) fn new(conn: &'r mut Connection) -> Self {
        Self { conn, ended: false }
    }

    /// Returns a reader for the next column, or `None` at the end of the row. Unread bytes of the previous column are skipped.
    ///
    /// # Errors
    /// Fails if the connection fails.
    pub fn next_column(&mut self) -> Result<Option<ColumnReader<'_>>, Error> {
        if self.ended {
            return Ok(None);
        }
        self.conn.link.start_call()?;
        self.conn.link.core.skip_value();
        match self.conn.drive(&())? {
            Reply::Value(len) => Ok(Some(ColumnReader::new(self.conn, len))),
            Reply::RowEnd => {
                self.ended = true;
                Ok(None)
            }
            _ => Err(self
                .conn
                .link
                .close("a value came in another form than it was asked for")),
        }
    }
}

impl Drop for StreamingRow<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.conn.link.core.set_row_mode(RowMode::Skip);
        }
    }
}
