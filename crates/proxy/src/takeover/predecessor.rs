//! The running proxy's side: it waits for a successor, hands over, and stays until its sessions have ended.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};
use std::{fmt, io};

use mio::Events;
use onecopy_net::Endpoint;
use onecopy_net::descriptors::MAX_DESCRIPTORS;
use onecopy_net::evented::{Listener, ListenerOptions};

use super::ids::Told;
use super::link::{Broken, Link};
use super::message::{Message, Passed, Purpose, agree};
use super::moves::Moves;
use super::starter::{Starter, SuccessorCommand};
use super::{PROMPT, peer};
use crate::control::{Control, Door, Hall};
use crate::error::Error;
use crate::lock::lock;
use crate::log::Event;
use crate::running::Running;

/// Connections at a time. One is needed for the successor, one for who has asked for it.
const MAX_CONNECTIONS: usize = 8;

/// How long somebody may take to say what they want.
const HELLO: Duration = Duration::from_secs(5);

/// How often it is looked how many sessions are left.
const LOOK: Duration = Duration::from_millis(100);

/// How often the log says how many sessions are left.
const REPORT: Duration = Duration::from_secs(60);

/// What is called once another process has taken over.
type Hook = Box<dyn Fn(u32) + Send>;

/// The socket and its thread.
#[derive(Debug)]
pub(crate) struct Predecessor(Arc<Shared>);

struct Shared {
    running: Arc<Running>,
    control: Arc<Control>,
    door: OnceLock<Door>,
    connections: AtomicUsize,
    is_closed: Arc<AtomicBool>,
    state: Mutex<State>,
    has_changed: Condvar,
}

#[derive(Default)]
struct State {
    command: Option<SuccessorCommand>,
    hook: Option<Hook>,
    starter: Option<Starter>,
    /// Somebody has asked for a start.
    is_starting: bool,
    /// So many have not had their answer.
    unanswered: usize,
    /// Why attempts have failed, the last one, and how many have.
    why: String,
    failures: u64,
    /// The process that has taken over.
    successor: Option<(u32, usize)>,
}

impl Predecessor {
    /// Listens at the configured path.
    pub(crate) fn listen(running: &Running, endpoint: &Endpoint) -> Result<Listener, Error> {
        let options = ListenerOptions {
            unix_mode: 0o600,
            ..ListenerOptions::default()
        };
        lock(&running.sockets).listen_for_control(endpoint, &options)
    }

    /// Waits for a successor from now on.
    pub(crate) fn start(
        listener: Listener,
        running: &Arc<Running>,
        control: &Arc<Control>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            running: Arc::clone(running),
            control: Arc::clone(control),
            door: OnceLock::new(),
            connections: AtomicUsize::new(0),
            is_closed: Arc::default(),
            state: Mutex::default(),
            has_changed: Condvar::new(),
        });
        let address = listener.address()?;
        let accepting = Arc::clone(&shared);
        let door = Door::start(listener, address, "upgrade", |hall| {
            Ok(move || accept(hall, &accepting))
        })?;
        let _ = shared.door.set(door);
        Ok(Self(shared))
    }

    /// How a successor is started when somebody asks for it.
    pub(crate) fn set_command(&self, command: SuccessorCommand) {
        self.0.state().command = Some(command);
    }

    /// What is called, by a thread of its own, before the successor is told that it is the service.
    pub(crate) fn on_handover(&self, hook: Hook) {
        self.0.state().hook = Some(hook);
    }

    /// The process that has taken over.
    pub(crate) fn successor(&self) -> Option<u32> {
        self.0.state().successor.map(|(process, _)| process)
    }

    pub(crate) fn close(&self) {
        self.0.is_closed.store(true, SeqCst);
        self.0.has_changed.notify_all();
        self.0.close_door();
        self.0.await_answers();
    }
}

/// Takes connections until the door is closed.
fn accept(mut hall: Hall, shared: &Arc<Shared>) {
    let mut events = Events::with_capacity(8);
    let mut breath = None;
    while !hall.is_closed() {
        match hall.poll.poll(&mut events, breath) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
            _ => {}
        }
        breath = None;
        loop {
            match hall.listener.accept() {
                Ok(None) => break,
                Ok(Some((stream, _))) => {
                    let stream = stream.as_fd().try_clone_to_owned();
                    if let Ok(stream) = stream {
                        begin(stream, shared);
                    }
                }
                Err(_) => {
                    breath = Some(LOOK);
                    break;
                }
            }
        }
    }
}

/// A thread for a connection. Where there are too many it is closed.
fn begin(stream: OwnedFd, shared: &Arc<Shared>) {
    let stream = UnixStream::from(stream);
    if shared.connections.fetch_add(1, SeqCst) >= MAX_CONNECTIONS {
        shared.connections.fetch_sub(1, SeqCst);
        return;
    }
    let serving = Arc::clone(shared);
    let started = std::thread::Builder::new()
        .name("upgrade".into())
        .spawn(move || {
            serve(stream, &serving);
            serving.connections.fetch_sub(1, SeqCst);
        });
    if started.is_err() {
        shared.connections.fetch_sub(1, SeqCst);
    }
}

