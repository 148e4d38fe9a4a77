//! A handle that lets many tasks share one connection.

mod batch;
mod call;
mod companion;
mod dedicated;
mod driver;
mod failure;
mod group;
mod inner;
mod large;
mod lease;
mod limits;
mod options;
mod parts;
mod pipeline;
mod pool;
mod queue;
mod reader;
mod registry;
mod responses;
mod single;
mod slab;
mod stats;
mod subscription;
mod subscriptions;
mod timer;
mod tracker;
mod transaction;
mod watched;

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use onecopy_net::Endpoint;
use onecopy_wire::Meter;

pub(super) use batch::{Batch, Sendable};
#[cfg(feature = "caching")]
pub(super) use tracker::Tracker;
pub(super) use tracker::Trackers;

pub use crate::backoff::Backoff;
pub use crate::response::Response;
pub use crate::responses::TransactionResponses;
pub use dedicated::Dedicated;
pub use options::{Event, OfflineQueue, SharedOptions};
pub use pipeline::SharedPipeline;
pub use responses::Responses;
pub use stats::SharedStats;
pub use subscription::Subscription;
pub use transaction::SharedTransaction;

use super::{Connection, clock};
use crate::command::{Blocking, Command, Flags};
use crate::observe::{BatchKind, Observed, Observer, Operations, Server, System};
use crate::pubsub::SubscriptionOptions;
use crate::script::Load;
use crate::{Args, Config, Error, Library, ScriptCall};
use call::Call;
use driver::Driver;
use failure::Failure;
use inner::Inner;
use large::Large;
use pool::Pool;
use queue::Queue;
use single::{Single, admit};

/// A handle to one connection that many tasks share; clones are cheap. Commands that tasks issue while the connection is busy are
/// sent together, in one write. Each task gets the reply to its own command, whatever happens to the others.
///
/// A background task drives the connection, and reconnects when it is lost: [`SharedOptions`] controls how, and what happens to
/// commands meanwhile. The task ends when the last handle is dropped.
///
/// - If a server owes a reply and sends nothing for [`Config::unresponsive_timeout`] (30 seconds), the connection is closed.
///   Commands that were sent fail with [`Error::is_unresponsive`] and are not retried; all others are sent on the next
///   connection.
/// - Blocking commands run on a connection of their own automatically. Commands that change the connection (SELECT, MULTI, WATCH)
///   are refused: [`acquire`](Self::acquire) a dedicated connection for them. A [`transaction`](Self::transaction) needs none.
/// - [`Config::command_timeout`] covers the time from the call to its reply, including waiting for room or for a connection. To
///   set a deadline for a single command, wrap its future in `tokio::time::timeout`.
/// - A reply of [`SharedOptions::large_reply`] bytes and more delays the replies after it. The command and its first key are
///   therefore remembered. If the command is read-only, it then runs on a dedicated connection whenever one is free or may be
///   opened, until one of its replies is smaller. There it still sees every write that the caller has awaited before. A write
///   that is still in flight, as in `tokio::join!`, may be executed after the read. Writes, pipelines and transactions always use
///   the shared connection.
/// - [`subscribe`](Self::subscribe) and its like return readers of messages, which come over the same connection with RESP3.
/// - Responses are owned: they are copied once out of the connection's buffer, except strings of 64 KiB and more, which are
///   moved. Pass large arguments as [`bytes::Bytes`], whose memory is shared until it has been sent; others are copied.
///
/// ```no_run
/// use onecopy_valkey::command::string;
/// use onecopy_valkey::aio::Shared;
///
/// # async fn example() -> Result<(), onecopy_valkey::Error> {
/// let shared = Shared::connect("redis://localhost").await?;
/// let other = shared.clone();
/// let task = tokio::spawn(async move { other.run(&string::incr("visits")).await?.get() });
/// shared.run(&string::set("greeting", "hello")).await?;
/// let greeting = shared.run(&string::get("greeting")).await?;
/// assert_eq!(greeting.get()?, Some(&b"hello"[..]));
/// # task.await.unwrap()?; Ok(()) }
/// ```
///
/// # Cancel safety
/// Every future may be dropped at any await point; a timeout has the same effect. If the command was not written yet, it is not
/// sent. If it was, its reply is discarded when it arrives, and never reaches another caller. If a pipeline is dropped, the
/// replies that it has already received are dropped too.
///
/// A future that is neither dropped nor polled, for example one left behind by a `select!`, keeps its place. When its turn comes
/// it occupies one of the [`max_in_flight`](SharedOptions::max_in_flight) slots, and [`close`](Self::close) waits for it.
/// [`Config::command_timeout`] bounds that too: after it, the next caller gets the slot.
#[derive(Clone)]
pub struct Shared {
    handle: Arc<Handle>,
    observer: Observer,
}

