//! A handle to the primary that sentinels watch, which many tasks share.

mod home;
mod inner;
mod listener;
mod repeat;
mod replica;
mod search;
mod seeker;
mod subscription;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::{Response, Shared, SharedOptions, clock};
use crate::cluster::NodeAddress;
use crate::command::{Command, Flags};
use crate::observe::Observed;
use crate::sentinel::SentinelConfig;
use crate::{Error, ScriptCall};
use inner::Inner;

/// A handle to the primary that sentinels watch, and to its replicas; clones are cheap. Commands go over one connection to the
/// primary, which behaves like one of [`Shared`]: it batches the commands of all tasks.
///
/// A background task looks for the primary when the connection is lost, when its server has become a replica, and when a sentinel
/// announces another primary: one search at a time, at random moments. Each server is asked for its `ROLE` before it gets commands.
/// [The module](crate::sentinel) says which commands are repeated. A command that may have been executed and does not only read
/// never is: its error says so by [`Error::maybe_executed`].
///
/// - With [`read_from`](SentinelConfig::read_from), commands that only read go to the replicas in turn. The primary answers if there
///   is none, or none with a connection. Replicas may be behind.
/// - [`subscribe`](Self::subscribe) follows the primary too. For pipelines and transactions take the connection of
///   [`on_primary`](Self::on_primary).
/// - [`Config::command_timeout`](crate::Config::command_timeout) covers all attempts together.
///
/// A server that has lost the network to its sentinels may take writes that are lost later, until the client hears of the new
/// primary. Set `min-replicas-to-write` on the servers to prevent that.
///
/// ```no_run
/// use onecopy_valkey::aio::Sentinel;
/// use onecopy_valkey::command::string;
///
/// # async fn example() -> Result<(), onecopy_valkey::Error> {
/// let sentinel = Sentinel::connect("redis+sentinel://host-a,host-b,host-c/main").await?;
/// sentinel.run(&string::set("greeting", "hello")).await?;
/// let greeting = sentinel.run(&string::get("greeting")).await?;
/// assert_eq!(greeting.get()?, Some(&b"hello"[..]));
/// # Ok(()) }
/// ```
///
/// # Cancel safety
/// As with [`Shared`]: every future may be dropped at any await point, and a reply that comes later never reaches another caller.
#[derive(Clone)]
pub struct Sentinel {
    handle: Arc<Handle>,
}

/// Dropped with the last clone.
struct Handle {
    inner: Arc<Inner>,
}

