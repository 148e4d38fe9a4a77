//! Where clients come in: one thread for all listeners, which hands each client to the worker with the fewest sessions.
//!
//! Where there are as many clients as there may be, those that come wait here, first come, first served.

mod refused;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{
    AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Registry, Token, Waker};
use onecopy_net::Endpoint;
use onecopy_net::evented::{self, AcceptError, Stream};

use crate::alarm::Alarm;
use crate::failure::Failure;
use crate::proxy::{Listener, Workers};
use crate::queue::Patience;
use crate::worker::Order;
use refused::Refused;

const WAKE: Token = Token(usize::MAX);

/// All sockets that listen: an event has the acceptor look at each of them.
const SOCKET: Token = Token(0);

/// How long nothing is accepted where the process has no descriptor left.
const BREATH: Duration = Duration::from_millis(50);

/// Tells the acceptor that a session has ended, where somebody waits for that.
#[derive(Debug)]
pub(crate) struct Bell {
    waker: Waker,
    /// Clients that wait.
    waiting: AtomicUsize,
}

impl Bell {
    /// A session has ended, and was taken from the number of sessions before.
    #[inline]
    pub(crate) fn ring(&self) {
        if self.waiting.load(SeqCst) > 0 {
            let _ = self.waker.wake();
        }
    }
}

/// What is accepted, and how many.
#[derive(Debug)]
pub(crate) struct Ways {
    pub(crate) sockets: Vec<Way>,
    pub(crate) max_connections: usize,
    pub(crate) patience: Patience,
}

/// One address.
#[derive(Debug)]
pub(crate) struct Way {
    /// As it was configured; by it a socket is known.
    pub(crate) endpoint: Endpoint,
    pub(crate) listener: Arc<Listener>,
    /// A new socket; `None`: the one that listens already.
    pub(crate) socket: Option<evented::Listener>,
}

/// What the acceptor is asked for.
#[derive(Debug)]
enum Command {
    /// These ways from now on; says so when it is so.
    Serve(Ways, Sender<()>),
    /// None, and the thread ends.
    Stop,
}

/// The acceptor before it runs: workers have to know its bell.
pub(crate) struct Idle {
    poll: Poll,
    bell: Arc<Bell>,
}

/// The acceptor, for other threads.
#[derive(Debug)]
pub(crate) struct Handle {
    commands: Sender<Command>,
    registry: Registry,
    bell: Arc<Bell>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Idle {
    pub(crate) fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let waiting = AtomicUsize::new(0);
        let bell = Arc::new(Bell { waker, waiting });
        Ok(Self { poll, bell })
    }

    pub(crate) fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }

    /// Starts it, with no way in yet.
    pub(crate) fn start(self, workers: Arc<Workers>, alarm: Alarm) -> io::Result<Handle> {
        let Self { poll, bell } = self;
        let registry = poll.registry().try_clone()?;
        let (commands, inbox) = channel();
        let mut acceptor = Acceptor {
            poll,
            inbox,
            workers,
            bell: Arc::clone(&bell),
            sockets: Vec::new(),
            max_connections: 0,
            patience: Patience {
                timeout: Duration::ZERO,
                length: 0,
            },
            queue: VecDeque::new(),
            refused: Refused::default(),
            is_over: false,
        };
        let thread = std::thread::Builder::new()
            .name("acceptor".into())
            .spawn(move || {
                alarm.watch("acceptor", || acceptor.run());
            })?;
        Ok(Handle {
            commands,
            registry,
            bell,
            thread: Mutex::new(Some(thread)),
        })
    }
}

impl Handle {
    /// Has a new socket's clients noticed, before it is [served](Self::serve).
    pub(crate) fn register(&self, socket: &mut evented::Listener) -> io::Result<()> {
        socket.register(&self.registry, SOCKET)
    }

    /// Serves these ways and no others; returns when that is so.
    pub(crate) fn serve(&self, ways: Ways) {
        let (done, is_done) = channel();
        if self.commands.send(Command::Serve(ways, done)).is_ok() {
            let _ = self.bell.waker.wake();
            // An error: it has been stopped meanwhile.
            let _ = is_done.recv();
        }
    }

