//! How the connection protects a password.

use core::fmt;

/// The kind of channel that the connection uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// TCP without TLS: anyone on the network path can read and change the bytes.
    Plain,
    /// A Unix socket: the kernel delivers the bytes to a process on the same machine.
    UnixSocket,
    /// TLS with a verified certificate: either for this host, or signed by a CA that the caller provides and whose hosts they all
    /// trust.
    TlsVerified,
    /// TLS without verification: nobody can eavesdrop, but the identity of the server is unknown.
    TlsUnverified,
}

impl Channel {
    /// Returns whether the identity of the server is certain and nobody can eavesdrop.
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
