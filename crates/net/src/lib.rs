//! Sockets, deadlines and the two drivers: the only crate that does IO.
//!
//! A driver knows nothing of a protocol. It takes a [`Core`](onecopy_wire::Core), asks it what is needed, and does just
//! that: [`blocking::drive`] with calls that block in the kernel, `tokio::drive` with readiness. `evented` has no driver: its
//! streams are for whoever runs an event loop of his own.
// In one file alone, which says why.
#![deny(unsafe_code)]

pub mod blocking;
mod endpoint;
mod error;
#[cfg(feature = "evented")]
pub mod evented;
mod huge_pages;
mod output;
pub mod proxy_protocol;
// Without `evented` no driver accepts, and the server's side of a session is called by none.
#[cfg_attr(not(feature = "evented"), allow(dead_code))]
mod tls;
#[cfg(feature = "tokio")]
pub mod tokio;

pub use endpoint::{Endpoint, SocketOptions};
pub use error::{ConnectError, DriveError};
pub use huge_pages::advise_huge_pages;
pub use tls::{
    ClientCertificates, Identity, Pem, TlsAcceptor, TlsCache, TlsConnector, TlsError, TlsOptions,
    TlsServerOptions, TlsSession, Verify,
};
