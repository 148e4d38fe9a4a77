//! A reader for a string.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use ::tokio::time::Sleep;
use onecopy_net::{DriveError, tokio as net};
use onecopy_resp_proto::Message;
use onecopy_wire::{Core, Span};

use super::Connection;
use crate::Error;
use crate::link::DIRECT_READ;

/// A reader for the string of a reply, in constant memory. Reads of 16 KiB and more go directly into the caller's slice. Smaller
/// ones, such as those of `tokio::io::copy`, copy from the connection's buffer; `fill_buf` borrows from that buffer, and
/// [`copy_to`](Self::copy_to) writes from it.
///
/// If the reader is dropped before the end, the rest is discarded before the next reply. Its errors contain an [`Error`], which
/// [`io::Error::get_ref`] returns.
///
/// # Example
/// ```no_run
/// use onecopy_valkey::aio::Connection;
/// use onecopy_valkey::command::string;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let mut conn = Connection::connect("redis://:password@localhost").await?;
/// if let Some(mut photo) = conn.run_streaming(&string::get("photo")).await? {
///     println!("{} bytes", photo.len());
///     tokio::io::copy(&mut photo, &mut tokio::io::sink()).await?;
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
    /// The deadline of a wait that is under way.
    sleep: Option<Pin<Box<Sleep>>>,
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
            sleep: None,
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
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the same holds as after an error of the writer: no byte is lost or written
    /// twice, as long as the writer's own writes are cancel-safe.
    pub async fn copy_to(&mut self, mut writer: impl AsyncWrite + Unpin) -> io::Result<u64> {
        let before = self.left();
        loop {
            poll_fn(|context| self.poll_fill(context)).await?;
            let piece = self.conn.link.buffers.bytes(self.piece);
            if piece.is_empty() {
                return Ok(before);
            }
            match writer.write(piece).await {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => self.pass(n),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes the next bytes ready to be borrowed; none at the end.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        while self.piece.is_empty() && !self.is_over {
            let polled = self.conn.poll_message(context);
            match ready!(self.within(context, polled))? {
                Message::Piece(piece) => self.piece = piece,
                Message::BulkEnd => self.is_over = true,
                _ => return Poll::Ready(Err(self.conn.link.close("a string ended early"))),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Reads directly into the caller's slice, and returns the number of bytes.
    fn poll_read_direct(
        &mut self,
        context: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<Result<usize, Error>> {
        let (link, stream) = (&mut self.conn.link, &mut self.conn.stream);
        let left = usize::try_from(link.core.bulk_left()).unwrap_or(usize::MAX);
        let len = into.len().min(left);
        let into = &mut into[..len];
        let read = net::poll_read_into(context, &mut link.buffers, stream, into, left - len);
        let (came, there) = ready!(read).map_err(|error| self.conn.fail(error))?;
        let link = &mut self.conn.link;
        link.core.direct_read(there);
        if came == 0 {
            let eof = link.core.handle_eof(&mut link.buffers);
            return Poll::Ready(Err(self.conn.fail(DriveError::Core(eof))));
        }
        Poll::Ready(Ok(there))
    }

    fn poll_some(
        &mut self,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Result<(), Error>> {
        if into.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        if self.can_read_direct(into.remaining()) {
            let read = self.poll_read_direct(context, into.initialize_unfilled());
            let n = ready!(self.within(context, read))?;
            if n > 0 {
                into.advance(n);
                return Poll::Ready(Ok(()));
            }
        }
        ready!(self.poll_fill(context))?;
        let bytes = self.conn.link.buffers.bytes(self.piece);
        let n = bytes.len().min(into.remaining());
        into.put_slice(&bytes[..n]);
        self.conn.link.buffers.count_owned(n);
        self.pass(n);
        Poll::Ready(Ok(()))
    }

    fn can_read_direct(&mut self, len: usize) -> bool {
        let link = &mut self.conn.link;
        self.piece.is_empty()
            && len >= DIRECT_READ
            && !link.is_closed()
            && !link.buffers.has_output()
            && link.core.can_read_direct(&mut link.buffers)
    }

    /// Bounds a wait by the command's timeout. It begins with the first poll that is pending.
    fn within<T>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<Result<T, Error>>,
    ) -> Poll<Result<T, Error>> {
        if polled.is_ready() {
            self.sleep = None;
            return polled;
        }
        let Some(timeout) = self.conn.link.command_timeout() else {
            return polled;
        };
        let sleep = self
            .sleep
            .get_or_insert_with(|| Box::pin(::tokio::time::sleep(timeout)));
        ready!(sleep.as_mut().poll(context));
        self.sleep = None;
        Poll::Ready(Err(self.conn.fail(DriveError::Timeout)))
    }

    fn pass(&mut self, n: usize) {
        self.piece = self.piece.after(n);
    }
}

impl AsyncBufRead for BulkReader<'_> {
    fn poll_fill_buf(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        ready!(this.poll_fill(context))?;
        Poll::Ready(Ok(this.conn.link.buffers.bytes(this.piece)))
    }

    fn consume(self: Pin<&mut Self>, n: usize) {
        self.get_mut().pass(n);
    }
}

impl AsyncRead for BulkReader<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.get_mut().poll_some(context, into))?;
        Poll::Ready(Ok(()))
    }
}

/// Discards the rest of the string.
impl Drop for BulkReader<'_> {
    fn drop(&mut self) {
        self.conn.link.core.skip_bulk();
    }
}