fn serve(stream: UnixStream, shared: &Arc<Shared>) {
    let process = match peer(&stream).and_then(|process| {
        stream.set_nonblocking(false)?;
        Ok(process)
    }) {
        Ok(process) => process,
        Err(error) => return shared.complain(&error),
    };
    let mut link = Link::new(stream, &shared.is_closed);
    let purpose = match link.receive(Instant::now() + HELLO) {
        Ok(Message::Hello { versions, purpose }) => match agree(versions) {
            Ok(version) => (version, purpose),
            Err(why) => return shared.refuse(&link, why),
        },
        Ok(other) => return shared.refuse(&link, Broken::unexpected(&other).to_string()),
        Err(error) => return shared.refuse(&link, error.to_string()),
    };
    match purpose {
        (version, Purpose::TakeOver) => shared.hand_over(link, version, process),
        (_, Purpose::Start) => shared.start_successor(&link),
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Whoever has asked for an upgrade hears of it before the process ends, as does the successor.
    fn await_answers(&self) {
        let deadline = Instant::now() + PROMPT;
        let mut state = self.state();
        while state.unanswered > 0 && Instant::now() < deadline {
            let waited = self.has_changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }

    fn begin_answer(&self) {
        self.state().unanswered += 1;
    }

    fn end_answer(&self) {
        self.state().unanswered -= 1;
        self.has_changed.notify_all();
    }

    /// Nobody comes in any more.
    fn close_door(&self) {
        if let Some(door) = self.door.get() {
            door.close();
        }
    }

    fn complain(&self, why: &dyn fmt::Display) {
        let why = why.to_string();
        self.running.log.event(Event::UpgradeFailed { why });
    }

    fn refuse(&self, link: &Link, why: String) {
        self.complain(&why);
        let _ = link.send(&Message::Refused(why), Instant::now() + PROMPT);
    }

    /// One successor after the other.
    fn hand_over(&self, mut link: Link, version: u16, process: u32) {
        if !self.running.begin_upgrade() {
            let why = "the proxy is draining, or another upgrade is under way";
            return self.refuse(&link, why.to_owned());
        }
        let mut accepts_elsewhere = false;
        self.begin_answer();
        let attempt = self.attempt(&mut link, version, process, &mut accepts_elsewhere);
        self.end_answer();
        match attempt {
            Ok(sessions) => self.accompany(&mut link, sessions),
            Err(error) => {
                if accepts_elsewhere {
                    // Also those for whom the other one was woken.
                    self.running.resume();
                }
                let why = match error {
                    Failed::Told(why) => why,
                    Failed::Broken(error) => error.to_string(),
                };
                self.refuse(&link, why.clone());
                self.running.end_upgrade();
                let mut state = self.state();
                (state.why, state.failures) = (why, state.failures + 1);
                self.has_changed.notify_all();
            }
        }
    }

    /// Gives the number of sessions that stay.
    fn attempt(
        &self,
        link: &mut Link,
        version: u16,
        process: u32,
        accepts_elsewhere: &mut bool,
    ) -> Result<usize, Failed> {
        let running = &self.running;
        self.pass_sockets(link, version)?;
        let patience = running.in_force().config.upgrade.ready_timeout;
        expect(link, &Message::Ready, patience)?;
        if running.is_draining() {
            return Err(Failed::Told("the proxy is draining".to_owned()));
        }
        if let Some(listener) = running.paused() {
            // Its transactions wait here for somebody to move a primary, and a RESUME would reach the new process only.
            return Err(Failed::Told(format!(
                "listener '{listener}' is paused; RESUME it first"
            )));
        }
        *accepts_elsewhere = true;
        link.send(&Message::Go, Instant::now() + PROMPT)?;
        expect(link, &Message::Serving, PROMPT)?;
        running.pause();
        link.send(&Message::Yielded, Instant::now() + PROMPT)?;
        expect(link, &Message::Settled, PROMPT)?;
        // From here on there is no way back.
        running.hand_over();
        self.close_door();
        self.control.release();
        let sessions = running.workers.sessions();
        running.log.event(Event::HandedOver { process, sessions });
        let starter = self.state().starter.take();
        if let Some(starter) = starter {
            starter.release();
        }
        let mut state = self.state();
        if let Some(hook) = &state.hook {
            hook(process);
        }
        state.successor = Some((process, sessions));
        self.has_changed.notify_all();
        drop(state);
        let over = Message::Over {
            sessions: u32::try_from(sessions).unwrap_or(u32::MAX),
        };
        // The successor goes on without it.
        let _ = link.send(&over, Instant::now() + PROMPT);
        Ok(sessions)
    }

    fn pass_sockets(&self, link: &Link, version: u16) -> Result<(), Failed> {
        let sockets = self.running.listening().map_err(Broken::Failed)?;
        let deadline = Instant::now() + PROMPT;
        let welcome = Message::Welcome {
            version,
            sockets: u16::try_from(sockets.len()).unwrap_or(u16::MAX),
            pools: self.running.pools(),
            drained: self.running.drained(),
        };
        link.send(&welcome, deadline)?;
        for some in sockets.chunks(MAX_DESCRIPTORS) {
            let passed = some.iter().map(|listening| Passed {
                endpoint: listening.endpoint.to_string(),
                owns_file: listening.owns_file,
            });
            let descriptors: Vec<_> = some.iter().map(|one| one.socket.as_fd()).collect();
            link.send_with(&Message::Sockets(passed.collect()), &descriptors, deadline)?;
        }
        Ok(())
    }

    /// Moves sessions to the successor, and tells it and the log how many are left, until none is. Those that stay too long are drained.
    fn accompany(&self, link: &mut Link, mut told: usize) {
        let mut ids = Told::begin(link, &self.running);
        let mut moves = Moves::begin(&self.running);
        let stay = self.running.in_force().config.upgrade.stay_timeout;
        let began = Instant::now();
        let mut reported = (told, began);
        loop {
            if self.is_closed.load(SeqCst) {
                return moves.end(&self.running);
            }
            moves.send(link, &self.running, LOOK);
            let left = self.running.workers.sessions();
            let now = Instant::now();
            if left != told {
                told = left;
                ids.renew(link);
                let left = Message::Sessions(u32::try_from(left).unwrap_or(u32::MAX));
                let _ = link.send(&left, now + PROMPT);
            }
            if reported.0 != left && now >= reported.1 + REPORT {
                reported = (left, now);
                self.report(left, &moves);
            }
            if left == 0 {
                return self.report(left, &moves);
            }
            if now.saturating_duration_since(began) >= stay && !self.running.is_closed() {
                self.running.close();
            }
        }
    }

    fn report(&self, sessions: usize, moves: &Moves) {
        let moved = moves.moved;
        self.running
            .log
            .event(Event::SessionsLeft { sessions, moved });
    }

    /// Starts a successor for who has asked for it, and says what has come of it.
    fn start_successor(&self, link: &Link) {
        self.begin_answer();
        self.answer_start(link);
        self.end_answer();
    }

    fn answer_start(&self, link: &Link) {
        let answer = match self.try_to_start() {
            Ok((process, sessions)) => Message::Upgraded {
                process,
                sessions: u32::try_from(sessions).unwrap_or(u32::MAX),
            },
            Err(why) => return self.refuse(link, why),
        };
        let _ = link.send(&answer, Instant::now() + PROMPT);
    }

    fn try_to_start(&self) -> Result<(u32, usize), String> {
        if std::process::id() == 1 {
            return Err("the proxy is process 1 of its container, which would end with it; replace the container".to_owned());
        }
        let mut state = self.state();
        if state.is_starting || state.successor.is_some() {
            return Err("another upgrade is under way".to_owned());
        }
        let command = state.command.clone();
        let command = command.ok_or("this proxy does not know how to start another one")?;
        let before = state.failures;
        let starter = Starter::start(&command).map_err(|error| error.to_string())?;
        (state.starter, state.is_starting) = (Some(starter), true);
        drop(state);
        let outcome = self.await_successor(before);
        let mut state = self.state();
        state.is_starting = false;
        let starter = state.starter.take();
        drop(state);
        if let Some(starter) = starter {
            starter.give_up();
        }
        outcome
    }

    fn await_successor(&self, failures: u64) -> Result<(u32, usize), String> {
        let patience = self.running.in_force().config.upgrade.ready_timeout + 3 * PROMPT;
        let deadline = Instant::now() + patience;
        let mut state = self.state();
        loop {
            if let Some(successor) = state.successor {
                return Ok(successor);
            }
            if state.failures > failures {
                return Err(state.why.clone());
            }
            if let Some(status) = state.starter.as_mut().and_then(Starter::ended) {
                return Err(format!(
                    "the new process has ended before it took over ({status}); its messages are in the proxy's log"
                ));
            }
            if Instant::now() >= deadline || self.is_closed.load(SeqCst) {
                return Err("the new process has not taken over in time".to_owned());
            }
            let waited = self.has_changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }
}

/// Why an attempt has failed.
enum Failed {
    /// The successor has said why, or this side has a reason of its own.
    Told(String),
    Broken(Broken),
}

impl From<Broken> for Failed {
    fn from(error: Broken) -> Self {
        Self::Broken(error)
    }
}

/// Waits for that message and no other.
fn expect(link: &mut Link, wanted: &Message, patience: Duration) -> Result<(), Failed> {
    match link.receive(Instant::now() + patience)? {
        message if message == *wanted => Ok(()),
        Message::Refused(why) => Err(Failed::Told(format!("the new process has given up: {why}"))),
        other => Err(Broken::unexpected(&other).into()),
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
