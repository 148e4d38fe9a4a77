//! Where clients come in: the sockets that listen, and the clients that wait.
//!
//! Every worker accepts clients, so that none has to be handed from thread to thread, and keeps them unless another one has
//! fewer. This thread tells the workers at which sockets; it accepts itself only where they can't. Where there are as many
//! clients as there may be, those that come wait here, first come, first served.

mod refused;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Registry, Token, Waker};
use onecopy_net::Endpoint;
use onecopy_net::evented::{self, AcceptError};

use crate::alarm::Alarm;
use crate::client::{Client, ListeningSocket};
use crate::failure::Failure;
use crate::gate::{Command, Gate, NOT_ACCEPTED, Ways};
use crate::log::Log;
use crate::mailbox::Order;
use crate::mailbox::Workers;
use crate::queue::Patience;
use crate::session::first_options;
use crate::sockets::Listening;
use refused::Refused;

const WAKE: Token = Token(usize::MAX);

/// All sockets that listen: an event has the acceptor look at each of them.
const SOCKET: Token = Token(0);

/// How long workers are waited for that are told where to accept: they do it within a turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long nothing is accepted where the process has no descriptor left.
const BREATH: Duration = Duration::from_millis(50);

/// The acceptor before it runs: workers have to know its gate.
pub(crate) struct Idle {
    poll: Poll,
    inbox: Receiver<Command>,
    gate: Arc<Gate>,
}

/// The acceptor, for other threads.
#[derive(Debug)]
pub(crate) struct Handle {
    registry: Registry,
    gate: Arc<Gate>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Idle {
    pub(crate) fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let (commands, inbox) = channel();
        let gate = Arc::new(Gate::new(commands, waker));
        Ok(Self { poll, inbox, gate })
    }

    pub(crate) fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Starts it, with no listener yet.
    pub(crate) fn start(self, workers: Arc<Workers>, alarm: Alarm, log: Log) -> io::Result<Handle> {
        let Self { poll, inbox, gate } = self;
        let registry = poll.registry().try_clone()?;
        let mut acceptor = Acceptor {
            poll,
            inbox,
            running: workers.running(),
            workers,
            gate: Arc::clone(&gate),
            sockets: Vec::new(),
            accepts: false,
            is_paused: false,
            patience: Patience {
                timeout: Duration::ZERO,
                length: 0,
            },
            queue: VecDeque::new(),
            refused: Refused::default(),
            lacks_files: false,
            log,
            is_over: false,
        };
        let gate_of_thread = Arc::clone(&gate);
        let thread = std::thread::Builder::new()
            .name("acceptor".into())
            .spawn(move || {
                if let Some(why) = Alarm::watch(|| acceptor.run()) {
                    drop(acceptor);
                    gate_of_thread.forget();
                    alarm.ring("acceptor", &why);
                }
            })?;
        Ok(Handle {
            registry,
            gate,
            thread: Mutex::new(Some(thread)),
        })
    }
}

impl Handle {
    /// Whether events can be had of a new socket, before it is [served](Self::serve).
    pub(crate) fn try_out(&self, socket: &evented::Listener) -> io::Result<()> {
        socket.register(&self.registry, SOCKET)?;
        socket.deregister(&self.registry)
    }

    /// Serves these ways and no others; returns when that is so.
    pub(crate) fn serve(&self, ways: Ways) {
        self.ask(|done| Command::Serve(ways, done));
    }

    /// Takes a place for a session, where there is one.
    pub(crate) fn enter(&self) -> bool {
        self.gate.enter()
    }

    /// Takes a place also where there is none, for a session that was here before.
    pub(crate) fn enter_anyway(&self) {
        self.gate.enter_anyway();
    }

    /// Gives a place back.
    pub(crate) fn leave(&self) {
        self.gate.leave(1);
    }

    /// The sockets once more, to be passed on.
    pub(crate) fn listening(&self) -> io::Result<Vec<Listening>> {
        let sockets = self.ask(Command::Listening);
        sockets.unwrap_or_else(|| Err(io::ErrorKind::BrokenPipe.into()))
    }

    /// Nobody is accepted from now on. Clients wait in front of the sockets, which stay open.
    pub(crate) fn pause(&self) {
        self.ask(Command::Pause);
    }

    /// Clients are accepted again. Those that another process was woken for and has left are found.
    pub(crate) fn resume(&self) {
        self.ask(Command::Resume);
    }

    /// Closes the sockets after a [pause](Self::pause). Who has been accepted and waits for room is let in later.
    pub(crate) fn release(&self) {
        self.ask(Command::Release);
    }

