//! The rows of a result, and the results behind it.

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::client::{Reply, RowMode};
use onecopy_wire::Span;

use super::{Connection, StreamingRow};
use crate::shown::shown;
use crate::{ColumnIndex, Definitions, Done, Error, OwnedRow, Row};

/// The rows of one result after the other. Dropped early, the next command reads what is left and drops it; until then,
/// or until [`Connection::release`], the connection keeps the memory of the row that was borrowed last.
#[derive(Debug)]
#[must_use = "rows are read one by one"]
pub struct Rows<'c> {
    conn: &'c mut Connection,
    /// Rows are still to come in this result.
    open: bool,
    /// This result has columns.
    has_columns: bool,
    /// The row that was borrowed last.
    current: Option<Span>,
}

impl<'c> Rows<'c> {
    #[inline]
    pub(super) fn new(conn: &'c mut Connection, reply: Reply) -> Self {
        let mut rows = Self {
            conn,
            open: false,
            has_columns: false,
            current: None,
        };
        rows.start(reply);
        rows
    }

    fn start(&mut self, reply: Reply) {
        self.open = reply == Reply::Columns;
        self.has_columns = self.open;
        if !self.open && self.conn.link.core.is_idle() {
            self.conn.finish();
        }
    }

    /// The columns; none where the statement gives no rows.
    pub fn columns(&self) -> Option<&Definitions> {
        self.has_columns.then(|| self.conn.link.core.definitions())
    }

    /// The next row, borrowed until the next call. `None` at the end of this result.
    ///
    /// # Errors
    /// The server's error, after which the results are over; a failure of the connection, one of memory included.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    #[inline]
    #[allow(clippy::should_implement_trait)] // a borrowed row can't be an iterator's item
    pub async fn next(&mut self) -> Result<Option<Row<'_>>, Error> {
        match self.next_span().await? {
            Some(span) => Ok(Some(self.conn.link.row(span))),
            None => Ok(None),
        }
    }

    /// The next row as the caller's own. Large values are moved, the others copied once, together.
    ///
    /// # Errors
    /// As [`next`](Self::next); no memory for the copy: the row is passed over, unless [`take`](Self::take) has it.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    pub async fn next_owned(&mut self) -> Result<Option<OwnedRow>, Error> {
        match self.next_span().await? {
            Some(span) => self.conn.link.owned_row(span).map(Some),
            None => Ok(None),
        }
    }

    /// The next row, one of whose values goes into `value`: read straight into it where it is large, and reallocated only
    /// where it is too small. The row is borrowed with its other values; `value` is empty where this one is NULL.
    ///
    /// # Errors
    /// As [`next`](Self::next), and no such column. Where no memory is left for a value that did not come straight into
    /// the vector, the row is passed over.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
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

    /// Takes a value out of the row that was borrowed last, `None` for NULL: a large one is moved, not copied.
    ///
    /// # Errors
    /// No such column, no row, or the value was taken before; no memory for the copy, the value is still there then.
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

    /// The next row as a stream of its values in order, each a reader, in constant memory.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
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

    /// Passes over the rest of this result to the next one. `false` where there is none.
    ///
    /// # Errors
    /// The next result's error; a failure of the connection.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    pub async fn next_result(&mut self) -> Result<bool, Error> {
        if self.is_over() {
            return Ok(false);
        }
        self.conn.link.start_call()?;
        self.advance_result().await
    }

    /// Whether nothing is left: then no deadline can pass any more.
    fn is_over(&self) -> bool {
        !self.open && self.conn.link.core.is_idle()
    }

    async fn advance_result(&mut self) -> Result<bool, Error> {
        self.skip_rows().await?;
        if self.conn.link.core.is_idle() {
            return Ok(false);
        }
        let reply = self.conn.drive(&()).await?;
        self.start(reply);
        Ok(true)
    }

    /// Passes over everything that is left; gives the last result's numbers.
    ///
    /// # Errors
    /// As [`next_result`](Self::next_result).
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    pub async fn finish(self) -> Result<Done, Error> {
        if !self.is_over() {
            self.conn.link.start_call()?;
        }
        self.finish_within().await
    }

    /// [`finish`](Self::finish) within the call under way.
    pub(super) async fn finish_within(mut self) -> Result<Done, Error> {
        while self.advance_result().await? {}
        Ok(self.done())
    }

    /// All rows of this result as the caller's own.
    ///
    /// # Errors
    /// As [`next_owned`](Self::next_owned); what was collected is dropped.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    pub async fn collect_owned(&mut self) -> Result<Vec<OwnedRow>, Error> {
        let mut rows = Vec::new();
        while let Some(row) = self.next_owned().await? {
            let bytes = ((rows.len() + 1) * size_of::<OwnedRow>()) as u64;
            rows.try_reserve(1)
                .map_err(|_| ProtocolError::OutOfMemory { bytes })?;
            rows.push(row);
        }
        Ok(rows)
    }

    /// The numbers of this result; complete once its rows are over.
    pub fn done(&self) -> Done {
        self.conn.link.done()
    }

    /// The server's text for people about this result, such as `Rows matched: 1`. Bytes that are not UTF-8 are replaced.
    pub fn info(&self) -> &str {
        self.conn.link.core.info()
    }

    async fn skip_rows(&mut self) -> Result<(), Error> {
        self.current = None;
        while self.open {
            self.conn.link.core.set_row_mode(RowMode::Skip);
            self.receive().await?;
        }
        Ok(())
    }

    #[inline]
    async fn next_span(&mut self) -> Result<Option<Span>, Error> {
        if !self.open {
            return Ok(None);
        }
        self.current = None;
        self.conn.link.start_call()?;
        self.conn.link.core.set_row_mode(RowMode::Borrow);
        match self.receive().await? {
            Some(Reply::Row(span)) => {
                self.current = Some(span);
                Ok(Some(span))
            }
            Some(_) => Err(self
                .conn
                .link
                .close("a row came in another form than it was asked for")),
            None => Ok(None),
        }
    }

    /// The next reply within the rows; `None` at their end.
    #[inline]
    async fn receive(&mut self) -> Result<Option<Reply>, Error> {
        match self.conn.drive(&()).await {
            Ok(Reply::RowsEnd) => {
                self.open = false;
                if self.conn.link.core.is_idle() {
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
