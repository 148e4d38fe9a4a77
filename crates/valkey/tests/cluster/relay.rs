//! A network between the client and a server, which can be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Carries what goes between the client and a server.
pub(crate) struct Relay {
    port: u16,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    accepted: Arc<AtomicUsize>,
    /// Nothing is carried: bytes are lost on the way.
    is_cut: Arc<AtomicBool>,
}

impl Relay {
    pub(crate) fn to(node: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let streams = Arc::<Mutex<Vec<TcpStream>>>::default();
        let (accepted, is_cut) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let (all, counted, cut) = (
            Arc::clone(&streams),
            Arc::clone(&accepted),
            Arc::clone(&is_cut),
        );
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::Relaxed);
                let Ok(server) = TcpStream::connect(("127.0.0.1", node)) else {
                    continue;
                };
                all.lock()
                    .unwrap()
                    .extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
                for (from, to) in [
                    (client.try_clone().unwrap(), server.try_clone().unwrap()),
                    (server, client),
                ] {
                    let cut = Arc::clone(&cut);
                    thread::spawn(move || carry(from, to, &cut));
                }
            }
        });
        Self {
            port,
            streams,
            accepted,
            is_cut,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Connections so far.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Whether what is sent from now on is lost on the way.
    pub(crate) fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::Relaxed);
    }

    /// Ends all connections.
    pub(crate) fn end_all(&self) {
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) {
    let mut buffer = [0; 16 << 10];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        if !is_cut.load(Ordering::Relaxed) && to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
