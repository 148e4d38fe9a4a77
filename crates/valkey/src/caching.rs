//! Client-side caching: the options and counts of `aio::Cached`, and what is cached. Needs the feature `caching`. A cache is in front of one
//! server, of a cluster, or of the primary that sentinels watch.
//!
//! The server is asked by CLIENT TRACKING to say which keys have changed. It says so over the same connection, so a reply and the
//! news that it is out of date come in the order in which that happened.
//!
//! # What is cached
//! Replies to commands that only read one key, and whose result depends on nothing but the value of that key: GET, HGETALL, LRANGE,
//! ZSCORE and others, also as [`raw`](crate::raw) commands. Not cached are random ones (SRANDMEMBER), those that depend on the time
//! (TTL), scripts, commands with several keys (MGET), errors of the server, and replies of more than
//! [`CacheOptions::max_value_bytes`]. In a cluster, replies are not cached that a missing key would have, such as null, 0, or an empty
//! list: if the key's slot moves and the key is made, its old node does not say so.
//!
//! # When a value is dropped
//! - The server says that its key has changed, expired, or was evicted, or that it does not follow the key any more.
//! - This client writes to its key by `Cached::run`.
//! - The connection is lost, or the database is flushed: then all of them; in a cluster, all that were read over this connection.
//! - Its slot has moved or has another primary, or sentinels lead to another primary.
//! - It is older than [`CacheOptions::max_age`], if that is set.
//! - The cache has no room for it.

mod cacheable;
mod invalidation;
mod missing;
mod options;
mod stats;
mod store;

pub use options::{CacheOptions, Tracking};
pub use stats::CacheStats;

pub(crate) use cacheable::is_cacheable;
pub(crate) use invalidation::Invalidation;
pub(crate) use missing::may_be_missing;
pub(crate) use store::{Entry, Fetch, Store};
