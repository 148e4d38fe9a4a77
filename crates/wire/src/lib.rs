//! The path on which each byte is copied once: read buffer, large homes, write queue, step and meter.
//!
//! Nothing here does IO, reads a clock or knows a protocol. A protocol core is driven like this:
//!
//! ```
//! use onecopy_wire::{BufferConfig, Buffers};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut io: &[u8] = b"hello";                    // any `Read`
//! let mut buffers = Buffers::new(BufferConfig::default());
//! buffers.need(5, 5);                              // a core: "five bytes are missing"
//! buffers.prepare()?;                              // the only place where bytes move or memory grows
//! let n = std::io::Read::read_vectored(&mut io, buffers.targets().as_mut())?;
//! buffers.commit(n);
//! let span = buffers.consume(5);                   // a message is borrowed, not copied
//! assert_eq!(buffers.bytes(span), b"hello");
//! assert_eq!(buffers.meter().bytes_moved, 0);
//! # Ok(()) }
//! ```
//!
//! # Limits and bounds
//! - Bytes moved by compaction are at most a quarter of the bytes received plus 1 KiB for each read, whatever the
//!   peer sends; ordinary traffic moves next to none.
//! - The read buffer grows to powers of two up to [`BufferConfig::max_buffer`]; a need above it is
//!   [`WireError::LimitExceeded`] before anything is allocated.
//! - A claimed length costs address space; resident memory is lengthened by at most [`STEP`] bytes ahead of what came.
//! - Large homes that are kept from one row to the next are together at most twice the largest row.
//! - [`Buffers::release`] gives back everything above [`BufferConfig::idle_keep`].
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
pub use write_queue::{Borrowed, CHUNK, LENT_THRESHOLD, Mark, WriteQueue};
