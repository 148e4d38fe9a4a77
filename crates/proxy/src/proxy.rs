//! The proxy as a whole: its threads, and the operations while they run.

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
        // A worker that has died would close the client: prefer one that is alive.
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

/// Why a proxy could not be started or reloaded.
#[derive(Debug)]
pub enum Error {
    /// An address cannot be listened on.
    Listen(Endpoint, io::Error),
    /// The host name of a backend has no address.
    Resolve(String, io::Error),
    /// A thread and its event loop could not be started. Contains its name and the system's error.
    Start(String, io::Error),
    /// An RSA key could not be generated.
    Key,
    /// A setting that cannot be changed while the proxy runs was changed.
    Restart(&'static str),
    /// A change was requested while the proxy is draining.
    Draining,
    /// The configuration cannot be served.
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
            Self::Draining => f.write_str("nothing can be changed while the proxy is draining"),
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

/// A running proxy. It runs until it is [stopped](Self::stop) or dropped. All methods can be called from any thread.
///
/// # Example
/// ```no_run
/// use onecopy_proxy::Proxy;
/// use onecopy_proxy::config::Config;
///
/// # fn run(config: Config) -> Result<(), onecopy_proxy::Error> {
/// let proxy = Proxy::start(config)?;
/// println!("{:?}", proxy.addresses());
/// proxy.drain(); // no new sessions; those that are open end between transactions
/// proxy.stop();
/// # Ok(()) }
/// ```
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
    /// Starts the proxy: listens and serves clients from now on.
    ///
    /// # Errors
    /// Fails if an address cannot be listened on, or if a host name has no address.
    pub fn start(config: Config) -> Result<Self, Error> {
        Self::start_with_log(config, &Log::default())
    }

    /// Starts the proxy like [`start`](Self::start), with a log of its own that is written to `output`. Without one, a proxy in a
    /// library logs nothing.
    ///
    /// # Errors
    /// Fails like [`start`](Self::start).
    pub fn start_logging(
        config: Config,
        output: impl io::Write + Send + 'static,
    ) -> Result<Self, Error> {
        let log = Log::start(&config.log, output).map_err(Error::start("log"))?;
        Self::start_with_log(config, &log)
    }

    /// Starts the proxy like [`start`](Self::start), with a log that the embedding program has started and also writes to.
    ///
    /// # Errors
    /// Fails like [`start`](Self::start).
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

    /// Switches to another configuration atomically, and returns what has changed.
    ///
    /// New addresses are listened on before anything else changes. New sessions use the new configuration. Existing sessions keep
    /// the old one, except those on a removed backend: they end with error 1053 as soon as no transaction is open, or at the
    /// latest after the drain's timeout. Clients that are connected and have no backend yet get one of the new ones. The names of
    /// new backends are resolved, which may take time.
    ///
    /// # Errors
    /// Fails like [`start`](Self::start), on a change of a setting that cannot be changed while the proxy runs, and while the
    /// proxy is draining. Nothing has changed then.
    pub fn reload(&self, config: Config) -> Result<Changes, Error> {
        self.running.install(config)
    }

    /// Returns the current configuration.
    pub fn config(&self) -> Config {
        self.running.in_force().config.clone()
    }

    /// Sets a function that is called with a line for each automatic change: certificates, addresses. It is called by a thread
    /// that does nothing else meanwhile.
    pub fn on_notice(&self, notice: impl Fn(&str) + Send + 'static) {
        self.running.on_notice(Box::new(notice));
    }

    /// Returns the addresses that it listens on, in the order of the configuration; ports of 0 are replaced by the actual ones.
    pub fn addresses(&self) -> Vec<Address> {
        self.running.in_force().addresses.clone()
    }

    /// Returns the first TCP address that it listens on.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        let addresses = self.addresses();
        addresses.into_iter().find_map(|address| match address {
            Address::Tcp(address) => Some(address),
            Address::Unix(_) => None,
        })
    }

    /// Returns the counters, and the clients if `with_clients` is set.
    pub fn snapshot(&self, with_clients: bool) -> Snapshot {
        self.view.snapshot(with_clients)
    }

    /// Ends the session with this connection id. The backends assign ids, so sessions of two listeners may have the same one:
    /// then no session is ended unless the listener is given.
    pub fn kill(&self, listener: Option<&str>, id: u32) -> Killed {
        self.view.kill(listener, id)
    }

    /// Returns the failure of the proxy itself, if there was one: a worker thread has died. From then on the health endpoint
    /// reports a failure. The sessions of other threads continue, but the proxy should be drained and restarted.
    pub fn failure(&self) -> Option<String> {
        self.running.alarm.why().map(str::to_owned)
    }

    /// Sets a function that is called once on such a [failure](Self::failure), by the thread that dies.
    pub fn on_failure(&self, hook: impl Fn(&str) + Send + 'static) {
        self.running.alarm.on_ring(Box::new(hook));
    }

    /// Starts to drain the proxy. The health endpoint reports unavailability from now on. After the drain's wait, new clients are
    /// refused, and sessions end as soon as no transaction is open; the rest end with error 1053 when its timeout is over.
    /// Returns at once.
    pub fn drain(&self) {
        self.running.drain();
    }

    /// Returns whether [`drain`](Self::drain) was called, also by an administrator.
    pub fn is_draining(&self) -> bool {
        self.running.is_draining()
    }

    /// Returns whether the proxy is drained: no new clients are accepted, and there are no sessions.
    pub fn is_drained(&self) -> bool {
        self.running.is_closed() && self.sessions() == 0
    }

    /// Sets the function for the admin listener's `RELOAD`. It returns what has changed, or why nothing has.
    pub fn on_reload(&self, hook: impl Fn() -> Result<String, String> + Send + Sync + 'static) {
        self.view.set_reload(Hook(Arc::new(hook)));
    }

    /// Returns the address of the metrics listener, with the actual port.
    pub fn metrics_address(&self) -> Option<&Address> {
        self.control.metrics_address()
    }

    /// Returns the address of the admin listener, with the actual port.
    pub fn admin_address(&self) -> Option<&Address> {
        self.control.admin_address()
    }

    /// Returns the number of current sessions.
    pub fn sessions(&self) -> usize {
        self.running.workers.sessions()
    }

    /// Returns the servers: name, number of sessions, whether it is up, number of failed connection attempts.
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

    /// Ends all sessions at once, and then the threads that serve them, when clients have been notified: within a second or two.
    /// Then waits for the last lines of the log, but at most a second, because its reader may be gone.
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
