//! A listener whose clients are few: each has a thread, and only so many are let in at a time.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use mio::{Events, Poll, Token, Waker};
use onecopy_net::Endpoint;
use onecopy_net::blocking::Stream;
use onecopy_net::evented::{AcceptError, Address, Listener, ListenerOptions};

use super::spawn;
use crate::backend::resolve;
use crate::running::lock;

const LISTENER: Token = Token(0);
const WAKE: Token = Token(1);

/// How long nobody is let in where the process has no descriptor or thread left.
const BREATH: Duration = Duration::from_millis(100);

/// A listener and its thread.
#[derive(Debug)]
pub(super) struct Door {
    address: Address,
    is_closed: Arc<AtomicBool>,
    waker: Waker,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// One client.
#[derive(Debug)]
pub(super) struct Guest {
    pub(super) stream: Stream,
    /// Where it is.
    pub(super) address: String,
    is_closed: Arc<AtomicBool>,
    _place: Place,
}

impl Guest {
    /// Whether it has to go.
    pub(super) fn must_leave(&self) -> bool {
        self.is_closed.load(Relaxed)
    }
}

/// One of so many; free again when it is dropped.
#[derive(Debug)]
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Door {
    /// Listens, and has `serve` run for each client, for at most `max` at a time; others are closed at once. Unix sockets have
    /// this mode.
    pub(super) fn open(
        endpoint: &Endpoint,
        (name, max, unix_mode): (&'static str, usize, u32),
        serve: impl Fn(Guest) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let options = ListenerOptions {
            unix_mode,
            ..ListenerOptions::default()
        };
        let listener = Listener::bind(&resolve(endpoint)?.swap_remove(0), &options)?;
        let address = listener.address()?;
        let mut poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        listener.register(poll.registry(), LISTENER)?;
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&is_closed);
        let serve = Arc::new(serve);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let mut events = Events::with_capacity(8);
                let mut timeout = None;
                let inside = Arc::new(AtomicUsize::new(0));
                while !closed.load(Relaxed) {
                    match poll.poll(&mut events, timeout) {
                        Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
                        _ => {}
                    }
                    let admit = |stream: Stream, address: String| {
                        let place = Place(Arc::clone(&inside));
                        if inside.fetch_add(1, Relaxed) >= max {
                            return;
                        }
                        let serve = Arc::clone(&serve);
                        let guest = Guest {
                            stream,
                            address,
                            is_closed: Arc::clone(&closed),
                            _place: place,
                        };
                        // Without a thread the client is closed, which is all that can be said.
                        let _ = spawn(name, move || serve(guest));
                    };
                    timeout = (!accept_all(&listener, admit)).then_some(BREATH);
                }
            })?;
        Ok(Self {
            address,
            is_closed,
            waker,
            thread: Mutex::new(Some(thread)),
        })
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    pub(super) fn close(&self) {
        self.is_closed.store(true, Relaxed);
        let _ = self.waker.wake();
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.close();
    }
}

/// `false` where some were left for lack of descriptors.
fn accept_all(listener: &Listener, admit: impl Fn(Stream, String)) -> bool {
    loop {
        match listener.accept() {
            Ok(None) => return true,
            Ok(Some((stream, address))) => {
                let address = address.map_or_else(|| "unix".to_owned(), |it| it.to_string());
                if let Ok(stream) = stream.into_blocking() {
                    admit(stream, address);
                }
            }
            Err(AcceptError::Connection(_)) => {}
            Err(_) => return false,
        }
    }
}