    /// Nobody comes in any more, and the sockets are closed.
    pub(crate) fn stop(&self) {
        let _ = self.commands.send(Command::Stop);
        let _ = self.bell.waker.wake();
        let thread = self.thread.lock();
        if let Some(thread) = thread.unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

/// A client that has come in.
struct Client {
    stream: Stream,
    address: Option<SocketAddr>,
    listener: Arc<Listener>,
    /// Until then it waits.
    deadline: Instant,
}

struct Acceptor {
    poll: Poll,
    inbox: Receiver<Command>,
    workers: Arc<Workers>,
    bell: Arc<Bell>,
    sockets: Vec<(Endpoint, evented::Listener, Arc<Listener>)>,
    max_connections: usize,
    patience: Patience,
    queue: VecDeque<Client>,
    refused: Refused,
    is_over: bool,
}

impl Acceptor {
    fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(64);
        let mut breath = None;
        while !self.is_over {
            let now = Instant::now();
            let next = self.queue.iter().map(|client| client.deadline).min();
            let patience = next.map(|next| next.saturating_duration_since(now));
            let look = (!self.refused.is_empty()).then_some(refused::LOOK);
            let timeout = [breath, patience, look].into_iter().flatten().min();
            if let Err(error) = self.poll.poll(&mut events, timeout)
                && error.kind() != io::ErrorKind::Interrupted
            {
                return Err(error);
            }
            while let Ok(command) = self.inbox.try_recv() {
                match command {
                    Command::Serve(ways, done) => {
                        self.serve(ways);
                        let _ = done.send(());
                    }
                    Command::Stop => self.is_over = true,
                }
            }
            // All of them: a socket that was left for lack of descriptors tells of nothing new.
            let mut sockets = std::mem::take(&mut self.sockets);
            let all = sockets.iter_mut();
            let was_all = all.map(|(_, socket, listener)| self.accept_all(socket, listener));
            // Each of them, also where one was left.
            breath = was_all
                .fold(true, |all, one| all & one)
                .then_some(())
                .map_or(Some(BREATH), |()| None);
            self.sockets = sockets;
            self.let_in();
            self.refused.look();
        }
        for client in self.queue.drain(..) {
            self.refused.add(client.stream, &Failure::shutdown());
        }
        self.bell.waiting.store(0, SeqCst);
        // Nobody else comes in: these are waited for.
        self.sockets.clear();
        self.refused.finish();
        Ok(())
    }

    /// These ways from now on. Who has come to a socket that goes is let in before.
    fn serve(&mut self, ways: Ways) {
        self.max_connections = ways.max_connections;
        self.patience = ways.patience;
        let mut before = std::mem::take(&mut self.sockets);
        for way in ways.sockets {
            let known = before
                .iter()
                .position(|(endpoint, ..)| *endpoint == way.endpoint);
            let socket = match (way.socket, known) {
                (Some(socket), _) => socket,
                (None, Some(known)) => before.swap_remove(known).1,
                (None, None) => continue,
            };
            // Its clients have them from it, and may be set otherwise than before. Without them they are served as well.
            let _ = socket.set_options(&way.listener.config.socket);
            self.sockets.push((way.endpoint, socket, way.listener));
        }
        for (_, mut socket, listener) in before {
            self.accept_all(&mut socket, &listener);
            let _ = socket.deregister(self.poll.registry());
        }
    }

    /// `false` where some were left for lack of descriptors.
    fn accept_all(&mut self, socket: &mut evented::Listener, listener: &Arc<Listener>) -> bool {
        loop {
            match socket.accept() {
                Ok(Some((stream, address))) => {
                    self.take(stream, address, listener);
                }
                Ok(None) => return true,
                // That client's own trouble.
                Err(AcceptError::Connection(_)) => {}
                Err(_) => return false,
            }
        }
    }

    fn take(&mut self, stream: Stream, address: Option<SocketAddr>, listener: &Arc<Listener>) {
        if self.is_over {
            return self.refused.add(stream, &Failure::shutdown());
        }
        let client = Client {
            stream,
            address,
            listener: Arc::clone(listener),
            deadline: Instant::now() + self.patience.timeout,
        };
        if self.queue.is_empty() && self.has_room() {
            return self.hand_over(client);
        }
        if self.patience.timeout.is_zero() || self.queue.len() >= self.patience.length {
            return self.refuse_full(client);
        }
        self.queue.push_back(client);
        // Whoever ends from now on rings; who ended before is seen by `let_in`.
        self.bell.waiting.store(self.queue.len(), SeqCst);
    }

    /// Those that wait, as far as there is room; and refuses those that have waited too long.
    fn let_in(&mut self) {
        if self.queue.is_empty() {
            return;
        }
        while self.has_room()
            && let Some(client) = self.queue.pop_front()
        {
            self.hand_over(client);
        }
        let now = Instant::now();
        let all = std::mem::take(&mut self.queue).into_iter();
        let (late, waiting): (VecDeque<_>, _) = all.partition(|client| client.deadline <= now);
        self.queue = waiting;
        late.into_iter().for_each(|client| self.refuse_full(client));
        self.bell.waiting.store(self.queue.len(), SeqCst);
    }

    /// There are as many as there may be.
    fn refuse_full(&mut self, client: Client) {
        client.listener.refused.fetch_add(1, Relaxed);
        let failure = Failure::too_many_connections();
        self.refused.add(client.stream, &failure);
    }

    fn has_room(&self) -> bool {
        self.workers.sessions() < self.max_connections
    }

    fn hand_over(&self, client: Client) {
        let address = client.address.map(|address| address.to_string());
        self.workers.least_loaded().take(Order::Session {
            stream: client.stream,
            address: address.map_or_else(|| "unix".into(), Into::into),
            listener: client.listener,
        });
    }
}
