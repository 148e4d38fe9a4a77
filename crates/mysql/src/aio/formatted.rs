//! SQL with named parameters, and SQL with values in it, for this session.

use super::{Connection, Rows};
use crate::format::{self, Dialect};
use crate::{Error, NamedParam, NamedSql, Param};

impl Connection {
    /// Runs SQL with named parameters (`:name`), like [`exec`](Self::exec): see [`NamedSql`] for what is a name, and
    /// [`list`](crate::list) for `IN (:ids)`. It parses the SQL, and allocates memory for it and the parameters.
    ///
    /// # Errors
    /// Fails like [`exec`](Self::exec), and like [`NamedSql::bind`], which sends nothing.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    ///
    /// # Example
    /// ```no_run
    /// use onecopy_mysql::aio::Connection;
    /// use onecopy_mysql::{list, params};
    ///
    /// # async fn example() -> Result<(), onecopy_mysql::Error> {
    /// let mut conn = Connection::connect("mysql://user:password@localhost/shop").await?;
    /// let sql = "UPDATE product SET price = price * :factor WHERE id IN (:ids)";
    /// let done = conn.exec_named(sql, &params! { factor: 1.1, ids: list(&[3, 5, 8]) }).await?.finish().await?;
    /// println!("{} rows", done.affected_rows);
    /// # Ok(()) }
    /// ```
    pub async fn exec_named(
        &mut self,
        sql: impl AsRef<[u8]>,
        params: &[NamedParam<'_>],
    ) -> Result<Rows<'_>, Error> {
        let mode = self.dialect().mode;
        let bound = NamedSql::with_mode(&sql, mode).bind(params)?;
        self.exec(bound.sql(), bound.params()).await
    }

    /// Returns the settings of this session that literals depend on, according to the server's last reply. `ANSI_QUOTES` is not reported: see
    /// [`SqlMode::ansi_quotes`](crate::SqlMode::ansi_quotes).
    pub fn dialect(&self) -> Dialect {
        Dialect::of(&self.link.core)
    }

    /// Replaces each `?` by its parameter as a literal, for a statement that can't be prepared: see [`format::sql`]. Sends nothing.
    ///
    /// # Errors
    /// Fails like [`format::sql`].
    ///
    /// # Example
    /// ```no_run
    /// use onecopy_mysql::aio::Connection;
    /// use onecopy_mysql::params;
    ///
    /// # async fn example() -> Result<(), onecopy_mysql::Error> {
    /// let mut conn = Connection::connect("mysql://user:password@localhost/shop").await?;
    /// let sql = conn.format("CREATE USER ?@'%' IDENTIFIED BY ?", &params!["ada", "it's"])?;
    /// conn.run(sql).await?;
    /// # Ok(()) }
    /// ```
    pub fn format(&self, sql: &str, params: &[Param<'_>]) -> Result<String, Error> {
        format::sql(sql, params, self.dialect())
    }

    /// Replaces each `:name` by its parameter as a literal: see [`format::named`]. Sends nothing.
    ///
    /// # Errors
    /// Fails like [`format::named`].
    pub fn format_named(&self, sql: &str, params: &[NamedParam<'_>]) -> Result<String, Error> {
        format::named(sql, params, self.dialect())
    }
}
