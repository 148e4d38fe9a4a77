//! The blocking API: no async runtime, and calls block the calling thread.

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
pub use onecopy_net::blocking::{Stream, Transport};
pub use pipeline::{Pipeline, Results};
pub use pool::Pool;
pub use pooled_connection::PooledConnection;
pub use rows::Rows;
pub use streaming_row::StreamingRow;
pub use transaction::Transaction;
