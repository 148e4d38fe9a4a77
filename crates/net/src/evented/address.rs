//! An address to connect to or to listen on. It contains no name that would need a lookup.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A TCP address, or the path of a Unix socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// An IPv4 or IPv6 address, and a port.
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
