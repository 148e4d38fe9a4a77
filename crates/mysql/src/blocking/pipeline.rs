//! Statements that are sent together, and their results in order.

use std::collections::VecDeque;

use onecopy_mysql_proto::client::{Reply, RowMode};

use super::{Connection, Rows};
use crate::link::{Batch, Outcome};
use crate::{Error, Param, Statement};

/// Statements that are sent in one write, so that all of them together cost one round trip.
///
/// Any number of statements may be queued: results are read while statements are sent. Their texts and parameters are kept until then; at
/// most 256 KiB of commands are encoded ahead. Parameters of 16 KiB and more are sent without a copy. If the pipeline is dropped
/// before [`send`](Self::send), nothing is sent.
///
/// All statements are executed, also those behind one that fails. In a transaction, a statement that makes the server roll back the
/// whole transaction, as a deadlock does, therefore leaves those behind it outside of it: they are committed one by one. Put what must
/// not happen alone into one statement, or do not send it ahead.
///
/// With [`Config::pipelining`](crate::Config::pipelining) off, each statement waits for the result of the one before it.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::blocking::Connection;
/// use onecopy_mysql::params;
///
/// # fn example(conn: &mut Connection) -> Result<(), onecopy_mysql::Error> {
/// let mut pipeline = conn.pipeline();
/// for name in ["cup", "plate"] {
///     pipeline.exec("INSERT INTO product (name) VALUES (?)", &params![name])?;
/// }
/// pipeline.query("SELECT COUNT(*) FROM product")?;
/// let mut results = pipeline.send()?;
/// while let Some(mut rows) = results.next()? {
///     while let Some(row) = rows.next()? {
///         println!("{} products", row.get::<i64>(0)?);
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a pipeline does nothing before it is sent"]
pub struct Pipeline<'c, 'a> {
    conn: &'c mut Connection,
    batch: Batch<'a>,
}

impl Connection {
    /// Begins a pipeline. Nothing is sent before [`Pipeline::send`].
    pub fn pipeline<'a>(&mut self) -> Pipeline<'_, 'a> {
        Pipeline {
            conn: self,
            batch: Batch::default(),
        }
    }
}

impl<'c, 'a> Pipeline<'c, 'a> {
    /// Adds SQL in the text protocol, which is copied.
    ///
    /// # Errors
    /// Fails if there is no memory for it. The other statements stay.
    pub fn query(&mut self, sql: impl AsRef<[u8]>) -> Result<&mut Self, Error> {
        self.batch.query(sql.as_ref())?;
        Ok(self)
    }

