//! The PROXY protocol, versions 1 and 2: what a proxy says in front of everything else of whom it speaks for. No IO.
//!
//! The specification is `doc/proxy-protocol.txt` of HAProxy, <https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt>.
//! Version 1 is a line of text, version 2 is binary. Which one it is the first byte tells.
//!
//! Whoever may send a header may say that he is anyone. So it is read only from peers that are trusted to speak for others,
//! and from these it must come: whether there is one is never guessed, as a client could then bring his own.
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

/// Longest header of version 1, its line's end included, as the specification has it.
pub const MAX_V1: usize = 107;

/// Longest header of version 2 that is taken: 4 KiB. The length has 16 bits, but what senders add to the addresses, names of
/// hosts, of TLS and of networks, is some hundred bytes.
pub const MAX_V2: usize = 4 << 10;

/// What a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'b> {
    /// Bytes of the header: what follows them is the client's.
    pub len: usize,
    /// Whom the peer speaks for.
    pub addresses: Addresses<'b>,
    /// Version 2's further fields, each of one byte type, two of length, and value; as they came, not looked at.
    pub tlvs: &'b [u8],
}

/// Between whom the connection is that the peer speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses<'b> {
    /// The peer speaks for itself, as when it asks whether anyone is there: the connection's own addresses hold.
    Local,
    /// The peer speaks for a client of which it tells nothing.
    Unknown,
    /// TCP over IPv4 or IPv6.
    Tcp {
        /// The client.
        source: SocketAddr,
        /// Where it connected to.
        destination: SocketAddr,
    },
    /// A Unix socket: paths of at most 108 bytes, empty where there is none. An abstract name begins with a zero byte.
    Unix {
        /// The client's, mostly empty.
        source: &'b [u8],
        /// Where it connected to.
        destination: &'b [u8],
    },
}

/// What has come so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded<'b> {
    /// A header's beginning: at least so many bytes are missing.
    NeedMore(usize),
    /// A whole one.
    Header(Header<'b>),
}

/// Why bytes are no header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProxyProtocolError {
    /// They begin as no header does: the peer is a client, or speaks something else.
    NotAHeader,
    /// Version 1 has no end within [`MAX_V1`], or version 2 says that it has more than [`MAX_V2`] bytes.
    TooLong {
        /// Bytes that have come, or that it says it has.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// A field of version 1's line is missing, of another form, or too many.
    Line(&'static str),
    /// A version 2 that is none, the byte.
    Version(u8),
    /// Neither LOCAL nor PROXY, the byte.
    Command(u8),
    /// An address family or a transport that no stream has, the byte.
    Family(u8),
    /// The header is shorter than the addresses of its family.
    AddressesCut {
        /// Bytes that it says it has behind its first 16.
        len: usize,
        /// Bytes of the addresses.
        needed: usize,
    },
}

/// Reads a header at the beginning of what has come. Asked again with more bytes it reads from the beginning, at most 107
/// bytes of text, or 16 until the rest is there.
///
/// # Errors
/// Bytes that are no header, as soon as that is certain. The connection is then to be closed.
pub fn decode(bytes: &[u8]) -> Result<Decoded<'_>, ProxyProtocolError> {
    match bytes.first() {
        None => Ok(Decoded::NeedMore(text::MIN)),
        Some(b'P') => text::decode(bytes),
        Some(b'\r') => binary::decode(bytes),
        Some(_) => Err(ProxyProtocolError::NotAHeader),
    }
}

impl Addresses<'_> {
    /// The client's address, where it is known and of TCP.
    pub fn source(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp { source, .. } => Some(*source),
            _ => None,
        }
    }

    /// A header of version 2, 16 to 232 bytes. An IPv4 address beside one of IPv6 is written as one of IPv6; a path of more
    /// than 108 bytes is none, and the addresses then unknown.
    pub fn to_v2(&self) -> Encoded {
        binary::encode(self)
    }

    /// A header of version 1, at most 107 bytes: of Unix sockets, and of the peer itself, it knows nothing.
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
