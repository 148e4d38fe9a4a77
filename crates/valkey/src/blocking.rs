//! The face that blocks: no runtime, one thread.

mod connection;
mod pipeline;

pub use connection::Connection;
pub use onecopy_net::blocking::{Stream, Transport};
pub use pipeline::{Pipeline, Replies};
