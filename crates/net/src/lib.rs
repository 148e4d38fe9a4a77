//! Sockets, deadlines and the two drivers: the only crate that does IO.
//!
//! A driver knows nothing of a protocol. It takes a [`Core`](onecopy_wire::Core), asks it what is needed, and does just
//! that: [`blocking::drive`] with calls that block in the kernel, `tokio::drive` with readiness.
#![forbid(unsafe_code)]

pub mod blocking;
mod endpoint;
mod error;
mod tls;
#[cfg(feature = "tokio")]
pub mod tokio;

pub use endpoint::{Endpoint, SocketOptions};
pub use error::{ConnectError, DriveError};
pub use tls::{Identity, Pem, TlsCache, TlsConnector, TlsError, TlsOptions, TlsSession, Verify};
