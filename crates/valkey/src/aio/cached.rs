//! Connections with a cache of what they have read.

mod flights;
mod line;
mod reply;
mod source;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use onecopy_wire::WriteQueue;

pub use reply::CachedReply;

use super::shared::{Tracker, Trackers};
use super::{Cluster, Response, Sentinel, Shared, SharedOptions, clock};
use crate::caching::{CacheOptions, CacheStats, Entry, Store, is_cacheable};
use crate::cluster::ClusterConfig;
use crate::command::{Command, Flags};
use crate::sentinel::SentinelConfig;
use crate::{Config, Error, Request};
use flights::Flights;
use source::Source;

/// A shared connection with a cache of what it has read; clones are cheap, and share both. The server says which keys have changed
/// (CLIENT TRACKING, which needs RESP3), and their values are dropped. [The module](crate::caching) says what is cached.
///
/// - [`read`](Self::read) returns a cached reply without asking the server, and otherwise reads it. Callers that want the same
///   meanwhile wait for the same read.
/// - [`run`](Self::run) runs any command on the shared connection. Keys that it writes are dropped before it returns, so a caller
///   reads its own writes. Writes through [`shared`](Self::shared), and those of other clients, are noticed when the server says so:
///   a read may return the old value for as long as that message takes.
/// - Without a connection nothing is cached. All values are dropped when it is lost.
/// - [`connect_cluster`](Cached::connect_cluster) and [`connect_sentinel`](Cached::connect_sentinel) do the same with the primaries of a
///   cluster, and with the primary that sentinels watch.
///
/// A hit allocates nothing; a reply that is read is copied as by [`Shared`].
///
/// ```no_run
/// use onecopy_valkey::aio::Cached;
/// use onecopy_valkey::command::string;
///
/// # async fn example() -> Result<(), onecopy_valkey::Error> {
/// let cached = Cached::connect("redis://localhost").await?;
/// cached.run(&string::set("greeting", "hello")).await?;
/// for _ in 0..1_000 {
///     let greeting = cached.read(&string::get("greeting")).await?; // asks the server once
///     assert_eq!(greeting.get()?, Some(&b"hello"[..]));
/// }
/// println!("{:?}", cached.stats());
/// # Ok(()) }
/// ```
///
/// # Cancel safety
/// As with [`Shared`]: every future may be dropped at any await point. A read that has begun is finished, and cached.
#[derive(Clone)]
pub struct Cached<S = Shared> {
    source: S,
    cache: Arc<Cache>,
}

/// What the connection's task has, too.
#[derive(Debug)]
struct Cache {
    options: CacheOptions,
    store: Store,
    flights: Flights,
    /// Connections so far, if there are several.
    lines: AtomicU64,
}

/// What is known of a read.
enum Look {
    Hit(Arc<Entry>),
    /// The command as it is sent, and its key.
    Miss(Arc<[u8]>, Arc<[u8]>),
    NotCacheable,
}

/// Where commands are encoded to be looked up. Kept, so that a hit allocates nothing.
#[derive(Default)]
struct Scratch {
    queue: Option<WriteQueue>,
    parts: Vec<Bytes>,
}

thread_local! {
    static SCRATCH: std::cell::RefCell<Scratch> = std::cell::RefCell::default();
}

impl Cached {
    /// Connects to the server of a URL, see [`Config::from_url`], with the default options.
    ///
    /// # Errors
    /// Fails like [`connect_with`](Self::connect_with).
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the socket is closed.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        let config = Config::from_url(url)?;
        Self::connect_with(&config, SharedOptions::default(), CacheOptions::default()).await
    }

    /// Connects, and asks the server to say which keys change.
    ///
    /// # Errors
    /// Fails like [`Shared::connect_with`], if the connection has RESP2, or if the server refuses CLIENT TRACKING.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the socket is closed.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with I/O and time enabled.
    pub async fn connect_with(
        config: &Config,
        options: SharedOptions,
        caching: CacheOptions,
    ) -> Result<Self, Error> {
        let cache = Cache::new(caching);
        let options = options.tracked_by(Arc::clone(&cache) as Arc<dyn Tracker>);
        let source = Shared::connect_with(config, options).await?;
        Ok(Self { source, cache })
    }

    /// Returns the connection, for pipelines, transactions and subscriptions. Nothing of it is cached.
    pub fn shared(&self) -> &Shared {
        &self.source
    }
}

