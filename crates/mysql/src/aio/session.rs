//! What the server reports of the session's state, and waiting for another server to have the same data.

use std::time::Duration;

use onecopy_mysql_proto::packet::SessionTrack;

use super::Connection;
use crate::Error;
use crate::link::gtids;

impl Connection {
    /// Returns the session state changes that the last command reported: the default database, system variables, the transaction's
    /// state, GTIDs. Costs nothing until it is called.
    ///
    /// Both servers report the database and some variables by default. The rest has to be turned on with a `SET` statement,
    /// for the session or in the server's configuration: `session_track_system_variables`, `session_track_transaction_info`, and
    /// [`track_gtids`](Self::track_gtids).
    ///
    /// # Example
    /// ```no_run
    /// use onecopy_mysql::aio::Connection;
    ///
    /// # async fn example() -> Result<(), onecopy_mysql::Error> {
    /// let mut conn = Connection::connect("mysql://user:password@localhost/shop").await?;
    /// conn.run("SET session_track_transaction_info = 'STATE'").await?;
    /// conn.run("START TRANSACTION").await?;
    /// conn.run("DELETE FROM cart").await?;
    /// let state = conn.session_changes().transaction_state();
    /// assert!(state.is_some_and(|state| state.wrote));
    /// for change in conn.session_changes().iter().flatten() {
    ///     println!("{change:?}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn session_changes(&self) -> SessionTrack<'_> {
        self.link.core.session_changes()
    }

    /// Makes the server report the GTIDs of what this session commits, see [`last_gtids`](Self::last_gtids). Takes a round trip.
    ///
    /// It holds until the session is reset. For the connections of a pool, put the statement into
    /// [`Config::pool_setup`](crate::Config::pool_setup): `SET session_track_gtids = OWN_GTID` for MySQL, and
    /// `SET session_track_system_variables = CONCAT(@@session_track_system_variables, ',last_gtid')` for MariaDB.
    ///
    /// # Errors
    /// Fails with the server's error, if it does not know the variable, or if the connection fails.
    ///
    /// # Cancel safety
    /// Dropping the future abandons the statement, see [`Config::abandoned`](crate::Config::abandoned).
    pub async fn track_gtids(&mut self) -> Result<(), Error> {
        let sql = gtids::track(self.link.core.session());
        self.run(sql).await.map(drop)
    }

    /// Returns the GTIDs of the last transaction that this session committed: a name for the data as it was then. `None` if the server
    /// has reported none since the login or the last reset, because GTIDs are [not tracked](Self::track_gtids), or because the
    /// server does not write a binary log.
    ///
    /// # Example
    /// To read one's own writes from a replica:
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// use onecopy_mysql::aio::Connection;
    ///
    /// # async fn example() -> Result<(), onecopy_mysql::Error> {
    /// let mut primary = Connection::connect("mysql://user:password@db1/shop").await?;
    /// let mut replica = Connection::connect("mysql://user:password@db2/shop").await?;
    /// primary.track_gtids().await?;
    /// primary.run("UPDATE product SET price = 5 WHERE id = 7").await?;
    /// if let Some(gtids) = primary.last_gtids()
    ///     && !replica.wait_for_gtids(gtids, Duration::from_secs(2)).await?
    /// {
    ///     println!("the replica is more than two seconds behind; read from the primary");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn last_gtids(&self) -> Option<&str> {
        self.link.core.last_gtids()
    }

    /// Waits until this server, a replica, has executed the transactions of these GTIDs, at most for `timeout`, in milliseconds. Returns whether it
    /// has. The server waits, so that there is one round trip.
    ///
    /// A MariaDB waits for what it replicates only: as a primary it waits in vain, because it has no replication position.
    ///
    /// # Errors
    /// Fails with the server's error if these are no GTIDs, or GTIDs are off, and if the connection fails. A
    /// [`call_timeout`](crate::Config::call_timeout) that is shorter than `timeout` ends the wait with an error.
    ///
    /// # Cancel safety
    /// Dropping the future abandons the statement, see [`Config::abandoned`](crate::Config::abandoned).
    pub async fn wait_for_gtids(&mut self, gtids: &str, timeout: Duration) -> Result<bool, Error> {
        let sql = gtids::wait(self.link.core.session(), gtids, timeout)?;
        let waited = self.query_scalar::<Option<i64>>(sql).await?;
        gtids::has_executed(waited)
    }
}
