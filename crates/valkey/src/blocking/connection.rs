//! A connection and its operations.

mod scripts;

use std::io::{self, Read};
use std::time::Duration;

use onecopy_net::{DriveError, TlsConnector, TlsSession, blocking as net};
use onecopy_resp_proto::{Frame, Message, OwnedReply, Protocol, ProtocolError, Reply, Session};
use onecopy_wire::{Borrowed, Meter};

use super::{BulkReader, Pipe, Pipeline, Stream, Transaction};
use crate::command::{Command, Raw, connection};
use crate::link::{Link, deadline_in, handshake};
use crate::observe::{Observed, Server};
use crate::parts::{Parts, WithPiece, piece};
use crate::tls::connector;
use crate::{Config, Error, Password};

/// A connection to a Valkey or Redis server.
///
/// It stays usable after a server error. After any error for which [`Error::is_closed`] is true it is closed: all further calls
/// fail until [`reconnect`](Self::reconnect).
///
/// # Example
/// ```no_run
/// use onecopy_valkey::blocking::Connection;
/// use onecopy_valkey::command::{hash, string};
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// let mut conn = Connection::connect("redis://:password@localhost")?;
/// conn.run(&string::set("greeting", "hello").ex(60))?;
/// let greeting: Option<&[u8]> = conn.run(&string::get("greeting"))?; // borrowed from the read buffer
/// println!("{greeting:?}");
/// let visits: i64 = conn.run(&hash::hincrby("page:7", "visits", 1))?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Connection {
    pub(super) link: Link,
    pub(super) stream: Stream,
    /// The configuration for reconnecting, as updated by `select`, `auth` and `set_client_name`.
    pub(super) config: Config,
    /// Whether the caller provided the stream, so that it cannot be reconnected.
    is_given: bool,
}

impl Connection {
    /// Connects to the server of a URL, see [`Config::from_url`].
    ///
    /// # Errors
    /// Fails if the URL is invalid, the server cannot be reached, the handshake is refused, or the deadline passes.
    pub fn connect(url: &str) -> Result<Self, Error> {
        Self::connect_with(&Config::from_url(url)?)
    }

    /// Connects within [`Config::connect_timeout`]. The handshake is one write and one wait for its replies.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, TLS is not available, the server is not trusted, the handshake is refused, options
    /// contradict each other, or the deadline passes.
    pub fn connect_with(config: &Config) -> Result<Self, Error> {
        let (link, stream) = Self::open(config)?;
        Ok(Self {
            link,
            stream,
            config: config.clone(),
            is_given: false,
        })
    }

    /// Performs the handshake over the caller's stream, with TLS if [`Config::tls`] is set.
    ///
    /// # Errors
    /// Fails if the handshake is refused, TLS is not available, options contradict each other, or the deadline passes.
    pub fn from_stream(config: &Config, stream: Stream) -> Result<Self, Error> {
        let tls = connector(config)?;
        let deadline = deadline_in(config.connect_timeout);
        let (link, stream) = Self::shake_hands(config, stream, tls, deadline)?;
        Ok(Self {
            link,
            stream,
            config: config.clone(),
            is_given: true,
        })
    }

    fn open(config: &Config) -> Result<(Link, Stream), Error> {
        let tls = connector(config)?;
        let deadline = deadline_in(config.connect_timeout);
        let stream = net::connect(&config.endpoint, &config.socket, deadline)?;
        Self::shake_hands(config, stream, tls, deadline)
    }

    fn shake_hands(
        config: &Config,
        mut stream: Stream,
        tls: Option<TlsConnector>,
        deadline: Option<std::time::Instant>,
    ) -> Result<(Link, Stream), Error> {
        let (mut buffers, mut handshake) = handshake(config);
        if let Some(tls) = tls {
            stream.offer_tls(tls);
            net::start_tls::<ProtocolError>(&mut buffers, &mut stream, &(), deadline)?;
        }
        let reply = net::drive(&mut handshake, &mut buffers, &mut stream, &(), deadline)?;
        let link = Link::shaken(reply, handshake, buffers, config)?;
        Ok((link, stream))
    }

