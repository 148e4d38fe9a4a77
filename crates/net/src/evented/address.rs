//! Where to connect to or to listen: no name is left in it that would have to be looked up.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// An address of TCP, or the path of a Unix socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// IPv4 or IPv6, and a port.
    Tcp(SocketAddr),
    /// A path in the file system.
    Unix(PathBuf),
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}
