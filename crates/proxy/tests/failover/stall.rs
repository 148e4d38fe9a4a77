//! A way to a server that can be stalled: what is under way arrives later, and nobody is told.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// Its threads end with the connections, and with the process.
pub(crate) struct Stall {
    pub(crate) port: u16,
    is_stalled: Arc<AtomicBool>,
}

impl Stall {
    pub(crate) fn before(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_stalled = Arc::<AtomicBool>::default();
        let stalled = Arc::clone(&is_stalled);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", server)))
                else {
                    continue;
                };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let [from, to] = [from, to].map(|stream| stream.try_clone().unwrap());
                    let stalled = Arc::clone(&stalled);
                    std::thread::spawn(move || copy(from, to, &stalled));
                }
            }
        });
        Self { port, is_stalled }
    }

    pub(crate) fn set(&self, is_stalled: bool) {
        self.is_stalled.store(is_stalled, SeqCst);
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, is_stalled: &AtomicBool) {
    let mut bytes = [0; 16 << 10];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        while is_stalled.load(SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if to.write_all(&bytes[..n]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
