//! Sockets, TLS, deadlines and the two I/O drivers. Applications use `onecopy-mysql` or `onecopy-valkey`, which are built on it;
//! use it directly to write a client for another protocol.
//!
//! An I/O driver knows no protocol. It takes a state machine ([`Core`](onecopy_wire::Core)), asks it what it needs, and does
//! exactly that: [`blocking::drive`] with blocking system calls, `tokio::drive` when the socket is ready. `evented` has no I/O
//! driver: its streams are for users with an event loop of their own, such as `onecopy-proxy`.
// In one file alone, which says why.
#![deny(unsafe_code)]

pub mod blocking;
mod codec;
pub mod descriptors;
mod endpoint;
mod error;
#[cfg(feature = "evented")]
pub mod evented;
mod huge_pages;
mod layers;
mod output;
mod peeked;
pub mod proxy_protocol;
// Without `evented` no driver accepts, and the server's side of a session is called by none.
#[cfg_attr(not(feature = "evented"), allow(dead_code))]
mod tls;
#[cfg(feature = "tokio")]
pub mod tokio;
pub mod url;

pub use codec::{Codec, CodecCounts};
pub use endpoint::{Endpoint, SocketOptions};
pub use error::{ConnectError, DriveError};
pub use huge_pages::advise_huge_pages;
pub use peeked::Peeked;
pub use tls::{
    ClientCertificates, Identity, Pem, TlsAcceptor, TlsCache, TlsConnector, TlsError, TlsOptions,
    TlsServerOptions, TlsSession, Verify,
};
