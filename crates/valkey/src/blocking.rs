//! The blocking API: no async runtime, and calls block the calling thread.

mod bulk_reader;
mod connection;
mod pipe;
mod pipeline;
mod transaction;

pub use bulk_reader::BulkReader;
pub use connection::Connection;
pub use onecopy_net::blocking::{Stream, Transport};
pub use pipe::Pipe;
pub use pipeline::{Pipeline, Replies};
pub use transaction::Transaction;
