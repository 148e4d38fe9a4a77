//! A pool's checkout: an idle connection is handed out, and taken back unused. The server is behind a socket, on a thread of its own,
//! as a pool connects by itself; in RESP2 neither a login nor a checkout sends it anything.

use std::io::Read;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use ::tokio::runtime::Runtime;
use onecopy_valkey::{Config, Endpoint, Protocol, aio, blocking};

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
        if let Ok((mut stream, _)) = listener.accept() {
            let mut buffer = [0; 512];
            // An error is the client's end.
            while stream.read(&mut buffer).is_ok_and(|n| n > 0) {}
        }
    });
    let mut config = super::config();
    config.protocol = Some(Protocol::Resp2);
    config.client_info = false;
    let host = "127.0.0.1".to_owned();
    config.endpoint = Endpoint::Tcp { host, port };
    config.pool.max = 1;
    config
}
