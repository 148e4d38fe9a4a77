//! A handle with which many tasks share one connection.

mod backoff;
mod call;
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
mod response;
mod responses;
mod silence;
mod single;
mod slab;
mod timer;
mod transaction;
mod watched;

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use onecopy_wire::Meter;

pub use backoff::Backoff;
pub use dedicated::Dedicated;
pub use options::{Event, OfflineQueue, SharedOptions};
pub use pipeline::SharedPipeline;
pub use response::Response;
pub use responses::Responses;
pub use transaction::{SharedTransaction, TransactionResponses};

use super::{Connection, clock};
use crate::command::{Blocking, Command, Flags};
use crate::{Config, Error};
use call::Call;
use driver::Driver;
use failure::Failure;
use inner::Inner;
use large::Large;
use pool::Pool;
use queue::Queue;
use single::{Single, admit};

/// A handle to one connection that many tasks share, cheap to clone. What they send while the connection is busy leaves
/// together, in one write; each gets the reply to his own command, whatever becomes of the others.
///
/// A task of the runtime drives the connection, and makes a new one when it is lost: [`SharedOptions`] says how, and what
/// happens to commands meanwhile. It ends when the last handle is dropped.
///
/// - A server that sends nothing for [`Config::unresponsive_timeout`] (30 seconds) while it owes a reply is given up: all whose
///   commands had left fail, once, with [`Error::is_unresponsive`], the others are sent on the next connection.
/// - Blocking commands go to a connection of their own by themselves. What changes the connection (SELECT, MULTI, WATCH) is
///   refused: [`acquire`](Self::acquire) lends a connection for that, [`transaction`](Self::transaction) needs none.
/// - [`Config::command_timeout`] is the time from the call to its reply, waiting for room or for a connection included. For a
///   deadline of a single command wrap its future in `tokio::time::timeout`.
/// - A reply of [`SharedOptions::large_reply`] bytes and more holds up those behind it. Its command and first key are
///   remembered, and further runs of the same command, if that only reads, go to a connection of their own where one is free
///   or may be opened, until a reply is smaller. A caller who has awaited a write sees it there too; a read that is run while
///   his own write is under way, as in `tokio::join!`, is not ordered behind it then. Writes, pipelines and transactions never
///   leave the shared connection.
/// - Responses are the caller's own: they are copied once out of the connection's buffer, strings of 64 KiB and more are not.
///   Large arguments are best given as [`bytes::Bytes`], whose memory is shared until it has left; others are copied.
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
/// Every future may be dropped at any await, and times out as if it were. A command that was not written yet is then not
/// sent; of one that was, the reply is dropped when it comes, and never reaches another caller. Replies of a pipeline that had
/// come already are dropped with it.
///
/// One that is neither dropped nor polled on, as where a `select!` is left standing, keeps its place for as long: of the
/// [`max_in_flight`](SharedOptions::max_in_flight) one where its turn has come, and [`close`](Self::close) waits for it.
/// [`Config::command_timeout`] bounds that too: when it is over the place is the next caller's.
#[derive(Clone)]
pub struct Shared {
    handle: Arc<Handle>,
}

/// What all clones have in common; dropped with the last of them.
struct Handle {
    inner: Arc<Inner>,
    pool: Arc<Pool>,
    large: Large,
    close_timeout: Option<Duration>,
}

