//! Non-blocking streams and listeners for your own event loop, based on mio. There is no runtime and no task, and forwarded data
//! is not copied.
//!
//! A stream or listener is registered once, for reading and writing, and edge-triggered: an event says that something has changed
//! since the last one. After an event, read until [`ReadOutcome`] says that nothing is left, or remember that something is left.
//! Write first, and wait for an event only if a write accepts nothing or too little.
//!
//! ```
//! use std::io::IoSlice;
//! use onecopy_net::evented::{Address, Listener, ListenerOptions, ReadOutcome, connect, mio};
//! use onecopy_wire::{BufferConfig, Buffers};
//!
//! let mut poll = mio::Poll::new()?;
//! let here = Address::Tcp("127.0.0.1:0".parse().unwrap());
//! let mut listener = Listener::bind(&here, &ListenerOptions::default())?;
//! listener.register(poll.registry(), mio::Token(0))?;
//! let mut client = connect(&listener.address()?)?;
//! client.register(poll.registry(), mio::Token(1))?;
//!
//! let mut server = None;
//! let mut buffers = Buffers::new(BufferConfig::default());
//! let mut events = mio::Events::with_capacity(16);
//! 'events: loop {
//!     poll.poll(&mut events, None)?;
//!     for event in &events {
//!         match event.token() {
//!             mio::Token(0) => while let Some((mut stream, _peer)) = listener.accept()? {
//!                 stream.write(&[IoSlice::new(b"hello")])?;
//!                 server = Some(stream);
//!             }
//!             _ if client.connected()? => {
//!                 client.observe(event);
//!                 if let ReadOutcome::Bytes { .. } = client.read(&mut buffers)? {
//!                     break 'events;
//!                 }
//!             }
//!             _ => {}
//!         }
//!     }
//! }
//! assert_eq!(buffers.pending(), b"hello");
//! # assert!(server.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod listener;
mod socket;
mod stream;

pub use address::Address;
pub use listener::{AcceptError, Listener, ListenerOptions};
/// The version of mio whose types are used in these signatures.
pub use mio;
pub use stream::{ReadOutcome, Stream, connect};

#[cfg(test)]
mod tests;
