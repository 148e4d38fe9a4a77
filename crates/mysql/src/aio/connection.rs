//! A connection and its operations.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use ::tokio::io::{AsyncRead, AsyncReadExt};

use onecopy_mysql_proto::client::{ClientCore, HandshakeReply, Params, Reply};
use onecopy_mysql_proto::{Error as ProtocolError, StatusFlags};
use onecopy_net::{DriveError, TlsConnector, TlsSession, tokio as net};
use onecopy_wire::{Borrowed, Meter};

use super::connect::connect;
use super::{CancelToken, Rows, Stream};
#[cfg(feature = "compression")]
use crate::link::codec;
use crate::link::{Link, deadline_in, login, login_failed, login_refused, long_data_piece};
use crate::tls::{connector, over_stream};
use crate::{Compression, Config, Definitions, Done, Endpoint, Error, Param, Password, Statement};

/// A connection to a MySQL or MariaDB server.
///
/// It stays usable after a server error. After any error for which [`Error::is_closed`] is true it is closed: all further calls
/// fail and report that.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::aio::Connection;
/// use onecopy_mysql::params;
///
/// # async fn example() -> Result<(), onecopy_mysql::Error> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop").await?;
/// let select = conn.prepare("SELECT name FROM product WHERE price < ?").await?;
/// let mut rows = conn.execute(&select, &params![100]).await?;
/// while let Some(row) = rows.next().await? {
///     println!("{}", row.get::<&str>(0)?);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Connection {
    pub(super) link: Link,
    pub(super) stream: Stream,
}

