//! A listener of the control side, and the thread that takes its clients in.

mod guests;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use mio::{Poll, Token, Waker};
use onecopy_net::Endpoint;
use onecopy_net::evented::{Address, Listener, ListenerOptions};

use crate::error::Error;
use crate::lock::lock;
use crate::sockets::Sockets;
pub(super) use guests::{Guest, Guests};

/// Events of the listener.
const LISTENER: Token = Token(0);

/// Events of [`Hall::waker`].
const WAKE: Token = Token(1);

/// A listener and its thread.
#[derive(Debug)]
pub(crate) struct Door {
    address: Address,
    is_closed: Arc<AtomicBool>,
    waker: Arc<Waker>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread has.
pub(crate) struct Hall {
    pub(crate) listener: Listener,
    /// The listener is registered here.
    pub(crate) poll: Poll,
    is_closed: Arc<AtomicBool>,
}

impl Hall {
    /// Whether the thread has to end.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Relaxed)
    }
}

impl Door {
    /// Listens, and has what `begin` gives take clients in until the door is closed. Unix sockets have this mode.
    pub(super) fn open<R: FnOnce() + Send + 'static>(
        endpoint: &Endpoint,
        (name, unix_mode): (&str, u32),
        sockets: &Mutex<Sockets>,
        begin: impl FnOnce(Hall) -> io::Result<R>,
    ) -> Result<Self, Error> {
        let failed = |error| Error::Listen(endpoint.clone(), error);
        let options = ListenerOptions {
            unix_mode,
            ..ListenerOptions::default()
        };
        let listener = lock(sockets).listen_for_control(endpoint, &options)?;
        let address = listener.address().map_err(failed)?;
        Self::start(listener, address, name, begin).map_err(Error::start(name))
    }

    /// The same with a listener that is there already.
    pub(crate) fn start<R: FnOnce() + Send + 'static>(
        listener: Listener,
        address: Address,
        name: &str,
        begin: impl FnOnce(Hall) -> io::Result<R>,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKE)?);
        listener.register(poll.registry(), LISTENER)?;
        let is_closed = Arc::new(AtomicBool::new(false));
        let hall = Hall {
            listener,
            poll,
            is_closed: Arc::clone(&is_closed),
        };
        let run = begin(hall)?;
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(run)?;
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

    pub(crate) fn close(&self) {
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
