//! The rows of a result, and the results that follow it.

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::client::{Reply, RowMode};
use onecopy_wire::Span;

use super::{Connection, StreamingRow};
use crate::collected::Collected;
use crate::shown::shown;
use crate::{ColumnIndex, Definitions, Done, Error, OwnedRow, Row};

/// The rows of a statement's results, one result after the other.
///
/// If it is dropped early, the next command reads and discards what is left. Until then, or until [`Connection::release`], the
/// connection keeps the memory of the row that was last borrowed.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::aio::Connection;
///
/// # async fn example() -> Result<(), onecopy_mysql::Error> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop").await?;
///
/// let mut rows = conn.query("SELECT id, name FROM product").await?;
/// while let Some(row) = rows.next().await? {
///     println!("{} {}", row.get::<i64>("id")?, row.get::<&str>("name")?);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "rows are read one by one"]
pub struct Rows<'c> {
    pub(super) conn: &'c mut Connection,
    /// Rows are still to come in this result.
    pub(super) open: bool,
    /// This result has columns.
    has_columns: bool,
    /// The row that was borrowed last.
    current: Option<Span>,
    /// Rows of this result that were borrowed.
    pub(super) number: u64,
}

impl<'c> Rows<'c> {
    #[inline]
    pub(super) fn new(conn: &'c mut Connection, reply: Reply) -> Self {
        let mut rows = Self {
            conn,
            open: false,
            has_columns: false,
            current: None,
            number: 0,
        };
        rows.conn.link.observe_reply();
        rows.start(reply);
        rows
    }

    fn start(&mut self, reply: Reply) {
        self.open = reply == Reply::Columns;
        self.has_columns = self.open;
        self.number = 0;
        if !self.open && self.conn.link.core.is_command_over() {
            self.conn.finish();
        }
    }

    /// Returns the columns of this result, or `None` if the statement returns no rows.
    pub fn columns(&self) -> Option<&Definitions> {
        self.has_columns.then(|| self.conn.link.core.definitions())
    }

