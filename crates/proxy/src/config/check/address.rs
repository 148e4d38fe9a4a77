//! Whether two addresses are the same place of this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};

use onecopy_net::Endpoint;
use onecopy_net::evented::Address;

use crate::resolve::resolve;

/// An address that is listened on.
#[derive(Debug)]
pub(super) struct Listening {
    name: String,
    endpoint: Endpoint,
    /// `None` where the name has no address now.
    address: Option<Address>,
}

impl Listening {
    pub(super) fn new(name: String, endpoint: &Endpoint) -> Self {
        // Of several addresses the proxy listens on the first.
        let address = resolve(endpoint)
            .ok()
            .and_then(|all| all.into_iter().next());
        Self {
            name,
            endpoint: endpoint.clone(),
            address,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn described(&self) -> (String, Endpoint) {
        (self.name.clone(), self.endpoint.clone())
    }

    /// Whether the system would refuse to listen on both.
    pub(super) fn is_in_the_way_of(&self, other: &Self) -> bool {
        match (&self.address, &other.address) {
            (Some(Address::Unix(one)), Some(Address::Unix(other))) => is_same_file(one, other),
            (Some(Address::Tcp(one)), Some(Address::Tcp(other))) => overlap(*one, *other),
            _ => false,
        }
    }

    /// Whether who connects to `endpoint` may come in here.
    pub(super) fn takes(&self, endpoint: &Endpoint) -> bool {
        match (&self.address, endpoint) {
            (Some(Address::Unix(one)), Endpoint::Unix(other)) => is_same_file(one, other),
            (Some(Address::Tcp(listen)), Endpoint::Tcp { port, .. }) if listen.port() == *port => {
                let targets = resolve(endpoint).unwrap_or_default();
                targets.iter().any(|target| match target {
                    Address::Tcp(target) => leads_to(*target, *listen),
                    Address::Unix(_) => false,
                })
            }
            _ => false,
        }
    }
}

fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    // Any free port is another one each time.
    if one.port() != other.port() || one.port() == 0 {
        return false;
    }
    let (one, other) = (one.ip().to_canonical(), other.ip().to_canonical());
    one == other || covers(one, other) || covers(other, one)
}

/// Whether a listener on `any` takes all addresses of the family of `ip`. A socket of IPv6 takes IPv4 too.
fn covers(any: IpAddr, ip: IpAddr) -> bool {
    any.is_unspecified() && (any.is_ipv6() || ip.is_ipv4())
}

fn leads_to(target: SocketAddr, listen: SocketAddr) -> bool {
    // A connect to the unspecified address goes to the loopback one.
    let target = match target.ip().to_canonical() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let listen = listen.ip().to_canonical();
    target == listen || covers(listen, target) && is_own(target)
}

/// Whether this machine has the address: then the way to it begins there. A bind would not tell, as the system may allow it for
/// any address. Of an interface's further addresses this does not know.
fn is_own(ip: IpAddr) -> bool {
    if ip.is_loopback() {
        return true;
    }
    let any: IpAddr = match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let begins_at = || {
        let socket = UdpSocket::bind((any, 0))?;
        // Nothing is sent.
        socket.connect((ip, 9))?;
        socket.local_addr()
    };
    begins_at().is_ok_and(|from| from.ip() == ip)
}

/// Whether two paths name the same file, even if it does not exist yet.
fn is_same_file(one: &Path, other: &Path) -> bool {
    whole(one) == whole(other)
}

fn whole(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => path,
    }
}
