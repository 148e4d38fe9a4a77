//! Whether backends are up: each is asked now and then, and gets no new sessions while it does not answer.
//!
//! With a user it is asked by a login and a question. Without one the proxy logs in as a user that need not exist, with no
//! password: a refusal is an answer too. What a server makes of the ways there are, MariaDB 10.11 (MySQL 9.7
//! counts the same):
//!
//! | way to leave                           | its log                  | counts for `max_connect_errors` |
//! |----------------------------------------|--------------------------|---------------------------------|
//! | close, reset or COM_QUIT on the greeting | a line of "Aborted connection" | yes: 100 of them block the host |
//! | half a login, an unknown plugin        | nothing                  | yes                             |
//! | a login that is refused                | a line of "Access denied" | no                             |
//! | a login that succeeds, and COM_QUIT    | nothing                  | no                              |
//!
//! So without a user it asks only where it does not know: sessions that were greeted have asked already, a backend that is up
//! and has no clients is asked every twelfth time, and one that is down, or that a session could not connect to, every time.
//! The death of a server is not waited for here: sessions see it by their own sockets.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use onecopy_mysql::ProtocolError;
use onecopy_net::evented::Address;

use super::{View, spawn};
use crate::backend::Backend;
use crate::config::{HealthConfig, HealthLogin};
use crate::errand::Errand;
use crate::log::{Event, Log};
use crate::running::lock;

/// Who asks where no user is configured. An account of this name without password and rights keeps the log quiet.
const NOBODY: &str = "onecopy";

/// Of so many turns one is taken where nobody doubts.
const QUIET: u32 = 12;

/// After an answer that was not expected the next question comes so soon.
const SOON: Duration = Duration::from_millis(500);

/// How often it is looked whose turn it is.
const LOOK: Duration = Duration::from_millis(100);

/// What the checks know of one backend.
#[derive(Debug)]
pub(crate) struct Health {
    /// Questions that were not answered.
    pub(crate) failed: AtomicU64,
    /// A session was greeted since the last look.
    greeted: AtomicBool,
    /// A session could not connect since the last look.
    doubted: AtomicBool,
    /// 0 for unknown, 1 for no, 2 for yes.
    read_only: AtomicU8,
    turns: Mutex<Turns>,
}

#[derive(Debug)]
struct Turns {
    next: Instant,
    /// When it was asked last.
    last: Option<Instant>,
    is_asking: bool,
    /// Answers in a row that say the contrary of what is believed.
    contrary: u32,
    /// Turns that were passed over in a row.
    passed: u32,
    /// What it said to the last login, where that was not what was wanted.
    complaint: Option<String>,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            failed: AtomicU64::new(0),
            greeted: AtomicBool::new(false),
            doubted: AtomicBool::new(false),
            read_only: AtomicU8::new(0),
            turns: Mutex::new(Turns {
                next: Instant::now(),
                last: None,
                is_asking: false,
                contrary: 0,
                // The first turn is taken.
                passed: QUIET,
                complaint: None,
            }),
        }
    }
}

impl Health {
    /// A session's connect was greeted.
    pub(crate) fn note_greeting(&self) {
        if !self.greeted.load(Relaxed) {
            self.greeted.store(true, Relaxed);
        }
    }

    /// A session's connect failed.
    pub(crate) fn note_failure(&self) {
        self.doubted.store(true, Relaxed);
    }

    /// Whether it is read only, as far as it is known.
    pub(crate) fn read_only(&self) -> Option<bool> {
        match self.read_only.load(Relaxed) {
            0 => None,
            known => Some(known == 2),
        }
    }

    /// What is wrong with the checks themselves.
    pub(crate) fn complaint(&self) -> Option<String> {
        self.turns().complaint.clone()
    }

