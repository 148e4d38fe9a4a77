//! A handle to a cluster that many tasks share.

mod home;
mod inner;
mod line;
mod node_subscription;
mod pipeline;
mod refresher;
mod repeat;
mod scan;
mod split;
mod subscription;
mod transaction;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

pub use crate::responses::ClusterResponses;
pub use pipeline::ClusterPipeline;
pub use scan::ClusterScan;
pub use subscription::ClusterSubscription;
pub use transaction::ClusterTransaction;

use super::shared::Dedicated;
use super::together::Together;
use super::{Response, SharedOptions, clock};
use crate::cluster::{ClusterConfig, ClusterStats, NodeAddress, Place, Route, Target};
use crate::command::Command;
use crate::observe::Observed;
use crate::{Arg, Error, Library, ScriptCall};
use inner::Inner;

/// A handle to a cluster that many tasks share; clones are cheap. Each command is sent to the node that has the slot of its keys,
/// over one connection to each node, which is made when it is first needed. Each connection behaves like one of
/// [`Shared`](super::Shared): it batches the commands of all tasks, and reconnects with backoff.
///
/// A background task asks for the slots when nodes redirect commands or can't be reached: one refresh at a time, at most one a
/// second, at random moments. [The module](crate::cluster) says which commands are repeated. A command that may have been executed
/// and does not only read never is: its error says so by [`Error::maybe_executed`].
///
/// - A command whose keys have several slots fails before anything is sent, with an error that names two of the keys. There are
///   methods that split some commands by slot; their names say that they are not atomic.
/// - A command without keys runs on any primary. [`on_all_primaries`](Self::on_all_primaries) runs it on each.
/// - [`Config::command_timeout`](crate::Config::command_timeout) covers all attempts together.
///
/// ```no_run
/// use onecopy_valkey::aio::Cluster;
/// use onecopy_valkey::command::string;
///
/// # async fn example() -> Result<(), onecopy_valkey::Error> {
/// let cluster = Cluster::connect("redis+cluster://node-a,node-b,node-c:6380").await?;
/// cluster.run(&string::set("greeting", "hello")).await?;
/// let greeting = cluster.run(&string::get("greeting")).await?;
/// assert_eq!(greeting.get()?, Some(&b"hello"[..]));
/// # Ok(()) }
/// ```
///
/// # Cancel safety
/// As with [`Shared`](super::Shared): every future may be dropped at any await point, and a reply that comes later never reaches
/// another caller, redirected or not.
#[derive(Clone)]
pub struct Cluster {
    handle: Arc<Handle>,
}

/// Dropped with the last clone.
struct Handle {
    inner: Arc<Inner>,
}

