//! The PROXY protocol, versions 1 and 2: the header in which a proxy announces its client's addresses before all other data. No
//! I/O.
//!
//! The specification is `doc/proxy-protocol.txt` of HAProxy, <https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt>.
//! Version 1 is a line of text, version 2 is binary. The first byte tells which one it is.
//!
//! A peer that may send a header can claim any client address. Read it only from trusted proxies, and require it from these.
//! Never guess whether there is one, because a client could then send its own.
//!
//! ```
//! use onecopy_net::proxy_protocol::{Addresses, Decoded, decode};
//!
//! let received = b"PROXY TCP4 192.0.2.7 192.0.2.1 50000 3306\r\nand what the client says";
//! assert_eq!(decode(&received[..20]), Ok(Decoded::NeedMore(1)));
//! let Ok(Decoded::Header(header)) = decode(received) else {
//!     panic!("not a whole header");
//! };
//! assert_eq!(header.addresses.source(), Some("192.0.2.7:50000".parse().unwrap()));
//! assert_eq!(&received[header.len..], b"and what the client says");
//! ```

mod binary;
mod encoded;
mod text;

use std::net::SocketAddr;
use std::{error, fmt};

pub use encoded::Encoded;

/// The maximum length of a version 1 header, including the end of its line, according to the specification.
pub const MAX_V1: usize = 107;

/// The maximum accepted length of a version 2 header: 4 KiB. The length field has 16 bits, but what senders add to the addresses
/// (names of hosts, of TLS and of networks) is some hundred bytes.
pub const MAX_V2: usize = 4 << 10;

/// The contents of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'b> {
    /// Length of the header in bytes. The client's data follows it.
    pub len: usize,
    /// The addresses of the connection that the peer forwards.
    pub addresses: Addresses<'b>,
    /// The additional fields of version 2 as received, not checked. Each is a type of one byte, a length of two bytes, and a
    /// value.
    pub tlvs: &'b [u8],
}

/// The addresses of the connection that the peer forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses<'b> {
    /// The peer speaks for itself, for example in a health check. The connection's own addresses apply.
    Local,
    /// The peer forwards a client, but does not say which.
    Unknown,
    /// TCP over IPv4 or IPv6.
    Tcp {
        /// The client's address.
        source: SocketAddr,
        /// The address that the client connected to.
        destination: SocketAddr,
    },
    /// A Unix socket. The paths have at most 108 bytes, and are empty if there is none. An abstract name begins with a zero byte.
    Unix {
        /// The client's path, usually empty.
        source: &'b [u8],
        /// The path that the client connected to.
        destination: &'b [u8],
    },
}

/// The result of [`decode`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded<'b> {
    /// The beginning of a header. At least this many more bytes are needed.
    NeedMore(usize),
    /// A complete header.
    Header(Header<'b>),
}

/// Why the bytes are not a valid header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProxyProtocolError {
    /// No header begins like this: the peer is a client, or uses another protocol.
    NotAHeader,
    /// A version 1 header does not end within [`MAX_V1`] bytes, or a version 2 header announces more than [`MAX_V2`] bytes.
    TooLong {
        /// Number of bytes received, or announced.
        len: usize,
        /// The limit in bytes.
        max: usize,
    },
    /// A field of the version 1 line is missing, malformed or superfluous.
    Line(&'static str),
    /// The header is binary, but its version is not 2. Contains the byte of version and command.
    Version(u8),
    /// The command is neither LOCAL nor PROXY. Contains the byte of version and command.
    Command(u8),
    /// The address family or transport is not that of a stream. Contains the byte of both.
    Family(u8),
    /// The header is shorter than the addresses of its family.
    AddressesCut {
        /// Announced number of bytes after the first 16.
        len: usize,
        /// Number of bytes that the addresses need.
        needed: usize,
    },
}

/// Reads a header at the beginning of the received bytes. If it is called again with more bytes, it starts again from the
/// beginning: at most 107 bytes of text, or 16 bytes until the rest has arrived.
///
/// # Errors
/// Fails as soon as it is certain that the bytes are not a header. The connection must then be closed.
pub fn decode(bytes: &[u8]) -> Result<Decoded<'_>, ProxyProtocolError> {
    match bytes.first() {
        None => Ok(Decoded::NeedMore(text::MIN)),
        Some(b'P') => text::decode(bytes),
        Some(b'\r') => binary::decode(bytes),
        Some(_) => Err(ProxyProtocolError::NotAHeader),
    }
}

impl Addresses<'_> {
    /// Returns the client's address, if it is known and a TCP address.
    pub fn source(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp { source, .. } => Some(*source),
            _ => None,
        }
    }

    /// Returns a version 2 header, of 16 to 232 bytes. If one address is IPv4 and the other IPv6, both are written as IPv6. If a
    /// path has more than 108 bytes, the addresses are written as unknown.
    pub fn to_v2(&self) -> Encoded {
        binary::encode(self)
    }

    /// Returns a version 1 header, of at most 107 bytes. This version cannot express Unix sockets, nor that the peer speaks for
    /// itself.
    pub fn to_v1(&self) -> Encoded {
        text::encode(self)
    }
}

/// Two addresses of one family: of IPv4 where both are, else of IPv6.
fn alike(source: SocketAddr, destination: SocketAddr) -> (SocketAddr, SocketAddr) {
    use std::net::IpAddr::{V4, V6};
    let (from, to) = (source.ip().to_canonical(), destination.ip().to_canonical());
    let (from, to) = match (from, to) {
        (V4(from), V6(_)) => (V6(from.to_ipv6_mapped()), to),
        (V6(_), V4(to)) => (from, V6(to.to_ipv6_mapped())),
        alike => alike,
    };
    let source = SocketAddr::new(from, source.port());
    (source, SocketAddr::new(to, destination.port()))
}

impl fmt::Display for ProxyProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAHeader => f.write_str(
                "the peer sent no header of the proxy protocol: it must, or be no longer listed as one that does",
            ),
            Self::TooLong { len, max } => write!(
                f,
                "a header of the proxy protocol has {len} bytes, more than {max}"
            ),
            Self::Line(what) => write!(f, "proxy protocol, version 1: {what}"),
            Self::Version(byte) => write!(f, "proxy protocol: version and command are 0x{byte:02x}"),
            Self::Command(byte) => write!(
                f,
                "proxy protocol, version 2: the command in 0x{byte:02x} is neither local nor proxy"
            ),
            Self::Family(byte) => write!(
                f,
                "proxy protocol, version 2: the family 0x{byte:02x} is none of tcp or unix streams"
            ),
            Self::AddressesCut { len, needed } => write!(
                f,
                "proxy protocol, version 2: {len} bytes can't hold the addresses, which take {needed}"
            ),
        }
    }
}

impl error::Error for ProxyProtocolError {}

#[cfg(test)]
mod tests;
