//! A server that leaves a result out, as one does that is told to stop just between two statements of one command: a moment that no
//! test can hit.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

/// What a command has that is answered in part.
const MARK: &[u8] = b"left out";

const HEADER: usize = 4;

/// `SERVER_MORE_RESULTS_EXISTS`, in the low byte of a status.
const MORE_RESULTS: u8 = 8;

/// Leads to a real server over TCP in clear text. Of a command like `DO 1; DO 'left out'` it passes on the first OK packet, which announces
/// another result, and nothing of the others; it does so with each command of `DO`s that has the words *left out*. Everything else passes.
#[derive(Debug)]
pub struct LeavesOut {
    address: SocketAddr,
}

impl LeavesOut {
    /// In front of the server at this address. Its threads end with their connections, and the one that accepts with the process.
    ///
    /// # Panics
    /// If no port can be had.
    pub fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of the loopback address");
        let address = listener.local_addr().expect("its address");
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if let Ok(server) = TcpStream::connect(server) {
                    pass_on(&client, &server);
                }
            }
        });
        Self { address }
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn pass_on(client: &TcpStream, server: &TcpStream) {
    let clone = |stream: &TcpStream| stream.try_clone().expect("another handle");
    for end in [client, server] {
        end.set_nodelay(true).expect("an option of the socket");
    }
    let is_marked = Arc::new(AtomicBool::new(false));
    let (from, to, marks) = (clone(client), clone(server), Arc::clone(&is_marked));
    thread::spawn(move || forth(from, to, &marks));
    let (from, to) = (clone(server), clone(client));
    thread::spawn(move || back(from, to, &is_marked));
}

/// A command comes in one read.
fn forth(mut from: TcpStream, mut to: TcpStream, is_marked: &AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        let command = &bytes[..n];
        if command.windows(MARK.len()).any(|words| words == MARK) {
            is_marked.store(true, SeqCst);
        }
        if to.write_all(command).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

fn back(mut from: TcpStream, mut to: TcpStream, is_marked: &AtomicBool) {
    let (mut bytes, mut arrived) = (vec![0; 1 << 16], Vec::new());
    let mut is_first = true;
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        arrived.extend_from_slice(&bytes[..n]);
        while is_marked.load(SeqCst)
            && let Some(packet) = take_packet(&mut arrived)
        {
            if is_first && to.write_all(&packet).is_err() {
                return;
            }
            is_first = is_last(&packet);
            is_marked.store(!is_first, SeqCst);
        }
        if !is_marked.load(SeqCst) {
            if to.write_all(&arrived).is_err() {
                return;
            }
            arrived.clear();
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// The first packet, if all of it has arrived.
fn take_packet(arrived: &mut Vec<u8>) -> Option<Vec<u8>> {
    let &[a, b, c, _] = arrived.first_chunk::<HEADER>()?;
    let len = HEADER + u32::from_le_bytes([a, b, c, 0]) as usize;
    (arrived.len() >= len).then(|| arrived.drain(..len).collect())
}

/// Whether no result follows an OK packet, whose numbers are small here.
fn is_last(packet: &[u8]) -> bool {
    match packet[HEADER..] {
        [0, _, _, status, ..] => status & MORE_RESULTS == 0,
        _ => true,
    }
}
