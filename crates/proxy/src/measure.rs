//! What `crates/gates` counts inside of the proxy. No part of the API: it may change or go with any release.

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use onecopy_mysql_proto::digest::Digester;
use onecopy_net::evented::{self, ListenerOptions};

use crate::acceptor;
use crate::config::{Config, RuleConfig};
use crate::error::Error;
use crate::kill::{Job, Kills};
use crate::log::Log;
use crate::mailbox::{Order, Workers};
use crate::pooling::look::{self, Reading};
use crate::pooling::rules::{self, Subject};
use crate::pooling::state::{Baseline, State, difference};
use crate::resolve::resolve;
use crate::running;
use crate::statement_log::{Outlet, Unwritten, Watched};
use crate::worker::{Turns, Worker};

/// Looks at a statement, as is done with each one of a pooled session.
pub fn look(text: &[u8]) {
    black_box(look::look(black_box(text), Reading::default()));
}

/// Rules of a listener, none of which applies to what is asked.
pub struct Rules {
    rules: rules::Rules,
    digester: Digester,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").finish_non_exhaustive()
    }
}

impl Rules {
    /// So many, each with an expression. `None` where one is not valid.
    pub fn new(count: usize) -> Option<Self> {
        let rule = |at| RuleConfig {
            name: format!("rule {at}"),
            digest: Some(format!("^SELECT .* FROM `table_{at}` WHERE `id` = \\?$")),
            ..RuleConfig::default()
        };
        let configs: Vec<_> = (0..count).map(rule).collect();
        Some(Self {
            rules: rules::Rules::new(&configs, &rules::Rules::default()).ok()?,
            digester: Digester::new(rules::DIGEST_BYTES),
        })
    }

    /// Looks for the one that applies to a statement; whether there is one.
    pub fn find(&mut self, sql: &[u8]) -> bool {
        let subject = Subject {
            user: b"app",
            schema: None,
            sql: black_box(sql),
            reading: Reading::default(),
        };
        self.rules.find(subject, &mut self.digester).is_some()
    }
}

/// What a session wants to have set on a connection, on which nothing is.
#[derive(Debug)]
pub struct Difference {
    baseline: Baseline,
    actual: State,
    wanted: State,
    out: Vec<u8>,
}

impl Difference {
    /// Of variables by name, what each is on a fresh connection, and what it is to be.
    pub fn new(variables: &[(&str, &str, &str)]) -> Self {
        let rows = variables.iter();
        let rows = rows.map(|(name, fresh, _)| (name.as_bytes().to_vec(), fresh.as_bytes().into()));
        let baseline = Baseline::from_rows(rows);
        let mut wanted = State::default();
        for (name, _, value) in variables {
            let changed = wanted.with_variable(&baseline, name.as_bytes(), value.as_bytes());
            if let Ok(Some(changed)) = changed {
                wanted = changed;
            }
        }
        Self {
            baseline,
            actual: State::default(),
            wanted,
            out: Vec::new(),
        }
    }

    /// Writes the commands that set them; gives their length.
    pub fn write(&mut self) -> usize {
        self.out.clear();
        difference(
            black_box(&self.actual),
            black_box(&self.wanted),
            &self.baseline,
            &mut self.out,
        );
        self.out.len()
    }
}

/// A worker that takes a turn when it is told to, on the caller's thread, and serves the first listener of a configuration.
pub struct TurnedWorker {
    worker: Worker,
    turns: Turns,
    lines: Unwritten,
    /// Those that it asks for something are there, and do nothing.
    _acceptor: acceptor::Idle,
    _jobs: Receiver<Job>,
}

impl TurnedWorker {
    /// Listens at the listener's first address.
    ///
    /// # Errors
    /// Fails like [`Proxy::start`](crate::Proxy::start).
    pub fn start(config: &Config) -> Result<Self, Error> {
        let failed = Error::start;
        let acceptor = acceptor::Idle::new().map_err(failed("acceptor"))?;
        acceptor.gate().set_max_sessions(config.max_connections);
        let (kills, jobs) = Kills::channel();
        let room = (config.memory, config.max_connections);
        let log = Log::default();
        let (worker, handle) =
            Worker::new(0, room, acceptor.gate(), (&log, &kills)).map_err(failed("worker"))?;
        let Some(listener) = config.listeners.first() else {
            let error = std::io::Error::other("the configuration has no listener");
            return Err(failed("worker")(error));
        };
        // Nobody sends a password under its key.
        let listener = Arc::new(running::listener(config, listener, None, &[], None)?);
        let mut sockets = Vec::new();
        for endpoint in &listener.config.listen {
            let failed = |error| Error::Listen(endpoint.clone(), error);
            let address = resolve(endpoint).map_err(failed)?.swap_remove(0);
            let socket = evented::Listener::bind(&address, &ListenerOptions::default());
            sockets.push(crate::client::ListeningSocket {
                socket: Arc::new(socket.map_err(failed)?),
                listener: Arc::clone(&listener),
            });
        }
        let workers = Arc::new(Workers(vec![handle]));
        let keep = Order::KeepDigests(config.digests.max);
        workers.least_loaded().order(keep);
        let (outlet, lines) = Outlet::unwritten();
        let watched = Watched::new(config, &outlet).map(Arc::new);
        let watch = Order::LogStatements(watched);
        workers.least_loaded().order(watch);
        // It is answered in the first turn, which nobody waits for.
        let (done, _) = channel();
        workers.least_loaded().order(Order::Accept {
            sockets,
            workers: Arc::clone(&workers),
            done,
        });
        Ok(Self {
            worker,
            turns: Turns::without_clock(),
            lines,
            _acceptor: acceptor,
            _jobs: jobs,
        })
    }

    /// Waits for events, and does what they are for.
    ///
    /// # Errors
    /// Fails where there are no events to be had.
    pub fn turn(&mut self) -> std::io::Result<()> {
        self.worker.turn(&mut self.turns)
    }

    /// Takes the lines and spans that were handed over to be written, which nobody does; how many they were. At most 4,096 of each wait.
    pub fn take_logged(&self) -> usize {
        self.lines.take()
    }
}