impl Shared {
    /// Connects by URL, see [`Config::from_url`], with the default options.
    ///
    /// # Errors
    /// As [`Connection::connect`].
    ///
    /// # Cancel safety
    /// Dropped before it is done, the socket is closed.
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO and time.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Self::connect_with(&Config::from_url(url)?, SharedOptions::default()).await
    }

    /// Connects, and spawns the task that drives the connection.
    ///
    /// # Errors
    /// As [`Connection::connect_with`].
    ///
    /// # Cancel safety
    /// Dropped before it is done, the socket is closed.
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO and time.
    pub async fn connect_with(config: &Config, options: SharedOptions) -> Result<Self, Error> {
        let connection = Connection::connect_with(config).await?;
        let inner = Arc::new(Inner::new(options.limits(config)));
        // Not only when its task runs first: a command before that has a connection already.
        inner.with(Queue::connected);
        let handle = Handle {
            inner: Arc::clone(&inner),
            pool: Arc::new(Pool::new(config, &options)),
            large: Large::new(options.large_reply),
            close_timeout: options.close_timeout,
        };
        let driver = Driver::new(inner, config.clone(), options);
        tokio::spawn(driver.run(connection));
        Ok(Self {
            handle: Arc::new(handle),
        })
    }

    /// Runs a command. A blocking one runs on a connection of its own. Where the future outlives its statement, as in
    /// `tokio::join!`, the command needs a `let` of its own.
    ///
    /// # Errors
    /// The server's error, a failure of the connection, or its command timeout; [`Error::maybe_executed`] tells whether the
    /// server may have executed the command. After a failure of the connection the handle makes a new one by itself. A command that would break the order of replies or change the connection is
    /// refused, and so is one for which there is no place while there is no connection.
    ///
    /// # Cancel safety
    /// Safe: see [the type](Self). On a connection of its own that is closed.
    #[inline]
    pub async fn run<C: Command + Sync>(&self, command: &C) -> Result<Response<C>, Error> {
        let flags = command.flags();
        if flags.intersects(single::SPECIAL) {
            return self.run_special(command).await;
        }
        let Handle { inner, large, .. } = &*self.handle;
        if large.knows(command, flags) {
            return Box::pin(self.run_aside(command)).await;
        }
        let answer = Call::new(inner, Single(command, large)).await;
        large.response(command, answer)
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

    /// Runs a command that may wait in the server, on a connection of its own.
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

    /// Runs a command that only reads, whose last reply was large: on a connection of its own if there is one for it, else on
    /// the shared one, and in the same time.
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

    /// Runs a command on a connection of its own: one that takes long, or whose reply is large, holds nobody else up there.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire) and [`Connection::run`].
    ///
    /// # Cancel safety
    /// Dropped before it is done, that connection is closed.
    pub async fn run_dedicated<C: Command + Sync>(
        &self,
        command: &C,
    ) -> Result<Response<C>, Error> {
        let mut connection = self.acquire().await?;
        Response::new(connection.run_owned(command).await?)
    }

    /// Lends a connection of its own: for transactions that watch keys, for commands that change the connection, for values
    /// that are streamed. It is one that was used before where there is one, or a new one; when as many are borrowed as
    /// [`SharedOptions::max_dedicated`] allows, it waits for its turn, for at most [`Config::command_timeout`].
    ///
    /// # Errors
    /// As [`Connection::connect_with`]; a handle that is closed; a timeout where its turn did not come, nothing was sent then.
    ///
    /// # Cancel safety
    /// Safe: nothing is left of it.
    pub async fn acquire(&self) -> Result<Dedicated, Error> {
        Pool::acquire(&self.handle.pool).await
    }

    /// Commands that are sent together, with none of another task between them.
    pub fn pipeline(&self) -> SharedPipeline {
        SharedPipeline::new(self)
    }

    /// Commands that are executed together, with none of another client between them: MULTI and EXEC. For one that depends on
    /// keys that it read before, WATCH them on a connection that [`acquire`](Self::acquire) lends.
    pub fn transaction(&self) -> SharedTransaction {
        SharedTransaction::new(self)
    }

    /// Takes no more commands, waits until those that were taken are finished, for at most
    /// [`SharedOptions::close_timeout`], and closes the connection. Commands that are not finished then fail;
    /// [`Error::maybe_executed`] says which of them the server may have. All clones are closed with it; connections that are
    /// borrowed are closed when they are given back.
    ///
    /// # Cancel safety
    /// Dropped before it is done, it is closing all the same, and in the same time.
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

    /// Whether it takes no more commands: it was closed, or its runtime has ended.
    pub fn is_closed(&self) -> bool {
        self.handle.inner.with(|queue| queue.is_closed())
    }

    /// Whether there is a connection now, as far as is known.
    pub fn is_connected(&self) -> bool {
        self.handle.inner.with(|queue| queue.is_up())
    }

    /// Requests without a reply, and callers that wait for room or for a connection.
    pub fn load(&self) -> (u64, u64) {
        self.handle.inner.with(|queue| queue.load())
    }

    /// Replies that came with nothing outstanding, since the handle was made: each has closed its connection, and was given to
    /// nobody. Those on connections that are borrowed count once they are given back. See
    /// [`Connection::unexpected_replies`].
    pub fn unexpected_replies(&self) -> u64 {
        let Handle { inner, pool, .. } = &*self.handle;
        inner.with(|queue| queue.unexpected_replies()) + pool.unexpected_replies()
    }

    /// What the bytes of the shared connection have cost, and of those that were lost before it, as of the driver's last
    /// round. What went [beside it](Self::acquire) has a [meter of its own](Self::dedicated_meter).
    pub fn meter(&self) -> Meter {
        self.handle.inner.with(|queue| queue.meter())
    }

    /// What the bytes of the connections beside the shared one have cost, those that are borrowed as of when they were given back
    /// for last; that of their logins is not in it. `capacity_now` is 0: those that rest hold nothing.
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
