//! The driver for tokio: the same cores, by readiness. Its futures are `Send`; no `spawn_blocking` but tokio's own for DNS.

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
