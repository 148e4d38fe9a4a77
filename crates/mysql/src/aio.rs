//! The API for tokio, `aio` as redis-rs calls it: the same methods as [`blocking`](crate::blocking), with `.await`.
//!
//! # Cancel safety
//! A future may be dropped at any await. The connection then knows where it is: the next command first reads what is
//! outstanding and drops it, or cancels it on the server where that takes long (see
//! [`Abandoned`](crate::Abandoned)), and never sees another's rows. Only a command that was half sent with parts of
//! 16 KiB or more, which were borrowed and are gone, and a change of user close the connection; it says so.

mod cancel_token;
mod column_reader;
mod connection;
mod rows;
mod settle;
mod streaming_row;

pub use cancel_token::CancelToken;
pub(crate) use cancel_token::Delivery;
pub use column_reader::ColumnReader;
pub use connection::Connection;
pub use onecopy_net::tokio::{Stream, Transport};
pub use rows::Rows;
pub use streaming_row::StreamingRow;