    /// Adds SQL with parameters, see [`Connection::exec`]. Texts that are not in the statement cache are prepared first, in a round trip for
    /// each 64 of them.
    ///
    /// # Errors
    /// Fails if there is no memory for it. The other statements stay.
    pub fn exec(
        &mut self,
        sql: impl AsRef<[u8]>,
        params: &[Param<'a>],
    ) -> Result<&mut Self, Error> {
        self.batch.exec(sql.as_ref(), params)?;
        Ok(self)
    }

    /// Adds an execution of a prepared statement. A wrong number of parameters is reported as its result.
    ///
    /// # Errors
    /// Fails if there is no memory for it. The other statements stay.
    pub fn execute(
        &mut self,
        statement: &Statement,
        params: &[Param<'a>],
    ) -> Result<&mut Self, Error> {
        self.batch.execute(statement, params)?;
        Ok(self)
    }

    /// Returns the number of statements.
    pub fn len(&self) -> usize {
        self.batch.len()
    }

    /// Returns whether there is no statement.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Prepares the texts that are not in the statement cache, and returns the results. Statements are sent when the first
    /// result is requested.
    ///
    /// # Errors
    /// Fails if the connection fails. A statement that can't be prepared has the error as its result.
    pub fn send(mut self) -> Result<Results<'c, 'a>, Error> {
        self.conn.settle()?;
        self.prepare()?;
        self.conn.link.start_pipeline();
        Ok(Results {
            conn: self.conn,
            batch: self.batch,
            outcomes: VecDeque::new(),
            is_read: true,
        })
    }

    /// Prepares the texts that are not in the cache.
    fn prepare(&mut self) -> Result<(), Error> {
        let mut unprepared = self.conn.link.find_statements(&mut self.batch);
        loop {
            let next = unprepared.next(&self.conn.link);
            if next.is_empty() {
                break;
            }
            let count = next.len();
            let link = &mut self.conn.link;
            link.queue_prepares(&self.batch, &unprepared, next)?;
            for _ in 0..count {
                let statement = match self.conn.drive_duplex(&()) {
                    Ok(Reply::Prepared(id)) => {
                        let statement = self.conn.link.statement(id)?;
                        let link = &mut self.conn.link;
                        link.cache_of(&self.batch, &unprepared, statement)
                    }
                    Ok(_) => Err(self.conn.link.close("a prepare got another reply")),
                    Err(error) => Err(error),
                };
                unprepared.add(statement)?;
            }
            // What has left the cache is closed with the next write.
            self.conn.settle_on()?;
        }
        self.conn.link.take_statements(&mut self.batch, unprepared);
        Ok(())
    }
}

/// The results of a pipeline, in the order of its statements.
///
/// They may be dropped before the last one is read. Statements of which nothing was sent are then not executed; the results of the others
/// are discarded. In one case the next call finds the connection closed: a statement with parameters of 16 KiB and more, which are
/// sent by reference, was only partly sent.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::blocking::Connection;
/// use onecopy_mysql::params;
///
/// # fn main() -> Result<(), onecopy_mysql::Error> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop")?;
///
/// let (name, id) = (params!["cup"], params![7]);
/// let mut pipeline = conn.pipeline();
/// pipeline.exec("UPDATE product SET name = ? WHERE id = 7", &name)?;
/// pipeline.exec("SELECT name FROM product WHERE id = ?", &id)?;
///
/// let mut results = pipeline.send()?;
/// if let Some(update) = results.next()? {
///     println!("{} rows changed", update.done().affected_rows);
/// }
/// if let Some(mut rows) = results.next()? {
///     while let Some((name,)) = rows.next_as::<(&str,)>()? {
///         println!("{name}");
///     }
/// }
/// results.finish()
/// # }
/// ```
#[derive(Debug)]
#[must_use = "statements are sent when their results are read"]
pub struct Results<'c, 'a> {
    conn: &'c mut Connection,
    batch: Batch<'a>,
    /// The outcomes of the statements that are encoded and whose results were not returned yet.
    outcomes: VecDeque<Outcome>,
    /// The last statement's result is read to its end.
    is_read: bool,
}

impl Results<'_, '_> {
    /// Returns the result of the next statement, or `None` after the last one. Unread rows of the previous result are skipped.
    ///
    /// # Errors
    /// Fails with the server's error for this statement, or because it could not be sent, as with a wrong number of parameters; later
    /// results are not affected. After a failure of the connection there are no more results. After a timeout the same result can be
    /// asked for again.
    #[allow(clippy::should_implement_trait)] // what it gives is borrowed
    pub fn next(&mut self) -> Result<Option<Rows<'_>>, Error> {
        self.skip_rest()?;
        let link = &mut self.conn.link;
        link.encode_ahead(&mut self.batch, &mut self.outcomes)?;
        match self.outcomes.front() {
            None => return Ok(None),
            Some(Err(_)) => {
                return match self.outcomes.pop_front() {
                    Some(Err(error)) => Err(error),
                    _ => Ok(None),
                };
            }
            Some(Ok(())) => {}
        }
        self.conn.link.start_reply(&self.batch);
        match self.conn.drive_duplex(&self.batch) {
            Ok(reply) => {
                self.replied();
                self.is_read = false;
                self.conn.link.set_output_aside();
                Ok(Some(Rows::new(self.conn, reply)))
            }
            Err(error) if error.is_closed() => {
                self.end();
                Err(error)
            }
            Err(error) if error.server().is_some() => {
                self.replied();
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Skips all results that are left. All statements are executed.
    ///
    /// # Errors
    /// Fails with the error of the first statement that has one, after all others were executed, or if the connection fails.
    pub fn finish(mut self) -> Result<(), Error> {
        let mut first = Ok(());
        loop {
            match self.next() {
                Ok(Some(_)) => {}
                Ok(None) => return first,
                Err(error) if error.is_closed() || error.is_timeout() => return Err(error),
                Err(error) => first = first.and(Err(error)),
            }
        }
    }

    /// Returns the number of results left.
    pub fn len(&self) -> usize {
        self.batch.len() + self.outcomes.len()
    }

    /// Returns whether no result is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads the rest of the result that was given last.
    fn skip_rest(&mut self) -> Result<(), Error> {
        self.conn.link.put_output_back();
        while !self.is_read && !self.conn.link.core.is_command_over() {
            self.conn.link.start_statement();
            self.conn.link.core.set_row_mode(RowMode::Skip);
            match self.conn.drive_duplex(&self.batch) {
                Err(error) if error.is_closed() => {
                    self.end();
                    return Err(error);
                }
                // An error of rows that nobody reads is of no interest.
                Err(error) if error.server().is_none() => return Err(error),
                _ => {}
            }
        }
        if !self.is_read {
            self.is_read = true;
            self.conn.finish();
        }
        Ok(())
    }

    /// The reply to the first outstanding statement came.
    fn replied(&mut self) {
        self.outcomes.pop_front();
        self.conn.link.replied();
    }

    /// The connection is closed.
    fn end(&mut self) {
        self.outcomes.clear();
        self.batch.clear();
    }
}

/// What is outstanding is left to the next command.
impl Drop for Results<'_, '_> {
    fn drop(&mut self) {
        self.conn.link.end_pipeline();
    }
}
