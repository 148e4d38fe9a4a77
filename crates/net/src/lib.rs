//! Sockets, deadlines and the two drivers: the only crate that does IO.
//!
//! A driver knows nothing of a protocol. It takes a [`Core`](onecopy_wire::Core), asks it what is needed, and does just
//! that: [`blocking::drive`] with calls that block in the kernel, `tokio::drive` with readiness.
// In one file alone, which says why.
#![deny(unsafe_code)]

pub mod blocking;
mod endpoint;
mod error;
mod huge_pages;
#[allow(dead_code)] // the server's side of a session: no driver accepts yet
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
