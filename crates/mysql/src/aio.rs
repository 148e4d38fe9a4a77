//! The tokio API, named `aio` as in redis-rs: the same methods as [`blocking`](crate::blocking), with `.await`.
//!
//! # Cancel safety
//! All futures may be dropped at any await point. The connection keeps track of what is outstanding: the next command first reads
//! and discards it, or cancels it on the server if that takes long (see [`Abandoned`](crate::Abandoned)), and never sees the rows
//! of another statement. In three cases dropping a future closes the connection: the future is a change of user that has begun; it
//! is sending a local file that the server requested; or its command was partly sent and has parts of 16 KiB or more, which are
//! sent by reference and are no longer available. The next call then reports that the connection is closed.

mod bulk;
mod cancel_token;
mod column_reader;
mod connect;
mod connection;
mod cursor;
mod exec;
mod formatted;
mod left_out;
mod local_infile;
mod mapped;
mod pipeline;
mod pool;
mod pooled_connection;
mod rows;
mod session;
mod settle;
mod streaming_row;
mod transaction;

pub use bulk::Bulk;
pub use cancel_token::CancelToken;
pub(crate) use cancel_token::Delivery;
pub use column_reader::ColumnReader;
pub use connection::Connection;
pub use cursor::Cursor;
pub use onecopy_net::tokio::{Stream, Transport};
pub use pipeline::{Pipeline, Results};
pub use pool::Pool;
pub use pooled_connection::PooledConnection;
pub use rows::Rows;
pub use streaming_row::StreamingRow;
pub use transaction::Transaction;