impl Sentinel {
    /// Connects to the primary that the sentinels of a URL watch, see [`SentinelConfig::from_url`], with the default options.
    ///
    /// # Errors
    /// Fails like [`connect_with`](Self::connect_with), or if the URL is invalid.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the sockets are closed.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Self::connect_with(&SentinelConfig::from_url(url)?, SharedOptions::default()).await
    }

    /// Asks the sentinels for the primary, connects to it, and spawns the tasks that follow it. The options are those of the
    /// connection to each server; its offline queue and its listener are not used.
    ///
    /// # Errors
    /// Fails if no sentinel leads to a primary: each of up to 8 is asked, one after the other, for at most 2 seconds to connect and
    /// 2 for each of its answers. [`Error::sentinel`] says what is wrong.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the sockets are closed.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with I/O and time enabled.
    pub async fn connect_with(
        config: &SentinelConfig,
        options: SharedOptions,
    ) -> Result<Self, Error> {
        config.check()?;
        let inner = Arc::new(Inner::new(config.clone(), &options));
        let handle = Arc::new(Handle {
            inner: Arc::clone(&inner),
        });
        search::search(&inner).await?;
        tokio::spawn(seeker::run(Arc::clone(&inner)));
        tokio::spawn(listener::run(inner));
        Ok(Self { handle })
    }

    /// Runs a command on the primary, or on a replica if it only reads and the configuration says so.
    ///
    /// # Errors
    /// Fails with the server's error, if there is no primary that executes it within [`SentinelConfig::max_wait`], or if the
    /// connection is lost behind it; [`Error::maybe_executed`] says whether a server may have executed it.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the type](Self).
    #[inline]
    pub async fn run<C: Command + Sync>(&self, command: &C) -> Result<Response<C>, Error> {
        let inner = &self.handle.inner;
        let mut observed = Observed::routed(command, &inner.system);
        let deadline = self.deadline();
        let reads = command.flags().contains(Flags::READONLY);
        let first = match observed.step(inner.find(reads))? {
            Some((shared, from)) => {
                observed.at_endpoint(shared.endpoint());
                match shared.run(command).await {
                    Ok(response) => return observed.check(Ok(response)),
                    Err(error) => Some((error, from)),
                }
            }
            None => None,
        };
        let work = repeat::repeat(inner, command, first, deadline, &mut observed);
        let repeated = Box::pin(work).await;
        observed.check(repeated)
    }

    /// Runs a command that only reads on the connection to the primary, after `bind` was called with the line of that. Returns whether the
    /// reply is from there: not if there was no connection, or the command was repeated.
    #[cfg(feature = "caching")]
    pub(super) async fn run_tracked<C: Command + Sync>(
        &self,
        command: &C,
        bind: &(dyn Fn(u64) + Sync),
    ) -> Result<(Response<C>, bool), Error> {
        let inner = &self.handle.inner;
        let mut observed = Observed::routed(command, &inner.system);
        let deadline = self.deadline();
        let first = match observed.step(inner.find_tracked(bind))? {
            Some((shared, number)) => {
                observed.at_endpoint(shared.endpoint());
                match shared.run_here(command).await {
                    Ok(response) => return observed.check(Ok((response, true))),
                    Err(error) => Some((error, Some(number))),
                }
            }
            None => None,
        };
        let work = repeat::repeat(inner, command, first, deadline, &mut observed);
        let repeated = Box::pin(work).await;
        Ok((observed.check(repeated)?, false))
    }

    /// Calls a script by its digest. If the server does not know the script, it is called again with its code, which takes one more
    /// round trip; nothing is executed twice.
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
        let response = self.run(&call.with_code()).await?;
        Response::new(response.into_reply())
    }

    /// Returns the shared connection to the primary, for pipelines, transactions, subscriptions and dedicated connections. Nothing
    /// is repeated there, and it does not reconnect: when its connection is lost or the primary is another one, it
    /// [is closed](Shared::is_closed), and this returns the next one. Waits while there is no primary.
    ///
    /// # Errors
    /// Fails if there is no primary within [`SentinelConfig::max_wait`], or the handle is closed.
    ///
    /// # Cancel safety
    /// Cancel-safe: dropping the future has no effect.
    pub async fn on_primary(&self) -> Result<Shared, Error> {
        let shared = repeat::primary(&self.handle.inner, self.deadline()).await?;
        Ok(shared.observed())
    }

    /// Returns the primary, as far as is known; `None` while there is no connection to one.
    pub fn primary(&self) -> Option<NodeAddress> {
        self.handle.inner.primary()
    }

    /// Returns the replicas that the sentinels found healthy last. Empty if only the primary is read from.
    pub fn replicas(&self) -> Vec<NodeAddress> {
        self.handle.inner.replicas()
    }

    /// Returns the sentinels that are known, the one that is asked next first. At most 64.
    pub fn sentinels(&self) -> Vec<NodeAddress> {
        self.handle.inner.sentinels()
    }

    /// Lets the background task ask the sentinels again.
    pub fn refresh(&self) {
        self.handle.inner.want();
    }

    /// Returns how often the primary was looked for, in success or not.
    pub fn searches(&self) -> u64 {
        self.handle.inner.searches()
    }

    /// Returns the number of servers to which there is a connection now.
    pub fn connections(&self) -> usize {
        self.handle.inner.connections()
    }

    /// Closes the handle and all of its clones, like [`Shared::close`].
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the connections are closed without waiting for commands.
    pub async fn close(&self) {
        for shared in self.handle.inner.close() {
            shared.close().await;
        }
    }

    /// The end of the time of a command that begins now.
    #[inline]
    fn deadline(&self) -> Option<Instant> {
        let timeout = self.handle.inner.config.server.command_timeout?;
        clock::now().checked_add(timeout)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        drop(self.inner.close());
    }
}

impl fmt::Debug for Sentinel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sentinel")
            .field("name", &self.handle.inner.config.name)
            .field("primary", &self.primary())
            .field("sentinels", &self.sentinels())
            .finish_non_exhaustive()
    }
}
