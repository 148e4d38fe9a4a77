//! TLS of either side over any stream: options, trusted CAs, and the session.
//!
//! The library is rustls 0.23. None of its types are visible outside this directory, because its next release changes the
//! interface.

mod acceptor;
mod connector;
mod error;
mod identity;
mod pem;
mod session;
mod verifier;

pub use acceptor::{ClientCertificates, TlsAcceptor, TlsServerOptions};
pub use connector::{TlsCache, TlsConnector, TlsOptions, Verify};
pub use error::TlsError;
pub use identity::Identity;
pub use pem::Pem;
pub use session::TlsSession;

pub(crate) use session::{Read, Session};
