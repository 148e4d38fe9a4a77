//! A server's address that the test is the master of: connections through it can be counted, held up and cut.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use onecopy_mysql::{Config, Endpoint};

/// What becomes of an order to cancel that comes through.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Orders {
    /// It goes to the server.
    Pass,
    /// It goes to the server after this time.
    Hold(Duration),
    /// The connection ends, and the server never sees it.
    CutBefore,
    /// The connection ends once the server has it: no reply comes back.
    CutAfter,
}

/// Forwards each connection to a server, on threads of its own that end with the connection.
#[derive(Debug)]
pub(crate) struct Relay {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    server: (String, u16),
    accepted: AtomicUsize,
    came: AtomicUsize,
    orders: Mutex<Orders>,
    /// A byte of the version in each greeting is another one.
    changes_version: Mutex<bool>,
}

impl Relay {
    /// To the server that a URL with a host names, see [`clear_tcp_url`](crate::common::clear_tcp_url).
    pub(crate) fn to(url: &str) -> Self {
        let Endpoint::Tcp { host, port } = Config::from_url(url).unwrap().endpoint else {
            panic!("a relay leads to a server on TCP");
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            server: (host, port),
            accepted: AtomicUsize::new(0),
            came: AtomicUsize::new(0),
            orders: Mutex::new(Orders::Pass),
            changes_version: Mutex::new(false),
        });
        let relay = Arc::clone(&shared);
        // Ends with the process: it waits for the next connection.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                relay.accepted.fetch_add(1, Ordering::SeqCst);
                relay.forward(client);
            }
        });
        let port = address.port();
        Self { port, shared }
    }

    /// The configuration of `url` with this address.
    pub(crate) fn config(&self, url: &str) -> Config {
        let mut config = Config::from_url(url).unwrap();
        config.endpoint = Endpoint::Tcp {
            host: "127.0.0.1".into(),
            port: self.port,
        };
        config
    }

    /// How many connections there were.
    pub(crate) fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// How many orders came.
    pub(crate) fn orders(&self) -> usize {
        self.shared.came.load(Ordering::SeqCst)
    }

    pub(crate) fn set_orders(&self, orders: Orders) {
        *self.shared.orders.lock().unwrap() = orders;
    }

    pub(crate) fn change_version(&self) {
        *self.shared.changes_version.lock().unwrap() = true;
    }
}

impl Shared {
    fn forward(self: &Arc<Self>, client: TcpStream) {
        let (host, port) = &self.server;
        let Ok(server) = TcpStream::connect((host.as_str(), *port)) else {
            return;
        };
        for stream in [&client, &server] {
            stream.set_nodelay(true).unwrap();
        }
        let ends = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let shared = Arc::clone(self);
        thread::spawn(move || {
            let _ = shared.to_server(client, server);
        });
        let shared = Arc::clone(self);
        thread::spawn(move || {
            let _ = shared.to_client(ends.1, ends.0);
        });
    }

    fn to_server(&self, mut client: TcpStream, mut server: TcpStream) -> io::Result<()> {
        let mut bytes = vec![0; 64 << 10];
        loop {
            let n = client.read(&mut bytes)?;
            let is_order = bytes[..n].windows(10).any(|window| window == b"KILL QUERY");
            let orders = if is_order {
                self.came.fetch_add(1, Ordering::SeqCst);
                *self.orders.lock().unwrap()
            } else {
                Orders::Pass
            };
            match orders {
                Orders::Hold(time) => thread::sleep(time),
                Orders::CutBefore => return client.shutdown(Shutdown::Both),
                Orders::CutAfter => client.shutdown(Shutdown::Both)?,
                Orders::Pass => {}
            }
            if n == 0 {
                return server.shutdown(Shutdown::Write);
            }
            server.write_all(&bytes[..n])?;
        }
    }

    fn to_client(&self, mut server: TcpStream, mut client: TcpStream) -> io::Result<()> {
        let mut bytes = vec![0; 64 << 10];
        let mut is_greeting = *self.changes_version.lock().unwrap();
        loop {
            let n = server.read(&mut bytes)?;
            if n == 0 {
                return client.shutdown(Shutdown::Write);
            }
            if is_greeting {
                // Behind the header and the protocol's number.
                bytes[5] ^= 1;
                is_greeting = false;
            }
            client.write_all(&bytes[..n])?;
        }
    }
}
