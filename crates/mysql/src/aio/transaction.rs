//! A transaction, which borrows its connection.

use std::ops::{Deref, DerefMut};

use super::Connection;
use crate::link::Leave;
use crate::{Error, TransactionOptions};

/// A transaction, or a savepoint in one. It has all methods of the [`Connection`] that it borrows.
///
/// Dropping it rolls it back. The drop itself sends nothing: the rollback is sent in the same write as the connection's next command. If
/// the server refuses it, the connection is closed, which rolls back too. A connection that is returned to a pool is rolled back by its
/// reset.
///
/// If an error such as a deadlock has made the server roll back the whole transaction, all further calls fail with
/// [`Error::is_transaction_over`] until it is dropped: no statement is executed outside of the transaction that it was meant for. A
/// statement such as CREATE TABLE commits the transaction on the server; the statements after it are then committed one by one, and
/// [`commit`](Self::commit) says that the transaction was over.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::aio::Connection;
///
/// # async fn example(conn: &mut Connection) -> Result<(), onecopy_mysql::Error> {
/// let mut tx = conn.transaction().await?;
/// tx.run("UPDATE account SET balance = balance - 10 WHERE id = 1").await?;
/// let mut savepoint = tx.savepoint().await?;
/// savepoint.run("INSERT INTO log (account) VALUES (1)").await?;
/// savepoint.rollback().await?; // the update stays
/// if let Err(error) = tx.commit().await {
///     println!("{}", if error.maybe_executed() { "the outcome is unknown" } else { "nothing has changed" });
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a transaction that is dropped is rolled back"]
pub struct Transaction<'c> {
    conn: &'c mut Connection,
    /// 1 is the transaction itself, each further one a savepoint.
    level: u32,
}

impl Connection {
    /// Begins a transaction with the session's settings. It takes one round trip.
    ///
    /// # Errors
    /// Fails with the server's error, if a transaction is open on this connection, or if the connection fails.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio). A partly begun transaction is rolled back before the next command.
    pub async fn transaction(&mut self) -> Result<Transaction<'_>, Error> {
        self.transaction_with(&TransactionOptions::default()).await
    }

    /// Begins a transaction. It takes one round trip, with an isolation level too, for which two statements are sent in one write.
    /// It is not sent together with the first statement of the transaction: if the server refused to begin, that statement would be
    /// executed outside of the transaction.
    ///
    /// # Errors
    /// Fails with the server's error, if a transaction is open on this connection, or if the connection fails.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio). A partly begun transaction is rolled back before the next command.
    pub async fn transaction_with(
        &mut self,
        options: &TransactionOptions,
    ) -> Result<Transaction<'_>, Error> {
        self.settle_alone().await?;
        self.link.check_no_transaction()?;
        let (isolation, start) = self.link.begin_transaction(options);
        self.begin(isolation, start).await?;
        self.link.begun(1);
        Ok(Transaction {
            conn: self,
            level: 1,
        })
    }

    /// Runs the statements that begin a transaction.
    async fn begin(&mut self, isolation: Option<&str>, start: &str) -> Result<(), Error> {
        self.link.observe(start.as_bytes());
        let Some(isolation) = isolation else {
            self.link
                .core
                .query(&mut self.link.buffers, start.as_bytes())?;
            return self.ok().await;
        };
        self.link
            .core
            .query(&mut self.link.buffers, isolation.as_bytes())?;
        if !self.link.pipelining {
            self.ok().await?;
            self.link.mark();
        }
        self.link.core.accept_more(true);
        let queued = self
            .link
            .core
            .query(&mut self.link.buffers, start.as_bytes());
        self.link.core.accept_more(false);
        queued?;
        if !self.link.pipelining {
            return self.ok().await;
        }
        let set = self.drive(&()).await;
        match &set {
            Err(error) if error.is_closed() || error.server().is_none() => set.map(drop),
            _ => match self.ok().await {
                Err(error) if error.server().is_none() => Err(error),
                started => set.and(started),
            },
        }
    }
}

impl Transaction<'_> {
    /// Begins a savepoint: a part of the transaction that can be rolled back alone.
    ///
    /// # Errors
    /// Fails with the server's error, if the [transaction is over](Error::is_transaction_over), or if the connection fails.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio). A partly begun transaction is rolled back before the next command.
    pub async fn savepoint(&mut self) -> Result<Transaction<'_>, Error> {
        self.conn.settle().await?;
        let (sql, level) = self.conn.link.begin_savepoint()?;
        self.conn.link.observe(sql.as_bytes());
        self.conn
            .link
            .core
            .query(&mut self.conn.link.buffers, sql.as_bytes())?;
        self.conn.ok().await?;
        self.conn.link.begun(level);
        Ok(Transaction {
            conn: self.conn,
            level,
        })
    }

    /// Commits the transaction. Releases a savepoint, so that its changes belong to the transaction.
    ///
    /// # Errors
    /// Fails with the server's error, if the [transaction was over](Error::is_transaction_over) before, or if the connection fails.
    ///
    /// If [`Error::maybe_executed`] is true, the outcome is unknown: the commit was sent and no reply came. Look for the
    /// transaction's effect on another connection before you repeat it. Otherwise nothing of it was committed by this call.
    ///
    /// # Cancel safety
    /// If the future is dropped before the commit is sent, the transaction is rolled back before the next command. After that it is
    /// unknown whether it is committed.
    pub async fn commit(self) -> Result<(), Error> {
        self.leave(Leave::Commit).await
    }

    /// Rolls back the transaction, or to the savepoint. If the server has done so already, nothing is sent.
    ///
    /// # Errors
    /// Fails if the connection fails; the server has then rolled back, or will.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio). A partly begun transaction is rolled back before the next command.
    pub async fn rollback(self) -> Result<(), Error> {
        self.leave(Leave::RollBack).await
    }

    async fn leave(self, leave: Leave) -> Result<(), Error> {
        match self.conn.settle().await {
            Err(error) if leave == Leave::RollBack && error.is_transaction_over() => return Ok(()),
            settled => settled?,
        }
        if let Some(sql) = self.conn.link.leave(self.level, leave)? {
            let conn = &mut *self.conn;
            conn.link.observe(sql.as_bytes());
            conn.link
                .core
                .query(&mut conn.link.buffers, sql.as_bytes())?;
            conn.ok().await?;
        }
        self.conn.link.left(self.level);
        Ok(())
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.conn
    }
}

impl DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.conn
    }
}

/// Rolls back with the connection's next command.
impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.conn.link.release_level(self.level);
    }
}
