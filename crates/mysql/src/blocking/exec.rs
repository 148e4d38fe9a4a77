//! SQL with parameters, prepared once.

use onecopy_mysql_proto::client::{Params, Reply};
use onecopy_net::blocking as net;
use onecopy_wire::Borrowed;

use super::{Connection, Rows};
use crate::{Error, Param, Statement};

impl Connection {
    /// Runs SQL with parameters and returns its rows. The statement is prepared when its text is first run, and kept in the
    /// connection's [statement cache](crate::Config::statement_cache).
    ///
    /// A statement that is in the cache costs as much as [`execute`](Self::execute) plus a lookup by its text. The first run takes two
    /// round trips. On MariaDB it takes one if the text is ASCII without comments and backslashes, so that the client can count the
    /// parameters.
    /// Statements that leave the cache are closed together with the next command.
    ///
    /// ```no_run
    /// use onecopy_mysql::blocking::Connection;
    /// use onecopy_mysql::params;
    ///
    /// # fn example() -> Result<(), onecopy_mysql::Error> {
    /// let mut conn = Connection::connect("mysql://user:password@localhost/shop")?;
    /// conn.exec("UPDATE product SET price = ? WHERE id = ?", &params![30, 1])?.finish()?;
    /// let mut rows = conn.exec("SELECT name FROM product WHERE price < ?", &params![100])?;
    /// while let Some(row) = rows.next()? {
    ///     println!("{}", row.get::<&str>(0)?);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Fails with the server's error, if the number of parameters is wrong, or if the connection fails. A statement that the server
    /// can't prepare (error 1295) must be run with [`query`](Self::query).
    #[inline]
    pub fn exec(&mut self, sql: impl AsRef<[u8]>, params: &[Param<'_>]) -> Result<Rows<'_>, Error> {
        let sql = sql.as_ref();
        self.settle()?;
        self.link.observe(sql);
        let Some(statement) = self.link.cached(sql) else {
            let reply = self.exec_new(sql, params)?;
            return Ok(Rows::new(self, reply));
        };
        let params = Params(params);
        self.link
            .core
            .execute(&mut self.link.buffers, statement, params)?;
        match self.drive(&params) {
            Ok(reply) => Ok(Rows::new(self, reply)),
            Err(error) => {
                let reply = self.exec_again(error, sql, params.0)?;
                Ok(Rows::new(self, reply))
            }
        }
    }

    /// Prepares again and executes a statement that the server does not know any more, and so has not executed.
    #[cold]
    fn exec_again(
        &mut self,
        error: Error,
        sql: &[u8],
        params: &[Param<'_>],
    ) -> Result<Reply, Error> {
        if !error.is_unprepared() {
            return Err(error);
        }
        self.link.uncache(sql);
        self.settle_on()?;
        self.link.observe(sql);
        self.exec_new(sql, params)
    }

    /// Prepares the statement and executes it.
    #[cold]
    fn exec_new(&mut self, sql: &[u8], params: &[Param<'_>]) -> Result<Reply, Error> {
        let params = Params(params);
        if self.link.sends_both(sql, params) {
            return self.exec_both(sql, params);
        }
        // Until it is executed: one that is not kept in the cache is closed by the next command.
        let statement = self.prepare_cached(sql)?;
        self.settle_on()?;
        self.link
            .core
            .execute(&mut self.link.buffers, statement.id, params)?;
        self.drive(&params)
    }

    /// Prepares a statement for the cache.
    pub(super) fn prepare_cached(&mut self, sql: &[u8]) -> Result<Statement, Error> {
        self.link.core.prepare(&mut self.link.buffers, sql)?;
        match self.drive(sql) {
            Ok(Reply::Prepared(id)) => self.link.cache(sql, id),
            Ok(_) => Err(self.link.close("a prepare got another reply")),
            Err(error) => Err(error.of_preparing()),
        }
    }

    /// The same in one round trip: the execution names the statement that was prepared last.
    fn exec_both(&mut self, sql: &[u8], params: Params<'_>) -> Result<Reply, Error> {
        self.link.queue_both(sql, params)?;
        match self.drive_duplex(&params) {
            Ok(Reply::Prepared(id)) => {
                self.link.cache(sql, id)?;
                self.drive_duplex(&params)
            }
            Ok(_) => Err(self.link.close("a prepare got another reply")),
            Err(error) if error.is_closed() || error.server().is_none() => Err(error),
            // The execution behind it has a reply of its own.
            Err(error) => match self.drive_duplex(&params) {
                Err(refused) if refused.is_closed() || refused.server().is_none() => Err(refused),
                _ => Err(error.of_preparing()),
            },
        }
    }

    /// Like [`drive`](Self::drive), where replies to several commands are outstanding: reads while it writes.
    pub(super) fn drive_duplex<L: Borrowed + Sync + ?Sized>(
        &mut self,
        borrowed: &L,
    ) -> Result<Reply, Error> {
        let deadline = self.link.deadline();
        let driven = net::drive_duplex(
            &mut self.link.core,
            &mut self.link.buffers,
            &mut self.stream,
            borrowed,
            deadline,
        );
        let reply = self.link.reply(driven);
        if reply.is_err() {
            self.after_error();
        }
        reply
    }
}
