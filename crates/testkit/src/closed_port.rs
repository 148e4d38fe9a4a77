//! A port that nobody listens on, and that nobody else gets.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};

/// Takes a port of the loopback address for as long as the process lives: connections to it are refused. A port that was only looked up and
/// given back may be another test's a moment later.
///
/// # Panics
/// If none can be had.
pub fn closed_port() -> u16 {
    let taken = ClosedPort::new();
    let port = taken.address().port();
    std::mem::forget(taken);
    port
}

/// A port of the loopback address that refuses connections until somebody listens.
#[derive(Debug)]
pub struct ClosedPort {
    socket: OwnedFd,
    address: SocketAddr,
}

impl ClosedPort {
    /// Takes one.
    ///
    /// # Panics
    /// If none can be had.
    pub fn new() -> Self {
        Self::try_new().unwrap_or_else(|error| panic!("no port can be had: {error}"))
    }

    fn try_new() -> rustix::io::Result<Self> {
        let taken = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        bind(&taken, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
        let address = SocketAddr::try_from(getsockname(&taken)?)?;
        Ok(Self {
            socket: taken,
            address,
        })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Listens there from now on.
    ///
    /// # Panics
    /// If the system refuses.
    pub fn listen(self) -> TcpListener {
        listen(&self.socket, 128).unwrap_or_else(|error| panic!("no listener can be had: {error}"));
        TcpListener::from(self.socket)
    }
}

impl Default for ClosedPort {
    fn default() -> Self {
        Self::new()
    }
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

    #[test]
    fn it_can_be_listened_on_later() {
        let port = super::ClosedPort::new();
        let address = port.address();
        TcpStream::connect(address).unwrap_err();
        let _listener = port.listen();
        TcpStream::connect(address).unwrap();
    }
}
