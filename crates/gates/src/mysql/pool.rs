//! A pool's checkout: an idle connection is handed out, and taken back unused. The recorded server is behind a socket, on a thread of
//! its own, as a pool connects by itself; a checkout sends it nothing.

use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use ::tokio::runtime::Runtime;
use onecopy_mysql::{Config, Endpoint, aio, blocking};

use super::Case;
use crate::peer::Peer;
use crate::peer::mysql::MySqlPeer;
use crate::workload::{Body, runtime};

pub(crate) struct Checkout(blocking::Pool);

pub(crate) struct TokioCheckout {
    runtime: Runtime,
    pool: aio::Pool,
}

impl Checkout {
    pub(crate) fn new() -> Self {
        let pool = blocking::Pool::new(config()).expect("good settings");
        drop(pool.get().expect("a connection"));
        // The pool's thread has made the connection and looks whether more is to be done; until it has, each return would ask it to.
        // Valgrind runs one thread at a time: this one has to sleep to let others run.
        for _ in 0..100 {
            thread::sleep(Duration::from_millis(2));
        }
        Self(pool)
    }
}

impl Body for Checkout {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            drop(self.0.get().expect("a connection"));
        }
    }

    fn metered(&self) -> Option<u64> {
        None
    }
}

impl TokioCheckout {
    pub(crate) fn new() -> Self {
        let runtime = runtime();
        let pool = aio::Pool::new(config()).expect("good settings");
        runtime.block_on(async { drop(pool.get().await.expect("a connection")) });
        Self { runtime, pool }
    }
}

impl Body for TokioCheckout {
    fn run(&mut self, iterations: u64) {
        let Self { runtime, pool } = self;
        runtime.block_on(async {
            for _ in 0..iterations {
                drop(pool.get().await.expect("a connection"));
            }
        });
    }

    fn metered(&self) -> Option<u64> {
        None
    }
}

/// Of a server that has a thread, which ends with its connection.
fn config() -> Config {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    thread::spawn(move || {
        if let Ok((stream, _)) = listener.accept() {
            // An error is the client's end.
            let _ = serve(stream);
        }
    });
    let mut config = super::config();
    let host = "127.0.0.1".to_owned();
    config.endpoint = Endpoint::Tcp { host, port };
    config.pool.max = 1;
    // Nothing is asked after the login.
    config.pool.reset = false;
    config
}

/// The login; then it listens to the end.
fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let mut peer = MySqlPeer::new(Case::Ok.replies());
    let mut buffer = vec![0; 16 << 10];
    for _ in 0..2 {
        let n = peer.give(&mut [IoSliceMut::new(&mut buffer)]);
        stream.write_all(&buffer[..n])?;
        let n = stream.read(&mut buffer)?;
        peer.take(&[IoSlice::new(&buffer[..n])]);
    }
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}
