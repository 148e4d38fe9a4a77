//! Where clients come in: one thread for all listeners, which hands each client to the worker with the fewest sessions.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use mio::{Events, Poll, Token, Waker};
use onecopy_net::evented::{self, AcceptError};

use crate::failure::Failure;
use crate::proxy::{Listener, Workers};
use crate::session::refuse;
use crate::worker::Order;

const WAKE: Token = Token(usize::MAX);

/// How long nothing is accepted where the process has no descriptor left.
const BREATH: Duration = Duration::from_millis(50);

/// The acceptor, for other threads.
#[derive(Debug)]
pub(crate) struct Handle {
    is_over: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Handle {
    /// Nobody comes in any more, and the sockets are closed.
    pub(crate) fn stop(&mut self) {
        self.is_over.store(true, Relaxed);
        let _ = self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts it on sockets that listen already.
pub(crate) fn start(
    mut sockets: Vec<(evented::Listener, Arc<Listener>)>,
    workers: Arc<Workers>,
    max_connections: usize,
) -> io::Result<Handle> {
    let mut poll = Poll::new()?;
    let waker = Waker::new(poll.registry(), WAKE)?;
    for (number, (socket, _)) in sockets.iter_mut().enumerate() {
        socket.register(poll.registry(), Token(number))?;
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_over);
    let thread = std::thread::Builder::new()
        .name("acceptor".into())
        .spawn(move || {
            let mut events = Events::with_capacity(64);
            let mut timeout = None;
            while !ends.load(Relaxed) {
                if let Err(error) = poll.poll(&mut events, timeout)
                    && error.kind() != io::ErrorKind::Interrupted
                {
                    break;
                }
                timeout = None;
                // All of them: a socket that was left for lack of descriptors tells of nothing new.
                for (socket, listener) in &mut sockets {
                    if !accept_all(socket, listener, &workers, max_connections) {
                        timeout = Some(BREATH);
                    }
                }
            }
        })?;
    Ok(Handle {
        is_over,
        waker,
        thread: Some(thread),
    })
}

/// `false` where some were left for lack of descriptors.
fn accept_all(
    socket: &mut evented::Listener,
    listener: &Arc<Listener>,
    workers: &Workers,
    max: usize,
) -> bool {
    loop {
        match socket.accept() {
            Ok(Some((stream, address))) => {
                let _ = stream.set_options(&listener.config.socket);
                if workers.sessions() >= max {
                    listener.refused.fetch_add(1, Relaxed);
                    refuse(stream, &Failure::too_many_connections());
                    continue;
                }
                workers.least_loaded().take(Order::Session {
                    stream,
                    address: address
                        .map_or_else(|| "unix".into(), |address| address.to_string().into()),
                    listener: Arc::clone(listener),
                });
            }
            Ok(None) => return true,
            // That client's own trouble.
            Err(AcceptError::Connection(_)) => {}
            Err(_) => return false,
        }
    }
}
