//! Rows as types of the caller's: [`FromRow`](crate::FromRow).

use super::{Connection, Rows};
use crate::collected::Collected;
use crate::{Error, FromRow, FromRowOwned, FromValueOwned, NamedParam, Param, Statement};

impl Rows<'_> {
    /// Returns the next row as a `T`, or `None` at the end of this result. Borrowed fields are valid until the next call.
    ///
    /// The columns are found and their types checked before the first row, see [`FromRow`]. Allocates nothing but what the fields
    /// of `T` need.
    ///
    /// # Errors
    /// Fails like [`next`](Self::next), if a column is missing or has the wrong type, and if a value does not fit its field: the
    /// error names the row, the column and both types. The rows after it can still be read.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    ///
    /// # Example
    /// ```no_run
    /// use onecopy_mysql::aio::Connection;
    ///
    /// # async fn example() -> Result<(), onecopy_mysql::Error> {
    /// let mut conn = Connection::connect("mysql://user:password@localhost/shop").await?;
    /// let mut rows = conn.query("SELECT id, name FROM product").await?;
    /// while let Some((id, name)) = rows.next_as::<(u64, &str)>().await? {
    ///     println!("{id} {name}"); // the name is borrowed from the read buffer
    /// }
    /// # Ok(()) }
    /// ```
    #[inline]
    pub async fn next_as<'r, T: FromRow<'r>>(&'r mut self) -> Result<Option<T>, Error> {
        if !self.open {
            return Ok(None);
        }
        self.conn.link.plan::<T>()?;
        match self.next_span().await? {
            Some(span) => self.conn.link.mapped(span, self.number).map(Some),
            None => Ok(None),
        }
    }

    /// Returns all rows of this result, each as a `T`. A vector of bytes in `T` is a copy of its value; to move a large one, use
    /// [`next_owned`](Self::next_owned) or [`next_into`](Self::next_into).
    ///
    /// # Errors
    /// Fails like [`next_as`](Self::next_as), and if the rows have more bytes than
    /// [`Config::max_result_bytes`](crate::Config::max_result_bytes); the rows collected so far are dropped.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn collect_as<T: FromRowOwned>(&mut self) -> Result<Vec<T>, Error> {
        let mut rows = Collected::new(&self.conn.link);
        if self.open {
            self.conn.link.plan::<T>()?;
        }
        while let Some(span) = self.next_span().await? {
            rows.make_room(&self.conn.link)?;
            rows.push(self.conn.link.mapped(span, self.number)?);
        }
        Ok(rows.into_rows())
    }

    /// All rows; what follows them is read too.
    async fn into_all<T: FromRowOwned>(mut self) -> Result<Vec<T>, Error> {
        let rows = self.collect_as().await?;
        self.finish().await?;
        Ok(rows)
    }

    /// The only row, if there is one.
    async fn into_opt<T: FromRowOwned>(mut self) -> Result<Option<T>, Error> {
        let row = self.next_as::<T>().await?;
        if row.is_some() && self.next_span().await?.is_some() {
            return Err(Error::not_one_row(true));
        }
        self.finish().await?;
        Ok(row)
    }

    async fn into_one<T: FromRowOwned>(self) -> Result<T, Error> {
        let row = self.into_opt().await?;
        row.ok_or_else(|| Error::not_one_row(false))
    }
}

impl Connection {
    /// Runs SQL and returns all rows of its first result, each as a `T`: see [`FromRow`].
    ///
    /// # Errors
    /// Fails like [`query`](Self::query) and [`Rows::next_as`], and with the error of a later result.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    ///
    /// # Example
    /// ```no_run
    /// use onecopy_mysql::aio::Connection;
    ///
    /// # async fn example() -> Result<(), onecopy_mysql::Error> {
    /// let mut conn = Connection::connect("mysql://user:password@localhost/shop").await?;
    /// let products: Vec<(u64, String)> = conn.query_as("SELECT id, name FROM product").await?;
    /// # Ok(()) }
    /// ```
    pub async fn query_as<T: FromRowOwned>(
        &mut self,
        sql: impl AsRef<[u8]>,
    ) -> Result<Vec<T>, Error> {
        self.query(sql).await?.into_all().await
    }