    /// `None` where the thread has ended.
    fn ask<T>(&self, command: impl FnOnce(Sender<T>) -> Command) -> Option<T> {
        let (done, is_done) = channel();
        self.gate.commands.send(command(done)).ok()?;
        self.gate.ring();
        is_done.recv().ok()
    }

    /// No new clients are accepted, and the sockets are closed.
    pub(crate) fn stop(&self) {
        let _ = self.gate.commands.send(Command::Stop);
        self.gate.ring();
        let thread = self.thread.lock();
        if let Some(thread) = thread.unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

/// A socket that listens.
struct Socket {
    endpoint: Endpoint,
    listening: ListeningSocket,
}

struct Acceptor {
    poll: Poll,
    inbox: Receiver<Command>,
    workers: Arc<Workers>,
    gate: Arc<Gate>,
    sockets: Vec<Socket>,
    /// Workers can't: the sockets' events come here.
    accepts: bool,
    /// Nobody is to be accepted for now.
    is_paused: bool,
    /// Workers that had not died at the last look.
    running: usize,
    patience: Patience,
    /// Each waits until then.
    queue: VecDeque<(Client, Instant)>,
    refused: Refused,
    /// There may be fewer sessions than configured, for lack of descriptors.
    lacks_files: bool,
    log: Log,
    is_over: bool,
}

impl Acceptor {
    fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(64);
        let mut breath = None;
        while !self.is_over {
            let now = Instant::now();
            let next = self.queue.iter().map(|(_, deadline)| *deadline).min();
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
                    Command::Client(client) => {
                        self.take(client);
                        self.gate.has_come();
                    }
                    // No new clients may be accepted.
                    Command::Serve(..) if self.is_over => {}
                    Command::Serve(ways, done) => {
                        self.serve(ways);
                        let _ = done.send(());
                    }
                    Command::Listening(reply) => {
                        let again = |known: &Socket| {
                            Listening::of(&known.endpoint, &known.listening.socket)
                        };
                        let _ = reply.send(self.sockets.iter().map(again).collect());
                    }
                    Command::Pause(done) => {
                        self.pause();
                        let _ = done.send(());
                    }
                    Command::Resume(done) => {
                        self.resume();
                        let _ = done.send(());
                    }
                    Command::Release(done) => {
                        self.sockets.clear();
                        let _ = done.send(());
                    }
                    Command::Stop => {
                        self.is_over = true;
                        self.have_accepted(Vec::new());
                    }
                }
            }
            let running = self.workers.running();
            let has_died = std::mem::replace(&mut self.running, running) > running;
            if !self.accepts && running == 0 {
                // New clients are closed at once.
                self.accept_here();
            }
            breath = None;
            // A worker that has died may be the only one that was notified of a client.
            if (self.accepts || self.is_over || has_died) && !self.is_paused {
                // All of them: a socket that was left because descriptors ran out causes no new event.
                let all = self.sockets.iter();
                let all: Vec<_> = all.map(|known| known.listening.clone()).collect();
                for listening in all {
                    if !self.accept_all(&listening) {
                        breath = Some(BREATH);
                    }
                }
            }
            self.let_in();
            self.refused.look();
        }
        for (client, _) in self.queue.drain(..) {
            self.refused.add(client.stream, &Failure::shutdown());
        }
        self.gate.set_waiting(0);
        // Nobody else comes in: these are waited for.
        self.sockets.clear();
        self.refused.finish();
        Ok(())
    }

    /// These ways from now on. Who has come to a socket that goes is let in before.
    fn serve(&mut self, ways: Ways) {
        self.gate.set_max_sessions(ways.room.sessions);
        self.lacks_files = ways.room.sessions < ways.max_connections;
        self.refused.set_most(ways.room.refused);
        self.patience = ways.patience;
        let mut before = std::mem::take(&mut self.sockets);
        for way in ways.sockets {
            let known = before
                .iter()
                .position(|known| known.endpoint == way.endpoint);
            let socket = match (way.socket, known) {
                (Some(socket), _) => Arc::new(socket),
                (None, Some(known)) => before.swap_remove(known).listening.socket,
                (None, None) => continue,
            };
            // Its clients have them from it, and may be set otherwise than before. Without them they are served as well.
            let _ = socket.set_options(&first_options(way.listener.config.socket));
            self.sockets.push(Socket {
                endpoint: way.endpoint,
                listening: ListeningSocket {
                    socket,
                    listener: way.listener,
                },
            });
        }
        let all = self.sockets.iter().map(|known| known.listening.clone());
        self.have_accepted(all.collect());
        for Socket { listening, .. } in before {
            self.accept_all(&listening);
            if self.accepts {
                let _ = listening.socket.deregister(self.poll.registry());
            }
        }
    }

    /// Nobody is accepted from now on.
    fn pause(&mut self) {
        self.is_paused = true;
        self.have_accepted(Vec::new());
        if self.accepts {
            for Socket { listening, .. } in &self.sockets {
                let _ = listening.socket.deregister(self.poll.registry());
            }
        }
    }

    /// Clients are accepted, also those for whom there will be no event.
    fn resume(&mut self) {
        self.is_paused = false;
        let all = self.sockets.iter().map(|known| known.listening.clone());
        self.have_accepted(all.collect());
    }

    /// Has workers accept clients at these sockets and at no others; returns when that is so.
    fn have_accepted(&mut self, sockets: Vec<ListeningSocket>) {
        let (done, are_done) = channel();
        for worker in &self.workers.0 {
            worker.order(Order::Accept {
                sockets: sockets.clone(),
                workers: Arc::clone(&self.workers),
                done: done.clone(),
            });
        }
        drop(done);
        // It ends with the last of them, also with one that dies; one that hangs is not waited for.
        let patience = Instant::now() + PATIENCE;
        let mut can_all = true;
        while let Ok(can) = are_done.recv_timeout(patience - Instant::now().min(patience)) {
            can_all &= can;
        }
        if (!can_all || self.accepts) && !self.is_paused {
            self.accept_here();
        }
    }

    /// Accepts at all sockets from now on, beside workers or in their place.
    #[cold]
    fn accept_here(&mut self) {
        self.accepts = true;
        for Socket { listening, .. } in &self.sockets {
            // One of those before fails, as it is there already.
            let _ = listening.socket.register(self.poll.registry(), SOCKET);
        }
    }

    /// `false` where some were left for lack of descriptors.
    fn accept_all(&mut self, listening: &ListeningSocket) -> bool {
        loop {
            match listening.accept() {
                Ok(Some(client)) => self.take(client),
                Ok(None) => return true,
                // That client's own trouble.
                Err(AcceptError::Connection(_)) => {}
                Err(error) => {
                    if let AcceptError::Exhausted(_) = error {
                        self.log.out_of_files(NOT_ACCEPTED);
                    }
                    return false;
                }
            }
        }
    }

    fn take(&mut self, client: Client) {
        if self.is_over {
            return self.refused.add(client.stream, &Failure::shutdown());
        }
        if self.queue.is_empty() && self.gate.enter() {
            return self.hand_over(client);
        }
        if self.patience.timeout.is_zero() || self.queue.len() >= self.patience.length {
            return self.refuse_full(client);
        }
        let deadline = Instant::now() + self.patience.timeout;
        self.queue.push_back((client, deadline));
        // Sessions that end from now on wake the acceptor; `let_in` sees those that ended before.
        self.gate.set_waiting(self.queue.len());
    }

    /// Those that wait, as far as there is room; and refuses those that have waited too long.
    fn let_in(&mut self) {
        if self.queue.is_empty() {
            return;
        }
        while !self.queue.is_empty() && self.gate.enter() {
            match self.queue.pop_front() {
                Some((client, _)) => self.hand_over(client),
                None => break,
            }
        }
        let now = Instant::now();
        let all = std::mem::take(&mut self.queue).into_iter();
        let (late, waiting): (VecDeque<_>, _) = all.partition(|(_, deadline)| *deadline <= now);
        self.queue = waiting;
        late.into_iter()
            .for_each(|(client, _)| self.refuse_full(client));
        self.gate.set_waiting(self.queue.len());
    }

    /// There are as many as there may be.
    fn refuse_full(&mut self, client: Client) {
        let refusals = &client.listener.refused;
        let failure = match self.lacks_files {
            false => {
                refusals.max_connections.fetch_add(1, Relaxed);
                Failure::too_many_connections()
            }
            true => {
                refusals.open_files.fetch_add(1, Relaxed);
                self.log.out_of_files("clients are refused (error 1040)");
                Failure::open_files()
            }
        };
        self.refused.add(client.stream, &failure);
    }

    /// To the worker with the fewest sessions. It has its place.
    fn hand_over(&self, client: Client) {
        if !self.workers.least_loaded().take(client) {
            self.gate.leave(1);
        }
    }
}
