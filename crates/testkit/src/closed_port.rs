//! A port that nobody listens on, and that nobody else gets.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};

/// Takes a port of the loopback address for as long as the process lives: connections to it are refused. A port that was only looked up and
/// given back may be another test's a moment later.
///
/// # Panics
/// If none can be had.
pub fn closed_port() -> u16 {
    try_closed_port().unwrap_or_else(|error| panic!("no port can be had: {error}"))
}

fn try_closed_port() -> rustix::io::Result<u16> {
    let taken = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    bind(&taken, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    let address = SocketAddr::try_from(getsockname(&taken)?)?;
    std::mem::forget(taken);
    Ok(address.port())
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn connections_are_refused_and_nobody_else_gets_it() {
        let port = super::closed_port();
        let refused = TcpStream::connect(("127.0.0.1", port)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let taken = TcpListener::bind(("127.0.0.1", port)).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AddrInUse);
    }
}
