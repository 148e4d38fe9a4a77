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
//! Where only some addresses of a name do not answer these alone are asked, and the log of the others stays quiet.
//! The death of a server is not waited for here: sessions see it by their own sockets.

mod behind;
mod cluster;
mod group_lag;
mod lag;
mod topology;

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use onecopy_mysql::ProtocolError;
use onecopy_mysql::blocking::Connection;
use onecopy_net::evented::Address;

use super::{View, spawn};
use crate::backend::{Backend, Lag, Lineage, Membership, TOO_MANY_CONNECTIONS, Telling};
use crate::config::{HealthConfig, HealthLogin};
use crate::errand::Errand;
use crate::lock::lock;
use crate::log::{Event, Log};
use crate::open_files;
use crate::session::NOBODY;

use crate::backend::health::{SOON, Whom, jittered};

/// How often it is looked whose turn it is.
const LOOK: Duration = Duration::from_millis(100);

/// Once in so many looks, connections leave servers that have more than their share.
const REBALANCE: u32 = 10;

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
    let mut looks = 0_u32;
    let thread = std::thread::Builder::new()
        .name("health".into())
        .spawn(move || {
            loop {
                look(&view);
                looks = looks.wrapping_add(1);
                if looks.is_multiple_of(REBALANCE) {
                    for listener in view.listeners() {
                        listener.backends.rebalance();
                    }
                }
                if end.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        })?;
    Ok(Handle {
        ends: Mutex::new(Some(ends)),
        thread: Mutex::new(Some(thread)),
    })
}

/// Asks those whose turn it is.
fn look(view: &View) {
    let config = view.credentials().health();
    let Some(interval) = config.interval else {
        return;
    };
    for (_, backend) in view.backends() {
        let state = (backend.is_up(), || backend.doubt());
        if let Some(whom) = backend.health().takes_turn(state, &config, interval) {
            ask(backend, whom, &config, interval, view.log());
        }
    }
}

/// Asks some of them now, and returns when all have answered or had their time: what was known of their parts may have changed.
pub(super) fn ask_now(view: &View, backends: &[Arc<Backend>]) {
    let config = view.credentials().health();
    let Some(interval) = config.interval else {
        return;
    };
    std::thread::scope(|scope| {
        for backend in backends {
            let config = &config;
            scope.spawn(move || {
                let server = backend.server_number();
                let answer = question(backend, Whom::All, config);
                learn(backend, (server, answer), config, interval, view.log());
            });
        }
    });
}

/// Asks it on a thread of its own: others must not wait for one that does not answer.
fn ask(
    backend: Arc<Backend>,
    whom: Whom,
    config: &Arc<HealthConfig>,
    interval: Duration,
    log: &Log,
) {
    let (config, log) = (Arc::clone(config), log.clone());
    let asked = Arc::clone(&backend);
    let spawned = spawn("health-check", move || {
        let server = asked.server_number();
        let answer = question(&asked, whom, &config);
        match whom {
            Whom::All => learn(&asked, (server, answer), &config, interval, &log),
            // Of the backend as a whole it says nothing.
            Whom::Doubted => asked.health().turns().end(interval),
        }
    });
    if spawned.is_err() {
        backend.health().turns().end(interval);
    }
}

/// What a server has said of itself.
#[derive(Debug, Default)]
struct Known {
    read_only: Option<bool>,
    membership: Membership,
    /// How far it is behind its primary.
    lag: Option<Lag>,
    /// By what others know it, and which servers it replicates from.
    lineage: Lineage,
    /// Which other servers there are.
    telling: Option<Telling>,
    /// What an administrator should know.
    warning: Option<String>,
}

impl Known {
    fn note_unknown_lag(&mut self, why: &str) {
        let warning = || format!("its lag is not known: {why}");
        self.warning.get_or_insert_with(warning);
    }
}

/// What a question came to: fine, up but not as the checks need it, or why not; or it could not be asked.
enum Answer {
    Unasked,
    Fine { known: Known },
    Warning(String),
    None(String),
}

/// Asks; those that are doubted may be back.
fn question(backend: &Backend, whom: Whom, config: &HealthConfig) -> Answer {
    let (mut fine, doubted) = backend.addresses_by_health();
    if whom == Whom::Doubted {
        fine.clear();
    }
    let mut best = Answer::None("it has no address".to_owned());
    for (address, is_doubted) in fine
        .iter()
        .map(|address| (address, false))
        .chain(doubted.iter().map(|address| (address, true)))
    {
        let is_answered = matches!(best, Answer::Fine { .. } | Answer::Warning(_));
        if is_answered && !is_doubted {
            continue;
        }
        let answer = question_at(backend, address, config);
        match answer {
            Answer::Unasked => {}
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
        let known = match config.login {
            None => Known::default(),
            Some(_) => learn_part(&mut connection, backend)?,
        };
        // Whether it has heard of the end is of no interest.
        let _ = connection.close();
        Ok(known)
    });
    match asked {
        Ok(known) => Answer::Fine { known },
        Err(error) if are_used_up(&error) => Answer::Unasked,
        Err(error) => match error.server().map(|server| server.code) {
            // It serves those that it has.
            Some(TOO_MANY_CONNECTIONS) => Answer::Warning(error.to_string()),
            Some(code) if !is_refused(code) => Answer::None(error.to_string()),
            Some(_) if config.login.is_some() => Answer::Warning(error.to_string()),
            Some(_) => Answer::Fine {
                known: Known::default(),
            },
            // An account that wants what this login can't give, as a password over plain TCP: an answer as well.
            None if matches!(error.protocol(), Some(ProtocolError::Auth(_))) => {
                match config.login {
                    None => Answer::Fine {
                        known: Known::default(),
                    },
                    Some(_) => Answer::Warning(error.to_string()),
                }
            }
            None => Answer::None(error.to_string()),
        },
    }
}