impl Cached<Cluster> {
    /// Connects to the cluster of a URL, see [`ClusterConfig::from_url`], with the default options.
    ///
    /// # Errors
    /// Fails like [`connect_cluster_with`](Self::connect_cluster_with).
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the sockets are closed.
    pub async fn connect_cluster(url: &str) -> Result<Self, Error> {
        let config = ClusterConfig::from_url(url)?;
        Self::connect_cluster_with(&config, SharedOptions::default(), CacheOptions::default()).await
    }

    /// Connects to a cluster. Each node is asked to say which keys change, when there is a connection to it.
    ///
    /// Cached replies are those of primaries. The first read over a new connection is not cached, nor is one that was redirected. When a
    /// connection is lost, what was read over it is dropped; when slots have moved or have another primary, what is cached of them.
    /// If nothing shows that, it is noticed at the latest after [`ClusterConfig::refresh_interval`].
    ///
    /// # Errors
    /// Fails like [`Cluster::connect_with`]. Reads fail if a node has RESP2, or refuses CLIENT TRACKING.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the sockets are closed.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with I/O and time enabled.
    pub async fn connect_cluster_with(
        config: &ClusterConfig,
        options: SharedOptions,
        caching: CacheOptions,
    ) -> Result<Self, Error> {
        let cache = Cache::new(caching);
        let options = options.tracked_by_all(Arc::new(Arc::clone(&cache)) as Arc<dyn Trackers>);
        let source = Cluster::connect_with(config, options).await?;
        Ok(Self { source, cache })
    }

    /// Returns the cluster, for pipelines, transactions and subscriptions. Nothing of it is cached.
    pub fn cluster(&self) -> &Cluster {
        &self.source
    }
}

impl Cached<Sentinel> {
    /// Connects to the primary that the sentinels of a URL watch, see [`SentinelConfig::from_url`], with the default options.
    ///
    /// # Errors
    /// Fails like [`connect_sentinel_with`](Self::connect_sentinel_with).
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the sockets are closed.
    pub async fn connect_sentinel(url: &str) -> Result<Self, Error> {
        let config = SentinelConfig::from_url(url)?;
        let (options, caching) = (SharedOptions::default(), CacheOptions::default());
        Self::connect_sentinel_with(&config, options, caching).await
    }

    /// Connects to the primary that sentinels watch, and asks it to say which keys change.
    ///
    /// Cached replies are those of the primary. All of them are dropped when its connection is lost or there is another primary.
    ///
    /// # Errors
    /// Fails like [`Sentinel::connect_with`], if a server has RESP2, or if it refuses CLIENT TRACKING.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, the sockets are closed.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with I/O and time enabled.
    pub async fn connect_sentinel_with(
        config: &SentinelConfig,
        options: SharedOptions,
        caching: CacheOptions,
    ) -> Result<Self, Error> {
        let cache = Cache::new(caching);
        let options = options.tracked_by_all(Arc::new(Arc::clone(&cache)) as Arc<dyn Trackers>);
        let source = Sentinel::connect_with(config, options).await?;
        Ok(Self { source, cache })
    }

    /// Returns the handle of the sentinels, whose commands are not cached.
    pub fn sentinel(&self) -> &Sentinel {
        &self.source
    }
}

impl<S: Source> Cached<S> {
    /// Returns the reply to a command that only reads: the cached one if there is one, otherwise the server's, which is then cached if
    /// it [can be](crate::caching).
    ///
    /// # Errors
    /// Fails like [`Shared::run`]. Callers that waited for the same read get the same error. Commands that do not only read are
    /// refused.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the type](Self).
    #[inline]
    pub async fn read<C: Command + Sync>(&self, command: &C) -> Result<CachedReply<C>, Error> {
        match self.look(command) {
            Look::Hit(entry) => Ok(CachedReply::cached(entry)),
            Look::Miss(encoded, key) => {
                let entry = Box::pin(self.fetch(encoded, &key)).await?;
                Ok(CachedReply::cached(entry))
            }
            Look::NotCacheable => {
                let response = Box::pin(self.read_through(command)).await?;
                Ok(CachedReply::read(response))
            }
        }
    }

