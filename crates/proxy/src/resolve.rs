//! Host names to addresses.

use std::io;
use std::net::ToSocketAddrs;

use onecopy_net::Endpoint;
use onecopy_net::evented::Address;

/// All addresses of an endpoint, at least one.
pub(crate) fn resolve(endpoint: &Endpoint) -> io::Result<Vec<Address>> {
    match endpoint {
        Endpoint::Unix(path) => Ok(vec![Address::Unix(path.clone())]),
        Endpoint::Tcp { host, port } => {
            let addresses: Vec<_> = (host.as_str(), *port)
                .to_socket_addrs()?
                .map(Address::Tcp)
                .collect();
            if addresses.is_empty() {
                return Err(io::ErrorKind::NotFound.into());
            }
            Ok(addresses)
        }
    }
}
