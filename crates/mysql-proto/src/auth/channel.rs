//! What the connection protects a password from.

use core::fmt;

/// What carries the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// TCP without TLS: anyone on the way may read and change it.
    Plain,
    /// A Unix socket: the kernel delivers to a process of this machine.
    UnixSocket,
    /// TLS whose certificate was verified: for this host, or as one of a CA of the caller's own, who then trusts all
    /// of its hosts.
    TlsVerified,
    /// TLS with whoever answered: nobody reads along, but who the server is nobody knows.
    TlsUnverified,
}

impl Channel {
    /// Whether the server is who it should be and nobody reads along.
    pub const fn is_verified(self) -> bool {
        matches!(self, Self::UnixSocket | Self::TlsVerified)
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain tcp",
            Self::UnixSocket => "a unix socket",
            Self::TlsVerified => "verified tls",
            Self::TlsUnverified => "tls that is not verified",
        })
    }
}