    /// Returns the next row, borrowed until the next call, or `None` at the end of this result.
    ///
    /// # Errors
    /// Fails with the server's error, which ends all results, or if the connection fails. A lack of memory for the row is such a
    /// failure.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    #[inline]
    #[allow(clippy::should_implement_trait)] // a borrowed row can't be an iterator's item
    pub async fn next(&mut self) -> Result<Option<Row<'_>>, Error> {
        match self.next_span().await? {
            Some(span) => Ok(Some(self.conn.link.row(span))),
            None => Ok(None),
        }
    }

    /// Returns the next row as an owned row. Large values are moved; the others are copied once, into one allocation.
    ///
    /// # Errors
    /// Fails like [`next`](Self::next), or if there is no memory for the copy. In that case the row is skipped, but
    /// [`take`](Self::take) can still return its values.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn next_owned(&mut self) -> Result<Option<OwnedRow>, Error> {
        match self.next_span().await? {
            Some(span) => self.conn.link.owned_row(span).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the next row and puts the value of one column into `value`. A large value is read directly into the vector, which
    /// is reallocated only if it is too small. The other values are borrowed with the row. `value` is empty if the column is
    /// NULL.
    ///
    /// # Errors
    /// Fails like [`next`](Self::next), or if there is no such column. If there is no memory for a value that was not read
    /// directly into the vector, the row is skipped.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn next_into(
        &mut self,
        column: impl ColumnIndex,
        value: &mut Vec<u8>,
    ) -> Result<Option<Row<'_>>, Error> {
        let columns = self.conn.link.core.definitions();
        let index = column
            .find(columns)
            .ok_or_else(|| Error::no_column(shown(format_args!("{column:?}"))))?;
        self.conn.link.core.set_home_column(Some(index));
        self.conn.link.buffers.offer_home(std::mem::take(value));
        let next = self.next_span().await;
        self.conn.link.core.set_home_column(None);
        if let Some(unused) = self.conn.link.buffers.withdraw_home() {
            *value = unused;
        }
        match next? {
            Some(span) => {
                self.conn.link.take_value(span, index, value)?;
                Ok(Some(self.conn.link.row(span)))
            }
            None => Ok(None),
        }
    }

    /// Takes a value out of the row that was last borrowed, or returns `None` for NULL. A large value is moved, not copied.
    ///
    /// # Errors
    /// Fails if there is no such column, if there is no row, if the value was already taken, or if there is no memory for the
    /// copy. In the last case the value stays in the row.
    pub fn take(&mut self, column: impl ColumnIndex) -> Result<Option<Vec<u8>>, Error> {
        let span = self
            .current
            .ok_or_else(|| Error::no_column(shown(format_args!("{column:?}"))))?;
        let mut value = Vec::new();
        Ok(self
            .conn
            .link
            .take_value(span, column, &mut value)?
            .then_some(value))
    }

    /// Returns the next row as a stream of its values in order, each as a reader, in constant memory.
    ///
    /// # Errors
    /// Fails like [`next`](Self::next).
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn next_streaming(&mut self) -> Result<Option<StreamingRow<'_>>, Error> {
        if !self.open {
            return Ok(None);
        }
        self.current = None;
        if self.conn.link.core.is_in_large_row() {
            return Err(ProtocolError::RowUnderWay.into());
        }
        self.conn.link.start_call()?;
        self.conn.link.core.set_row_mode(RowMode::Stream);
        match self.receive().await? {
            Some(Reply::RowStart) => Ok(Some(StreamingRow::new(self.conn))),
            Some(_) => Err(self
                .conn
                .link
                .close("a row came in another form than it was asked for")),
            None => Ok(None),
        }
    }

    /// Skips the rest of this result and moves to the next one. Returns `false` if there is none.
    ///
    /// # Errors
    /// Fails with the server's error for the next result, or if the connection fails.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn next_result(&mut self) -> Result<bool, Error> {
        if self.is_over() {
            return Ok(false);
        }
        self.conn.link.start_call()?;
        self.advance_result().await
    }

    /// Returns whether nothing is left, so that no deadline can pass any more.
    fn is_over(&self) -> bool {
        !self.open && self.conn.link.core.is_command_over()
    }

    async fn advance_result(&mut self) -> Result<bool, Error> {
        self.skip_rows().await?;
        if self.conn.link.core.is_command_over() {
            return Ok(false);
        }
        let reply = match self.conn.link.has_tokens() {
            false => self.conn.drive(&()).await?,
            true => self.conn.drive_to_result().await?,
        };
        self.start(reply);
        Ok(true)
    }

    /// Skips everything that is left and returns the counters of the last result.
    ///
    /// # Errors
    /// Fails like [`next_result`](Self::next_result).
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn finish(self) -> Result<Done, Error> {
        if !self.is_over() {
            self.conn.link.start_call()?;
        }
        self.finish_within().await
    }

    /// Does what [`finish`](Self::finish) does, within the deadline of the current call.
    pub(super) async fn finish_within(mut self) -> Result<Done, Error> {
        while self.advance_result().await? {}
        Ok(self.done())
    }

    /// Returns all rows of this result as owned rows.
    ///
    /// # Errors
    /// Fails like [`next_owned`](Self::next_owned), and if the rows have more bytes than
    /// [`Config::max_result_bytes`](crate::Config::max_result_bytes); the rows collected so far are dropped.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn collect_owned(&mut self) -> Result<Vec<OwnedRow>, Error> {
        let mut rows = Collected::new(&self.conn.link);
        while let Some(span) = self.next_span().await? {
            rows.make_room(&self.conn.link)?;
            rows.push(self.conn.link.owned_row(span)?);
        }
        Ok(rows.into_rows())
    }

    /// Returns the counters of this result. They are complete once its rows have ended.
    pub fn done(&self) -> Done {
        self.conn.link.done()
    }

    /// Returns the server's human-readable text about this result, such as `Rows matched: 1`. Bytes that are not UTF-8 are
    /// replaced.
    pub fn info(&self) -> &str {
        self.conn.link.core.info()
    }

    pub(super) async fn skip_rows(&mut self) -> Result<(), Error> {
        self.current = None;
        while self.open {
            self.conn.link.core.set_row_mode(RowMode::Skip);
            self.receive().await?;
        }
        Ok(())
    }

    #[inline]
    pub(super) async fn next_span(&mut self) -> Result<Option<Span>, Error> {
        if !self.open {
            return Ok(None);
        }
        self.current = None;
        self.conn.link.start_call()?;
        self.conn.link.core.set_row_mode(RowMode::Borrow);
        match self.receive().await? {
            Some(Reply::Row(span)) => {
                self.current = Some(span);
                self.number += 1;
                Ok(Some(span))
            }
            Some(_) => Err(self
                .conn
                .link
                .close("a row came in another form than it was asked for")),
            None => Ok(None),
        }
    }

    /// Returns the next reply within the rows, or `None` at their end.
    #[inline]
    async fn receive(&mut self) -> Result<Option<Reply>, Error> {
        match self.conn.next_reply().await {
            Ok(Reply::RowsEnd) => {
                self.open = false;
                if self.conn.link.core.is_command_over() {
                    self.conn.finish();
                }
                Ok(None)
            }
            Ok(reply) => Ok(Some(reply)),
            Err(error) => {
                self.open = error.is_timeout();
                Err(error)
            }
        }
    }
}
