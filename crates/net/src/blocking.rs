//! The blocking driver: one thread, no async runtime, one system call for each read.

mod connect;
mod drive;
mod duplex;
mod several;
mod socket;
mod stream;

pub use connect::connect;
pub use drive::{drive, flush, read, read_into, start_tls};
pub use duplex::{drive_duplex, drive_ready, flush_duplex};
pub use several::wait_readable;
pub use socket::Transport;
pub use stream::Stream;
