//! Clients over HTTP, all on one thread with one event loop: nobody holds up anybody else.
//!
//! ```text
//!   reading --> [waiting for the page of metrics] --> writing --> gone
//! ```
//!
//! Where there are as many clients as there may be, the newest takes the place of the oldest that has not sent its request; where
//! all have, of the oldest that does not take its answer. The page of metrics asks the workers, which may take a while: a thread
//! of its own makes one at a time, for all that wait for it.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use mio::{Events, Token, Waker};
use onecopy_net::evented::{AcceptError, ReadOutcome, Stream};
use onecopy_wire::{BufferConfig, Buffers};

use super::request::{self, Path, RequestError};
use super::{answer, metrics_answer};
use crate::control::door::Hall;
use crate::control::{View, metrics, spawn};

/// Clients at a time.
const MAX_CLIENTS: usize = 32;

/// From the connect to the last byte of the answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of a request.
const MAX_REQUEST: usize = 8 << 10;

/// How long nobody is let in where the process has no descriptor left.
const BREATH: Duration = Duration::from_millis(100);

/// The first client's token.
const FIRST: usize = 2;

struct Client {
    stream: Stream,
    state: State,
    deadline: Instant,
}

enum State {
    Reading(Box<Buffers>),
    /// It waits for a page that is begun after this number of them.
    Waiting {
        since: u64,
        has_body: bool,
    },
    Writing {
        answer: Vec<u8>,
        sent: usize,
    },
}

/// Who may go first where another one comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Claim {
    Silent,
    Greedy,
    Waiting,
}

/// The event loop.
pub(super) struct Server {
    hall: Hall,
    view: Arc<View>,
    clients: Vec<Option<Client>>,
    /// Pages that were asked for, and those that have arrived.
    begun: u64,
    is_rendering: bool,
    orders: Sender<()>,
    pages: Receiver<String>,
}

impl Server {
    /// Starts the thread that makes the pages of metrics.
    pub(super) fn new(hall: Hall, view: Arc<View>) -> io::Result<Self> {
        let (orders, inbox) = channel();
        let (outbox, pages) = channel();
        let (its_view, waker) = (Arc::clone(&view), Arc::clone(&hall.waker));
        spawn("metrics-page", move || {
            render(&its_view, &inbox, &outbox, &waker);
        })?;
        Ok(Self {
            hall,
            view,
            clients: (0..MAX_CLIENTS).map(|_| None).collect(),
            begun: 0,
            is_rendering: false,
            orders,
            pages,
        })
    }