/// Asks whether it is read only, how it stands in its cluster, how far it is behind, and which other servers there are.
fn learn_part(
    connection: &mut Connection,
    backend: &Backend,
) -> Result<Known, onecopy_mysql::Error> {
    let replication = backend.replication();
    let read_only = connection
        .query("SELECT @@global.read_only")?
        .next()?
        .map(|row| row.get::<u64>(0))
        .transpose()?
        .is_some_and(|value| value != 0);
    let cluster::Answer {
        membership,
        warning,
    } = cluster::ask(connection)?;
    let mut known = Known {
        read_only: Some(read_only),
        membership,
        lag: None,
        lineage: Lineage::default(),
        telling: None,
        warning,
    };
    if backend.topology().is_asked() {
        let (telling, problem) = topology::ask(connection, &known.membership)?;
        known.telling = Some(telling);
        if let Some(why) = problem {
            known.warning.get_or_insert(why);
        }
    }
    if replication.serves_reads() {
        known.lineage.own = lag::own_id(connection)?;
    }
    // Of the one that has the writes it is of no interest.
    let is_measured = known.membership.reports_lag && backend.serves() != Some(true);
    if (read_only || is_measured) && replication.serves_reads() {
        let asked = match is_measured {
            true => group_lag::ask(connection, &known.membership.cluster),
            false => lag::ask(connection),
        };
        match asked {
            Ok(replicating) => {
                known.lineage.sources = replicating.sources;
                match replicating.lag {
                    Ok(lag) => known.lag = Some(lag),
                    Err(why) if replication.has_max_lag() => known.note_unknown_lag(&why),
                    Err(_) => {}
                }
            }
            // It serves, and may have other replicas beside it.
            Err(error) if error.server().is_some() => known.note_unknown_lag(&error.to_string()),
            Err(error) => return Err(error),
        }
    }
    Ok(known)
}

/// Whether nobody was asked, for lack of a descriptor.
fn are_used_up(error: &onecopy_mysql::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref().is_some_and(open_files::are_used_up) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Whether a server that says so serves others: it does not like this login.
fn is_refused(code: u16) -> bool {
    const ACCESS_DENIED: [u16; 5] = [1044, 1045, 1698, 1862, 3118];
    const NOT_SUPPORTED_AUTH: u16 = 1251;
    const NO_PRIVILEGE: [u16; 2] = [1142, 1227];
    ACCESS_DENIED.contains(&code) || NO_PRIVILEGE.contains(&code) || code == NOT_SUPPORTED_AUTH
}

/// Notes what is wrong with the checks of a server that answers, and logs it once.
fn warn(backend: &Backend, why: String, log: &Log) {
    let before = backend.health().turns().last_error.replace(why.clone());
    if before.as_ref() != Some(&why) {
        let backend = backend.name().to_owned();
        log.event(Event::BackendCheckWarning { backend, why });
    }
}

fn learn(
    backend: &Backend,
    (server, answer): (u64, Answer),
    config: &HealthConfig,
    interval: Duration,
    log: &Log,
) {
    let health = backend.health();
    if server != backend.server_number() {
        // Another one has its name by now.
        return health.turns().end(Duration::ZERO);
    }
    let name = || backend.name().to_owned();
    let (is_answer, why) = match answer {
        Answer::Unasked => {
            log.out_of_files("health checks are postponed");
            return health.turns().end(interval);
        }
        Answer::Fine { known } => {
            let was_second = backend.is_second();
            backend.replication().set_lag(known.lag);
            backend.note_lineage(known.lineage);
            backend.set_part(known.read_only, known.membership);
            if let Some(telling) = known.telling {
                backend.topology().learn(telling);
            }
            if backend.is_second() && !was_second {
                log.event(Event::SecondPrimary { backend: name() });
            }
            match backend.wrong_source().or(known.warning) {
                Some(why) => warn(backend, why, log),
                None => health.turns().last_error = None,
            }
            (true, String::new())
        }
        Answer::Warning(why) => {
            warn(backend, why, log);
            (true, String::new())
        }
        Answer::None(why) => {
            health.failed.fetch_add(1, Relaxed);
            (false, why)
        }
    };
    health.end_await();
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
