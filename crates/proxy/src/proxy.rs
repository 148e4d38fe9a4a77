//! The proxy as a whole: its threads, and what can be asked of them while they run.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

use onecopy_net::Endpoint;
use onecopy_net::evented::Address;
use rustix::io::Errno;

use crate::acceptor::{self, Client};
use crate::alarm::Alarm;
use crate::backend::{Backend, Backends};
use crate::config::{Changes, Config, ConfigError, ListenerConfig};
use crate::control::{Control, Killed, View};
use crate::errand::Credentials;
use crate::key::Key;
use crate::kill::{self, Kills};
use crate::log::{Event, Log};
use crate::open_files;
use crate::queue::{Patience, Queue};
use crate::registry::Registry;
use crate::running::Running;
use crate::stats::Snapshot;
use crate::watch::Watch;
use crate::worker::{self, Order};

/// One listener, as its sessions see it.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) config: ListenerConfig,
    pub(crate) backends: Backends,
    pub(crate) registry: Arc<Registry>,
    pub(crate) refused: Arc<Refusals>,
    /// Where passwords may be put under another key.
    pub(crate) key: Option<Arc<Key>>,
    /// Sessions that wait for a place on a backend.
    pub(crate) queue: Arc<Queue>,
    pub(crate) patience: Patience,
    /// What is in force in its place since a reload. Sessions keep theirs once they have a backend.
    pub(crate) successor: OnceLock<Arc<Listener>>,
}

/// Clients that were refused before they had a session.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    pub(crate) max_connections: AtomicU64,
    pub(crate) open_files: AtomicU64,
}

/// All workers.
#[derive(Debug)]
pub(crate) struct Workers(pub(crate) Vec<worker::Handle>);

impl Workers {
    /// Sessions that there are.
    pub(crate) fn sessions(&self) -> usize {
        self.0
            .iter()
            .map(|worker| worker.sessions.load(SeqCst))
            .sum()
    }

    /// How many there are that have not died.
    pub(crate) fn running(&self) -> usize {
        self.0.iter().filter(|worker| !worker.is_dead()).count()
    }

    /// Another worker that has so many fewer sessions than this one's `own` that a client is better off there. Where there are
    /// many, a few more or less are not worth the way.
    pub(crate) fn with_fewer(&self, own: usize) -> Option<&worker::Handle> {
        let least = self.least_loaded();
        let sessions = least.sessions.load(SeqCst);
        (own > sessions + sessions / 8 && !least.is_dead()).then_some(least)
    }

    pub(crate) fn least_loaded(&self) -> &worker::Handle {
        // Whoever comes to one that has died is closed: better by one that lives.
        let load = |worker: &&worker::Handle| (worker.is_dead(), worker.sessions.load(SeqCst));
        self.0.iter().min_by_key(load).unwrap_or(&self.0[0])
    }
}

impl worker::Handle {
    /// Hands a client over, which counts from now on; `false` where the worker has just died, and its place is to be given back.
    pub(crate) fn take(&self, client: Client) -> bool {
        self.sessions.fetch_add(1, SeqCst);
        if self.order(Order::Client(client)) {
            return true;
        }
        // It may have forgotten this one, and given its place back, with all others.
        let less = |sessions: usize| sessions.checked_sub(1);
        self.sessions.fetch_update(SeqCst, SeqCst, less).is_err()
    }
}

