//! The API for tokio, `aio` as redis-rs calls it: the same methods as [`blocking`](crate::blocking), with `.await`.
//!
//! # Cancel safety
//! A future may be dropped at any await. A command of which nothing had left is withdrawn, and was not executed. Of any other
//! the reply is passed over when it comes: the next command never sees it, but waits behind it. Only a command that was half
//! sent with parts of 16 KiB or more, which were borrowed and are gone, closes the connection; it says so.

mod bulk_reader;
mod clock;
mod connection;
mod pipe;
mod pipeline;
mod shared;
mod transaction;

pub use bulk_reader::BulkReader;
pub use connection::Connection;
pub use onecopy_net::tokio::{Stream, Transport};
pub use pipe::Pipe;
pub use pipeline::{Pipeline, Replies};
pub use shared::{
    Backoff, Dedicated, Event, OfflineQueue, Response, Responses, Shared, SharedOptions,
    SharedPipeline, SharedTransaction, TransactionResponses,
};
pub use transaction::Transaction;
