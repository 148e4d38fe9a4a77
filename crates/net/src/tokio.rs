//! The tokio driver: it drives the same cores when the socket is ready. Its futures are `Send`. It never uses `spawn_blocking`,
//! except through tokio's own DNS lookup.

mod connect;
mod drive;
mod duplex;
mod socket;
mod stream;

pub use connect::connect;
pub use drive::{drive, flush, poll_drive, poll_flush, poll_read, poll_read_into, start_tls};
pub use duplex::{drive_duplex, flush_duplex, poll_drive_duplex, poll_flush_duplex};
pub use socket::Transport;
pub use stream::Stream;
