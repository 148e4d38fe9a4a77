//! Where a client speaks from.

use std::fmt;
use std::net::SocketAddr;

/// An address of TCP, of the client itself or as a header of the PROXY protocol has it, or none: over a Unix socket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientAddress(pub(crate) Option<SocketAddr>);

impl fmt::Display for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(address) => address.fmt(f),
            None => f.write_str("unix"),
        }
    }
}