    /// Runs a command on the shared connection, without the cache. Cached values of keys that it may have written are dropped.
    ///
    /// # Errors
    /// Fails like [`Shared::run`].
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the type](Self).
    pub async fn run<C: Command + Sync>(&self, command: &C) -> Result<Response<C>, Error> {
        let response = self.source.run(command).await;
        if !command.flags().contains(Flags::READONLY) {
            self.forget_keys_of(command);
        }
        response
    }

    /// Drops the cached values of a key.
    pub fn forget(&self, key: impl AsRef<[u8]>) {
        self.cache.store.invalidate(key.as_ref());
    }

    /// Drops all cached values.
    pub fn clear(&self) {
        self.cache.store.flush();
    }

    /// Returns the counts of hits, misses and others since the cache was made, and what is in it now.
    pub fn stats(&self) -> CacheStats {
        self.cache.store.stats()
    }

    /// Looks a command up, as it is sent.
    #[inline]
    fn look<C: Command>(&self, command: &C) -> Look {
        SCRATCH.with_borrow_mut(|scratch| {
            let Scratch { queue, parts } = scratch;
            let queue = queue.get_or_insert_with(WriteQueue::new);
            let mut request = Request::sharing(queue, parts);
            command.encode(&mut request);
            // What has large arguments is not looked up.
            let is_whole = matches!(request.end_shared(), Ok(true)) && parts.is_empty();
            let whole = if is_whole { queue.whole() } else { None };
            let look = match whole {
                Some(encoded) => match self.cache.store.get(encoded, clock::now) {
                    Some(entry) => Look::Hit(entry),
                    None => self.missed(command, encoded),
                },
                None => Look::NotCacheable,
            };
            match whole.map(<[u8]>::len) {
                Some(len) => queue.advance(len), // cheaper than to clear it
                None => queue.clear(),
            }
            parts.clear();
            look
        })
    }

    #[cold]
    fn missed<C: Command>(&self, command: &C, encoded: &[u8]) -> Look {
        let (mut key, mut keys) = (None, 0);
        command.each_key(&mut |name| {
            keys += 1;
            key.get_or_insert_with(|| Arc::<[u8]>::from(name));
        });
        let key = key.filter(|key| keys == 1 && self.cache.options.follows(key));
        match key {
            Some(key) if command.flags().contains(Flags::READONLY) && is_cacheable(encoded) => {
                Look::Miss(encoded.into(), key)
            }
            _ => Look::NotCacheable,
        }
    }

    async fn read_through<C: Command + Sync>(&self, command: &C) -> Result<Response<C>, Error> {
        if !command.flags().contains(Flags::READONLY) {
            return Err(Error::misuse(
                "this command does not only read: run it with run(), which drops the cached values of its keys",
            ));
        }
        self.source.run(command).await
    }

    async fn fetch(&self, command: Arc<[u8]>, key: &[u8]) -> Result<Arc<Entry>, Error> {
        let fetch = self.cache.store.begin(command, key);
        flights::join(&self.cache, &self.source, fetch).await
    }

    fn forget_keys_of<C: Command>(&self, command: &C) {
        let mut has_keys = false;
        command.each_key(&mut |key| {
            has_keys = true;
            self.cache.store.invalidate(key);
        });
        let flags = command.flags();
        let is_harmless = flags.contains(Flags::KEYLESS) && !flags.contains(Flags::WRITE);
        if !has_keys && !is_harmless {
            self.cache.store.flush();
        }
    }
}

impl Cache {
    fn new(options: CacheOptions) -> Arc<Self> {
        Arc::new(Self {
            store: Store::new(&options),
            options,
            flights: Flights::default(),
            lines: AtomicU64::new(0),
        })
    }
}

impl<S: Source + fmt::Debug> fmt::Debug for Cached<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cached")
            .field("source", &self.source)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
