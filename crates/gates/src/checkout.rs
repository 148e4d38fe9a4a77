//! A pool's checkout: an idle connection is handed out, and taken back unused. The server is behind a socket, on a thread of its own,
//! as a pool connects by itself; a checkout sends it nothing.

use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use ::tokio::runtime::Runtime;

use crate::workload::{Body, runtime};

/// By a function that takes a connection and drops it.
pub(crate) struct Checkout<F>(F);

impl<F: Fn()> Checkout<F> {
    pub(crate) fn new(take: F) -> Self {
        take();
        // The pool's thread has made the connection and looks whether more is to be done; until it has, each return would ask it to.
        // Valgrind runs one thread at a time: this one has to sleep to let others run.
        for _ in 0..100 {
            thread::sleep(Duration::from_millis(2));
        }
        Self(take)
    }
}

impl<F: Fn()> Body for Checkout<F> {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            (self.0)();
        }
    }

    fn metered(&self) -> Option<u64> {
        None
    }
}

/// The same on tokio.
pub(crate) struct TokioCheckout<F> {
    runtime: Runtime,
    take: F,
}

impl<F: AsyncFn()> TokioCheckout<F> {
    /// `take`: of a pool, which is made on the runtime.
    pub(crate) fn new(take: impl FnOnce() -> F) -> Self {
        let runtime = runtime();
        let take = take();
        runtime.block_on(take());
        Self { runtime, take }
    }
}

impl<F: AsyncFn()> Body for TokioCheckout<F> {
    fn run(&mut self, iterations: u64) {
        let Self { runtime, take } = self;
        runtime.block_on(async {
            for _ in 0..iterations {
                take().await;
            }
        });
    }

    fn metered(&self) -> Option<u64> {
        None
    }
}

/// Starts a server of one connection, whose thread ends with that; returns its port. An error of `serve` is the client's end.
pub(crate) fn serve_one(
    serve: impl FnOnce(TcpStream) -> std::io::Result<()> + Send + 'static,
) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    thread::spawn(move || {
        if let Ok((stream, _)) = listener.accept() {
            let _ = serve(stream);
        }
    });
    port
}