    /// Runs SQL and returns its only row as a `T`.
    ///
    /// # Errors
    /// Fails like [`query_as`](Self::query_as), if there is no row ([`Error::is_no_row`]), and if there are several.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn query_one<T: FromRowOwned>(&mut self, sql: impl AsRef<[u8]>) -> Result<T, Error> {
        self.query(sql).await?.into_one().await
    }

    /// Runs SQL and returns its only row as a `T`, or `None` if there is none.
    ///
    /// # Errors
    /// Fails like [`query_as`](Self::query_as), and if there are several rows.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn query_opt<T: FromRowOwned>(
        &mut self,
        sql: impl AsRef<[u8]>,
    ) -> Result<Option<T>, Error> {
        self.query(sql).await?.into_opt().await
    }

    /// Runs SQL and returns the first value of its only row: a `T`, or an `Option` if the value may be NULL.
    ///
    /// # Errors
    /// Fails like [`query_one`](Self::query_one).
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn query_scalar<T: FromValueOwned>(
        &mut self,
        sql: impl AsRef<[u8]>,
    ) -> Result<T, Error> {
        let (value,) = self.query(sql).await?.into_one().await?;
        Ok(value)
    }

    /// Executes a prepared statement and returns all rows of its first result, each as a `T`: see [`FromRow`].
    ///
    /// # Errors
    /// Fails like [`execute`](Self::execute) and [`Rows::next_as`], and with the error of a later result.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn execute_as<T: FromRowOwned>(
        &mut self,
        statement: &Statement,
        params: &[Param<'_>],
    ) -> Result<Vec<T>, Error> {
        self.execute(statement, params).await?.into_all().await
    }

    /// Executes a prepared statement and returns its only row as a `T`.
    ///
    /// # Errors
    /// Fails like [`execute_as`](Self::execute_as), if there is no row ([`Error::is_no_row`]), and if there are several.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn execute_one<T: FromRowOwned>(
        &mut self,
        statement: &Statement,
        params: &[Param<'_>],
    ) -> Result<T, Error> {
        self.execute(statement, params).await?.into_one().await
    }

    /// Executes a prepared statement and returns its only row as a `T`, or `None` if there is none.
    ///
    /// # Errors
    /// Fails like [`execute_as`](Self::execute_as), and if there are several rows.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn execute_opt<T: FromRowOwned>(
        &mut self,
        statement: &Statement,
        params: &[Param<'_>],
    ) -> Result<Option<T>, Error> {
        self.execute(statement, params).await?.into_opt().await
    }

    /// Executes a prepared statement and returns the first value of its only row: a `T`, or an `Option` if the value may be NULL.
    ///
    /// # Errors
    /// Fails like [`execute_one`](Self::execute_one).
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn execute_scalar<T: FromValueOwned>(
        &mut self,
        statement: &Statement,
        params: &[Param<'_>],
    ) -> Result<T, Error> {
        let (value,) = self.execute(statement, params).await?.into_one().await?;
        Ok(value)
    }

    /// Runs SQL as a prepared statement that is kept and returns all rows of its first result, each as a `T`: see [`FromRow`].
    ///
    /// # Errors
    /// Fails like [`exec`](Self::exec) and [`Rows::next_as`], and with the error of a later result.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn exec_as<T: FromRowOwned>(
        &mut self,
        sql: impl AsRef<[u8]>,
        params: &[Param<'_>],
    ) -> Result<Vec<T>, Error> {
        self.exec(sql, params).await?.into_all().await
    }

    /// Runs SQL as a prepared statement that is kept and returns its only row as a `T`.
    ///
    /// # Errors
    /// Fails like [`exec_as`](Self::exec_as), if there is no row ([`Error::is_no_row`]), and if there are several.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn exec_one<T: FromRowOwned>(
        &mut self,
        sql: impl AsRef<[u8]>,
        params: &[Param<'_>],
    ) -> Result<T, Error> {
        self.exec(sql, params).await?.into_one().await
    }

    /// Runs SQL as a prepared statement that is kept and returns its only row as a `T`, or `None` if there is none.
    ///
    /// # Errors
    /// Fails like [`exec_as`](Self::exec_as), and if there are several rows.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn exec_opt<T: FromRowOwned>(
        &mut self,
        sql: impl AsRef<[u8]>,
        params: &[Param<'_>],
    ) -> Result<Option<T>, Error> {
        self.exec(sql, params).await?.into_opt().await
    }

    /// Runs SQL as a prepared statement that is kept and returns the first value of its only row: a `T`, or an `Option` if the value may be NULL.
    ///
    /// # Errors
    /// Fails like [`exec_one`](Self::exec_one).
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn exec_scalar<T: FromValueOwned>(
        &mut self,
        sql: impl AsRef<[u8]>,
        params: &[Param<'_>],
    ) -> Result<T, Error> {
        let (value,) = self.exec(sql, params).await?.into_one().await?;
        Ok(value)
    }

    /// Runs SQL with named parameters and returns all rows of its first result, each as a `T`: see [`FromRow`].
    ///
    /// # Errors
    /// Fails like [`exec_named`](Self::exec_named) and [`Rows::next_as`], and with the error of a later result.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn exec_named_as<T: FromRowOwned>(
        &mut self,
        sql: impl AsRef<[u8]>,
        params: &[NamedParam<'_>],
    ) -> Result<Vec<T>, Error> {
        self.exec_named(sql, params).await?.into_all().await
    }

    /// Runs SQL with named parameters and returns its only row as a `T`.
    ///
    /// # Errors
    /// Fails like [`exec_named_as`](Self::exec_named_as), if there is no row ([`Error::is_no_row`]), and if there are several.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn exec_named_one<T: FromRowOwned>(
        &mut self,
        sql: impl AsRef<[u8]>,
        params: &[NamedParam<'_>],
    ) -> Result<T, Error> {
        self.exec_named(sql, params).await?.into_one().await
    }

    /// Runs SQL with named parameters and returns its only row as a `T`, or `None` if there is none.
    ///
    /// # Errors
    /// Fails like [`exec_named_as`](Self::exec_named_as), and if there are several rows.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn exec_named_opt<T: FromRowOwned>(
        &mut self,
        sql: impl AsRef<[u8]>,
        params: &[NamedParam<'_>],
    ) -> Result<Option<T>, Error> {
        self.exec_named(sql, params).await?.into_opt().await
    }

    /// Runs SQL with named parameters and returns the first value of its only row: a `T`, or an `Option` if the value may be NULL.
    ///
    /// # Errors
    /// Fails like [`exec_named_one`](Self::exec_named_one).
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn exec_named_scalar<T: FromValueOwned>(
        &mut self,
        sql: impl AsRef<[u8]>,
        params: &[NamedParam<'_>],
    ) -> Result<T, Error> {
        let (value,) = self.exec_named(sql, params).await?.into_one().await?;
        Ok(value)
    }
}
