//! Many rows for one statement, in batches.

use onecopy_mysql_proto::client::RowMode;

use super::Connection;
use crate::bulk::{Batch, MAX_PACKET, Pushed};
use crate::{BulkOptions, Done, Error, Param};

/// Rows for one statement, sent in batches: the fastest way to insert, update or delete many rows.
///
/// MariaDB executes a batch as one COM_STMT_BULK_EXECUTE; for MySQL it becomes one `INSERT ... VALUES (...), (...)`, prepared for full batches: see
/// [`BulkMethod`](crate::BulkMethod). A batch is sent when it is full, and while the server stores it the next one is filled: an
/// error may therefore come from a later call than the one that pushed its row. Memory is constant, see
/// [`BulkOptions::max_bytes`].
///
/// Without a transaction, each batch is committed on its own; on an error the batches before stay. What the failing batch leaves
/// depends on the server: see `docs/design/bulk.md`. Run it in a transaction to have all rows or none.
///
/// If it is dropped before [`finish`](Self::finish), rows that were pushed and not sent yet are lost.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::blocking::Connection;
/// use onecopy_mysql::{Param, params};
///
/// # fn main() -> Result<(), onecopy_mysql::Error> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop")?;
/// conn.run("BEGIN")?;
/// let mut bulk = conn.bulk("INSERT INTO product (id, name, price) VALUES (?, ?, ?)")?;
/// for id in 1..=1_000_000 {
///     bulk.push(&params![id, "cup", Param::Default])?;
/// }
/// let done = bulk.finish()?;
/// conn.run("COMMIT")?;
/// assert_eq!(done.affected_rows, 1_000_000);
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "rows are lost without finish"]
pub struct Bulk<'c> {
    conn: &'c mut Connection,
    batch: Batch,
}

impl Connection {
    /// Begins to run a statement for many rows, see [`Bulk`].
    ///
    /// Needs one round trip to prepare the statement on MariaDB, and on the first call another one to ask for
    /// `max_allowed_packet`.
    ///
    /// # Errors
    /// Fails with the server's error, if the statement has no parameters, or if the connection fails.
    pub fn bulk(&mut self, sql: impl AsRef<[u8]>) -> Result<Bulk<'_>, Error> {
        self.bulk_with(sql, &BulkOptions::default())
    }

    /// Does what [`bulk`](Self::bulk) does, with these options.
    ///
    /// # Errors
    /// Fails like [`bulk`](Self::bulk).
    pub fn bulk_with(
        &mut self,
        sql: impl AsRef<[u8]>,
        options: &BulkOptions,
    ) -> Result<Bulk<'_>, Error> {
        let sql = sql.as_ref();
        let max_packet = match options.max_packet_bytes {
            Some(bytes) => bytes,
            None => self.max_packet_bytes()?,
        };
        let batch = if Batch::executes(&self.link.core, options.method) {
            let statement = self.prepare(sql)?;
            Batch::execute(statement, options, max_packet)?
        } else {
            // The session's modes are known from the last reply.
            self.settle()?;
            self.link.ended();
            Batch::insert(sql, &self.link.core, options, max_packet)?
        };
        Ok(Bulk { conn: self, batch })
    }

    /// The server's `max_allowed_packet`.
    fn max_packet_bytes(&mut self) -> Result<u64, Error> {
        if let Some(bytes) = self.link.max_packet_bytes {
            return Ok(bytes);
        }
        let mut rows = self.query(MAX_PACKET)?;
        let bytes = match rows.next()? {
            Some(row) => row.get(0)?,
            None => {
                return Err(Error::config(
                    "the server tells no max_allowed_packet; set max_packet_bytes".into(),
                ));
            }
        };
        rows.finish()?;
        self.link.max_packet_bytes = Some(bytes);
        Ok(bytes)
    }
}

