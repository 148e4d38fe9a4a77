//! A reader for one value.

use std::io::{self, BufRead, Read};

use onecopy_mysql_proto::client::Reply;
use onecopy_mysql_proto::value::FromValue;
use onecopy_wire::Span;

use super::Connection;
use crate::link::DIRECT_READ;
use crate::shown::shown_bytes;
use crate::{ColumnType, Error, Value};

/// A reader for one value of a streamed row.
///
/// [`BufRead`] borrows the bytes from the read buffer. [`Read`] with a large slice (16 KiB or more) reads directly from the
/// socket into that slice.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::blocking::Connection;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop")?;
///
/// let mut rows = conn.query("SELECT photo FROM product WHERE id = 7")?;
/// if let Some(mut row) = rows.next_streaming()?
///     && let Some(mut photo) = row.next_column()?
/// {
///     println!("{}: {:?} bytes", photo.name(), photo.len());
///     std::io::copy(&mut photo, &mut std::fs::File::create("photo.jpeg")?)?;
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct ColumnReader<'r> {
    conn: &'r mut Connection,
    len: Option<u64>,
    /// The bytes that are borrowed now.
    piece: Span,
}

impl<'r> ColumnReader<'r> {
    pub(super) fn new(conn: &'r mut Connection, len: Option<u64>) -> Self {
        Self {
            conn,
            len,
            piece: Span::EMPTY,
        }
    }

    /// Returns the column's position, counted from 0.
    pub fn index(&self) -> usize {
        self.conn.link.core.streamed_column().saturating_sub(1)
    }

    /// Returns the column's name. If it is not UTF-8, returns its first 1 KiB with replacement characters.
    pub fn name(&self) -> std::borrow::Cow<'_, str> {
        let columns = self.conn.link.core.definitions();
        let name = columns.name(self.index()).unwrap_or_default();
        std::str::from_utf8(name).map_or_else(|_| shown_bytes(name), Into::into)
    }

    /// Returns the column's type.
    pub fn column_type(&self) -> ColumnType {
        let columns = self.conn.link.core.definitions().columns();
        columns
            .get(self.index())
            .map_or(ColumnType::NULL, |column| column.column_type)
    }

    /// Returns whether the value is NULL.
    pub fn is_null(&self) -> bool {
        self.len.is_none()
    }

    /// Returns the length of the whole value in bytes, or `None` for NULL.
    pub fn len(&self) -> Option<u64> {
        self.len
    }

    /// Returns whether the value has no bytes, which includes NULL.
    pub fn is_empty(&self) -> bool {
        self.len.unwrap_or(0) == 0
    }

    /// Returns a value of at most 4 KiB as type `T`. Every number and date fits.
    ///
    /// # Errors
    /// Fails like [`Row::get`](crate::Row::get), or if the value is longer or was read in part.
    pub fn get<'v, T: FromValue<'v>>(&'v mut self) -> Result<T, Error> {
        let index = self.index();
        let Some(len) = self.len else {
            return T::from_value(Value::Null)
                .map_err(|error| Error::value(index.to_string(), error));
        };
        if len > 0 {
            self.fill()?;
        }
        if self.piece.len() as u64 != len {
            return Err(Error::taken(format!(
                "{index} is over 4 KiB or was read in part; read it: it"
            )));
        }
        let bytes = self.conn.link.buffers.bytes(self.piece);
        self.conn.link.decode(index, bytes)
    }

    /// Makes the next bytes available to be borrowed.
    fn fill(&mut self) -> Result<(), Error> {
        if self.piece.is_empty() && self.conn.link.core.value_left() > 0 {
            self.conn.link.start_call()?;
            match self.conn.drive(&())? {
                Reply::Piece(piece) => self.piece = piece,
                _ => return Err(self.conn.link.close("a value ended early")),
            }
        }
        Ok(())
    }

    fn pass(&mut self, n: usize) {
        self.piece = self.piece.after(n);
    }
}

impl BufRead for ColumnReader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.fill()?;
        Ok(self.conn.link.buffers.bytes(self.piece))
    }

    fn consume(&mut self, n: usize) {
        self.pass(n);
    }
}

impl Read for ColumnReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        while self.piece.is_empty()
            && into.len() >= DIRECT_READ
            && self.conn.link.can_read_direct()?
        {
            // A read may bring nothing but the header between two packets.
            match self.conn.read_direct(into)? {
                0 => {}
                n => return Ok(n),
            }
        }
        self.fill()?;
        let bytes = self.conn.link.buffers.bytes(self.piece);
        let n = bytes.len().min(into.len());
        into[..n].copy_from_slice(&bytes[..n]);
        self.conn.link.buffers.count_owned(n);
        self.pass(n);
        Ok(n)
    }
}
