//! What stands between a client and its server: it holds replies back, cuts connections, and has tiny buffers where told.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use onecopy_valkey::{Config, Endpoint};
use socket2::{Domain, Socket, Type};

/// Forwards connections to a server, on threads that end with them.
pub(crate) struct Relay {
    port: u16,
    state: Arc<State>,
}

struct State {
    server: SocketAddr,
    tiny: bool,
    /// Replies stay here.
    holds: AtomicBool,
    /// New connections are closed at once.
    refuses: AtomicBool,
    accepted: AtomicUsize,
    /// Bytes that clients have sent.
    came: AtomicUsize,
    sockets: Mutex<Vec<TcpStream>>,
}

impl Relay {
    pub(crate) fn to(url: &str) -> Self {
        Self::start(url, false)
    }

    /// With buffers of some kilobytes.
    pub(crate) fn tiny(url: &str) -> Self {
        Self::start(url, true)
    }

    fn start(url: &str, tiny: bool) -> Self {
        let Endpoint::Tcp { host, port } = Config::from_url(url).unwrap().endpoint else {
            panic!("a relay leads to a server on TCP");
        };
        let listener = listen(tiny);
        let own = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            server: SocketAddr::new(host.parse().unwrap(), port),
            tiny,
            holds: AtomicBool::new(false),
            refuses: AtomicBool::new(false),
            accepted: AtomicUsize::new(0),
            came: AtomicUsize::new(0),
            sockets: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        // Ends with the process: it waits for the next connection.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                shared.accepted.fetch_add(1, Ordering::SeqCst);
                if !shared.refuses.load(Ordering::SeqCst) {
                    forward(&shared, client);
                }
            }
        });
        Self { port: own, state }
    }

    pub(crate) fn config(&self) -> Config {
        Config::from_url(&format!("redis://127.0.0.1:{}", self.port)).unwrap()
    }

    /// Replies go no further until [`release`](Self::release).
    pub(crate) fn hold(&self) {
        self.state.holds.store(true, Ordering::SeqCst);
    }

    pub(crate) fn release(&self) {
        self.state.holds.store(false, Ordering::SeqCst);
    }

    /// New connections end before anything is said.
    pub(crate) fn refuse(&self, refuses: bool) {
        self.state.refuses.store(refuses, Ordering::SeqCst);
    }

    /// Ends all connections.
    pub(crate) fn cut(&self) {
        for socket in self.state.sockets.lock().unwrap().drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Connections so far.
    pub(crate) fn accepted(&self) -> usize {
        self.state.accepted.load(Ordering::SeqCst)
    }

    /// Bytes that clients have sent so far.
    pub(crate) fn came(&self) -> usize {
        self.state.came.load(Ordering::SeqCst)
    }
}

fn listen(tiny: bool) -> TcpListener {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    if tiny {
        // What is accepted has them too.
        shrink(&socket);
    }
    let address: SocketAddr = ([127, 0, 0, 1], 0).into();
    socket.bind(&address.into()).unwrap();
    socket.listen(1024).unwrap();
    socket.into()
}

fn shrink(socket: &Socket) {
    // The smallest that the kernel gives are too small for its own segments: they stall for hundreds of milliseconds.
    const TINY: usize = 8 << 10;
    socket.set_recv_buffer_size(TINY).unwrap();
    socket.set_send_buffer_size(TINY).unwrap();
}

fn forward(state: &Arc<State>, client: TcpStream) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    if state.tiny {
        shrink(&socket);
    }
    if socket.connect(&state.server.into()).is_err() {
        return; // the server is not there: the client's connection ends
    }
    let server: TcpStream = socket.into();
    for stream in [&client, &server] {
        stream.set_nodelay(true).unwrap();
        state
            .sockets
            .lock()
            .unwrap()
            .push(stream.try_clone().unwrap());
    }
    let (to_server, to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let shared = Arc::clone(state);
    thread::spawn(move || {
        pump(client, to_server, |n| {
            shared.came.fetch_add(n, Ordering::SeqCst);
        });
    });
    let shared = Arc::clone(state);
    thread::spawn(move || {
        pump(server, to_client, |_| {
            while shared.holds.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
        });
    });
}

/// One direction; a pause between reading and writing is the caller's.
fn pump(mut from: TcpStream, mut to: TcpStream, came: impl Fn(usize)) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(n) if n > 0 => {
                came(n);
                if to.write_all(&buffer[..n]).is_err() {
                    break;
                }
            }
            _ => break,
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