impl Bulk<'_> {
    /// Adds a row: a value for each parameter of the statement, or [`Param::Default`] or [`Param::Ignore`] in its place. Sends the
    /// batch if it is full.
    ///
    /// The values of a column should be of one kind. On MariaDB, a value of another kind than those before it (text after bytes, a
    /// float after an integer) ends the batch.
    ///
    /// # Errors
    /// Fails if the number of values is wrong, a text is not in the session's character set, or the row exceeds the server's
    /// `max_allowed_packet`: the row is then not added, and the bulk continues. Any other error is the server's for an earlier batch,
    /// or the connection's, and ends the bulk. [`Error::bulk_rows`] returns the rows that the error is about.
    #[inline]
    pub fn push(&mut self, row: &[Param<'_>]) -> Result<(), Error> {
        self.batch.check()?;
        match self.batch.push(row, &self.conn.link.core)? {
            Pushed::Fits => Ok(()),
            Pushed::Full => self.send(),
            Pushed::SendFirst => {
                self.send()?;
                match self.batch.push(row, &self.conn.link.core)? {
                    Pushed::Fits => Ok(()),
                    Pushed::Full | Pushed::SendFirst => self.send(),
                }
            }
        }
    }

    /// Sends the rows that wait, and waits until the server has stored all rows.
    ///
    /// # Errors
    /// Fails with the server's error, or if the connection fails, and ends the bulk.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.batch.check()?;
        self.send()?;
        self.wait_for_result()
    }

    /// [Flushes](Self::flush) and then runs another statement between two batches, such as `COMMIT` or `BEGIN`.
    ///
    /// # Errors
    /// Fails with the server's error, or if the connection fails. An error of the statement itself does not end the bulk.
    pub fn run(&mut self, sql: impl AsRef<[u8]>) -> Result<Done, Error> {
        self.flush()?;
        self.conn.run(sql)
    }

    /// Returns how many rows were pushed.
    pub fn rows(&self) -> u64 {
        self.batch.pushed()
    }

    /// Returns how many rows the server has confirmed.
    pub fn rows_stored(&self) -> u64 {
        self.batch.stored()
    }

    /// Sends the rest and returns the counters of all batches together: affected rows and warnings added up, and the first
    /// generated id.
    ///
    /// # Errors
    /// Fails like [`flush`](Self::flush).
    pub fn finish(mut self) -> Result<Done, Error> {
        self.flush()?;
        Ok(self.batch.done())
    }

    /// Sends the rows that wait, once the result of those before has arrived; does not wait for its own result.
    fn send(&mut self) -> Result<(), Error> {
        if !self.batch.has_rows() {
            return Ok(());
        }
        self.wait_for_result()?;
        let sent = self.send_now();
        sent.map_err(|error| {
            self.batch.over();
            error.in_rows(self.batch.waiting())
        })?;
        self.batch.sent();
        Ok(())
    }

    fn send_now(&mut self) -> Result<(), Error> {
        self.conn.settle()?;
        if let Some(sql) = self.batch.unprepared() {
            let prepared = self.conn.prepare(sql);
            self.batch.prepared(prepared)?;
            self.conn.settle()?;
        }
        let link = &mut self.conn.link;
        self.batch.queue(&mut link.core, &mut link.buffers)?;
        self.conn.flush(self.batch.body())
    }

    /// Waits for the result of the batch that was sent. What it has of rows, as RETURNING gives, is dropped.
    fn wait_for_result(&mut self) -> Result<(), Error> {
        if !self.batch.has_outstanding() {
            return Ok(());
        }
        match self.conn.skip_result() {
            Ok(done) => {
                self.batch.answered(done);
                Ok(())
            }
            Err(error) => {
                self.batch.over();
                Err(error.in_rows(self.batch.unanswered()))
            }
        }
    }
}

impl Connection {
    /// Reads the reply that is outstanding to its end. It continues where it was dropped.
    fn skip_result(&mut self) -> Result<Done, Error> {
        // Since the batch was sent the caller has made the next one: that is not the server's time.
        self.link.start_call()?;
        while !self.link.core.is_idle() {
            self.link.core.set_row_mode(RowMode::Skip);
            self.drive(&())?;
        }
        Ok(self.finish())
    }
}