impl Cluster {
    /// Connects to the cluster of a URL, see [`ClusterConfig::from_url`], with the default options.
    ///
    /// # Errors
    /// Fails like [`connect_with`](Self::connect_with), or if the URL is invalid.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the sockets are closed.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Self::connect_with(&ClusterConfig::from_url(url)?, SharedOptions::default()).await
    }

    /// Asks the seeds for the slots of the cluster, and spawns the task that does so later. The options are those of the connection
    /// to each node; its offline queue and its listener are not used.
    ///
    /// # Errors
    /// Fails if no seed answers with the slots, each within 2 seconds.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the sockets are closed.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with I/O and time enabled.
    pub async fn connect_with(
        config: &ClusterConfig,
        options: SharedOptions,
    ) -> Result<Self, Error> {
        let inner = Arc::new(Inner::new(config.clone(), &options));
        refresher::refresh(&inner).await?;
        tokio::spawn(refresher::run(Arc::clone(&inner)));
        Ok(Self {
            handle: Arc::new(Handle { inner }),
        })
    }

    /// Runs a command on the node of its keys. A blocking command runs on a connection of its own.
    ///
    /// # Errors
    /// Fails with the server's error, if its keys have several slots, if the cluster does not execute it within
    /// [`ClusterConfig::max_wait`], or if the connection is lost behind it; [`Error::maybe_executed`] says whether a server may
    /// have executed it.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the type](Self).
    #[inline]
    pub async fn run<C: Command + Sync>(&self, command: &C) -> Result<Response<C>, Error> {
        let inner = &self.handle.inner;
        let route = Route::of(command)?;
        let mut observed = Observed::routed(command, &inner.system);
        let deadline = self.deadline();
        let first = match inner.find(route, &Target::Route) {
            Ok((place, Some(shared))) => {
                observed.at(&place.address);
                match shared.run(command).await {
                    Ok(response) => return observed.check(Ok(response)),
                    Err(error) => Some((error, Some(place.address))),
                }
            }
            Ok((_, None)) => None,
            Err(error) => Some((error, None)),
        };
        let work = repeat::repeat(inner, command, route, first, deadline, &mut observed);
        let repeated = Box::pin(work).await;
        observed.check(repeated)
    }

    /// Runs a command that only reads on the connection to the primary of its key, after `bind` was called with the line of that. Returns
    /// whether the reply is from there: not if the connection had to be made, or the command was redirected or repeated.
    #[cfg(feature = "caching")]
    pub(super) async fn run_tracked<C: Command + Sync>(
        &self,
        command: &C,
        bind: &(dyn Fn(u64) + Sync),
    ) -> Result<(Response<C>, bool), Error> {
        let inner = &self.handle.inner;
        let route = Route::of(command)?;
        let mut observed = Observed::routed(command, &inner.system);
        let deadline = self.deadline();
        let first = match inner.find_tracked(route, bind) {
            Ok(Some((address, shared))) => {
                observed.at(&address);
                match shared.run_here(command).await {
                    Ok(response) => return observed.check(Ok((response, true))),
                    Err(error) => Some((error, Some(address))),
                }
            }
            Ok(None) => None,
            Err(error) => Some((error, None)),
        };
        let work = repeat::repeat(inner, command, route, first, deadline, &mut observed);
        let repeated = Box::pin(work).await;
        Ok((observed.check(repeated)?, false))
    }

    /// Calls a script by its digest on the node of its keys. If that does not know the script, it is called again with its code,
    /// which takes one more round trip; nothing is executed twice.
    ///
    /// # Errors
    /// Fails like [`run`](Self::run), or if the script does not compile. All keys of a script must have the same slot.
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

    /// Loads a library of functions on each primary that does not have it with the same code, and so on its replicas. Returns
    /// whether it was loaded anywhere.
    ///
    /// # Errors
    /// Fails with the first error; other primaries may have the library then.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the type](Self).
    pub async fn load_library(&self, library: &Library) -> Result<bool, Error> {
        let mut is_loaded = false;
        for address in self.primaries() {
            let shared = self.on_node(&address).await?;
            is_loaded |= shared.load_library(library).await?;
        }
        Ok(is_loaded)
    }

    /// Runs a command on all primaries that have slots, at the same time: `DBSIZE`, `FLUSHALL`, `SCRIPT LOAD`, `CONFIG SET`.
    /// Returns the nodes with their results. Nothing is repeated or redirected.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the type](Self).
    pub async fn on_all_primaries<C: Command + Sync>(
        &self,
        command: &C,
    ) -> Vec<(NodeAddress, Result<Response<C>, Error>)> {
        let runs = self.primaries().into_iter().map(|address| async move {
            let result = match self.on_node(&address).await {
                Ok(shared) => shared.run(command).await,
                Err(error) => Err(error),
            };
            (address, result)
        });
        Together::new(runs).await
    }

    /// Returns the shared connection to the primary at this address, which is made if there is none: for commands that concern one
    /// node. Nothing is repeated or redirected there.
    ///
    /// # Errors
    /// Fails if the node can't be reached.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub async fn on_node(&self, address: &NodeAddress) -> Result<super::Shared, Error> {
        let place = Place {
            address: address.clone(),
            is_replica: false,
        };
        let shared = self.handle.inner.connected(&place).await?;
        Ok(shared.observed())
    }

    /// Borrows a dedicated connection to the primary that has the slot of a key: for transactions that watch keys, for streamed
    /// values. Commands there are not redirected: after an error MOVED, borrow one again.
    ///
    /// # Errors
    /// Fails like [`Shared::acquire`](super::Shared::acquire), or if no node has the slot.
    ///
    /// # Cancel safety
    /// Cancel-safe: dropping the future has no effect.
    pub async fn acquire<'k>(&self, key: impl Into<Arg<'k>>) -> Result<Dedicated, Error> {
        let route = Route::of_key(&key.into());
        let inner = &self.handle.inner;
        let (place, _) = inner.find(route, &Target::Primary)?;
        inner.connected(&place).await?.acquire().await
    }

    /// Creates a pipeline: its commands are split by node, sent together to each, and their replies put together in order.
    pub fn pipeline(&self) -> ClusterPipeline {
        ClusterPipeline::new(self)
    }

    /// Creates a transaction on the keys of one slot.
    pub fn transaction(&self) -> ClusterTransaction {
        ClusterTransaction::new(self)
    }

    /// Returns the primaries that have slots, as far as is known.
    pub fn primaries(&self) -> Vec<NodeAddress> {
        let primaries = |router: &mut crate::cluster::Router| {
            router.topology().primaries().into_iter().cloned().collect()
        };
        self.handle.inner.with_router(primaries)
    }

    /// Returns the primary that has the slot of a key, as far as is known.
    pub fn primary_of(&self, key: impl AsRef<[u8]>) -> Option<NodeAddress> {
        let slot = crate::cluster::key_slot(key.as_ref());
        let primary = |router: &mut crate::cluster::Router| {
            Some(router.topology().primary(slot)?.address.clone())
        };
        self.handle.inner.with_router(primary)
    }

    /// Lets the background task ask for the slots again, which it does at most once a second.
    pub fn refresh(&self) {
        self.handle.inner.want_refresh();
    }

    /// Returns how often the slots were asked for, in success or not.
    pub fn refreshes(&self) -> u64 {
        self.handle.inner.refreshes()
    }

    /// Returns the number of nodes to which there is a connection now.
    pub fn connections(&self) -> usize {
        self.handle.inner.connections()
    }

    /// Returns what the handle has done and what it is doing: for metrics. Those of a node are of [`on_node`](Self::on_node).
    pub fn stats(&self) -> ClusterStats {
        self.handle.inner.stats()
    }

    /// Closes the handle and all of its clones, like [`Shared::close`](super::Shared::close).
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the connections are closed without waiting for commands.
    pub async fn close(&self) {
        let lines = self.handle.inner.close();
        let closing = lines.iter().map(|shared| shared.close());
        Together::new(closing).await;
    }

    /// The end of the time of a command that begins now.
    #[inline]
    fn deadline(&self) -> Option<Instant> {
        let timeout = self.handle.inner.config.node.command_timeout?;
        clock::now().checked_add(timeout)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        drop(self.inner.close());
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("primaries", &self.primaries())
            .field("connections", &self.connections())
            .finish_non_exhaustive()
    }
}