    pub(super) fn run(&mut self) {
        let mut events = Events::with_capacity(2 * MAX_CLIENTS);
        let mut breath = None;
        while !self.hall.is_closed() {
            let now = Instant::now();
            let clients = self.clients.iter().flatten();
            let next = clients.map(|client| client.deadline).min();
            let next = next.map(|next| next.saturating_duration_since(now));
            let timeout = [breath, next].into_iter().flatten().min();
            match self.hall.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
                _ => {}
            }
            for event in &events {
                let Some(index) = event.token().0.checked_sub(FIRST) else {
                    continue;
                };
                if let Some(Some(client)) = self.clients.get_mut(index) {
                    client.stream.observe(event);
                    self.go_on(index);
                }
            }
            while let Ok(page) = self.pages.try_recv() {
                self.take_page(&page);
            }
            let now = Instant::now();
            for client in &mut self.clients {
                // A client that is gone or late has no use for an error.
                client.take_if(|client| now >= client.deadline);
            }
            breath = (!self.accept_all()).then_some(BREATH);
        }
    }

    /// `false` where some were left for lack of descriptors.
    fn accept_all(&mut self) -> bool {
        loop {
            match self.hall.listener.accept() {
                Ok(None) => return true,
                Ok(Some((stream, _))) => self.admit(stream),
                Err(AcceptError::Connection(_)) => {}
                Err(_) => {
                    let log = self.view.log();
                    log.out_of_files("control listeners wait for one");
                    return false;
                }
            }
        }
    }

    fn admit(&mut self, mut stream: Stream) {
        let places = self.clients.iter().enumerate();
        let claim = |client: &Option<Client>| {
            let client = client.as_ref();
            client.map(|client| (client.claim(), client.deadline))
        };
        let Some((index, _)) = places.min_by_key(|(_, client)| claim(client)) else {
            return;
        };
        // The client in this place is closed.
        self.clients[index] = None;
        let token = Token(FIRST + index);
        if stream.register(self.hall.poll.registry(), token).is_err() {
            return;
        }
        self.clients[index] = Some(Client {
            stream,
            state: State::Reading(Box::new(Buffers::new(BufferConfig {
                initial_read: 1 << 10,
                max_read: MAX_REQUEST,
                max_buffer: MAX_REQUEST,
                idle_keep: 0,
            }))),
            deadline: Instant::now() + TIMEOUT,
        });
        self.go_on(index);
    }

    /// Does what can be done for one client now.
    fn go_on(&mut self, index: usize) {
        let Some(client) = &mut self.clients[index] else {
            return;
        };
        if let State::Reading(buffers) = &mut client.state {
            match read(&mut client.stream, buffers) {
                Some(Asked::Nothing) => return,
                Some(Asked::Page { has_body }) => {
                    let since = self.begun;
                    client.state = State::Waiting { since, has_body };
                    return self.have_rendered();
                }
                Some(Asked::Other(request)) => client.answer(answer(request, &self.view)),
                None => {
                    self.clients[index] = None;
                    return;
                }
            }
        }
        if let Some(client) = &mut self.clients[index]
            && client.write().is_none()
        {
            self.clients[index] = None;
        }
    }

    /// Has a page made where somebody waits and none is being made.
    fn have_rendered(&mut self) {
        let is_waited_for = |client: &Client| matches!(client.state, State::Waiting { .. });
        let mut clients = self.clients.iter().flatten();
        if !self.is_rendering && clients.any(is_waited_for) {
            self.begun += 1;
            self.is_rendering = self.orders.send(()).is_ok();
        }
    }

    /// A page has arrived: for those that waited when it was begun.
    fn take_page(&mut self, page: &str) {
        self.is_rendering = false;
        for index in 0..self.clients.len() {
            if let Some(client) = &mut self.clients[index]
                && let State::Waiting { since, has_body } = client.state
                && since < self.begun
            {
                client.answer(metrics_answer(page, has_body));
                self.go_on(index);
            }
        }
        self.have_rendered();
    }
}

/// What has arrived of a client.
enum Asked {
    /// Not all of its request.
    Nothing,
    /// The page of metrics.
    Page {
        has_body: bool,
    },
    Other(Result<request::Request, RequestError>),
}

/// `None` at the end of the stream.
fn read(stream: &mut Stream, buffers: &mut Buffers) -> Option<Asked> {
    loop {
        match request::take(buffers.pending()) {
            Ok(None) if buffers.pending().len() >= MAX_REQUEST => {
                return Some(Asked::Other(Err(RequestError::TooLarge)));
            }
            Ok(None) => {}
            Ok(Some(request)) if request.path == Path::Metrics => {
                let has_body = request.has_body;
                return Some(Asked::Page { has_body });
            }
            Ok(Some(request)) => return Some(Asked::Other(Ok(request))),
            Err(error) => return Some(Asked::Other(Err(error))),
        }
        buffers.need(1, 0);
        match stream.read(buffers) {
            Ok(ReadOutcome::Bytes { .. }) => {}
            Ok(ReadOutcome::WouldBlock) => return Some(Asked::Nothing),
            Ok(ReadOutcome::Closed) | Err(_) => return None,
        }
    }
}

impl Client {
    fn claim(&self) -> Claim {
        match self.state {
            State::Reading(_) => Claim::Silent,
            State::Writing { .. } => Claim::Greedy,
            State::Waiting { .. } => Claim::Waiting,
        }
    }

    fn answer(&mut self, answer: String) {
        let answer = answer.into_bytes();
        self.state = State::Writing { answer, sent: 0 };
    }

    /// `None` once everything has left, or nothing more can.
    fn write(&mut self) -> Option<()> {
        let State::Writing { answer, sent } = &mut self.state else {
            return Some(());
        };
        while let Some(rest) = answer.get(*sent..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(&[IoSlice::new(rest)]).ok()? {
                Some(n) => *sent += n,
                None => return Some(()),
            }
        }
        self.stream.shutdown();
        None
    }
}

/// Makes a page for each order, one after the other.
fn render(view: &View, orders: &Receiver<()>, pages: &Sender<String>, waker: &Waker) {
    while orders.recv().is_ok() {
        if pages.send(metrics::text(view)).is_err() {
            return;
        }
        let _ = waker.wake();
    }
}
