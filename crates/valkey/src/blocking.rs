//! The blocking API: no async runtime, and calls block the calling thread.

mod bulk_reader;
mod cluster;
mod connection;
mod consumer;
mod monitor;
mod pipe;
mod pipeline;
mod pool;
mod pooled_connection;
mod sentinel;
mod subscriber;
mod transaction;

pub use crate::response::Response;
pub use crate::responses::TransactionResponses;
pub use bulk_reader::BulkReader;
pub use cluster::ClusterSubscriber;
pub use cluster::{Cluster, ClusterPipeline, ClusterResponses, ClusterScan, ClusterTransaction};
pub use connection::Connection;
pub use consumer::Consumer;
pub use monitor::Monitor;
pub use onecopy_net::blocking::{Stream, Transport};
pub use pipe::Pipe;
pub use pipeline::{Pipeline, Replies};
pub use pool::Pool;
pub use pooled_connection::PooledConnection;
pub use sentinel::Sentinel;
pub use subscriber::Subscriber;
pub use transaction::Transaction;
