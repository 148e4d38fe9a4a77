//! A reader for one value.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::tokio::io::{AsyncBufRead, AsyncRead, ReadBuf};
use ::tokio::time::Sleep;

use onecopy_mysql_proto::client::Reply;
use onecopy_mysql_proto::value::FromValue;
use onecopy_net::DriveError;
use onecopy_wire::Span;

use super::Connection;
use crate::link::DIRECT_READ;
use crate::shown::shown_bytes;
use crate::{ColumnType, Error, Value};

/// A reader for one value of a streamed row.
///
/// [`AsyncBufRead`] borrows the bytes from the read buffer. [`AsyncRead`] with a large slice (16 KiB or more) reads directly from
/// the socket into that slice.
///
/// # Cancel safety
/// A read may be dropped while it waits; nothing is lost. If calls have a timeout, the next read continues with the time that is
/// left of the dropped read's timeout.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::aio::Connection;
/// use tokio::io::copy_buf;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop").await?;
///
/// let mut rows = conn.query("SELECT photo FROM product WHERE id = 7").await?;
/// if let Some(mut row) = rows.next_streaming().await?
///     && let Some(mut photo) = row.next_column().await?
/// {
///     println!("{}: {:?} bytes", photo.name(), photo.len());
///     copy_buf(&mut photo, &mut tokio::io::sink()).await?; // or a file, a response
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct ColumnReader<'r> {
    conn: &'r mut Connection,
    len: Option<u64>,
    /// The bytes that are borrowed now.
    piece: Span,
    /// The deadline of the wait under way, where calls have one.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<'r> ColumnReader<'r> {
    pub(super) fn new(conn: &'r mut Connection, len: Option<u64>) -> Self {
        Self {
            conn,
            len,
            piece: Span::EMPTY,
            sleep: None,
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
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn get<'v, T: FromValue<'v>>(&'v mut self) -> Result<T, Error> {
        let index = self.index();
        let Some(len) = self.len else {
            return T::from_value(Value::Null)
                .map_err(|error| Error::value(index.to_string(), error));
        };
        if len > 0 {
            self.fill().await?;
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
    async fn fill(&mut self) -> Result<(), Error> {
        poll_fn(|context| self.poll_fill(context)).await
    }

    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.piece.is_empty() && self.conn.link.core.value_left() > 0 {
            self.conn.link.start_call()?;
            let driven = self.conn.poll_drive(context, &());
            match ready!(self.within(context, driven))? {
                Reply::Piece(piece) => self.piece = piece,
                _ => return Poll::Ready(Err(self.conn.link.close("a value ended early"))),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Limits a wait to the call's deadline, which is that of the first poll that is pending.
    fn within<T>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<Result<T, Error>>,
    ) -> Poll<Result<T, Error>> {
        if polled.is_ready() {
            self.sleep = None;
            return polled;
        }
        let Some(deadline) = self.conn.link.deadline() else {
            return polled;
        };
        let sleep = self
            .sleep
            .get_or_insert_with(|| Box::pin(::tokio::time::sleep_until(deadline.into())));
        ready!(sleep.as_mut().poll(context));
        self.sleep = None;
        Poll::Ready(Err(self.conn.link.failed(DriveError::Timeout)))
    }

    fn pass(&mut self, n: usize) {
        self.piece = self.piece.after(n);
    }
}

impl AsyncBufRead for ColumnReader<'_> {
    fn poll_fill_buf(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        ready!(this.poll_fill(context))?;
        Poll::Ready(Ok(this.conn.link.buffers.bytes(this.piece)))
    }

    fn consume(self: Pin<&mut Self>, n: usize) {
        self.get_mut().pass(n);
    }
}

impl AsyncRead for ColumnReader<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if into.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        while this.piece.is_empty()
            && into.remaining() >= DIRECT_READ
            && this.conn.link.can_read_direct()?
        {
            this.conn.link.start_call()?;
            // A read may bring nothing but the header between two packets.
            let read = this
                .conn
                .poll_read_direct(context, into.initialize_unfilled());
            match ready!(this.within(context, read))? {
                0 => {}
                n => {
                    into.advance(n);
                    return Poll::Ready(Ok(()));
                }
            }
        }
        ready!(this.poll_fill(context))?;
        let bytes = this.conn.link.buffers.bytes(this.piece);
        let n = bytes.len().min(into.remaining());
        into.put_slice(&bytes[..n]);
        this.conn.link.buffers.count_owned(n);
        this.pass(n);
        Poll::Ready(Ok(()))
    }
}
