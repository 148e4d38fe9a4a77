//! The rows of a statement, fetched in batches.

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::client::{Params, Reply};

use super::{Connection, Rows};
use crate::{Definitions, Done, Error, Param, Statement};

/// A server-side cursor: the rows of a statement stay on the server until they are fetched in batches.
///
/// Between two batches the connection is idle, however long the caller takes: the server does not wait for rows to be read, so its
/// `net_write_timeout` does not apply. In exchange the server stores the whole result, and each batch costs a round trip. To read a result as
/// fast as possible use [`execute`](Connection::execute), which streams it too.
///
/// If it is dropped before its last batch, the cursor is closed before the connection's next command.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::aio::Connection;
///
/// # async fn example(conn: &mut Connection) -> Result<(), onecopy_mysql::Error> {
/// let select = conn.prepare("SELECT id, name FROM product").await?;
/// let mut cursor = conn.cursor(&select, &[], 1000).await?;
/// while let Some(mut rows) = cursor.next_batch().await? {
///     while let Some(row) = rows.next().await? {
///         println!("{} {}", row.get::<i64>(0)?, row.get::<&str>(1)?);
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "rows are fetched batch by batch"]
pub struct Cursor<'c> {
    conn: &'c mut Connection,
    /// Kept: a statement that is dropped is closed, and its cursor with it.
    statement: Statement,
    fetch_rows: u32,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The server has opened no cursor: the rows come all at once.
    Rows,
    Open,
    /// No more rows, or there were none.
    Over,
}

impl Connection {
    /// Executes a prepared statement whose rows are fetched `fetch_rows` at a time, or one at a time for 0.
    ///
    /// Servers open a cursor for SELECT. For statements without a cursor, such as CALL, all rows are one batch.
    ///
    /// Once a statement was executed with a cursor, MySQL does not execute it without one any more. [`execute`](Self::execute) then opens
    /// a cursor too and fetches all rows, in two round trips, and a [pipeline](Self::pipeline) can't use the statement: prepare another
    /// one.
    ///
    /// # Errors
    /// Fails like [`execute`](Self::execute).
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn cursor(
        &mut self,
        statement: &Statement,
        params: &[Param<'_>],
        fetch_rows: u32,
    ) -> Result<Cursor<'_>, Error> {
        self.link.own(statement)?;
        self.settle().await?;
        self.link.observe_execution(statement);
        let state = self.open_cursor(statement, params).await?;
        self.link.observe_reply();
        if self.link.core.is_command_over() {
            self.finish();
        }
        Ok(Cursor {
            conn: self,
            statement: statement.clone(),
            fetch_rows: fetch_rows.max(1),
            state,
        })
    }

    /// Executes a statement for a cursor, and returns what the server has made of it.
    async fn open_cursor(
        &mut self,
        statement: &Statement,
        params: &[Param<'_>],
    ) -> Result<State, Error> {
        let params = Params(params);
        // A call that is dropped leaves a cursor behind.
        self.link.opens_cursor(statement.id);
        let core = &mut self.link.core;
        core.execute_with_cursor(&mut self.link.buffers, statement.id, params)?;
        let driven = self.drive(&params).await;
        if driven
            .as_ref()
            .map_or_else(|error| error.server().is_some(), |_| true)
        {
            self.link.set_long_data(None);
        }
        Ok(match driven? {
            Reply::Columns if !self.link.core.is_command_over() => State::Rows,
            Reply::Columns if self.link.core.has_cursor() => State::Open,
            _ => State::Over,
        })
    }

    /// What [`execute`](Self::execute) does where the server executes the statement with a cursor only: opens one, and fetches all
    /// rows at once.
    #[cold]
    pub(super) async fn execute_with_cursor(
        &mut self,
        refusal: ProtocolError,
        statement: &Statement,
        params: &[Param<'_>],
    ) -> Result<Rows<'_>, Error> {
        if refusal != ProtocolError::CursorOnly {
            return Err(refusal.into());
        }
        let reply = match self.open_cursor(statement, params).await? {
            State::Over => Reply::Ok,
            State::Rows => Reply::Columns,
            State::Open => {
                self.settle_on().await?;
                let (core, buffers) = (&mut self.link.core, &mut self.link.buffers);
                core.fetch(buffers, statement.id, u32::MAX)?;
                Reply::Columns
            }
        };
        Ok(Rows::new(self, reply))
    }
}

impl Cursor<'_> {
    /// Returns the next batch of rows, or `None` after the last one. Unread rows of the previous batch are skipped. The last batch may
    /// be empty.
    ///
    /// # Errors
    /// Fails if the connection fails, or with the server's error for what is skipped. The rows fail with the server's errors.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn next_batch(&mut self) -> Result<Option<Rows<'_>>, Error> {
        match self.state {
            State::Rows => {
                self.state = State::Over;
                return Ok(Some(Rows::new(self.conn, Reply::Columns)));
            }
            State::Over => return Ok(None),
            State::Open => {}
        }
        // What else is settled has a status of its own.
        if self.conn.link.core.is_idle() && !self.conn.link.core.has_cursor() {
            self.state = State::Over;
            return Ok(None);
        }
        let was_skipped = !self.conn.link.core.is_idle();
        self.conn.link.observe_skipped_batch(true);
        let skipped = self.skip_batch().await;
        self.conn.link.observe_skipped_batch(false);
        skipped?;
        if was_skipped && !self.conn.link.core.has_cursor() {
            self.state = State::Over;
            return Ok(None);
        }
        let (core, buffers) = (&mut self.conn.link.core, &mut self.conn.link.buffers);
        core.fetch(buffers, self.statement.id, self.fetch_rows)?;
        Ok(Some(Rows::new(self.conn, Reply::Columns)))
    }

    /// Skips what is left of the last batch. One that was never asked for a row is still to be fetched.
    async fn skip_batch(&mut self) -> Result<(), Error> {
        if !self.conn.link.core.is_idle() && self.conn.link.buffers.has_output() {
            self.conn.link.start_statement();
            self.conn.flush(&()).await?;
        }
        if !self.conn.link.core.is_idle() {
            // It is never cancelled, as what was abandoned is: that would end the cursor, and the rows behind it are wanted.
            Rows::new(self.conn, Reply::Columns).finish().await?;
        }
        self.conn.settle().await
    }

    /// Returns the columns of the rows; none if the statement returns no rows.
    ///
    /// # Errors
    /// Fails if the statement is closed.
    pub fn columns(&self) -> Result<&Definitions, Error> {
        let core = &self.conn.link.core;
        Ok(core.statement_definitions(self.statement.id)?)
    }

    /// Returns the counters of the last reply: of a statement without rows, those of its end.
    pub fn done(&self) -> Done {
        self.conn.link.done()
    }
}

/// Lets the cursor be closed before the next command.
impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        let link = &mut self.conn.link;
        let may_be_open = !link.core.is_idle() || link.core.has_cursor();
        if self.state == State::Open && may_be_open {
            link.opens_cursor(self.statement.id);
            link.observe_dropped_cursor();
        }
    }
}
