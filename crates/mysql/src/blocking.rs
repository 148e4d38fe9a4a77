//! The face that blocks: no runtime, one thread.

mod column_reader;
mod connection;
mod rows;
mod streaming_row;

pub use column_reader::ColumnReader;
pub use connection::Connection;
pub use onecopy_net::blocking::{Stream, Transport};
pub use rows::Rows;
pub use streaming_row::StreamingRow;
