//! A connection, and what can be asked of it.

use std::io;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ::tokio::io::{AsyncRead, AsyncReadExt};

use onecopy_net::{DriveError, TlsConnector, TlsSession, tokio as net};
use onecopy_resp_proto::{Frame, Message, OwnedReply, Protocol, ProtocolError, Reply, Session};
use onecopy_wire::{Borrowed, Meter};

use super::clock::deadline_in;
use super::{BulkReader, Pipe, Pipeline, Stream, Transaction};
use crate::command::{Command, Raw, connection};
use crate::link::{Link, handshake};
use crate::parts::{Parts, WithPiece, piece};
use crate::tls::connector;
use crate::{Config, Error, Password};

/// A connection to a Valkey or Redis server.
///
/// After a server's error the connection goes on; after any error for which [`Error::is_closed`] is true it is closed and
/// says so to every further call, until [`reconnect`](Self::reconnect).
#[derive(Debug)]
pub struct Connection {
    pub(super) link: Link,
    pub(super) stream: Stream,
    /// What a new connection is made by, as `select`, `auth` and `set_client_name` have left it.
    pub(super) config: Config,
    /// Over a stream of the caller's own there is nothing to connect to.
    is_given: bool,
}

impl Connection {
    /// Connects by URL, see [`Config::from_url`].
    ///
    /// # Errors
    /// A bad URL, no server there, a handshake that is refused, the deadline.
    ///
    /// # Cancel safety
    /// Dropped before it is done, the socket is closed.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Self::connect_with(&Config::from_url(url)?).await
    }

    /// Connects within [`Config::connect_timeout`]; the handshake is one write and one wait.
    ///
    /// # Errors
    /// No server there, TLS that can't be had, a server that is not trusted, a handshake that is refused, options that
    /// contradict each other, the deadline.
    ///
    /// # Cancel safety
    /// Dropped before it is done, the socket is closed.
    pub async fn connect_with(config: &Config) -> Result<Self, Error> {
        let (link, stream) = Self::open(config).await?;
        Ok(Self {
            link,
            stream,
            config: config.clone(),
            is_given: false,
        })
    }

    /// Shakes hands over a stream of the caller's own, over TLS where [`Config::tls`] says so.
    ///
    /// # Errors
    /// A handshake that is refused, TLS that can't be had, options that contradict each other, the deadline.
    ///
    /// # Cancel safety
    /// Dropped before it is done, the stream is closed.
    pub async fn from_stream(config: &Config, stream: Stream) -> Result<Self, Error> {
        let tls = connector(config)?;
        let deadline = deadline_in(config.connect_timeout);
        let (link, stream) = Self::shake_hands(config, stream, tls, deadline).await?;
        Ok(Self {
            link,
            stream,
            config: config.clone(),
            is_given: true,
        })
    }

    async fn open(config: &Config) -> Result<(Link, Stream), Error> {
        let tls = connector(config)?;
        let deadline = deadline_in(config.connect_timeout);
        let stream = net::connect(&config.endpoint, &config.socket, deadline).await?;
        Self::shake_hands(config, stream, tls, deadline).await
    }

    async fn shake_hands(
        config: &Config,
        mut stream: Stream,
        tls: Option<TlsConnector>,
        deadline: Option<std::time::Instant>,
    ) -> Result<(Link, Stream), Error> {
        let (mut buffers, mut handshake) = handshake(config);
        if let Some(tls) = tls {
            stream.offer_tls(tls);
            net::start_tls::<ProtocolError>(&mut buffers, &mut stream, &(), deadline).await?;
        }
        let reply = net::drive(&mut handshake, &mut buffers, &mut stream, &(), deadline).await?;
        let link = Link::shaken(reply, handshake, buffers, config)?;
        Ok((link, stream))
    }

    /// Makes the connection again, with the same configuration, the database, user and name that [`select`](Self::select),
    /// [`auth`](Self::auth) and [`set_client_name`](Self::set_client_name) set last, and the same listener. Where it
    /// fails the connection is closed, and this may be called again.
    ///
    /// # Errors
    /// As [`connect_with`](Self::connect_with). Where a command that was run has changed the connection itself (SELECT by
    /// `run`, say), where its stream was the caller's own, or where it is not closed and a MULTI or WATCH was not ended by an
    /// EXEC, DISCARD or UNWATCH that was run by itself or by the transaction's `exec`, nothing is done, and the error says so.
    /// Of a connection that is closed the transaction is gone: see [`has_transaction`](Self::has_transaction).
    ///
    /// # Cancel safety
    /// Dropped before it is done, the connection is closed, and this may be called again.
    pub async fn reconnect(&mut self) -> Result<(), Error> {
        if self.is_given {
            return Err(Error::misuse(
                "the connection was given its stream: make a new one by from_stream",
            ));
        }
        self.link.may_reconnect()?;
        self.link.closed();
        self.stream.shutdown();
        let (link, stream) = Self::open(&self.config).await?;
        let meter = self.meter();
        let old = std::mem::replace(&mut self.link, link);
        self.link.take_over(old, meter);
        self.stream = stream;
        Ok(())
    }

    /// Runs a command; its output is borrowed from the reply, until the next call. Arguments of 16 KiB and more are sent without
    /// a copy.
    ///
    /// ```no_run
    /// use onecopy_valkey::aio::Connection;
    /// use onecopy_valkey::command::string;
    ///
    /// # async fn example() -> Result<(), onecopy_valkey::Error> {
    /// let mut conn = Connection::connect("redis://localhost").await?;
    /// conn.run(&string::set("greeting", "hello").ex(60)).await?;
    /// let greeting: Option<&[u8]> = conn.run(&string::get("greeting")).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The server's error, a reply that is not what the command's output is made of, or a failure of the connection.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    #[inline]
    pub async fn run<C: Command>(&mut self, command: &C) -> Result<C::Output<'_>, Error> {
        let frame = self.round_trip(command).await?;
        self.link.output::<C>(frame)
    }

    /// Runs a command whose reply becomes the caller's own: its bytes are copied once, large strings are moved.
    ///
    /// # Errors
    /// As [`run`](Self::run); memory that could not be had.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    pub async fn run_owned<C: Command>(&mut self, command: &C) -> Result<OwnedReply, Error> {
        let frame = self.round_trip(command).await?;
        self.link.owned(frame)
    }

    /// Runs a command whose reply is a string, into the caller's vector, whose memory is used where it is large enough;
    /// large strings are read straight there. Gives the string's length, `None` where it is null: the vector is empty then.
    /// After a failure of the connection the vector may have lost its memory.
    ///
    /// # Errors
    /// As [`run`](Self::run); a reply that is no string.
    ///
    /// # Cancel safety
    /// As a failure of the connection for the vector; else safe: see [the module](crate::aio).
    pub async fn run_into<C: Command>(
        &mut self,
        command: &C,
        into: &mut Vec<u8>,
    ) -> Result<Option<usize>, Error> {
        let mut parts = Parts::new();
        self.begin()?;
        self.link.queue(command, &mut parts)?;
        self.link.offer(into);
        let frame = self.receive(&parts).await?;
        self.link.fill(frame, into)
    }

    /// Runs a command whose reply is a string that is read in pieces, in constant memory whatever its length. `None` where it
    /// is null.
    ///
    /// # Errors
    /// As [`run`](Self::run); a reply that is no string.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    pub async fn run_streaming<C: Command>(
        &mut self,
        command: &C,
    ) -> Result<Option<BulkReader<'_>>, Error> {
        let mut parts = Parts::new();
        self.begin()?;
        self.link.queue(command, &mut parts)?;
        self.link.core.stream_next();
        match self.next_message(&parts).await? {
            Message::Bulk(len) => Ok(Some(BulkReader::new(self, len))),
            message => {
                let frame = self.link.frame(message)?;
                self.link.null(frame).map(|()| None)
            }
        }
    }

    /// Runs a command with one argument more, whose `len` bytes come from a reader, in constant memory: `raw("SET").arg(key)`
    /// stores them. Bytes that the reader has behind them stay there.
    ///
    /// # Errors
    /// As [`run`](Self::run). Where the reader fails or ends early after a part of the command has left, the connection is
    /// closed. The error's [source](std::error::Error::source) is the reader's.
    ///
    /// # Cancel safety
    /// Dropped half way, the connection is closed, and says so to the next call.
    pub async fn run_from(
        &mut self,
        command: &Raw<'_>,
        len: u64,
        mut reader: impl AsyncRead + Unpin,
    ) -> Result<Reply<'_>, Error> {
        let mut parts = Parts::new();
        let mut piece = piece(len)?;
        self.begin()?;
        self.link.queue_open(command, len, &mut parts)?;
        let mut left = len;
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
            let n = match reader.read(&mut piece[..most]).await {
                Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read,
            };
            let n = n.map_err(|error| self.broken_off(error))?;
            left -= n as u64;
            self.link.queue_piece(n);
            self.link.start_wait();
            if let Some(message) = self.flush(&WithPiece(&parts, &piece[..n])).await? {
                let error = self.link.early(message);
                return Err(self.failed(error));
            }
        }
        self.link.end_open();
        let frame = self.receive(&parts).await?;
        self.link.output::<Raw<'_>>(frame)
    }

    #[cold]
    fn broken_off(&mut self, error: io::Error) -> Error {
        let error = self.link.broken_off(Error::source(error));
        self.failed(error)
    }

    /// A pipeline: commands are queued, leave together, and their replies are taken one by one.
    ///
    /// # Errors
    /// A connection that is closed.
    pub fn pipeline<'a>(&mut self) -> Result<Pipeline<'_, 'a>, Error> {
        self.begin()?;
        Ok(Pipeline::new(self))
    }

    /// A pipe: commands leave as they come, any number of them, and `on_reply` is given their replies, in order, errors of the
    /// server's too. Both what waits to be sent and what has no reply yet are bounded.
    ///
    /// # Errors
    /// A connection that is closed.
    pub fn pipe<F: FnMut(Reply<'_>)>(&mut self, on_reply: F) -> Result<Pipe<'_, F>, Error> {
        self.begin()?;
        Ok(Pipe::new(self, on_reply))
    }

    /// A transaction: commands between MULTI and EXEC, which leave together.
    ///
    /// # Errors
    /// A connection that is closed; memory that could not be had.
    pub fn transaction<'a>(&mut self) -> Result<Transaction<'_, 'a>, Error> {
        self.begin()?;
        Transaction::new(self)
    }

    /// Uses the database of this number from now on, after a [`reconnect`](Self::reconnect) too.
    ///
    /// # Errors
    /// As [`run`](Self::run); the database is the one before then.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    pub async fn select(&mut self, database: u64) -> Result<(), Error> {
        let was_changed = self.link.is_changed();
        let done = self
            .run(&connection::select(
                i64::try_from(database).unwrap_or(i64::MAX),
            ))
            .await
            .map(drop);
        self.link.keep_account(was_changed, &done);
        done?;
        self.config.database = database;
        Ok(())
    }

    /// Is this user from now on, after a [`reconnect`](Self::reconnect) too; `None` is the user `default`.
    ///
    /// # Errors
    /// As [`run`](Self::run); the user is the one before then.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    pub async fn auth(
        &mut self,
        user: Option<&str>,
        password: impl Into<Password>,
    ) -> Result<(), Error> {
        let password = password.into();
        let was_changed = self.link.is_changed();
        let done = self.run(&password.auth(user)).await.map(drop);
        self.link.keep_account(was_changed, &done);
        done?;
        self.config.user = user.map(str::to_owned);
        self.config.password = password;
        Ok(())
    }

    /// Gives the connection a name, which CLIENT LIST shows, after a [`reconnect`](Self::reconnect) too.
    ///
    /// # Errors
    /// As [`run`](Self::run); the name is the one before then.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::aio).
    pub async fn set_client_name(&mut self, name: &str) -> Result<(), Error> {
        let was_changed = self.link.is_changed();
        let done = self.run(&connection::client_setname(name)).await.map(drop);
        self.link.keep_account(was_changed, &done);
        done?;
        self.config.client_name = Some(name.to_owned()).filter(|name| !name.is_empty());
        Ok(())
    }

    /// Has `listener` be told of everything that the server sends out of band: invalidated keys of client-side caching. It is
    /// called while the connection is in another call; what comes between two calls waits for the next.
    pub fn on_push(&mut self, listener: impl FnMut(Reply<'_>) + Send + Sync + 'static) {
        self.link.listen(Box::new(listener));
    }

    /// Closes the connection. Dropping it does the same.
    pub fn close(mut self) {
        self.link.closed();
        self.stream.shutdown();
    }

    /// What this connection's bytes have cost since it was made first. `capacity_now` is all memory that it holds
    /// between two calls but for TLS's own: read buffer, large strings, write queue, and 16 bytes and more for each value of
    /// its last replies.
    pub fn meter(&self) -> Meter {
        let mut meter = self.link.meter();
        meter.bytes_copied_by_tls += self.stream.bytes_copied_by_tls();
        meter
    }

    /// Replies that came with nothing outstanding, since the connection was made first: each has closed it, and was given to
    /// nobody. It is seen with the next call at the latest, unless the system still holds it then: a server that sends what
    /// nobody asked for could be told from an honest one only by a read before each command.
    pub fn unexpected_replies(&self) -> u64 {
        self.link.unexpected_replies()
    }

    /// What TLS agreed on; `None` in clear text.
    pub fn tls(&self) -> Option<TlsSession> {
        self.stream.tls()
    }

    /// Deadline of each further command, see [`Config::command_timeout`].
    pub fn set_command_timeout(&mut self, timeout: Option<Duration>) {
        self.link.set_command_timeout(timeout);
    }

    /// The version of the protocol that the handshake agreed on.
    pub fn protocol(&self) -> Protocol {
        self.link.session().protocol
    }

    /// The server's version as it writes it; RESP2's handshake does not tell.
    pub fn server_version(&self) -> Option<&str> {
        self.link.session().version.as_deref()
    }

    /// What the server said of itself in the handshake.
    pub fn session(&self) -> &Session {
        self.link.session()
    }

    /// Whether it is closed, until a [`reconnect`](Self::reconnect).
    pub fn is_closed(&self) -> bool {
        self.link.is_closed()
    }

    /// Whether a MULTI or WATCH that was run has not been ended by an EXEC, DISCARD or UNWATCH that was run by itself or by the
    /// transaction's `exec`, as far as is known. Of a connection that is closed, whether it was so when it ended: what was
    /// queued was not executed then, nothing is watched any more, and after a [`reconnect`](Self::reconnect) a command that
    /// was meant to go on with the transaction is one by itself. What reconnects by itself asks this first.
    pub fn has_transaction(&self) -> bool {
        self.link.is_watching()
    }

    /// Gives memory back until at most `keep` bytes stay; 0 for a connection that will be idle for long. Without it a
    /// connection at rest keeps what its last replies needed: less than 1 KiB where they were small.
    pub fn release(&mut self, keep: usize) {
        self.link.release(keep);
        self.stream.release(keep);
    }

    #[inline]
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        let begun = self.link.begin();
        if begun.is_err() {
            self.stream.shutdown();
        }
        begun
    }

    #[inline]
    async fn round_trip<C: Command>(&mut self, command: &C) -> Result<Frame, Error> {
        let mut parts = Parts::new();
        self.begin()?;
        self.link.queue(command, &mut parts)?;
        let frame = self.receive(&parts).await?;
        self.link.replied(frame);
        Ok(frame)
    }

    /// Sends what is queued and waits for the next reply.
    #[inline]
    pub(super) async fn receive<L: Borrowed + Sync + ?Sized>(
        &mut self,
        borrowed: &L,
    ) -> Result<Frame, Error> {
        let message = self.next_message(borrowed).await?;
        self.link.frame(message)
    }

    /// Sends what is queued and waits for the next message that is not a push.
    #[inline]
    pub(super) async fn next_message<L: Borrowed + Sync + ?Sized>(
        &mut self,
        borrowed: &L,
    ) -> Result<Message, Error> {
        let deadline = self.link.deadline();
        let is_alone = self.link.is_alone();
        loop {
            let (core, buffers) = (&mut self.link.core, &mut self.link.buffers);
            let driven = if is_alone {
                net::drive(core, buffers, &mut self.stream, borrowed, deadline).await
            } else {
                net::drive_duplex(core, buffers, &mut self.stream, borrowed, deadline).await
            };
            match self.link.message(driven) {
                Ok(Some(message)) => return Ok(message),
                Ok(None) => self.link.in_time()?,
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    /// Sends what is queued; `None` once all of it has left. A message that comes before is handed over.
    pub(super) async fn flush<L: Borrowed + Sync + ?Sized>(
        &mut self,
        borrowed: &L,
    ) -> Result<Option<Message>, Error> {
        let deadline = self.link.deadline();
        loop {
            let (core, buffers) = (&mut self.link.core, &mut self.link.buffers);
            let flushed =
                net::flush_duplex(core, buffers, &mut self.stream, borrowed, deadline).await;
            let message = match flushed.transpose() {
                None => return Ok(None),
                Some(driven) => self.link.message(driven),
            };
            match message {
                Ok(None) => self.link.in_time()?,
                message => return message.map_err(|error| self.failed(error)),
            }
        }
    }

    #[cold]
    pub(super) fn failed(&mut self, error: Error) -> Error {
        if self.link.is_closed() {
            self.stream.shutdown();
        }
        error
    }

    /// [`next_message`](Self::next_message) as one poll, for readers, which see to the deadline themselves.
    pub(super) fn poll_message(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Message, Error>> {
        loop {
            let (core, buffers) = (&mut self.link.core, &mut self.link.buffers);
            let driven = net::poll_drive_duplex(context, core, buffers, &mut self.stream, &());
            match self.link.message(ready!(driven)) {
                Ok(Some(message)) => return Poll::Ready(Ok(message)),
                Ok(None) => {}
                Err(error) => return Poll::Ready(Err(self.failed(error))),
            }
        }
    }

    #[cold]
    pub(super) fn fail(&mut self, error: DriveError<ProtocolError>) -> Error {
        let error = self.link.failed(error);
        self.failed(error)
    }
}