    /// Reconnects with the same configuration, the same push listener, and the database, user and name that were last set with
    /// [`select`](Self::select), [`auth`](Self::auth) and [`set_client_name`](Self::set_client_name). If it fails, the connection
    /// is closed, and this may be called again.
    ///
    /// # Errors
    /// Fails like [`connect_with`](Self::connect_with). In three cases it fails without doing anything, and the error says so: a
    /// command changed the state of the connection (for example SELECT by `run`); the caller provided the stream; or the
    /// connection is not closed and has an open MULTI or WATCH. An EXEC, DISCARD or UNWATCH ends those if it is run by itself, or
    /// by the transaction's `exec`. On a closed connection there is no transaction any more: see
    /// [`has_transaction`](Self::has_transaction).
    pub fn reconnect(&mut self) -> Result<(), Error> {
        if self.is_given {
            return Err(Error::misuse(
                "the connection was given its stream: make a new one by from_stream",
            ));
        }
        self.link.may_reconnect()?;
        self.link.closed();
        self.stream.shutdown();
        let (link, stream) = Self::open(&self.config)?;
        let meter = self.meter();
        let old = std::mem::replace(&mut self.link, link);
        self.link.take_over(old, meter);
        self.stream = stream;
        Ok(())
    }

    /// Runs a command and returns its output, which is borrowed from the reply until the next call. Arguments of 16 KiB and more
    /// are sent without a copy.
    ///
    /// ```no_run
    /// use onecopy_valkey::blocking::Connection;
    /// use onecopy_valkey::command::string;
    ///
    /// # fn main() -> Result<(), onecopy_valkey::Error> {
    /// let mut conn = Connection::connect("redis://localhost")?;
    /// conn.run(&string::set("greeting", "hello").ex(60))?;
    /// let greeting: Option<&[u8]> = conn.run(&string::get("greeting"))?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Fails with the server's error, or if the reply does not have the type of the command's output, or if the connection fails.
    #[inline]
    pub fn run<C: Command>(&mut self, command: &C) -> Result<C::Output<'_>, Error> {
        let mut observed = self.observe(command);
        let frame = observed.step(self.round_trip(command))?;
        observed.check(self.link.output::<C>(frame))
    }

    /// Runs a command and returns an owned reply. Its bytes are copied once; large strings are moved.
    ///
    /// # Errors
    /// Fails like [`run`](Self::run), or if memory cannot be allocated.
    pub fn run_owned<C: Command>(&mut self, command: &C) -> Result<OwnedReply, Error> {
        let mut observed = self.observe(command);
        let frame = observed.step(self.round_trip(command))?;
        observed.check(self.link.owned(frame))
    }

    /// Runs a command whose reply is a string, and reads it into the caller's vector. The vector's memory is reused if it is
    /// large enough; large strings are read directly into it. Returns the length of the string, or `None` if the reply is null:
    /// the vector is empty then. After a failure of the connection the vector may have lost its memory.
    ///
    /// # Errors
    /// Fails like [`run`](Self::run), or if the reply is not a string.
    pub fn run_into<C: Command>(
        &mut self,
        command: &C,
        into: &mut Vec<u8>,
    ) -> Result<Option<usize>, Error> {
        let mut parts = Parts::new();
        self.begin()?;
        self.link.queue(command, &mut parts)?;
        self.link.offer(into);
        let mut observed = self.observe(command);
        let frame = observed.step(self.receive(&parts))?;
        observed.check(self.link.fill(frame, into))
    }

    /// Runs a command whose reply is a string, and returns a reader for it, in constant memory whatever its length. Returns
    /// `None` if the reply is null.
    ///
    /// # Errors
    /// Fails like [`run`](Self::run), or if the reply is not a string.
    pub fn run_streaming<C: Command>(
        &mut self,
        command: &C,
    ) -> Result<Option<BulkReader<'_>>, Error> {
        let mut parts = Parts::new();
        self.begin()?;
        self.link.queue(command, &mut parts)?;
        self.link.core.stream_next();
        let mut observed = self.observe(command);
        match observed.step(self.next_message(&parts))? {
            Message::Bulk(len) => observed.check(Ok(Some(BulkReader::new(self, len)))),
            message => {
                let frame = self.link.frame(message)?;
                observed.check(self.link.null(frame)).map(|()| None)
            }
        }
    }

    /// Runs a command with one more argument, whose `len` bytes are read from `reader`, in constant memory. `raw("SET").arg(key)`
    /// stores such a value. Bytes after the first `len` are not read.
    ///
    /// # Errors
    /// Fails like [`run`](Self::run), or if the reader fails or ends early. If a part of the command was sent by then, the
    /// connection is closed. The [source](std::error::Error::source) of the error is the reader's error.
    pub fn run_from(
        &mut self,
        command: &Raw<'_>,
        len: u64,
        mut reader: impl Read,
    ) -> Result<Reply<'_>, Error> {
        let mut parts = Parts::new();
        let mut piece = piece(len)?;
        self.begin()?;
        self.link.queue_open(command, len, &mut parts)?;
        let mut observed = self.observe(command);
        let mut left = len;
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
            let n = match reader.read(&mut piece[..most]) {
                Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read,
            };
            let n = observed.step(n.map_err(|error| self.broken_off(error)))?;
            left -= n as u64;
            self.link.queue_piece(n);
            self.link.start_wait();
            let piece = WithPiece(&parts, &piece[..n]);
            if let Some(message) = observed.step(self.flush(&piece))? {
                let error = self.link.early(message);
                return observed.check(Err(self.failed(error)));
            }
        }
        self.link.end_open();
        let frame = observed.step(self.receive(&parts))?;
        observed.check(self.link.output::<Raw<'_>>(frame))
    }

    #[cold]
    fn broken_off(&mut self, error: io::Error) -> Error {
        let error = self.link.broken_off(Error::source(error));
        self.failed(error)
    }

    /// Starts a pipeline: commands are queued and sent together, and their replies are read one by one.
    ///
    /// # Errors
    /// Fails if the connection is closed.
    pub fn pipeline<'a>(&mut self) -> Result<Pipeline<'_, 'a>, Error> {
        self.begin()?;
        Ok(Pipeline::new(self))
    }

    /// Starts a pipe: any number of commands are sent as they are pushed, and `on_reply` is called with their replies in order,
    /// including server errors. Both the unsent data and the number of outstanding replies are bounded.
    ///
    /// # Errors
    /// Fails if the connection is closed.
    pub fn pipe<F: FnMut(Reply<'_>)>(&mut self, on_reply: F) -> Result<Pipe<'_, F>, Error> {
        self.begin()?;
        Ok(Pipe::new(self, on_reply))
    }

    /// Starts a transaction: commands between MULTI and EXEC, sent together.
    ///
    /// # Errors
    /// Fails if the connection is closed, or if memory cannot be allocated.
    pub fn transaction<'a>(&mut self) -> Result<Transaction<'_, 'a>, Error> {
        self.begin()?;
        Transaction::new(self)
    }

    /// Selects a database, also for later [`reconnect`](Self::reconnect)s.
    ///
    /// # Errors
    /// Fails like [`run`](Self::run); the database stays the same then.
    pub fn select(&mut self, database: u64) -> Result<(), Error> {
        let was_changed = self.link.is_changed();
        let done = self
            .run(&connection::select(
                i64::try_from(database).unwrap_or(i64::MAX),
            ))
            .map(drop);
        self.link.keep_account(was_changed, &done);
        done?;
        self.config.database = database;
        Ok(())
    }

    /// Logs in as another user, also for later [`reconnect`](Self::reconnect)s. `None` is the user `default`.
    ///
    /// # Errors
    /// Fails like [`run`](Self::run); the user stays the same then.
    pub fn auth(&mut self, user: Option<&str>, password: impl Into<Password>) -> Result<(), Error> {
        let password = password.into();
        let was_changed = self.link.is_changed();
        let done = self.run(&password.auth(user)).map(drop);
        self.link.keep_account(was_changed, &done);
        done?;
        self.config.user = user.map(str::to_owned);
        self.config.password = password;
        Ok(())
    }

    /// Sets the name of the connection, which CLIENT LIST shows, also for later [`reconnect`](Self::reconnect)s.
    ///
    /// # Errors
    /// Fails like [`run`](Self::run); the name stays the same then.
    pub fn set_client_name(&mut self, name: &str) -> Result<(), Error> {
        let was_changed = self.link.is_changed();
        let done = self.run(&connection::client_setname(name)).map(drop);
        self.link.keep_account(was_changed, &done);
        done?;
        self.config.client_name = Some(name.to_owned()).filter(|name| !name.is_empty());
        Ok(())
    }

    /// Sets a listener for push messages, such as the invalidated keys of client-side caching. It is called during other calls on
    /// the connection; messages that arrive between two calls are delivered during the next.
    pub fn on_push(&mut self, listener: impl FnMut(Reply<'_>) + Send + Sync + 'static) {
        self.link.listen(Box::new(listener));
    }

    /// Closes the connection. Dropping it does the same.
    pub fn close(mut self) {
        self.link.closed();
        self.stream.shutdown();
    }

    /// Returns the copy counters of this connection, since it was first made. `capacity_now` is all memory that it holds between
    /// two calls, except TLS's own: read buffer, large strings, write queue, and at least 16 bytes for each value of its last
    /// replies.
    pub fn meter(&self) -> Meter {
        let mut meter = self.link.meter();
        meter.bytes_copied_by_tls += self.stream.bytes_copied_by_tls();
        meter
    }

    /// Returns the number of unsolicited replies since the connection was first made. Each of them closed the connection and was
    /// discarded. An unsolicited reply is detected during the next call at the latest, unless it is then still in the kernel's
    /// socket buffer. Detecting every one of them would cost an extra read before each command.
    pub fn unexpected_replies(&self) -> u64 {
        self.link.unexpected_replies()
    }

    /// Returns the parameters of the TLS session, or `None` in clear text.
    pub fn tls(&self) -> Option<TlsSession> {
        self.stream.tls()
    }

    /// Sets the timeout of all further commands, see [`Config::command_timeout`].
    pub fn set_command_timeout(&mut self, timeout: Option<Duration>) {
        self.link.set_command_timeout(timeout);
    }

    /// Returns the protocol version that the handshake agreed on.
    pub fn protocol(&self) -> Protocol {
        self.link.session().protocol
    }

    /// Returns the server's version as it reports it. `None` with RESP2, whose handshake does not tell.
    pub fn server_version(&self) -> Option<&str> {
        self.link.session().version.as_deref()
    }

    /// Returns what the server reported about itself in the handshake.
    pub fn session(&self) -> &Session {
        self.link.session()
    }

    /// Returns whether the connection is closed; [`reconnect`](Self::reconnect) opens it again.
    pub fn is_closed(&self) -> bool {
        self.link.is_closed()
    }

    /// Returns whether a MULTI or WATCH is open, as far as is known. An EXEC, DISCARD or UNWATCH ends it if it is run by itself,
    /// or by the transaction's `exec`.
    ///
    /// For a closed connection, returns whether one was open when the connection ended. The queued commands were not executed
    /// then, and nothing is watched any more. After a [`reconnect`](Self::reconnect), a command that was meant to continue the
    /// transaction would be executed on its own: code that reconnects automatically must check this first.
    pub fn has_transaction(&self) -> bool {
        self.link.is_watching()
    }

    /// Releases memory until at most `keep` bytes are held; use 0 for a connection that will be idle for long. Without this call
    /// an idle connection keeps what its last replies needed: less than 1 KiB if they were small.
    pub fn release(&mut self, keep: usize) {
        self.link.release(keep);
        self.stream.release(keep);
    }

    /// Whether the caller has given its stream: it can't be made again.
    pub(super) fn is_given(&self) -> bool {
        self.is_given
    }

    #[inline]
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        let begun = self.link.begin();
        if begun.is_err() {
            self.stream.shutdown();
        }
        begun
    }

    /// Runs a command that is not the caller's own, or part of a call that is observed as a whole.
    pub(super) fn run_quietly<C: Command>(&mut self, command: &C) -> Result<OwnedReply, Error> {
        let frame = self.round_trip(command)?;
        self.link.owned(frame)
    }

    /// A command begins.
    #[inline(always)]
    pub(super) fn observe<C: Command>(&self, command: &C) -> Observed {
        Observed::command(command, || self.server())
    }

    /// The server, as spans show it.
    pub(super) fn server(&self) -> Server<'_> {
        Server::of(&self.config, self.link.session())
    }

    #[inline]
    fn round_trip<C: Command>(&mut self, command: &C) -> Result<Frame, Error> {
        let mut parts = Parts::new();
        self.begin()?;
        self.link.queue(command, &mut parts)?;
        let frame = self.receive(&parts)?;
        self.link.replied(frame);
        Ok(frame)
    }

    /// Sends what is queued and waits for the next reply.
    #[inline]
    pub(super) fn receive<L: Borrowed + ?Sized>(&mut self, borrowed: &L) -> Result<Frame, Error> {
        let message = self.next_message(borrowed)?;
        self.link.frame(message)
    }

    /// Sends what is queued and waits for the next message that is not a push.
    #[inline]
    pub(super) fn next_message<L: Borrowed + ?Sized>(
        &mut self,
        borrowed: &L,
    ) -> Result<Message, Error> {
        let deadline = self.link.deadline();
        let is_alone = self.link.is_alone();
        loop {
            let (core, buffers) = (&mut self.link.core, &mut self.link.buffers);
            let driven = if is_alone {
                net::drive(core, buffers, &mut self.stream, borrowed, deadline)
            } else {
                net::drive_duplex(core, buffers, &mut self.stream, borrowed, deadline)
            };
            match self.link.message(driven) {
                Ok(Some(message)) => return Ok(message),
                Ok(None) => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    /// Sends what is queued; `None` once all of it has left. A message that comes before is handed over.
    pub(super) fn flush<L: Borrowed + ?Sized>(
        &mut self,
        borrowed: &L,
    ) -> Result<Option<Message>, Error> {
        let deadline = self.link.deadline();
        loop {
            let (core, buffers) = (&mut self.link.core, &mut self.link.buffers);
            let flushed = net::flush_duplex(core, buffers, &mut self.stream, borrowed, deadline);
            let message = match flushed.transpose() {
                None => return Ok(None),
                Some(driven) => self.link.message(driven),
            };
            match message {
                Ok(None) => {}
                message => return message.map_err(|error| self.failed(error)),
            }
        }
    }

    /// The next message that has arrived and is no push; waits for none.
    pub(super) fn ready_message(&mut self) -> Result<Option<Message>, Error> {
        loop {
            let (core, buffers) = (&mut self.link.core, &mut self.link.buffers);
            let message = match net::drive_ready(core, buffers, &mut self.stream).transpose() {
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

    #[cold]
    pub(super) fn fail(&mut self, error: DriveError<ProtocolError>) -> Error {
        let error = self.link.failed(error);
        self.failed(error)
    }
}
