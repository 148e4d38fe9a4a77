//! The proxy as a whole: its threads, and what can be asked of them while they run.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use onecopy_net::Endpoint;
use onecopy_net::evented::{self, Address, ListenerOptions};

use crate::acceptor;
use crate::backend::{Backend, Backends, resolve};
use crate::config::{Config, ListenerConfig};
use crate::control::{Control, View};
use crate::errand::Credentials;
use crate::key::Key;
use crate::kill::{self, Kills};
use crate::log::{Event, Log};
use crate::registry::Registry;
use crate::stats::Snapshot;
use crate::worker::{self, Order};

/// One way in, as its sessions see it.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) config: ListenerConfig,
    pub(crate) backends: Backends,
    pub(crate) registry: Arc<Registry>,
    /// Clients that were refused before they had a session.
    pub(crate) refused: AtomicU64,
    /// Where passwords may be put under another key.
    pub(crate) key: Option<Arc<Key>>,
}

/// All workers.
#[derive(Debug)]
pub(crate) struct Workers(pub(crate) Vec<worker::Handle>);

impl Workers {
    /// Sessions that there are.
    pub(crate) fn sessions(&self) -> usize {
        self.0
            .iter()
            .map(|worker| worker.sessions.load(Relaxed))
            .sum()
    }

    pub(crate) fn least_loaded(&self) -> &worker::Handle {
        let load = |worker: &&worker::Handle| worker.sessions.load(Relaxed);
        self.0.iter().min_by_key(load).unwrap_or(&self.0[0])
    }
}

impl worker::Handle {
    /// Hands a session over, which counts from now on.
    pub(crate) fn take(&self, session: Order) {
        self.sessions.fetch_add(1, Relaxed);
        self.order(session);
    }
}

/// Why a proxy could not be started.
#[derive(Debug)]
pub enum Error {
    /// An address that can't be listened on.
    Listen(Endpoint, io::Error),
    /// A backend's name that has no address.
    Resolve(String, io::Error),
    /// A thread or an event queue that could not be had.
    Start(io::Error),
    /// An RSA key that could not be made.
    Key,
    /// Nothing to listen on, or a listener without a backend.
    Nothing(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(endpoint, error) => write!(f, "can't listen on {endpoint}: {error}"),
            Self::Resolve(name, error) => write!(f, "backend '{name}' has no address: {error}"),
            Self::Start(error) => write!(f, "can't start: {error}"),
            Self::Key => f.write_str("can't make an rsa key for reencrypt-passwords"),
            Self::Nothing(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Error {}

/// A proxy that runs until it is [stopped](Self::stop) or dropped.
#[derive(Debug)]
pub struct Proxy {
    view: Arc<View>,
    control: Control,
    addresses: Vec<Address>,
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
        Self::start_with(config, None)
    }

    /// The same with a log, which is written to `output`: by default a library says nothing.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_logging(
        config: Config,
        output: impl io::Write + Send + 'static,
    ) -> Result<Self, Error> {
        Self::start_with(config, Some(Box::new(output)))
    }

    fn start_with(
        config: Config,
        output: Option<Box<dyn io::Write + Send>>,
    ) -> Result<Self, Error> {
        if config
            .listeners
            .iter()
            .all(|listener| listener.listen.is_empty())
        {
            return Err(Error::Nothing("there is nothing to listen on"));
        }
        let mut sockets = Vec::new();
        let mut listeners = Vec::new();
        let mut addresses = Vec::new();
        let reencrypts = |listener: &ListenerConfig| listener.reencrypt_passwords;
        let key = match config.listeners.iter().any(reencrypts) {
            true => Some(Arc::new(Key::generate().ok_or(Error::Key)?)),
            false => None,
        };
        for listener in config.listeners {
            if listener.backends.is_empty() {
                return Err(Error::Nothing("a listener has no backend"));
            }
            let backends = listener.backends.iter().cloned().map(|config| {
                let name = config.name.clone();
                let backend = Backend::new(config).map_err(|error| Error::Resolve(name, error))?;
                Ok(Arc::new(backend))
            });
            let backends = Backends::new(backends.collect::<Result<_, _>>()?);
            let listener = Arc::new(Listener {
                key: key.clone().filter(|_| listener.reencrypt_passwords),
                config: listener,
                backends,
                registry: Arc::default(),
                refused: AtomicU64::new(0),
            });
            for endpoint in &listener.config.listen {
                let failed = |error| Error::Listen(endpoint.clone(), error);
                let address = resolve(endpoint).map_err(failed)?.swap_remove(0);
                let socket = evented::Listener::bind(&address, &ListenerOptions::default());
                let socket = socket.map_err(failed)?;
                addresses.push(socket.address().map_err(failed)?);
                sockets.push((socket, Arc::clone(&listener)));
            }
            listeners.push(listener);
        }
        let log = Log::start(&config.log, output).map_err(Error::Start)?;
        let credentials = Credentials::new(config.health);
        let (kills, jobs) = Kills::channel();
        let count = match config.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            count => count,
        };
        let workers =
            (0..count).map(|number| worker::start(number, config.memory / count, &log, &kills));
        let workers = Arc::new(Workers(
            workers.collect::<io::Result<_>>().map_err(Error::Start)?,
        ));
        kill::start(jobs, &workers, &credentials).map_err(Error::Start)?;
        let acceptor = acceptor::start(sockets, Arc::clone(&workers), config.max_connections)
            .map_err(Error::Start)?;
        let view = View::new(
            workers,
            listeners,
            acceptor,
            credentials,
            log,
            config.memory,
        );
        let view = Arc::new(view);
        let control = match Control::start(&view, &config.metrics, &config.admin) {
            Ok(control) => control,
            Err(error) => {
                view.stop();
                return Err(error);
            }
        };
        view.log.event(Event::Started {
            addresses: addresses.iter().map(Address::to_string).collect(),
        });
        Ok(Self {
            view,
            control,
            addresses,
        })
    }

    /// Where it listens, in the order of the configuration; ports of 0 are filled in.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// The first TCP address that it listens on.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        self.addresses.iter().find_map(|address| match address {
            Address::Tcp(address) => Some(*address),
            Address::Unix(_) => None,
        })
    }

    /// What was counted; with each client where that is asked for.
    pub fn snapshot(&self, with_clients: bool) -> Snapshot {
        self.view.snapshot(with_clients)
    }

    /// Ends the session with this connection id; tells whether there was one.
    pub fn kill(&self, id: u32) -> bool {
        self.view.kill(id)
    }

    /// Nobody comes in any more; sessions leave as soon as no transaction is open.
    pub fn drain(&mut self) {
        self.view.drain();
    }

    /// Whether it is drained, also by an administrator's order.
    pub fn is_draining(&self) -> bool {
        self.view.is_draining()
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
        self.view.workers.sessions()
    }

    /// Servers with the sessions on them: name, sessions, whether they are up, connects that failed.
    pub fn servers(&self) -> Vec<(String, usize, bool, u64)> {
        let row = |(_, backend): (String, Arc<Backend>)| {
            let failed = backend.failed_connects.load(Relaxed);
            (
                backend.name().to_owned(),
                backend.sessions(),
                backend.is_up(),
                failed,
            )
        };
        self.view.backends().into_iter().map(row).collect()
    }

    /// Ends all sessions and threads.
    pub fn stop(&mut self) {
        self.control.stop();
        self.view.stop();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop();
    }
}
