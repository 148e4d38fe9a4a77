//! A reader for a string.

use std::io::{self, BufRead, Read, Write};

use onecopy_net::{DriveError, blocking as net};
use onecopy_resp_proto::Message;
use onecopy_wire::{Core, Span};

use super::Connection;
use crate::Error;
use crate::link::DIRECT_READ;

/// A reader for the string of a reply, in constant memory. Reads of 16 KiB and more go directly into the caller's slice. Smaller
/// ones, such as those of `std::io::copy`, copy from the connection's buffer; `fill_buf` borrows from that buffer, and
/// [`copy_to`](Self::copy_to) writes from it.
///
/// If the reader is dropped before the end, the rest is discarded before the next reply. Its errors contain an [`Error`], which
/// [`io::Error::get_ref`] returns.
///
/// # Example
/// ```no_run
/// use onecopy_valkey::blocking::Connection;
/// use onecopy_valkey::command::string;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut conn = Connection::connect("redis://:password@localhost")?;
/// if let Some(mut photo) = conn.run_streaming(&string::get("photo"))? {
///     println!("{} bytes", photo.len());
///     photo.copy_to(std::fs::File::create("photo.jpg")?)?;
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct BulkReader<'c> {
    conn: &'c mut Connection,
    len: u64,
    /// Bytes that have arrived and were not yet returned.
    piece: Span,
    is_over: bool,
}

impl<'c> BulkReader<'c> {
    pub(super) fn new(conn: &'c mut Connection, len: u64) -> Self {
        if len >= DIRECT_READ as u64 {
            conn.link.buffers.read_less();
        }
        Self {
            conn,
            len,
            piece: Span::EMPTY,
            is_over: false,
        }
    }

    /// Returns the length of the whole string in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the string is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of bytes left.
    pub fn left(&self) -> u64 {
        self.conn.link.core.bulk_left() + self.piece.len() as u64
    }

    /// Writes all remaining bytes to `writer`, in pieces of up to 256 KiB, directly from the connection's buffer without copying.
    /// Returns their number. The writer is not flushed.
    ///
    /// # Errors
    /// Fails if the connection fails, with an [`Error`] inside; or with the writer's error, including
    /// [`WriteZero`](io::ErrorKind::WriteZero) if it accepts no more bytes. The bytes that the writer accepted are consumed; the
    /// rest, whose length [`left`](Self::left) returns, can still be read.
    pub fn copy_to(&mut self, mut writer: impl Write) -> io::Result<u64> {
        let before = self.left();
        loop {
            self.fill()?;
            let piece = self.conn.link.buffers.bytes(self.piece);
            if piece.is_empty() {
                return Ok(before);
            }
            match writer.write(piece) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => self.pass(n),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes the next bytes ready to be borrowed; none at the end.
    fn fill(&mut self) -> Result<(), Error> {
        while self.piece.is_empty() && !self.is_over {
            self.conn.link.start_wait();
            match self.conn.next_message(&())? {
                Message::Piece(piece) => self.piece = piece,
                Message::BulkEnd => self.is_over = true,
                _ => return Err(self.conn.link.close("a string ended early")),
            }
        }
        Ok(())
    }

    /// Reads directly into the caller's slice, and returns the number of bytes.
    fn read_direct(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        let (link, stream) = (&mut self.conn.link, &mut self.conn.stream);
        link.start_wait();
        let left = usize::try_from(link.core.bulk_left()).unwrap_or(usize::MAX);
        let len = into.len().min(left);
        let (into, deadline) = (&mut into[..len], link.deadline());
        let read = net::read_into(&mut link.buffers, stream, into, left - len, deadline);
        let (came, there) = read.map_err(|error| self.conn.fail(error))?;
        let link = &mut self.conn.link;
        link.core.direct_read(there);
        if came == 0 {
            let eof = link.core.handle_eof(&mut link.buffers);
            return Err(self.conn.fail(DriveError::Core(eof)));
        }
        Ok(there)
    }

    fn read_some(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        if into.is_empty() {
            return Ok(0);
        }
        if self.can_read_direct(into.len()) {
            let n = self.read_direct(into)?;
            if n > 0 {
                return Ok(n);
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

    fn can_read_direct(&mut self, len: usize) -> bool {
        let link = &mut self.conn.link;
        self.piece.is_empty()
            && len >= DIRECT_READ
            && !link.is_closed()
            && !link.buffers.has_output()
            && link.core.can_read_direct(&mut link.buffers)
    }

    fn pass(&mut self, n: usize) {
        self.piece = self.piece.after(n);
    }
}

impl BufRead for BulkReader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.fill()?;
        Ok(self.conn.link.buffers.bytes(self.piece))
    }

    fn consume(&mut self, n: usize) {
        self.pass(n);
    }
}

impl Read for BulkReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(self.read_some(into)?)
    }
}

/// Discards the rest of the string.
impl Drop for BulkReader<'_> {
    fn drop(&mut self) {
        self.conn.link.core.skip_bulk();
    }
}
