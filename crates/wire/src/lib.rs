//! Buffers for protocol implementations that copy each received byte only once: read buffer, large-value buffers, write queue, the
//! interface of a protocol state machine ([`Core`]), and copy counters.
//!
//! Exceptions, all counted: bytes are moved inside the read buffer if that costs less than another read, and TLS and compression on
//! top of this crate copy more.
//!
//! A large-value buffer ("home" in method names) is the memory of one large value, into which the value is read directly. Nothing
//! in this crate does I/O, reads a clock or knows a protocol. One read takes five calls:
//!
//! ```
//! use onecopy_wire::{BufferConfig, Buffers};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut io: &[u8] = b"hello";                    // any `Read`
//! let mut buffers = Buffers::new(BufferConfig::default());
//! buffers.need(5, 5);                              // the state machine: "I need 5 bytes; the message ends after 5"
//! buffers.prepare()?;                              // makes room; the only place where bytes move or memory grows
//! let n = std::io::Read::read_vectored(&mut io, buffers.targets().as_mut())?; // `targets`: where the bytes belong
//! buffers.commit(n);                               // n bytes have arrived there
//! let span = buffers.consume(5);                   // the state machine: a message, borrowed and not copied
//! assert_eq!(buffers.bytes(span), b"hello");
//! assert_eq!(buffers.meter().bytes_moved, 0);
//! # Ok(()) }
//! ```
//!
//! # Limits and bounds
//! - Compaction moves at most a quarter of the bytes received plus 1 KiB for each read, whatever the peer sends. Ordinary traffic
//!   moves almost none.
//! - The read buffer grows in powers of two up to [`BufferConfig::max_buffer`]. A need above that limit fails with
//!   [`WireError::LimitExceeded`] before anything is allocated.
//! - An announced length costs only address space: resident memory grows at most [`STEP`] bytes ahead of the bytes received.
//! - Large-value buffers that are kept from one row to the next are together at most twice as large as the largest row.
//! - [`Buffers::release`] releases everything above [`BufferConfig::idle_keep`].
#![forbid(unsafe_code)]

mod buffers;
mod config;
mod error;
mod home;
mod meter;
mod read_buffer;
mod span;
mod step;
mod write_queue;

pub use buffers::{Buffers, Targets};
pub use config::{BufferConfig, STEP};
pub use error::WireError;
pub use home::HomeAdvice;
pub use meter::Meter;
pub use span::Span;
pub use step::{Core, Step};
pub use write_queue::{BORROWED_THRESHOLD, Borrowed, CHUNK, Mark, WriteQueue};