/// Why a proxy could not be started.
#[derive(Debug)]
pub enum Error {
    /// An address that can't be listened on.
    Listen(Endpoint, io::Error),
    /// A backend's name that has no address.
    Resolve(String, io::Error),
    /// A thread that can't be started, with its event loop: its name, and the system's error.
    Start(String, io::Error),
    /// An RSA key that could not be made.
    Key,
    /// Something that can't be changed while the proxy runs.
    Restart(&'static str),
    /// A change while it is being drained.
    Draining,
    /// A configuration that can't be served.
    Config(ConfigError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(endpoint, error) => write!(f, "can't listen on {endpoint}: {error}"),
            Self::Resolve(name, error) => write!(f, "backend '{name}' has no address: {error}"),
            Self::Start(thread, error) => {
                write!(f, "can't start the thread '{thread}': {error}")?;
                match Errno::from_io_error(error) {
                    Some(Errno::AGAIN) => f.write_str(
                        "; raise the limit of processes and threads (ulimit -u, TasksMax=)",
                    ),
                    Some(Errno::MFILE) => {
                        f.write_str("; raise the limit of open files (ulimit -n, LimitNOFILE=)")
                    }
                    _ => Ok(()),
                }
            }
            Self::Key => f.write_str("can't make an rsa key for reencrypt-passwords"),
            Self::Restart(what) => write!(f, "a change of `{what}` needs a restart"),
            Self::Draining => {
                f.write_str("nothing can be changed any more while the proxy is drained")
            }
            Self::Config(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// The thread with this name can't be had.
    pub(crate) fn start(thread: &str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Start(thread.to_owned(), error)
    }
}

/// A proxy that runs until it is [stopped](Self::stop) or dropped. All of it can be asked for from any thread.
#[derive(Debug)]
pub struct Proxy {
    running: Arc<Running>,
    view: Arc<View>,
    control: Control,
    _watch: Watch,
}

/// What the embedding program does when it is asked to.
#[derive(Clone)]
pub(crate) struct Hook(pub(crate) Arc<dyn Fn() -> Result<String, String> + Send + Sync>);

impl Proxy {
    /// Listens, and serves from then on.
    ///
    /// # Errors
    /// Addresses that can't be had, names without an address.
    pub fn start(config: Config) -> Result<Self, Error> {
        Self::start_with_log(config, &Log::default())
    }

    /// The same with a log of its own, which is written to `output`: by default a library says nothing.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_logging(
        config: Config,
        output: impl io::Write + Send + 'static,
    ) -> Result<Self, Error> {
        let log = Log::start(&config.log, output).map_err(Error::start("log"))?;
        Self::start_with_log(config, &log)
    }

    /// The same with a log that the embedding program has started and writes to as well.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with_log(config: Config, log: &Log) -> Result<Self, Error> {
        // Before anything is started for it.
        config.check().map_err(Error::Config)?;
        let log = log.clone();
        let alarm = Alarm::new(&log);
        let credentials = Credentials::new(config.health.clone());
        let (metrics, admin) = (config.metrics.clone(), config.admin.clone());
        let (kills, jobs) = Kills::channel();
        let count = config.worker_count();
        let acceptor = acceptor::Idle::new().map_err(Error::start("acceptor"))?;
        let workers = (0..count)
            .map(|number| {
                worker::start(
                    number,
                    (config.memory / count, open_files::ungreeted(count)),
                    acceptor.gate(),
                    (&log, &kills, &alarm),
                )
                .map_err(|error| Error::Start(format!("worker-{number}"), error))
            })
            .collect::<Result<_, _>>()?;
        let workers = Arc::new(Workers(workers));
        kill::start(jobs, &workers, &credentials).map_err(Error::start("kill"))?;
        let acceptor = acceptor
            .start(Arc::clone(&workers), alarm.clone(), log.clone())
            .map_err(Error::start("acceptor"))?;
        let running = Arc::new(Running::new(workers, acceptor, credentials, (log, alarm)));
        let installed = running.install(config);
        let view = Arc::new(View::new(&running));
        let started = installed.and_then(|_| {
            let control = Control::start(&view, &metrics, &admin)?;
            let watch = Watch::start(&running).map_err(Error::start("watch"))?;
            Ok((control, watch))
        });
        let (control, watch) = match started {
            Ok(started) => started,
            Err(error) => {
                running.stop();
                return Err(error);
            }
        };
        let addresses = running.in_force().addresses.clone();
        running.log.event(Event::Started {
            addresses: addresses.iter().map(Address::to_string).collect(),
        });
        Ok(Self {
            running,
            view,
            control,
            _watch: watch,
        })
    }

    /// Goes on with another configuration, all of it or nothing, and tells what has changed.
    ///
    /// New addresses are listened on before anything else changes. New sessions get what is configured now; those that are
    /// there keep what they have, but those on a backend that is gone: they leave as soon as no transaction is open, at the
    /// latest when the drain's timeout is over, with error 1053. Clients that have come in and have no backend yet get one of
    /// the new ones. Names of new backends are looked up, which may take its time.
    ///
    /// # Errors
    /// As [`start`](Self::start); a change of what can't be changed while the proxy runs; while it is drained. Nothing has
    /// changed then.
    pub fn reload(&self, config: Config) -> Result<Changes, Error> {
        self.running.install(config)
    }

    /// What is in force.
    pub fn config(&self) -> Config {
        self.running.in_force().config.clone()
    }

    /// Has `notice` told of what changes by itself, a line each: certificates, addresses. It is called by a thread that does
    /// nothing else meanwhile.
    pub fn on_notice(&self, notice: impl Fn(&str) + Send + 'static) {
        self.running.on_notice(Box::new(notice));
    }

    /// Where it listens, in the order of the configuration; ports of 0 are filled in.
    pub fn addresses(&self) -> Vec<Address> {
        self.running.in_force().addresses.clone()
    }

    /// The first TCP address that it listens on.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        let addresses = self.addresses();
        addresses.into_iter().find_map(|address| match address {
            Address::Tcp(address) => Some(address),
            Address::Unix(_) => None,
        })
    }

