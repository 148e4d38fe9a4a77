//! Version 1, a line of at most 107 bytes with single blanks between its fields:
//!
//! | field               | form                                              | note                      |
//! |---------------------|---------------------------------------------------|---------------------------|
//! | `PROXY`             |                                                   |                           |
//! | protocol            | `TCP4`, `TCP6` or `UNKNOWN`                       | the rest is then ignored  |
//! | source address      | IPv4 with points, or IPv6 in any of its forms     |                           |
//! | destination address | the same                                          |                           |
//! | source port         | 0 to 65535                                        | no sign, no leading zeros |
//! | destination port    | the same                                          |                           |
//! | end                 | 0x0d 0x0a                                         |                           |

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use super::{Addresses, Decoded, Encoded, Header, MAX_V1, ProxyProtocolError, alike};

const START: &[u8] = b"PROXY ";

const UNKNOWN: &[u8] = b"PROXY UNKNOWN\r\n";

/// The shortest header of either version.
pub(super) const MIN: usize = UNKNOWN.len();

pub(super) fn decode(bytes: &[u8]) -> Result<Decoded<'_>, ProxyProtocolError> {
    let start = bytes.len().min(START.len());
    if bytes.get(..start) != START.get(..start) {
        return Err(ProxyProtocolError::NotAHeader);
    }
    let most = bytes.get(..MAX_V1).unwrap_or(bytes);
    let Some(end) = most.iter().position(|byte| *byte == b'\n') else {
        return if most.len() == MAX_V1 {
            Err(ProxyProtocolError::TooLong {
                len: bytes.len(),
                max: MAX_V1,
            })
        } else {
            Ok(Decoded::NeedMore(MIN.saturating_sub(bytes.len()).max(1)))
        };
    };
    let line = most.get(START.len()..end).unwrap_or_default();
    let Some(line) = line.strip_suffix(b"\r") else {
        return Err(ProxyProtocolError::Line(
            "the line does not end with 0x0d 0x0a",
        ));
    };
    Ok(Decoded::Header(Header {
        len: end + 1,
        addresses: addresses(line)?,
        tlvs: &[],
    }))
}

fn addresses<'b>(line: &[u8]) -> Result<Addresses<'b>, ProxyProtocolError> {
    let mut fields = line.split(|byte| *byte == b' ');
    let (source, destination) = match fields.next() {
        Some(b"UNKNOWN") => return Ok(Addresses::Unknown),
        Some(b"TCP4") => (
            address::<Ipv4Addr>(fields.next())?,
            address::<Ipv4Addr>(fields.next())?,
        ),
        Some(b"TCP6") => (
            address::<Ipv6Addr>(fields.next())?,
            address::<Ipv6Addr>(fields.next())?,
        ),
        _ => {
            return Err(ProxyProtocolError::Line(
                "the protocol is none of TCP4, TCP6 and UNKNOWN",
            ));
        }
    };
    let source = SocketAddr::new(source, port(fields.next())?);
    let destination = SocketAddr::new(destination, port(fields.next())?);
    match fields.next() {
        None => Ok(Addresses::Tcp {
            source,
            destination,
        }),
        Some(_) => Err(ProxyProtocolError::Line(
            "something follows the destination's port",
        )),
    }
}

fn address<A: FromStr + Into<IpAddr>>(field: Option<&[u8]>) -> Result<IpAddr, ProxyProtocolError> {
    field
        .and_then(|field| str::from_utf8(field).ok())
        .and_then(|field| A::from_str(field).ok())
        .map(A::into)
        .ok_or(ProxyProtocolError::Line(
            "an address is missing or not of the protocol",
        ))
}

fn port(field: Option<&[u8]>) -> Result<u16, ProxyProtocolError> {
    field
        .filter(|field| matches!(field, [b'0'] | [b'1'..=b'9', ..]))
        .and_then(|field| str::from_utf8(field).ok())
        .and_then(|field| field.parse().ok())
        .ok_or(ProxyProtocolError::Line(
            "a port is missing or not a number from 0 to 65535",
        ))
}

pub(super) fn encode(addresses: &Addresses<'_>) -> Encoded {
    let mut encoded = Encoded::default();
    let Addresses::Tcp {
        source,
        destination,
    } = *addresses
    else {
        encoded.put(UNKNOWN);
        return encoded;
    };
    let (source, destination) = alike(source, destination);
    let protocol = if source.is_ipv4() { "TCP4" } else { "TCP6" };
    // The longest addresses and ports fit: it can't fail.
    let _ = write!(
        encoded,
        "PROXY {protocol} {} {} {} {}\r\n",
        source.ip(),
        destination.ip(),
        source.port(),
        destination.port()
    );
    encoded
}
