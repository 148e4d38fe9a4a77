//! A connection, and what can be asked of it.

use std::time::Duration;

use onecopy_net::{TlsConnector, TlsSession, tokio as net};
use onecopy_resp_proto::{Frame, OwnedReply, Protocol, ProtocolError, Reply, Session};
use onecopy_wire::{Lent, Meter};

use super::{Pipeline, Stream};
use crate::command::{Command, connection};
use crate::link::{Link, deadline_in, handshake};
use crate::parts::Parts;
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

    /// Makes the connection anew, with the same configuration, the database, user and name that [`select`](Self::select),
    /// [`auth`](Self::auth) and [`set_client_name`](Self::set_client_name) set last, and the same listener. Watched keys,
    /// a transaction and all else that a command left on the old connection are gone. Where it fails the connection is
    /// closed, and this may be called again.
    ///
    /// # Errors
    /// As [`connect_with`](Self::connect_with). Where a command that was run has changed the connection itself (SELECT by
    /// `run`, say), or its stream was the caller's own, nothing is done, and the error says so.
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
        let old = std::mem::replace(&mut self.link, link);
        self.link.take_over(old);
        self.stream = stream;
        Ok(())
    }

    /// Runs a command; its output is lent from the reply, until the next call. Arguments of 16 KiB and more are sent without
    /// a copy.
    ///
    /// ```no_run
    /// use onecopy_valkey::tokio::Connection;
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
    /// Safe: see [the module](crate::tokio).
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
    /// Safe: see [the module](crate::tokio).
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
    /// As a failure of the connection for the vector; else safe: see [the module](crate::tokio).
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

    /// A pipeline: commands are queued, leave together, and their replies are taken one by one.
    ///
    /// # Errors
    /// A connection that is closed.
    pub fn pipeline<'a>(&mut self) -> Result<Pipeline<'_, 'a>, Error> {
        self.begin()?;
        Ok(Pipeline::new(self))
    }

    /// Uses the database of this number from now on, after a [`reconnect`](Self::reconnect) too.
    ///
    /// # Errors
    /// As [`run`](Self::run); the database is the one before then.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::tokio).
    pub async fn select(&mut self, database: u64) -> Result<(), Error> {
        let was_changed = self.link.is_changed();
        self.run(&connection::select(
            i64::try_from(database).unwrap_or(i64::MAX),
        ))
        .await?;
        self.link.keep_account(was_changed);
        self.config.database = database;
        Ok(())
    }

    /// Is this user from now on, after a [`reconnect`](Self::reconnect) too; `None` is the user `default`.
    ///
    /// # Errors
    /// As [`run`](Self::run); the user is the one before then.
    ///
    /// # Cancel safety
    /// Safe: see [the module](crate::tokio).
    pub async fn auth(
        &mut self,
        user: Option<&str>,
        password: impl Into<Password>,
    ) -> Result<(), Error> {
        let password = password.into();
        let was_changed = self.link.is_changed();
        self.run(&password.auth(user)).await?;
        self.link.keep_account(was_changed);
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
    /// Safe: see [the module](crate::tokio).
    pub async fn set_client_name(&mut self, name: &str) -> Result<(), Error> {
        let was_changed = self.link.is_changed();
        self.run(&connection::client_setname(name)).await?;
        self.link.keep_account(was_changed);
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

    /// What this connection's bytes have cost since it was made, or made anew.
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

    /// Gives buffers back until at most `keep` bytes stay; 0 for a connection that will be idle for long. Without it a
    /// connection at rest keeps no memory for writing, and of its read buffer what its last replies needed: 512 bytes where
    /// they were small.
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
        self.receive(&parts).await
    }

    /// Sends what is queued and waits for the next reply.
    #[inline]
    pub(super) async fn receive<L: Lent + Sync + ?Sized>(
        &mut self,
        lent: &L,
    ) -> Result<Frame, Error> {
        let deadline = self.link.deadline();
        let is_alone = self.link.is_alone();
        loop {
            let (core, buffers) = (&mut self.link.core, &mut self.link.buffers);
            let driven = if is_alone {
                net::drive(core, buffers, &mut self.stream, lent, deadline).await
            } else {
                net::drive_duplex(core, buffers, &mut self.stream, lent, deadline).await
            };
            match self.link.message(driven) {
                Ok(Some(frame)) => return Ok(frame),
                Ok(None) => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    #[cold]
    fn failed(&mut self, error: Error) -> Error {
        if self.link.is_closed() {
            self.stream.shutdown();
        }
        error
    }
}