    /// What was counted; with each client where that is asked for.
    pub fn snapshot(&self, with_clients: bool) -> Snapshot {
        self.view.snapshot(with_clients)
    }

    /// Ends the session with this connection id. Ids are the backends' own, so that sessions of two listeners may have the
    /// same one: then nobody is ended unless the listener is named.
    pub fn kill(&self, listener: Option<&str>, id: u32) -> Killed {
        self.view.kill(listener, id)
    }

    /// What has failed in the proxy itself, if anything has: a thread that serves sessions and has died. Health says no from
    /// then on; sessions of other threads go on, but it is time to drain and to start again.
    pub fn failure(&self) -> Option<String> {
        self.running.alarm.why().map(str::to_owned)
    }

    /// Has `hook` told of such a [failure](Self::failure), once, by the thread that dies.
    pub fn on_failure(&self, hook: impl Fn(&str) + Send + 'static) {
        self.running.alarm.on_ring(Box::new(hook));
    }

    /// Sends everybody away: health says no from now on; after the drain's wait nobody is let in any more, and sessions leave
    /// as soon as no transaction is open; the rest is ended with error 1053 when its timeout is over. Returns at once.
    pub fn drain(&self) {
        self.running.drain();
    }

    /// Whether it was told to [drain](Self::drain), also by an administrator.
    pub fn is_draining(&self) -> bool {
        self.running.is_draining()
    }

    /// Whether it was drained: nobody can come in, and nobody is there.
    pub fn is_drained(&self) -> bool {
        self.running.is_closed() && self.sessions() == 0
    }

    /// What the admin listener's `RELOAD` does: gives what has changed, or why nothing has.
    pub fn on_reload(&self, hook: impl Fn() -> Result<String, String> + Send + Sync + 'static) {
        self.view.set_reload(Hook(Arc::new(hook)));
    }

    /// Where metrics are to be had, with the port filled in.
    pub fn metrics_address(&self) -> Option<&Address> {
        self.control.metrics_address()
    }

    /// Where administrators come in, with the port filled in.
    pub fn admin_address(&self) -> Option<&Address> {
        self.control.admin_address()
    }

    /// Sessions that there are now.
    pub fn sessions(&self) -> usize {
        self.running.workers.sessions()
    }

    /// Servers with the sessions on them: name, sessions, whether they are up, connects that failed.
    pub fn servers(&self) -> Vec<(String, usize, bool, u64)> {
        let row = |(_, backend): (String, Arc<Backend>)| {
            (
                backend.name().to_owned(),
                backend.sessions(),
                backend.is_up(),
                backend.failed_connects(),
            )
        };
        self.view.backends().into_iter().map(row).collect()
    }

    /// Ends all sessions at once, and the threads that serve them when clients have heard of it: within a second or two. Then
    /// waits for the log's last lines, but for no longer than a second: nobody may be there to read them.
    pub fn stop(&self) {
        self.control.stop();
        self.running.stop();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests;