/// The state that all clones share; dropped with the last of them.
struct Handle {
    inner: Arc<Inner>,
    pool: Arc<Pool>,
    large: Large,
    close_timeout: Option<Duration>,
    tracker: Option<Arc<dyn tracker::Tracker>>,
}

impl Shared {
    /// Connects to the server of a URL, see [`Config::from_url`], with the default options.
    ///
    /// # Errors
    /// Fails like [`Connection::connect`].
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the socket is closed.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with I/O and time enabled.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Self::connect_with(&Config::from_url(url)?, SharedOptions::default()).await
    }

    /// Connects, and spawns the task that drives the connection.
    ///
    /// # Errors
    /// Fails like [`Connection::connect_with`].
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the socket is closed.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with I/O and time enabled.
    pub async fn connect_with(config: &Config, options: SharedOptions) -> Result<Self, Error> {
        let connection: Connection = tracker::connect(config, options.tracker.as_ref()).await?;
        let inner = Arc::new(Inner::new(options.limits(config)));
        // Not only when its task runs first: a command before that has a connection already.
        inner.with(Queue::connected);
        let handle = Handle {
            inner: Arc::clone(&inner),
            pool: Arc::new(Pool::new(config, &options)),
            large: Large::new(options.large_reply),
            close_timeout: options.close_timeout,
            tracker: options.tracker.clone(),
        };
        let driver = Driver::new(inner, config.clone(), options);
        tokio::spawn(driver.run(connection));
        Ok(Self {
            handle: Arc::new(handle),
            observer: Observer::default(),
        })
    }

    /// Runs a command. A blocking command runs on a connection of its own. If the future outlives its statement, as in
    /// `tokio::join!`, bind the command with `let` first.
    ///
    /// # Errors
    /// Fails with the server's error, if the connection fails, or after the command timeout; [`Error::maybe_executed`] says
    /// whether the server may have executed the command. After a failure of the connection the handle reconnects by itself.
    /// Commands that break the order of replies or change the connection are refused. While there is no connection, a command
    /// fails if the offline queue has no room for it.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the type](Self). If the command runs on a connection of its own, that connection is closed.
    #[inline]
    pub async fn run<C: Command + Sync>(&self, command: &C) -> Result<Response<C>, Error> {
        let mut observed = self.observe(command);
        let flags = command.flags();
        if flags.intersects(single::SPECIAL) {
            return observed.check(self.run_special(command).await);
        }
        let Handle { inner, large, .. } = &*self.handle;
        if large.knows(command, flags) {
            return observed.check(Box::pin(self.run_aside(command)).await);
        }
        let answer = Call::new(inner, Single(command, large)).await;
        observed.check(large.response(command, answer))
    }

    /// Runs a command on the shared connection, however large its reply was the last time.
    #[cfg(feature = "caching")]
    pub(in crate::aio) async fn run_here<C: Command + Sync>(
        &self,
        command: &C,
    ) -> Result<Response<C>, Error> {
        let mut observed = self.observe(command);
        let Handle { inner, large, .. } = &*self.handle;
        let answer = Call::new(inner, Single(command, large)).await;
        observed.check(large.response(command, answer))
    }

    async fn run_special<C: Command + Sync>(&self, command: &C) -> Result<Response<C>, Error> {
        if command.flags().contains(Flags::BLOCKING) && command.blocking() != Blocking::No {
            return Box::pin(self.run_blocking(command)).await;
        }
        admit(command)?;
        let Handle { inner, large, .. } = &*self.handle;
        let answer = Call::new(inner, Single(command, large)).await;
        large.response(command, answer)
    }

    /// Runs a command that may block in the server, on a connection of its own.
    async fn run_blocking<C: Command + Sync>(&self, command: &C) -> Result<Response<C>, Error> {
        let pool = &self.handle.pool;
        // What the server was asked to wait for without an end has no end here.
        let silence = match command.blocking() {
            Blocking::Forever => None,
            Blocking::AtMost(wait) => pool.silence(wait),
            Blocking::No => pool.silence(Duration::ZERO),
        };
        let mut connection = self.acquire().await?;
        Response::new(connection.run_watched(command, silence).await?)
    }

    /// Runs a read-only command whose last reply was large. It uses a dedicated connection if one is available, else the shared
    /// one, within the same timeout.
    async fn run_aside<C: Command + Sync>(&self, command: &C) -> Result<Response<C>, Error> {
        let Handle {
            inner, pool, large, ..
        } = &*self.handle;
        let run = async {
            let is_up = inner.with(|queue| queue.is_up());
            if is_up && let Some(mut connection) = Pool::try_acquire(pool).await {
                let silence = pool.silence(Duration::ZERO);
                let reply = connection.run_watched(command, silence).await;
                large.learn(command, reply.as_ref());
                // What only reads may be run again, but not by a caller who has waited for long already.
                let is_lost = |error: &Error| error.is_closed() && !error.is_unresponsive();
                if !reply.as_ref().is_err_and(is_lost) {
                    return reply.and_then(Response::new);
                }
            }
            let answer = Call::new(inner, Single(command, large)).await;
            large.response(command, answer)
        };
        let Some(time) = pool.command_timeout() else {
            return run.await;
        };
        let timed_out = Failure::Timeout {
            maybe_executed: true,
        };
        let timed = tokio::time::timeout(time, run).await;
        timed.unwrap_or_else(|_| Err(timed_out.into()))
    }

    /// Runs a command on a connection of its own, so that a slow command or a large reply does not delay others.
    ///
    /// # Errors
    /// Fails like [`acquire`](Self::acquire) and [`Connection::run`].
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, that connection is closed.
    pub async fn run_dedicated<C: Command + Sync>(
        &self,
        command: &C,
    ) -> Result<Response<C>, Error> {
        let mut connection = self.acquire().await?;
        Response::new(connection.run_owned(command).await?)
    }

    /// Calls a script by its digest. If the server does not know the script, it is loaded and called again, which takes one more
    /// round trip; nothing is executed twice. A script that runs for long holds up the server, and so everybody.
    ///
    /// # Errors
    /// Fails like [`run`](Self::run), or if the script does not compile.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the type](Self).
    pub async fn run_script<'c>(
        &self,
        call: &ScriptCall<'c>,
    ) -> Result<Response<ScriptCall<'c>>, Error> {
        match self.run(call).await {
            Err(error) if error.is_no_script() => {}
            answered => return answered,
        }
        let mut pipeline = self.pipeline();
        pipeline.push(&call.load())?.push(call)?;
        let mut replies = pipeline.run().await?;
        replies.get::<Load<'_>>(0)?;
        match replies.pop() {
            Some(reply) => Response::new(reply),
            None => Err(Error::closed("a script got no reply")),
        }
    }

    /// Loads a library of functions, unless the server has it with the same code. It replaces a library of the same name. Returns
    /// whether it was loaded.
    ///
    /// # Errors
    /// Fails with the server's error, for example if the code does not compile or another library has a function of the same name;
    /// the server keeps its library then. Servers before 7.0 have no functions.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the type](Self).
    pub async fn load_library(&self, library: &Library) -> Result<bool, Error> {
        let found = self.run(&library.look_up()).await?;
        if library.is_in(found.reply()) {
            return Ok(false);
        }
        self.run(&library.load()).await?;
        Ok(true)
    }

    /// Borrows a dedicated connection: for transactions that watch keys, for commands that change the connection, for streamed
    /// values. An idle one is reused if possible; otherwise a new one is opened. If [`SharedOptions::max_dedicated`] connections
    /// are in use, it waits for one, for at most [`Config::command_timeout`].
    ///
    /// # Errors
    /// Fails like [`Connection::connect_with`], if the handle is closed, or if the wait times out; nothing was sent then.
    ///
    /// # Cancel safety
    /// Cancel-safe: dropping the future has no effect.
    pub async fn acquire(&self) -> Result<Dedicated, Error> {
        Pool::acquire(&self.handle.pool).await
    }

    /// Creates a pipeline: commands that are sent together, with no other task's commands between them.
    pub fn pipeline(&self) -> SharedPipeline {
        SharedPipeline::new(self)
    }

    /// Creates a transaction: commands that are executed together, with no other client's commands between them, by MULTI and
    /// EXEC. If it depends on keys that are read first, WATCH them on a connection from [`acquire`](Self::acquire) instead.
    pub fn transaction(&self) -> SharedTransaction {
        SharedTransaction::new(self)
    }

    /// Subscribes to channels: returns a reader of their messages, once the server has confirmed the subscriptions.
    ///
    /// # Errors
    /// Fails like [`Subscription::subscribe`], and with the server's error if it refuses any of them.
    ///
    /// # Cancel safety
    /// Cancel-safe: if the future is dropped before it completes, nothing is subscribed to.
    pub async fn subscribe<'n>(
        &self,
        channels: impl Into<Args<'n>>,
    ) -> Result<Subscription, Error> {
        let mut subscription = self.subscription(SubscriptionOptions::default());
        subscription.subscribe(channels).await?;
        Ok(subscription)
    }

    /// Subscribes to all channels that match one of these glob patterns, like [`subscribe`](Self::subscribe).
    ///
    /// # Errors
    /// Fails like [`subscribe`](Self::subscribe).
    ///
    /// # Cancel safety
    /// Like [`subscribe`](Self::subscribe).
    pub async fn psubscribe<'n>(
        &self,
        patterns: impl Into<Args<'n>>,
    ) -> Result<Subscription, Error> {
        let mut subscription = self.subscription(SubscriptionOptions::default());
        subscription.psubscribe(patterns).await?;
        Ok(subscription)
    }

    /// Subscribes to sharded channels, like [`subscribe`](Self::subscribe).
    ///
    /// # Errors
    /// Fails like [`subscribe`](Self::subscribe).
    ///
    /// # Cancel safety
    /// Like [`subscribe`](Self::subscribe).
    pub async fn ssubscribe<'n>(
        &self,
        channels: impl Into<Args<'n>>,
    ) -> Result<Subscription, Error> {
        let mut subscription = self.subscription(SubscriptionOptions::default());
        subscription.ssubscribe(channels).await?;
        Ok(subscription)
    }

    /// Returns a reader with these limits that is not subscribed to anything yet.
    pub fn subscription(&self, options: SubscriptionOptions) -> Subscription {
        Subscription::new(self, options)
    }

    /// Closes the handle and all of its clones. No more commands are accepted. It waits until the accepted ones are finished, for
    /// at most [`SharedOptions::close_timeout`], and then closes the connection. Commands that are not finished by then fail;
    /// [`Error::maybe_executed`] says which of them the server may have executed. Dedicated connections are closed when they are
    /// returned.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the handle still closes, within the same time.
    pub async fn close(&self) {
        let Handle {
            inner,
            pool,
            close_timeout,
            ..
        } = &*self.handle;
        pool.close();
        let close_by = close_timeout.and_then(|timeout| clock::now().checked_add(timeout));
        inner.with(|queue| queue.close(close_by));
        poll_fn(|context| inner.with(|queue| queue.poll_closed(context.waker()))).await;
    }

    /// The same connection, whose calls are part of one that is observed as a whole.
    pub(in crate::aio) fn quiet(mut self) -> Self {
        self.observer = Observer::quiet();
        self
    }

    /// The same connection, whose calls are the caller's own.
    pub(in crate::aio) fn observed(mut self) -> Self {
        self.observer = Observer::default();
        self
    }

    /// A command begins.
    #[inline(always)]
    fn observe<C: Command>(&self, command: &C) -> Observed {
        self.observer.command(command, || self.server())
    }

    /// Commands that are sent together begin.
    fn observe_batch(&self, kind: BatchKind, operations: &Operations, commands: usize) -> Observed {
        let commands = || commands as u64;
        Observed::batch(kind, operations, commands, || self.server())
    }

    /// The server, as spans show it.
    fn server(&self) -> Server<'_> {
        Server::shared(self.handle.pool.config(), self.system())
    }

    /// Where the server is.
    #[inline]
    pub(in crate::aio) fn endpoint(&self) -> &Endpoint {
        &self.handle.pool.config().endpoint
    }

    /// What kind of server it is.
    pub(in crate::aio) fn system(&self) -> &System {
        &self.handle.inner.system
    }

    /// Accepts no more commands, and closes the connection when the accepted ones are finished, or after `grace`.
    pub(in crate::aio) fn retire(&self, grace: Duration) {
        let Handle { inner, pool, .. } = &*self.handle;
        pool.close();
        inner.with(|queue| queue.close(clock::now().checked_add(grace)));
        // What it still says is not the last word.
        if let Some(tracker) = &self.handle.tracker {
            tracker.lost();
        }
    }

    /// Which of the connections of a cache it is; `None` if it is none of them.
    #[cfg(feature = "caching")]
    pub(in crate::aio) fn line(&self) -> Option<u64> {
        Some(self.handle.tracker.as_ref()?.line())
    }

    /// Waits until the handle is closed, and its connection with it.
    pub(in crate::aio) async fn ended(&self) {
        let inner = &self.handle.inner;
        poll_fn(|context| inner.with(|queue| queue.poll_closed(context.waker()))).await;
    }

    /// Returns whether no more commands are accepted: the handle was closed, or its runtime has ended.
    pub fn is_closed(&self) -> bool {
        self.handle.inner.with(|queue| queue.is_closed())
    }

    /// Returns whether there is a connection now, as far as is known.
    pub fn is_connected(&self) -> bool {
        self.handle.inner.with(|queue| queue.is_up())
    }

    /// Returns the number of requests in flight, and the number of callers that wait for room or for a connection.
    pub fn load(&self) -> (u64, u64) {
        self.handle.inner.with(|queue| queue.load())
    }

    /// Returns what the handle has done and what it is doing: for metrics.
    pub fn stats(&self) -> SharedStats {
        let Handle { inner, pool, .. } = &*self.handle;
        let (dedicated_in_use, dedicated_idle) = pool.load();
        SharedStats {
            dedicated_in_use,
            dedicated_idle,
            unexpected_replies: self.unexpected_replies(),
            dedicated_meter: pool.meter(),
            ..inner.with(|queue| queue.stats())
        }
    }

    /// Returns the number of unsolicited replies since the handle was made. Each of them closed its connection and was discarded.
    /// Those on dedicated connections are counted when the connection is returned. See [`Connection::unexpected_replies`].
    pub fn unexpected_replies(&self) -> u64 {
        let Handle { inner, pool, .. } = &*self.handle;
        inner.with(|queue| queue.unexpected_replies()) + pool.unexpected_replies()
    }

    /// Returns the copy counters of the shared connection and of those that it replaced, as of the driver's last iteration.
    /// [Dedicated connections](Self::acquire) have a [meter of their own](Self::dedicated_meter).
    pub fn meter(&self) -> Meter {
        self.handle.inner.with(|queue| queue.meter())
    }

    /// Returns the copy counters of the dedicated connections. A borrowed connection counts up to when it was last returned;
    /// logins are not included. `capacity_now` is 0, because idle ones hold no memory.
    pub fn dedicated_meter(&self) -> Meter {
        self.handle.pool.meter()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.pool.close();
        self.inner.with(Queue::forsake);
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (in_flight, waiting) = self.load();
        f.debug_struct("Shared")
            .field("is_connected", &self.is_connected())
            .field("in_flight", &in_flight)
            .field("waiting", &waiting)
            .finish_non_exhaustive()
    }
}
