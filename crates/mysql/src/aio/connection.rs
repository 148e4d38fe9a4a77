//! A connection, and what can be asked of it.

use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use ::tokio::io::{AsyncRead, AsyncReadExt};

use onecopy_mysql_proto::client::{ClientCore, HandshakeReply, Params, Reply};
use onecopy_mysql_proto::packet::SessionTrack;
use onecopy_mysql_proto::{Error as ProtocolError, StatusFlags};
use onecopy_net::{DriveError, TlsConnector, TlsSession, tokio as net};
use onecopy_wire::{Borrowed, Meter};

use super::{CancelToken, Rows, Stream};
use crate::cancel::Way;
use crate::link::{Link, deadline_in, login, login_failed, login_refused, long_data_piece};
use crate::tls::{connector, over_stream};
use crate::{Config, Definitions, Done, Error, Param, Password, Statement};

/// A connection to a MySQL or MariaDB server.
///
/// After a server's error the connection goes on; after any error for which [`Error::is_closed`] is true it is closed and
/// says so to every further call.
#[derive(Debug)]
pub struct Connection {
    pub(super) link: Link,
    pub(super) stream: Stream,
}

impl Connection {
    /// Connects by URL, see [`Config::from_url`].
    ///
    /// # Errors
    /// A bad URL, no server there, a login that is refused, the deadline.
    ///
    /// # Cancel safety
    /// Dropped before it is done, the socket is closed.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Self::connect_with(&Config::from_url(url)?).await
    }

    /// Connects within [`Config::connect_timeout`]; there is no round trip after the login.
    ///
    /// # Errors
    /// No server there, TLS that can't be had, a server that is not trusted, a login that is refused, options that
    /// contradict each other, the deadline.
    ///
    /// # Cancel safety
    /// Dropped before it is done, the socket is closed.
    pub async fn connect_with(config: &Config) -> Result<Self, Error> {
        let tls = connector(config)?;
        let begun = Instant::now();
        let deadline = deadline_in(config.connect_timeout);
        let stream = net::connect(&config.endpoint, &config.socket, deadline).await?;
        let peer = stream.peer_addr();
        let mut connection = Self::login(config, stream, tls, deadline).await?;
        let way = Way::new(config, peer, begun.elapsed());
        connection.link.reachable_by(way);
        Ok(connection)
    }

    /// Logs in over a stream of the caller's own. Where the configuration names no TLS mode, a socket to another host is
    /// turned to TLS and the server verified, as by `connect`; over a transport of the caller's own the configuration's
    /// endpoint decides. A stream that was offered TLS before is turned to that: the mode then says whether it is used, and
    /// whether what it verifies is enough for a password.
    ///
    /// # Errors
    /// A login that is refused, TLS that can't be had, options that contradict each other, the deadline.
    ///
    /// # Cancel safety
    /// Dropped before it is done, the stream is closed.
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
                let core: ClientCore = handshake.into_core();
                Ok(Self {
                    link: Link::new(core, buffers, config),
                    stream,
                })
            }
        }
    }

    /// Runs SQL as text: a `&str`, or bytes where a literal in it is not UTF-8. Large texts are sent without a copy.
    ///
    /// # Errors
    /// The server's error, or a failure of the connection.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    #[inline]
    pub async fn query(&mut self, sql: impl AsRef<[u8]>) -> Result<Rows<'_>, Error> {
        let sql = sql.as_ref();
        self.settle().await?;
        self.link.core.query(&mut self.link.buffers, sql)?;
        let reply = self.drive(sql).await?;
        Ok(Rows::new(self, reply))
    }

    /// Runs SQL whose rows are of no interest, all of its results.
    ///
    /// # Errors
    /// As [`query`](Self::query); the first result's error.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    pub async fn run(&mut self, sql: impl AsRef<[u8]>) -> Result<Done, Error> {
        self.query(sql).await?.finish_within().await
    }

    /// Prepares a statement; its text may be bytes as that of [`query`](Self::query).
    ///
    /// # Errors
    /// The server's error, or a failure of the connection.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    pub async fn prepare(&mut self, sql: impl AsRef<[u8]>) -> Result<Statement, Error> {
        let sql = sql.as_ref();
        self.settle().await?;
        self.link.core.prepare(&mut self.link.buffers, sql)?;
        match self.drive(sql).await? {
            Reply::Prepared(id) => self.link.statement(id),
            _ => Err(self.link.close("a prepare got another reply")),
        }
    }

    /// Executes a statement. Parameters of 16 KiB and more are sent without a copy.
    ///
    /// # Errors
    /// The server's error, a wrong number of parameters, a statement of another connection.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    #[inline]
    pub async fn execute(
        &mut self,
        statement: &Statement,
        params: &[Param<'_>],
    ) -> Result<Rows<'_>, Error> {
        self.link.own(statement)?;
        self.settle().await?;
        let params = Params(params);
        self.link
            .core
            .execute(&mut self.link.buffers, statement.id, params)?;
        let reply = self.drive(&params).await?;
        Ok(Rows::new(self, reply))
    }

    /// Sends a parameter's value from a reader, in constant memory; then execute with [`Param::LongData`] in its place.
    /// Gives its length in bytes. What is wrong with it on the server shows at the execution.
    ///
    /// # Errors
    /// The reader's error, or a failure of the connection. What was sent for this statement, of its other parameters too, is
    /// forgotten then; so after a timeout and where the call is dropped.
    ///
    /// # Cancel safety
    /// Dropped half way, the server is made to forget what was sent before the next command.
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

    /// Closes a statement; this leaves with the next command. Dropping the statement does the same, once its last clone is
    /// dropped.
    ///
    /// # Errors
    /// A statement that is closed already, or of another connection.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    pub async fn close_statement(&mut self, statement: Statement) -> Result<(), Error> {
        self.link.own(&statement)?;
        self.settle().await?;
        self.link.ended();
        self.link.close_statement(&statement)
    }

    /// The columns that a statement's rows have; none where it gives no rows.
    ///
    /// # Errors
    /// A statement that is closed, or of another connection.
    pub fn statement_columns(&self, statement: &Statement) -> Result<&Definitions, Error> {
        self.link.own(statement)?;
        Ok(self.link.core.statement_definitions(statement.id)?)
    }

    /// Asks whether the server is there.
    ///
    /// # Errors
    /// A failure of the connection.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    pub async fn ping(&mut self) -> Result<(), Error> {
        self.settle().await?;
        self.link.core.ping(&mut self.link.buffers)?;
        self.ok().await
    }

    /// Changes the default database.
    ///
    /// # Errors
    /// The server's error, or a failure of the connection.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    pub async fn use_database(&mut self, database: &str) -> Result<(), Error> {
        self.settle().await?;
        self.link
            .core
            .init_db(&mut self.link.buffers, database.as_bytes())?;
        self.ok().await
    }

    /// Brings the session back to its state after the login: transaction, variables, temporary tables, locks and prepared
    /// statements are gone.
    ///
    /// # Errors
    /// The server's error, or a failure of the connection.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    pub async fn reset(&mut self) -> Result<(), Error> {
        self.settle().await?;
        self.link.core.reset_connection(&mut self.link.buffers)?;
        // No statement: nothing that could be cancelled.
        self.link.ended();
        self.ok().await
    }

    /// Logs in as another user on this connection, which is quicker than a new one: the session is as after a login,
    /// transaction, variables, temporary tables, locks and prepared statements are gone. Without a database none is in use.
    /// Plugins, keys and attributes are those that this connection was made with.
    ///
    /// MySQL and MariaDB take two round trips for it, `caching_sha2_password` and `parsec` a third where they have to.
    ///
    /// # Errors
    /// After any of them the connection is closed, the server's refusal and a deadline included: MySQL closes it, MariaDB
    /// would go on as the user before. Only a NUL byte in `user` or `database` leaves everything as it was.
    ///
    /// # Cancel safety
    /// Dropped before it begins to be sent, nothing has changed. From then on the connection is closed, and says so to the
    /// next call: nobody could know whose session it is.
    pub async fn change_user(
        &mut self,
        user: &str,
        password: impl Into<Password>,
        database: Option<&str>,
    ) -> Result<(), Error> {
        let password = password.into();
        self.settle().await?;
        self.link.change_user(user, &password, database)?;
        let reply = self.drive(&()).await;
        self.link.user_changed(reply, user, &password)
    }

    /// Says goodbye and closes.
    ///
    /// # Errors
    /// A failure of the connection, which is closed all the same.
    ///
    /// # Cancel safety
    /// Dropped before it is done, the socket is closed without a goodbye.
    pub async fn close(mut self) -> Result<(), Error> {
        self.settle().await?;
        self.link.ended();
        self.link.core.quit(&mut self.link.buffers)?;
        let left = self.flush(&()).await;
        self.link.closed();
        self.stream.shutdown();
        left
    }

    /// What this connection's bytes have cost so far.
    pub fn meter(&self) -> Meter {
        Meter {
            bytes_copied_by_tls: self.stream.bytes_copied_by_tls(),
            ..self.link.meter()
        }
    }

    /// What TLS agreed on; `None` in clear text.
    pub fn tls(&self) -> Option<TlsSession> {
        self.stream.tls()
    }

    /// Deadline of each further call, see [`Config::call_timeout`].
    pub fn set_call_timeout(&mut self, timeout: Option<Duration>) {
        self.link.set_call_timeout(timeout);
    }

    /// Deadline of each further statement, see [`Config::statement_timeout`]. One whose rows are being read has none from here
    /// on.
    pub fn set_statement_timeout(&mut self, timeout: Option<Duration>) {
        self.link.set_statement_timeout(timeout);
    }

    /// The server's number for this connection, which `KILL` takes.
    pub fn connection_id(&self) -> u32 {
        self.link.core.session().connection_id
    }

    /// A token that cancels what this connection is doing, from another task: see [`CancelToken::cancel`]. From the first one on a
    /// command costs two atomic writes more.
    pub fn cancel_token(&self) -> CancelToken {
        CancelToken::new(self.link.target())
    }

    /// The server's version as it writes it.
    pub fn server_version(&self) -> &str {
        &self.link.core.session().server_version
    }

    /// The server's state as the last command left it: in a transaction, autocommit.
    pub fn status(&self) -> StatusFlags {
        self.link.core.ok().status_flags
    }

    /// The session's changes that the last command reported, where the server tracks them.
    pub fn session_changes(&self) -> SessionTrack<'_> {
        self.link.core.session_changes()
    }

    /// Whether it is closed for good.
    pub fn is_closed(&self) -> bool {
        self.link.is_closed()
    }

    /// Gives buffers back until at most `keep` bytes stay; 0 for a connection that will be idle for long.
    pub fn release(&mut self, keep: usize) {
        self.link.release(keep);
        self.stream.release(keep);
    }

    /// The command is over: memory goes back, TLS's too.
    #[inline]
    pub(super) fn finish(&mut self) -> Done {
        if self.stream.is_tls() {
            self.stream.release(self.link.buffers.config().idle_keep);
        }
        self.link.finish()
    }

    async fn ok(&mut self) -> Result<(), Error> {
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
        let deadline = self.link.deadline();
        let driven = net::drive(
            &mut self.link.core,
            &mut self.link.buffers,
            &mut self.stream,
            borrowed,
            deadline,
        )
        .await;
        let reply = self.link.reply(driven);
        if reply.is_err() && self.link.is_closed() {
            self.stream.shutdown();
        }
        reply
    }

    async fn flush<L: Borrowed + Sync + ?Sized>(&mut self, borrowed: &L) -> Result<(), Error> {
        let deadline = self.link.deadline();
        net::flush(&mut self.link.buffers, &mut self.stream, borrowed, deadline)
            .await
            .map_err(|error| self.fail(error))
    }

    /// [`drive`](Self::drive) as one poll, for readers, which see to the deadline themselves.
    pub(super) fn poll_drive(&mut self, context: &mut Context<'_>) -> Poll<Result<Reply, Error>> {
        let driven = net::poll_drive(
            context,
            &mut self.link.core,
            &mut self.link.buffers,
            &mut self.stream,
            &(),
        );
        let reply = self.link.reply(ready!(driven));
        if reply.is_err() && self.link.is_closed() {
            self.stream.shutdown();
        }
        Poll::Ready(reply)
    }

    /// Reads of the value under way straight into the caller's slice. Gives how many bytes are there.
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

/// Says goodbye where that takes no wait, so that the server does not log an aborted connection.
impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(goodbye) = self.link.goodbye() {
            self.stream.try_send(goodbye);
        }
    }
}
