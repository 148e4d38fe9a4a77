//! The proxy as a whole: its threads, and the operations while they run.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use onecopy_net::Endpoint;
use onecopy_net::evented::{Address, Listener};

use crate::acceptor;
use crate::alarm::Alarm;
use crate::backend::Backend;
use crate::config::{Changes, Config, LogLevel};
use crate::control::{Control, Hook, Killed, View};
use crate::discovery;
use crate::errand::Credentials;
use crate::error::Error;
use crate::kill::Kills;
use crate::killer;
use crate::lock::lock;
use crate::log::{Event, Log};
use crate::mailbox::Workers;
use crate::open_files;
use crate::running::Running;
use crate::server_accounts;
use crate::sockets::Sockets;
use crate::stats::Snapshot;
use crate::takeover::{Predecessor, SuccessorCommand, Takeover};
use crate::watch::Watch;
use crate::worker;

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
    control: Arc<Control>,
    /// Where it waits for another process to take over, before it does and from then on.
    upgrade: (Option<Listener>, Option<Predecessor>),
    _watch: Watch,
}

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
        Self::start_with_sockets(config, Sockets::default(), log)
    }

    /// Starts the proxy like [`start_with_log`](Self::start_with_log). Addresses for which there is one of `sockets` are not bound: the
    /// socket is used that was passed. Files of such Unix sockets are not removed in the end.
    ///
    /// # Errors
    /// Fails like [`start`](Self::start), and if one of the sockets fits no address of the configuration.
    pub fn start_with_sockets(config: Config, sockets: Sockets, log: &Log) -> Result<Self, Error> {
        let mut proxy = Self::prepare(config, sockets, log)?;
        proxy.await_successor()?;
        proxy.running.open();
        proxy.say_started();
        Ok(proxy)
    }

    /// Starts the proxy in the place of another one, which [`Takeover::begin`] has asked for its sockets, and logs to `log`. Clients that
    /// wait to be accepted are accepted here; sessions stay with the other one until they end.
    ///
    /// # Errors
    /// Fails like [`start_with_sockets`](Self::start_with_sockets), and if the other proxy does not follow the protocol. It goes on as
    /// before then.
    pub fn take_over(config: Config, mut takeover: Takeover, log: &Log) -> Result<Self, Error> {
        let sockets = takeover.take_sockets();
        let prepared = Self::prepare(config, sockets, log).and_then(|proxy| {
            proxy.running.check_accounts()?;
            takeover.ready()?;
            Ok(proxy)
        });
        let mut proxy = match prepared {
            Ok(proxy) => proxy,
            Err(error) => {
                takeover.refuse(&error);
                return Err(error);
            }
        };
        let running = Arc::clone(&proxy.running);
        running.take_pools(takeover.pools());
        running.take_drained(takeover.drained());
        running.open();
        let sessions = match takeover.serving(|| running.resume()) {
            Ok(sessions) => sessions,
            Err(error) => {
                takeover.refuse(&error);
                return Err(error);
            }
        };
        lock(&running.sockets).own_files();
        takeover.follow(&running, sessions);
        if let Err(error) = proxy.await_successor() {
            // It serves all the same.
            running.tell(LogLevel::Warn, &error.to_string());
        }
        proxy.say_started();
        Ok(proxy)
    }

    /// All of it, except that no client is accepted.
    fn prepare(config: Config, sockets: Sockets, log: &Log) -> Result<Self, Error> {
        // Before anything is started for it.
        config.check().map_err(Error::Config)?;
        sockets.check(&config)?;
        let log = log.clone();
        let alarm = Alarm::new(&log);
        let credentials = Credentials::new(config.health.clone());
        let (metrics, web) = (config.metrics.clone(), config.web.clone());
        let admin = config.admin.clone();
        let upgrade = config.upgrade.socket.clone();
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
        let killers = killer::start(jobs, &workers, &credentials, &log);
        killers.map_err(Error::start("kill"))?;
        let acceptor = acceptor
            .start(Arc::clone(&workers), alarm.clone(), log.clone())
            .map_err(Error::start("acceptor"))?;
        let running = Running::new(workers, acceptor, credentials, sockets, (log, alarm));
        let running = Arc::new(running);
        let installed = running.install(config);
        let view = Arc::new(View::new(&running));
        let started = installed.and_then(|_| {
            // Before anybody comes in who has one of them.
            server_accounts::start(&running).map_err(Error::start("accounts"))?;
            let upgrade = upgrade.map(|path| Predecessor::listen(&running, &Endpoint::Unix(path)));
            let control = Control::start(&view, &metrics, &web, &admin)?;
            let watch = Watch::start(&running).map_err(Error::start("watch"))?;
            discovery::start(&running).map_err(Error::start("discovery"))?;
            Ok((Arc::new(control), watch, upgrade.transpose()?))
        });
        let (control, watch, upgrade) = match started {
            Ok(started) => started,
            Err(error) => {
                running.stop();
                return Err(error);
            }
        };
        Ok(Self {
            running,
            view,
            control,
            upgrade: (upgrade, None),
            _watch: watch,
        })
    }

    /// Another process may take over from now on, where that is configured.
    fn await_successor(&mut self) -> Result<(), Error> {
        let (listener, predecessor) = &mut self.upgrade;
        if let Some(listener) = listener.take() {
            let started = Predecessor::start(listener, &self.running, &self.control);
            *predecessor = Some(started.map_err(Error::start("upgrade"))?);
        }
        Ok(())
    }

    fn say_started(&self) {
        let addresses = self.addresses();
        self.running.log.event(Event::Started {
            addresses: addresses.iter().map(Address::to_string).collect(),
        });
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

    /// Returns whether all workers answer within some seconds. Those that have [died](Self::failure) do not count.
    pub fn is_responsive(&self) -> bool {
        self.view.workers_answer()
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

    /// Sets how a process is started that takes over from this one, when [`request_upgrade`](crate::request_upgrade) asks for it. It is
    /// to call [`Takeover::begin`] with a configuration of the same addresses. Without an `upgrade.socket` it is never asked for.
    pub fn set_successor(&self, command: SuccessorCommand) {
        if let Some(predecessor) = &self.upgrade.1 {
            predecessor.set_command(command);
        }
    }

    /// Sets a function that is called with the id of the process that has taken over, when that serves and this proxy accepts no
    /// clients any more. It is called before the other process reports that it has started.
    pub fn on_handover(&self, hook: impl Fn(u32) + Send + 'static) {
        if let Some(predecessor) = &self.upgrade.1 {
            predecessor.on_handover(Box::new(hook));
        }
    }

    /// Returns the id of the process that has taken over. This proxy then keeps its sessions until they end, but accepts no clients, and
    /// its other listeners are closed.
    pub fn successor(&self) -> Option<u32> {
        self.upgrade.1.as_ref()?.successor()
    }

    /// Returns the number of sessions that the process still has that this one has taken over from.
    pub fn sessions_left_behind(&self) -> usize {
        self.running.left_behind()
    }

    /// Sets the function for the admin listener's `RELOAD`. It returns what has changed, or why nothing has.
    pub fn on_reload(&self, hook: impl Fn() -> Result<String, String> + Send + Sync + 'static) {
        self.view.set_reload(Hook(Arc::new(hook)));
    }

    /// Returns the address of the metrics listener, with the actual port.
    pub fn metrics_address(&self) -> Option<&Address> {
        self.control.metrics_address()
    }

    /// Returns the address of the live page, with the actual port.
    pub fn web_address(&self) -> Option<&Address> {
        self.control.web_address()
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
        if let Some(predecessor) = &self.upgrade.1 {
            predecessor.close();
        }
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