impl Connection {
    /// Connects to the server of a URL, see [`Config::from_url`].
    ///
    /// # Errors
    /// Fails if the URL is invalid, the server cannot be reached, the login is refused, or the deadline passes.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the socket is closed.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Self::connect_with(&Config::from_url(url)?).await
    }

    /// Connects within [`Config::connect_timeout`]. There is no round trip after the login, unless [`Config::target`] asks for a
    /// role. Of several servers ([`Config::alternatives`]) it takes the first good one.
    ///
    /// Host names are looked up again for each connection.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, TLS is not available, the server is not trusted, the login is refused, options
    /// contradict each other, or the deadline passes.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the socket is closed.
    pub async fn connect_with(config: &Config) -> Result<Self, Error> {
        connect(config).await
    }

    /// Logs in over the caller's stream.
    ///
    /// If the configuration sets no TLS mode, a socket to another host switches to TLS and the server is verified, as with
    /// `connect`; for a user-provided transport the configuration's endpoint decides. If the stream was already [offered
    /// TLS](Stream::offer_tls), it uses that TLS connector. The mode then decides whether TLS is used, and whether its
    /// verification is enough to send a password.
    ///
    /// # Errors
    /// Fails if the login is refused, TLS is not available, options contradict each other, or the deadline passes.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the stream is closed.
    pub async fn from_stream(config: &Config, stream: Stream) -> Result<Self, Error> {
        let config = &*over_stream(config, stream.peer_addr());
        let tls = if stream.offers_tls() {
            None
        } else {
            connector(config)?
        };
        Self::login(config, stream, tls, deadline_in(config.connect_timeout)).await
    }

    pub(super) async fn login(
        config: &Config,
        mut stream: Stream,
        tls: Option<TlsConnector>,
        deadline: Option<Instant>,
    ) -> Result<Self, Error> {
        let (mut buffers, mut handshake) = login(config, stream.is_unix())?;
        if let Some(tls) = tls {
            stream.offer_tls(tls);
        }
        let driven = net::drive(&mut handshake, &mut buffers, &mut stream, &(), deadline).await;
        match driven.map_err(|error| login_failed(&handshake, error))? {
            HandshakeReply::Err(span) => Err(login_refused(buffers.bytes(span))),
            HandshakeReply::Done => {
                let is_proven = handshake.is_proven();
                let core: ClientCore = handshake.into_core();
                #[cfg(feature = "compression")]
                if let Some(codec) = codec(config, core.session()) {
                    stream.set_codec(codec);
                }
                let mut link = Link::new(core, buffers, config);
                link.is_proven = is_proven;
                Ok(Self { link, stream })
            }
        }
    }

    /// Runs SQL in the text protocol and returns its rows. The SQL may be a `&str`, or bytes if a literal in it is not UTF-8.
    /// Large texts are sent without a copy.
    ///
    /// # Errors
    /// Fails with the server's error, or if the connection fails.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    #[inline]
    pub async fn query(&mut self, sql: impl AsRef<[u8]>) -> Result<Rows<'_>, Error> {
        let sql = sql.as_ref();
        self.settle().await?;
        self.link.observe(sql);
        self.link.core.query(&mut self.link.buffers, sql)?;
        let reply = self.drive(sql).await?;
        Ok(Rows::new(self, reply))
    }

    /// Runs SQL and discards the rows of all its results.
    ///
    /// # Errors
    /// Fails like [`query`](Self::query), with the error of the first result that has one.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn run(&mut self, sql: impl AsRef<[u8]>) -> Result<Done, Error> {
        self.query(sql).await?.finish_within().await
    }

    /// Prepares a statement. Its text may be bytes, as for [`query`](Self::query).
    ///
    /// # Errors
    /// Fails with the server's error, or if the connection fails.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn prepare(&mut self, sql: impl AsRef<[u8]>) -> Result<Statement, Error> {
        let sql = sql.as_ref();
        self.settle().await?;
        self.link.core.prepare(&mut self.link.buffers, sql)?;
        match self.drive(sql).await? {
            Reply::Prepared(id) => {
                let mut statement = self.link.statement(id)?;
                statement.digest = self.link.observed_digest(sql);
                Ok(statement)
            }
            _ => Err(self.link.close("a prepare got another reply")),
        }
    }

    /// Executes a prepared statement and returns its rows. Parameters of 16 KiB and more are sent without a copy.
    ///
    /// # Errors
    /// Fails with the server's error, or if the number of parameters is wrong, the statement belongs to another connection, or
    /// the connection fails.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    #[inline]
    pub async fn execute(
        &mut self,
        statement: &Statement,
        params: &[Param<'_>],
    ) -> Result<Rows<'_>, Error> {
        self.link.own(statement)?;
        self.settle().await?;
        let params = Params(params);
        self.link.observe_execution(statement);
        let (core, buffers) = (&mut self.link.core, &mut self.link.buffers);
        if let Err(refusal) = core.execute(buffers, statement.id, params) {
            return Box::pin(self.execute_with_cursor(refusal, statement, params.0)).await;
        }
        let reply = self.drive(&params).await?;
        Ok(Rows::new(self, reply))
    }

    /// Sends a parameter's value from a reader, in constant memory, and returns its length in bytes.
    ///
    /// Then execute the statement with [`Param::LongData`] in place of the parameter. The server reports errors in the value only
    /// at the execution.
    ///
    /// # Errors
    /// Fails with the reader's error, or if the connection fails. The long data sent so far for this statement, including its
    /// other parameters, is then discarded; so it is after a timeout and if the call is dropped.
    ///
    /// # Cancel safety
    /// If the future is dropped half way, the server is made to discard what was sent before the next command.
    pub async fn send_long_data(
        &mut self,
        statement: &Statement,
        parameter: u16,
        mut reader: impl AsyncRead + Unpin,
    ) -> Result<u64, Error> {
        self.link.own(statement)?;
        self.settle().await?;
        self.link.ended();
        self.link.core.parameters(statement.id)?;
        let mut piece = long_data_piece()?;
        // Until all of it has left: what an error or a dropped call leaves behind is forgotten before the next command.
        self.link.set_long_data(Some(statement.id));
        let mut total = 0;
        loop {
            let n = match reader.read(&mut piece).await {
                Ok(n) => n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Error::source(error)),
            };
            // An empty value is sent too: without any piece the server would take it for one that was not given.
            if n > 0 || total == 0 {
                self.link.start_statement();
                self.link.mark();
                self.link.core.send_long_data(
                    &mut self.link.buffers,
                    statement.id,
                    parameter,
                    &piece[..n],
                )?;
                // No statement: nothing is executed by it.
                let left = self.flush(&piece[..n]).await;
                left.map_err(|error| error.after_sending(false))?;
            }
            if n == 0 {
                self.link.set_long_data(None);
                return Ok(total);
            }
            total += n as u64;
        }
    }

    /// Closes a statement. The request is sent with the next command. Dropping the last clone of the statement has the same
    /// effect.
    ///
    /// # Errors
    /// Fails if the statement is already closed or belongs to another connection.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn close_statement(&mut self, statement: Statement) -> Result<(), Error> {
        self.link.own(&statement)?;
        self.settle().await?;
        self.link.ended();
        self.link.close_statement(&statement)
    }

    /// Returns the columns of a statement's rows, or no columns if it returns no rows.
    ///
    /// # Errors
    /// Fails if the statement is closed or belongs to another connection.
    pub fn statement_columns(&self, statement: &Statement) -> Result<&Definitions, Error> {
        self.link.own(statement)?;
        Ok(self.link.core.statement_definitions(statement.id)?)
    }

    /// Checks that the server responds.
    ///
    /// # Errors
    /// Fails if the connection fails.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn ping(&mut self) -> Result<(), Error> {
        self.settle().await?;
        self.link.core.ping(&mut self.link.buffers)?;
        self.ok().await
    }

    /// Changes the default database.
    ///
    /// # Errors
    /// Fails with the server's error, or if the connection fails.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn use_database(&mut self, database: &str) -> Result<(), Error> {
        self.settle().await?;
        self.link
            .core
            .init_db(&mut self.link.buffers, database.as_bytes())?;
        self.ok().await
    }

    /// Resets the session to its state after the login. The open transaction, variables, temporary tables, locks and prepared
    /// statements are discarded.
    ///
    /// # Errors
    /// Fails with the server's error, or if the connection fails.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the module](crate::aio).
    pub async fn reset(&mut self) -> Result<(), Error> {
        self.settle().await?;
        self.link.core.reset_connection(&mut self.link.buffers)?;
        // No statement: nothing that could be cancelled.
        self.link.ended();
        self.ok().await?;
        self.link.forget_session();
        Ok(())
    }

    /// Logs in as another user on this connection, which is faster than a new connection.
    ///
    /// The session is as after a login: the open transaction, variables, temporary tables, locks and prepared statements are
    /// discarded. If `database` is `None`, no default database is selected. Plugins, keys and attributes are those of the
    /// configuration that this connection was made with.
    ///
    /// MySQL and MariaDB need two round trips, and `caching_sha2_password` and `parsec` sometimes a third.
    ///
    /// # Errors
    /// Every error after the command is queued closes the connection, including a refusal by the server and a timeout: MySQL
    /// closes it, and MariaDB would continue as the previous user. The connection stays open after a timeout while the rest of
    /// an abandoned statement is read, and after a NUL byte in `user` or `database`: nothing was sent then, and
    /// [`Error::is_closed`] is false.
    ///
    /// # Cancel safety
    /// If the future is dropped before anything is sent, nothing has changed. After that the connection is closed, and the next
    /// call reports it, because it is unknown whose session it is.
    pub async fn change_user(
        &mut self,
        user: &str,
        password: impl Into<Password>,
        database: Option<&str>,
    ) -> Result<(), Error> {
        let password = password.into();
        self.settle_alone().await?;
        self.link.change_user(user, &password, database)?;
        let reply = self.drive(&()).await;
        self.link.user_changed(reply, user, &password)
    }

    /// Sends the quit command and closes the connection.
    ///
    /// # Errors
    /// Fails if the connection fails; it is closed nevertheless.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the socket is closed without the quit command.
    pub async fn close(mut self) -> Result<(), Error> {
        self.settle().await?;
        self.link.ended();
        self.link.core.quit(&mut self.link.buffers)?;
        let left = self.flush(&()).await;
        self.link.closed();
        self.stream.shutdown();
        left
    }

    /// Returns the copy counters of this connection.
    pub fn meter(&self) -> Meter {
        let codec = self.stream.codec_counts();
        Meter {
            bytes_copied_by_compression: codec.bytes_copied,
            compressed_bytes_read: codec.bytes_read,
            compressed_bytes_written: codec.bytes_written,
            bytes_copied_by_tls: self.stream.bytes_copied_by_tls(),
            ..self.link.meter()
        }
    }

    /// Returns the parameters of the TLS session, or `None` in clear text.
    pub fn tls(&self) -> Option<TlsSession> {
        let tls = self.stream.tls()?;
        Some(TlsSession {
            is_proven: self.link.is_proven,
            ..tls
        })
    }

    /// Sets attributes that go with all further statements of this connection, queries and executions, such as `traceparent`. None end
    /// that. The server's functions and logs can read them: `mysql_query_attribute_string('traceparent')`.
    ///
    /// Returns whether the server takes them: MySQL 8.0.23 and later, with [`Config::query_attributes`]. Otherwise nothing is sent.
    ///
    /// # Errors
    /// Fails on more than 64 attributes, or more than 64 KiB of names and values.
    pub fn set_query_attributes(&mut self, attributes: &[(&str, &str)]) -> Result<bool, Error> {
        Ok(self.link.core.set_query_attributes(attributes)?)
    }

    /// Returns how the connection is compressed, see [`Config::compression`].
    pub fn compression(&self) -> Compression {
        Compression::agreed(self.link.core.session().capabilities)
    }

    /// Sets the timeout of all further calls, see [`Config::call_timeout`].
    pub fn set_call_timeout(&mut self, timeout: Option<Duration>) {
        self.link.set_call_timeout(timeout);
    }

    /// Sets the timeout of all further statements, see [`Config::statement_timeout`]. A statement whose rows are being read has
    /// no deadline from now on.
    pub fn set_statement_timeout(&mut self, timeout: Option<Duration>) {
        self.link.set_statement_timeout(timeout);
    }

    /// Returns the server's id of this connection, which `KILL` takes.
    pub fn connection_id(&self) -> u32 {
        self.link.core.session().connection_id
    }

    /// Returns a token that cancels the running statement from another task: see [`CancelToken::cancel`]. After the first call of
    /// this method, each command costs two more atomic writes.
    pub fn cancel_token(&self) -> CancelToken {
        CancelToken::new(self.link.target())
    }

    /// Returns the server that this connection was made to, as the configuration names it: one of several if there are
    /// [`Config::alternatives`]. `None` over the caller's stream.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.link.endpoint()
    }

    /// Returns the server's version as it reports it.
    pub fn server_version(&self) -> &str {
        &self.link.core.session().server_version
    }

    /// Returns the server status after the last command: in a transaction, autocommit.
    pub fn status(&self) -> StatusFlags {
        self.link.core.ok().status_flags
    }

    /// Returns whether the connection is permanently closed.
    pub fn is_closed(&self) -> bool {
        self.link.is_closed()
    }

    /// Releases buffers until at most `keep` bytes are held; use 0 for a connection that will be idle for long.
    pub fn release(&mut self, keep: usize) {
        self.link.release(keep);
        self.stream.release(keep);
    }

    /// Releases memory at the end of a command, including the buffers of TLS and compression.
    #[inline]
    pub(super) fn finish(&mut self) -> Done {
        if self.stream.is_layered() {
            self.settle_stream();
            self.stream.release(self.link.buffers.config().idle_keep);
        }
        self.link.finish()
    }

    pub(super) async fn ok(&mut self) -> Result<(), Error> {
        match self.drive(&()).await? {
            Reply::Ok => {
                self.finish();
                Ok(())
            }
            _ => Err(self.link.close("a command got another reply than ok")),
        }
    }

    #[inline]
    pub(super) async fn drive<L: Borrowed + Sync + ?Sized>(
        &mut self,
        borrowed: &L,
    ) -> Result<Reply, Error> {
        match self.link.deadline() {
            None => poll_fn(|context| self.poll_drive(context, borrowed)).await,
            deadline => self.drive_within(borrowed, deadline).await,
        }
    }

    /// The same with a deadline, and so with a timer, apart from the other.
    async fn drive_within<L: Borrowed + Sync + ?Sized>(
        &mut self,
        borrowed: &L,
        deadline: Option<Instant>,
    ) -> Result<Reply, Error> {
        let (core, buffers) = (&mut self.link.core, &mut self.link.buffers);
        let driven = net::drive(core, buffers, &mut self.stream, borrowed, deadline).await;
        let reply = self.link.reply(driven);
        if reply.is_err() {
            self.after_error();
        }
        reply
    }

    /// The next reply within rows. Rows that were read already, as most are, need no I/O driver.
    #[inline]
    pub(super) async fn next_reply(&mut self) -> Result<Reply, Error> {
        match self.link.buffered_row() {
            Some(Ok(reply)) => Ok(reply),
            Some(Err(error)) => {
                self.after_error();
                Err(error)
            }
            None => self.drive(&()).await,
        }
    }

    #[cold]
    pub(super) fn after_error(&mut self) {
        if self.link.is_closed() {
            self.stream.shutdown();
        }
        self.settle_stream();
    }

    /// Between commands, compressed frames of the server can only begin the next reply.
    #[cold]
    fn settle_stream(&mut self) {
        if self.link.core.is_idle() {
            self.stream.settle();
        }
    }

    pub(super) async fn flush<L: Borrowed + Sync + ?Sized>(
        &mut self,
        borrowed: &L,
    ) -> Result<(), Error> {
        let deadline = self.link.deadline();
        net::flush(&mut self.link.buffers, &mut self.stream, borrowed, deadline)
            .await
            .map_err(|error| self.fail(error))
    }

    /// Like [`drive`](Self::drive), as one poll and without a deadline.
    pub(super) fn poll_drive<L: Borrowed + Sync + ?Sized>(
        &mut self,
        context: &mut Context<'_>,
        borrowed: &L,
    ) -> Poll<Result<Reply, Error>> {
        let (core, buffers) = (&mut self.link.core, &mut self.link.buffers);
        let driven = net::poll_drive(context, core, buffers, &mut self.stream, borrowed);
        let reply = self.link.reply(ready!(driven));
        if reply.is_err() {
            self.after_error();
        }
        Poll::Ready(reply)
    }

    /// Reads directly from the current value into the caller's slice. Returns the number of bytes in the slice.
    pub(super) fn poll_read_direct(
        &mut self,
        context: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<Result<usize, Error>> {
        let left = self.link.core.value_left();
        let len = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let later = usize::try_from(left).unwrap_or(usize::MAX) - len;
        let (buffers, stream) = (&mut self.link.buffers, &mut self.stream);
        let read = ready!(net::poll_read_into(
            context,
            buffers,
            stream,
            &mut into[..len],
            later
        ));
        let (came, there) = read.map_err(|error| self.fail(error))?;
        self.link.core.direct_read(there);
        if came == 0 {
            let eof = onecopy_wire::Core::handle_eof(&mut self.link.core, &mut self.link.buffers);
            return Poll::Ready(Err(self.fail(DriveError::Core(eof))));
        }
        Poll::Ready(Ok(there))
    }

    #[cold]
    fn fail(&mut self, error: DriveError<ProtocolError>) -> Error {
        let error = self.link.failed(error);
        if self.link.is_closed() {
            self.stream.shutdown();
        }
        error
    }
}

/// Sends the quit command if that does not block, so that the server does not log an aborted connection.
impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(goodbye) = self.link.goodbye() {
            self.stream.try_send(goodbye);
        }
    }
}