    fn turns(&self) -> std::sync::MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is to be asked now. Then it counts as being asked. `has_doubted`: an address of it does not answer.
    fn takes_turn(
        &self,
        (is_up, has_doubted): (bool, bool),
        config: &HealthConfig,
        interval: Duration,
    ) -> bool {
        let mut turns = self.turns();
        let now = Instant::now();
        // Sessions that fail all the time must not have it asked all the time.
        let is_urgent = is_up
            && self.doubted.load(Relaxed)
            && turns
                .last
                .is_none_or(|last| now.duration_since(last) >= SOON);
        if turns.is_asking || (now < turns.next && !is_urgent) {
            return false;
        }
        let doubted = self.doubted.swap(false, Relaxed);
        let greeted = self.greeted.swap(false, Relaxed);
        let is_fine = is_up && !has_doubted && turns.contrary == 0 && !doubted;
        let is_known = config.login.is_none() && is_fine;
        if is_known && (greeted || turns.passed < QUIET) {
            turns.passed = if greeted { 0 } else { turns.passed + 1 };
            turns.next = now + jittered(interval);
            return false;
        }
        turns.passed = 0;
        turns.last = Some(now);
        turns.is_asking = true;
        true
    }
}

/// The thread that says whose turn it is.
#[derive(Debug)]
pub(super) struct Handle {
    ends: Mutex<Option<Sender<()>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Handle {
    pub(super) fn stop(&self) {
        *lock(&self.ends) = None;
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Starts it.
pub(super) fn start(view: &Arc<View>) -> io::Result<Handle> {
    let view = Arc::clone(view);
    let (ends, end) = channel();
    let thread = std::thread::Builder::new()
        .name("health".into())
        .spawn(move || {
            while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let config = view.credentials().health();
                let Some(interval) = config.interval else {
                    continue;
                };
                for (_, backend) in view.backends() {
                    let state = (backend.is_up(), backend.has_doubted());
                    if backend.health().takes_turn(state, &config, interval) {
                        ask(backend, &config, interval, view.log());
                    }
                }
            }
        })?;
    Ok(Handle {
        ends: Mutex::new(Some(ends)),
        thread: Mutex::new(Some(thread)),
    })
}

/// Asks it on a thread of its own: others must not wait for one that does not answer.
fn ask(backend: Arc<Backend>, config: &Arc<HealthConfig>, interval: Duration, log: &Log) {
    let (config, log) = (Arc::clone(config), log.clone());
    let asked = Arc::clone(&backend);
    let spawned = spawn("health-check", move || {
        let answer = question(&asked, &config);
        learn(&asked, answer, &config, interval, &log);
    });
    if spawned.is_err() {
        let mut turns = backend.health().turns();
        turns.is_asking = false;
        turns.next = Instant::now() + jittered(interval);
    }
}

/// What a question came to: fine, fine but for the login, or why not.
enum Answer {
    Fine { read_only: Option<bool> },
    Odd(String),
    None(String),
}

/// Asks the addresses that are thought well of until one answers, and all of those that are not: they may be back.
fn question(backend: &Backend, config: &HealthConfig) -> Answer {
    let (fine, doubted) = backend.addresses_by_health();
    let mut best = Answer::None("it has no address".to_owned());
    for (address, is_doubted) in fine
        .iter()
        .map(|address| (address, false))
        .chain(doubted.iter().map(|address| (address, true)))
    {
        let is_answered = !matches!(best, Answer::None(_));
        if is_answered && !is_doubted {
            continue;
        }
        let answer = question_at(backend, address, config);
        match answer {
            Answer::None(_) => backend.does_not_answer(address),
            _ => backend.answers(address),
        }
        if !is_answered {
            best = answer;
        }
    }
    best
}

fn question_at(backend: &Backend, address: &Address, config: &HealthConfig) -> Answer {
    let login = config.login.clone().unwrap_or_else(|| HealthLogin {
        user: NOBODY.to_owned(),
        password: Default::default(),
    });
    let errand = Errand::with(backend, login, config.timeout);
    let asked = errand.connect(Some(address)).and_then(|mut connection| {
        let read_only = match config.login {
            None => None,
            Some(_) => Some(
                connection
                    .query("SELECT @@global.read_only")?
                    .next()?
                    .map(|row| row.get::<u64>(0))
                    .transpose()?
                    .is_some_and(|value| value != 0),
            ),
        };
        // Whether it has heard of the end is of no interest.
        let _ = connection.close();
        Ok(read_only)
    });
    match asked {
        Ok(read_only) => Answer::Fine { read_only },
        Err(error) => match error.server().map(|server| server.code) {
            Some(code) if !is_refused(code) => Answer::None(error.to_string()),
            Some(_) if config.login.is_some() => Answer::Odd(error.to_string()),
            Some(_) => Answer::Fine { read_only: None },
            // An account that wants what this login can't give: an answer as well.
            None if config.login.is_none()
                && matches!(error.protocol(), Some(ProtocolError::Auth(_))) =>
            {
                Answer::Fine { read_only: None }
            }
            None => Answer::None(error.to_string()),
        },
    }
}

/// Whether a server that says so serves others: it does not like this login.
fn is_refused(code: u16) -> bool {
    const ACCESS_DENIED: [u16; 5] = [1044, 1045, 1698, 1862, 3118];
    const NOT_SUPPORTED_AUTH: u16 = 1251;
    const NO_PRIVILEGE: [u16; 2] = [1142, 1227];
    ACCESS_DENIED.contains(&code) || NO_PRIVILEGE.contains(&code) || code == NOT_SUPPORTED_AUTH
}

fn learn(backend: &Backend, answer: Answer, config: &HealthConfig, interval: Duration, log: &Log) {
    let health = backend.health();
    let name = || backend.name().to_owned();
    let (is_answer, why) = match answer {
        Answer::Fine { read_only } => {
            let known = read_only.map_or(0, |read_only| 1 + u8::from(read_only));
            health.read_only.store(known, Relaxed);
            health.turns().complaint = None;
            (true, String::new())
        }
        Answer::Odd(why) => {
            let before = health.turns().complaint.replace(why.clone());
            if before.as_ref() != Some(&why) {
                log.event(Event::BackendOdd {
                    backend: name(),
                    why,
                });
            }
            (true, String::new())
        }
        Answer::None(why) => {
            health.failed.fetch_add(1, Relaxed);
            (false, why)
        }
    };
    let was_up = backend.is_up();
    let mut turns = health.turns();
    turns.is_asking = false;
    turns.contrary = if is_answer == was_up {
        0
    } else {
        turns.contrary + 1
    };
    let needed = if was_up { config.fall } else { config.rise };
    if turns.contrary >= needed.max(1) {
        turns.contrary = 0;
        backend.set_up(is_answer);
        log.event(match is_answer {
            true => Event::BackendUp { backend: name() },
            false => Event::BackendDown {
                backend: name(),
                why,
            },
        });
    }
    let pause = if turns.contrary > 0 {
        interval.min(SOON)
    } else {
        interval
    };
    turns.next = Instant::now() + jittered(pause);
}

/// The same within a tenth, so that proxies that were started together do not all ask together.
fn jittered(time: Duration) -> Duration {
    let random = RandomState::new().hash_one(0) % 201;
    time / 1000 * u32::try_from(900 + random).unwrap_or(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_differ_by_a_tenth_at_most() {
        let times: Vec<_> = (0..100)
            .map(|_| jittered(Duration::from_secs(10)))
            .collect();
        assert!(
            times.iter().all(|time| (9..=11).contains(&time.as_secs())),
            "{times:?}"
        );
        assert!(times.iter().any(|time| *time != times[0]));
    }

    #[test]
    fn nobody_is_asked_who_is_known_to_be_up() {
        let health = Health::default();
        let config = HealthConfig::default();
        let takes = |is_up| health.takes_turn((is_up, false), &config, Duration::ZERO);
        assert!(takes(true), "the first turn");
        assert!(!takes(true), "while it is being asked");
        health.turns().is_asking = false;
        for turn in 0..QUIET {
            assert!(!takes(true), "turn {turn}");
        }
        assert!(takes(true), "the twelfth without a client");
        health.turns().is_asking = false;
        for _ in 0..10 * QUIET {
            health.note_greeting();
            assert!(!takes(true), "sessions have asked");
        }
        health.note_failure();
        assert!(takes(true), "a session could not connect");
        health.turns().is_asking = false;
        assert!(takes(false), "one that is down is asked every time");
        health.turns().is_asking = false;
        health.turns().next = Instant::now() + Duration::from_secs(3600);
        health.note_failure();
        assert!(!takes(true), "it was asked just now");
        health.turns().last = Instant::now().checked_sub(SOON);
        assert!(takes(true), "the doubt was kept");
    }
}
