//! Where a node is reached.

use std::fmt;
use std::sync::Arc;

use onecopy_net::Endpoint;

/// The longest name of a host (RFC 1035, 2.3.4), and more than any address in digits.
const MAX_HOST: usize = 255;

/// The host and the port of a node, as the cluster announces them.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeAddress {
    host: Arc<str>,
    port: u16,
}

impl NodeAddress {
    /// Checks both parts, which may come from a server.
    ///
    /// # Errors
    /// Fails with what is wrong with them.
    pub(crate) fn new(host: &[u8], port: u64) -> Result<Self, String> {
        let port = u16::try_from(port)
            .ok()
            .filter(|&port| port > 0)
            .ok_or_else(|| format!("port {port} is not valid for a node"))?;
        let is_sane = |byte: &u8| byte.is_ascii_graphic() && !b"/@?#\\\"'`,".contains(byte);
        let is_host = (1..=MAX_HOST).contains(&host.len()) && host.iter().all(is_sane);
        let host = std::str::from_utf8(host).ok().filter(|_| is_host);
        let host = host.ok_or("the host of a node is neither a name nor an address")?;
        Ok(Self {
            host: host.into(),
            port,
        })
    }

    /// Parses `host:port`, in which an IPv6 address has no brackets; an empty host stands for the host of the node that says so.
    pub(crate) fn parse(text: &[u8], of: &Self) -> Result<Self, String> {
        let colon = text.iter().rposition(|&byte| byte == b':');
        let (host, port) = colon
            .and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?)))
            .ok_or("the address of a node has no port")?;
        let port = std::str::from_utf8(port)
            .ok()
            .and_then(|port| port.parse().ok());
        let port = port.ok_or("the port of a node is not a number")?;
        match host {
            b"" => Self::new(of.host.as_bytes(), port),
            b"?" => Err("the cluster does not know the host name of a node".into()),
            host => Self::new(host, port),
        }
    }

    /// The address of a seed.
    pub(crate) fn of_endpoint(endpoint: &Endpoint) -> Option<Self> {
        match endpoint {
            Endpoint::Tcp { host, port } => Some(Self {
                host: host.as_str().into(),
                port: *port,
            }),
            _ => None,
        }
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::Tcp {
            host: self.host.to_string(),
            port: self.port,
        }
    }

    /// Returns the host's name or address; an IPv6 address has no brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// `host:port`, as the cluster writes it.
impl fmt::Display for NodeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl fmt::Debug for NodeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> NodeAddress {
        NodeAddress::new(b"10.0.0.1", 7000).unwrap()
    }

    #[test]
    fn an_address_is_split_at_its_last_colon() {
        for (text, host, port) in [
            ("10.0.0.2:7001", "10.0.0.2", 7001),
            ("::1:7001", "::1", 7001),
            ("node-2.example:65535", "node-2.example", 65_535),
            (":7002", "10.0.0.1", 7002),
        ] {
            let address = NodeAddress::parse(text.as_bytes(), &own()).unwrap();
            assert_eq!((address.host(), address.port()), (host, port));
        }
    }

    #[test]
    fn a_name_that_cannot_be_one_is_refused() {
        let long = [&[b'a'; 256][..], b":7000"].concat();
        for text in [
            &b"10.0.0.2"[..],
            b"10.0.0.2:",
            b"10.0.0.2:0",
            b"10.0.0.2:65536",
            b"10.0.0.2:-1",
            b"10.0.0.2:18446744073709551616",
            b"?:7000",
            b"a b:7000",
            b"a\r\n:7000",
            b"user@host:7000",
            b"\xff\xfe:7000",
            &long,
        ] {
            assert!(
                NodeAddress::parse(text, &own()).is_err(),
                "{}",
                text.escape_ascii()
            );
        }
    }
}
