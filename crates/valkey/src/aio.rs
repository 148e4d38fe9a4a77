//! The tokio API, named `aio` as in redis-rs: the same methods as [`blocking`](crate::blocking), with `.await`.
//!
//! # Cancel safety
//! All futures may be dropped at any await point. A command of which no byte was sent is withdrawn and not executed. For any
//! other command the reply is discarded when it arrives: the next command waits for that, but never sees the reply. In one case
//! dropping a future closes the connection: the command was partly sent, and it has arguments of 16 KiB or more, which are sent
//! by reference and are no longer available. The next call then reports that the connection is closed.

mod bulk_reader;
#[cfg(feature = "caching")]
mod cached;
mod clock;
mod cluster;
mod connection;
mod consumer;
mod failover_subscription;
mod followed;
mod monitor;
mod pipe;
mod pipeline;
mod pool;
mod pooled_connection;
mod race;
mod sentinel;
mod shared;
mod subscriber;
mod together;
mod transaction;

pub use bulk_reader::BulkReader;
#[cfg(feature = "caching")]
pub use cached::{Cached, CachedReply};
pub use cluster::ClusterSubscription;
pub use cluster::{Cluster, ClusterPipeline, ClusterResponses, ClusterScan, ClusterTransaction};
pub use connection::Connection;
pub use consumer::Consumer;
pub use failover_subscription::FailoverSubscription;
pub use monitor::Monitor;
pub use onecopy_net::tokio::{Stream, Transport};
pub use pipe::Pipe;
pub use pipeline::{Pipeline, Replies};
pub use pool::Pool;
pub use pooled_connection::PooledConnection;
pub use sentinel::Sentinel;
pub use shared::{
    Backoff, Dedicated, Event, OfflineQueue, Response, Responses, Shared, SharedOptions,
    SharedPipeline, SharedStats, SharedTransaction, Subscription, TransactionResponses,
};
pub use subscriber::Subscriber;
pub use transaction::Transaction;
