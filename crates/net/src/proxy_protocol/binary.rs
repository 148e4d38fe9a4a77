//! Version 2:
//!
//! | bytes | field               | note                                                                    |
//! |-------|---------------------|-------------------------------------------------------------------------|
//! | 12    | signature           | 0d 0a 0d 0a 00 0d 0a 51 55 49 54 0a                                     |
//! | 1     | version, command    | 0x20 LOCAL, 0x21 PROXY                                                  |
//! | 1     | family, transport   | 0x00 unknown, 0x11 TCP4, 0x21 TCP6, 0x31 Unix stream; ignored for LOCAL |
//! | 2     | length              | of all that follows, big-endian                                         |
//!
//! | family | source | destination | source port | destination port |                                              |
//! |--------|--------|-------------|-------------|------------------|----------------------------------------------|
//! | TCP4   | 4      | 4           | 2           | 2                | all big-endian                               |
//! | TCP6   | 16     | 16          | 2           | 2                | the same                                     |
//! | Unix   | 108    | 108         |             |                  | a path, filled up with zeros where shorter   |
//!
//! Then come further fields up to the length.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Addresses, Decoded, Encoded, Header, MAX_V2, ProxyProtocolError, alike};

const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";

/// Signature, version and command, family and transport, length.
const FIXED: usize = 16;

const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;

const UNSPECIFIED: u8 = 0x00;
const TCP4: u8 = 0x11;
const TCP6: u8 = 0x21;
const UNIX: u8 = 0x31;

/// Bytes of one Unix address.
const PATH: usize = 108;

pub(super) fn decode(bytes: &[u8]) -> Result<Decoded<'_>, ProxyProtocolError> {
    let start = bytes.len().min(SIGNATURE.len());
    if bytes.get(..start) != SIGNATURE.get(..start) {
        return Err(ProxyProtocolError::NotAHeader);
    }
    let Some((fixed, rest)) = bytes.split_first_chunk::<FIXED>() else {
        return Ok(Decoded::NeedMore(FIXED - bytes.len()));
    };
    let [.., version, family, high, low] = *fixed;
    let is_proxy = is_proxy(version)?;
    let len = usize::from(u16::from_be_bytes([high, low]));
    if FIXED + len > MAX_V2 {
        return Err(ProxyProtocolError::TooLong {
            len: FIXED + len,
            max: MAX_V2,
        });
    }
    let needed = if is_proxy { addresses_len(family)? } else { 0 };
    if len < needed {
        return Err(ProxyProtocolError::AddressesCut { len, needed });
    }
    let Some(body) = rest.get(..len) else {
        return Ok(Decoded::NeedMore(len - rest.len()));
    };
    let (addresses, tlvs) = if is_proxy {
        let (addresses, tlvs) = body.split_at(needed);
        (read(family, addresses), tlvs)
    } else {
        (Addresses::Local, &[][..])
    };
    Ok(Decoded::Header(Header {
        len: FIXED + len,
        addresses,
        tlvs,
    }))
}

fn is_proxy(version: u8) -> Result<bool, ProxyProtocolError> {
    match version {
        LOCAL => Ok(false),
        PROXY => Ok(true),
        byte if byte >> 4 == 2 => Err(ProxyProtocolError::Command(byte)),
        byte => Err(ProxyProtocolError::Version(byte)),
    }
}

fn addresses_len(family: u8) -> Result<usize, ProxyProtocolError> {
    match family {
        UNSPECIFIED => Ok(0),
        TCP4 => Ok(12),
        TCP6 => Ok(36),
        UNIX => Ok(2 * PATH),
        byte => Err(ProxyProtocolError::Family(byte)),
    }
}

/// `bytes` has the length of the family's addresses.
fn read(family: u8, bytes: &[u8]) -> Addresses<'_> {
    match family {
        TCP4 => tcp::<4, _>(bytes, Ipv4Addr::from),
        TCP6 => tcp::<16, _>(bytes, Ipv6Addr::from),
        UNIX => {
            let (source, destination) = bytes.split_at(PATH);
            Addresses::Unix {
                source: path(source),
                destination: path(destination),
            }
        }
        _ => Addresses::Unknown,
    }
}

fn tcp<const N: usize, A: Into<IpAddr>>(
    bytes: &[u8],
    address: impl Fn([u8; N]) -> A,
) -> Addresses<'_> {
    let read = || {
        let (source, rest) = bytes.split_first_chunk::<N>()?;
        let (destination, rest) = rest.split_first_chunk::<N>()?;
        let (source_port, rest) = rest.split_first_chunk()?;
        let (destination_port, _) = rest.split_first_chunk()?;
        let at = |ip, port| SocketAddr::new(address(ip).into(), u16::from_be_bytes(port));
        Some(Addresses::Tcp {
            source: at(*source, *source_port),
            destination: at(*destination, *destination_port),
        })
    };
    read().unwrap_or(Addresses::Unknown)
}

/// Without what it is filled up with. An abstract name may have zeros of its own inside, and begins with one.
fn path(bytes: &[u8]) -> &[u8] {
    let is_abstract = bytes.first() == Some(&0);
    let len = if is_abstract {
        bytes.iter().rposition(|byte| *byte != 0).map(|at| at + 1)
    } else {
        bytes.iter().position(|byte| *byte == 0).or(Some(PATH))
    };
    bytes.get(..len.unwrap_or(0)).unwrap_or_default()
}

pub(super) fn encode(addresses: &Addresses<'_>) -> Encoded {
    let mut encoded = Encoded::default();
    match *addresses {
        Addresses::Local => begin(&mut encoded, LOCAL, UNSPECIFIED, 0),
        Addresses::Tcp {
            source,
            destination,
        } => {
            let (source, destination) = alike(source, destination);
            match (source.ip(), destination.ip()) {
                (IpAddr::V4(from), IpAddr::V4(to)) => {
                    begin(&mut encoded, PROXY, TCP4, 12);
                    encoded.put(&from.octets());
                    encoded.put(&to.octets());
                }
                (from, to) => {
                    begin(&mut encoded, PROXY, TCP6, 36);
                    encoded.put(&v6(from).octets());
                    encoded.put(&v6(to).octets());
                }
            }
            encoded.put(&source.port().to_be_bytes());
            encoded.put(&destination.port().to_be_bytes());
        }
        Addresses::Unix {
            source,
            destination,
        } if source.len() <= PATH && destination.len() <= PATH => {
            begin(&mut encoded, PROXY, UNIX, 216);
            for path in [source, destination] {
                encoded.put(path);
                encoded.put(&[0; PATH][path.len()..]);
            }
        }
        Addresses::Unix { .. } | Addresses::Unknown => begin(&mut encoded, PROXY, UNSPECIFIED, 0),
    }
    encoded
}

fn begin(encoded: &mut Encoded, version: u8, family: u8, len: u8) {
    encoded.put(&SIGNATURE);
    encoded.put(&[version, family, 0, len]);
}

fn v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}
