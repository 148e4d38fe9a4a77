//! A proxy that runs: what is in force, for all threads but the workers, and how that changes.

mod learned;
mod statement_logs;
mod upgrade;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use onecopy_net::evented::{Address, ListenerOptions};

use crate::acceptor;
use crate::alarm::Alarm;
use crate::backend::{Backend, Backends, Name};
use crate::config::changes::keep_tls;
use crate::config::{Changes, Config, ListenerConfig, LogLevel, RuleTarget};
use crate::errand::Credentials;
use crate::error::Error;
use crate::gate::{Way, Ways};
use crate::key::Key;
use crate::listener::Listener;
use crate::lock::lock;
use crate::log::{Event, LAST_LINES, Log};
use crate::mailbox::Order;
use crate::mailbox::Workers;
use crate::open_files::OpenFiles;
use crate::pooling::accounts::Accounts;
use crate::pooling::pool::Pool;
use crate::queue::Patience;
use crate::session::first_options;
use crate::sockets::Sockets;
use crate::statement_log::{Outlet, Watched};

pub(crate) use upgrade::PassedPool;

type Notice = Box<dyn Fn(&str) + Send>;

pub(crate) struct Running {
    pub(crate) workers: Arc<Workers>,
    acceptor: acceptor::Handle,
    now: Mutex<Arc<InForce>>,
    /// Held while something is changed, so that changes come one after the other.
    change: Mutex<()>,
    is_draining: AtomicBool,
    is_closed: AtomicBool,
    is_stopped: AtomicBool,
    /// Another process is about to take over: nothing changes meanwhile.
    is_upgrading: AtomicBool,
    /// It has.
    is_handed_over: AtomicBool,
    /// Sessions that are left with the process before this one.
    left_behind: AtomicUsize,
    notice: Mutex<Option<Notice>>,
    /// Where the watch is told when nobody is let in any more.
    pub(crate) closings: Mutex<Option<Sender<Instant>>>,
    pub(crate) credentials: Credentials,
    pub(crate) log: Log,
    pub(crate) alarm: Alarm,
    open_files: OpenFiles,
    kept: Mutex<Kept>,
    /// Sockets that were passed to this process and have no use yet.
    pub(crate) sockets: Mutex<Sockets>,
    /// What was said last of too few of them.
    warning: Mutex<Option<String>>,
    /// Made when the first listener needs one, and the same from then on.
    key: Mutex<Option<Arc<Key>>>,
    /// The same of the thread that writes logs of statements.
    outlet: OnceLock<Outlet>,
}

/// What is to be served once the proxy is open.
enum Kept {
    UntilOpen(Option<Ways>),
    /// It is open.
    Nothing,
}

/// What is in force at a time.
#[derive(Debug, Default)]
pub(crate) struct InForce {
    pub(crate) config: Config,
    pub(crate) listeners: Vec<Arc<Listener>>,
    pub(crate) addresses: Vec<Address>,
    /// What of statements and of administration is logged.
    pub(crate) watched: Option<Arc<Watched>>,
}

impl Running {
    pub(crate) fn new(
        workers: Arc<Workers>,
        acceptor: acceptor::Handle,
        credentials: Credentials,
        sockets: Sockets,
        (log, alarm): (Log, Alarm),
    ) -> Self {
        Self {
            workers,
            acceptor,
            now: Mutex::default(),
            change: Mutex::default(),
            is_draining: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            is_upgrading: AtomicBool::new(false),
            is_handed_over: AtomicBool::new(false),
            left_behind: AtomicUsize::new(0),
            notice: Mutex::default(),
            closings: Mutex::default(),
            credentials,
            log,
            alarm,
            open_files: OpenFiles::measure(),
            kept: Mutex::new(Kept::UntilOpen(None)),
            sockets: Mutex::new(sockets),
            warning: Mutex::default(),
            key: Mutex::default(),
            outlet: OnceLock::new(),
        }
    }

    pub(crate) fn in_force(&self) -> Arc<InForce> {
        Arc::clone(&lock(&self.now))
    }

    /// Has `config` in force: listens on what is new before anything else changes, and gives up what is gone at the end. Accounts that
    /// were read from servers stay.
    pub(crate) fn install(&self, mut config: Config) -> Result<Changes, Error> {
        let _change = lock(&self.change);
        let before = self.in_force();
        for listener in &mut config.listeners {
            let known = predecessor(&before.listeners, listener);
            let accounts = known.map_or(&[][..], |known| &known.config.accounts);
            listener.take_server_accounts(accounts.to_vec());
            let backends = known.map_or(&[][..], |known| &known.config.backends);
            listener.take_discovered(backends.iter().cloned());
        }
        self.install_all(&before, config)
    }

    fn install_all(&self, before: &InForce, mut config: Config) -> Result<Changes, Error> {
        if self.is_draining() {
            return Err(Error::Draining);
        }
        if self.is_upgrading.load(Relaxed) {
            return Err(Error::Upgrading);
        }
        check(before, &config)?;
        keep_tls(&before.config, &mut config);
        let changes = Changes::between(&before.config, &config);
        let key = self.key(&config)?;
        let mut ways = Vec::new();
        let mut after = InForce::default();
        let mut predecessors = Vec::new();
        for listener in &config.listeners {
            let predecessor = predecessor(&before.listeners, listener);
            let listener = Arc::new(self::listener(
                &config,
                listener,
                predecessor,
                &after.listeners,
                key.as_ref(),
            )?);
            for way in self.ways(&listener, before, &mut after.addresses)? {
                ways.push(way);
            }
            predecessors.push(predecessor.map(Arc::clone));
            after.listeners.push(listener);
        }
        let opened = self.open_statement_logs(before, &config)?;
        // Nothing fails from here on.
        after.watched = self.log_statements(&config, opened);
        for worker in &self.workers.0 {
            let bytes = config.memory / self.workers.0.len();
            worker.order(Order::Memory {
                bytes,
                stall_timeout: config.stall_timeout,
            });
            worker.order(Order::KeepDigests(config.digests.max));
            let watched = after.watched.clone();
            if watched.is_some() || before.watched.is_some() {
                worker.order(Order::LogStatements(watched));
            }
        }
        let room = self.open_files.room(&config);
        self.complain(&config);
        self.serve(Ways {
            sockets: ways,
            room,
            max_connections: config.max_connections,
            patience: Patience {
                length: room.queue,
                ..patience(&config)
            },
        });
        for (predecessor, listener) in predecessors.into_iter().zip(&after.listeners) {
            if let Some(predecessor) = predecessor {
                // It has one already where two listeners took over its addresses.
                let _ = predecessor.successor.set(Arc::clone(listener));
            }
        }
        self.watch_commands();
        self.renew_pools(before, &after);
        self.remove_backends(before, &after, config.drain.timeout);
        for listener in &after.listeners {
            listener.queue.call();
        }
        self.credentials.set(config.health.clone());
        after.config = config;
        *lock(&self.now) = Arc::new(after);
        Ok(changes)
    }

    /// What is served; it is kept until the proxy is open.
    fn serve(&self, mut ways: Ways) {
        let mut kept = lock(&self.kept);
        match &mut *kept {
            Kept::Nothing => return self.acceptor.serve(ways),
            Kept::UntilOpen(None) => {}
            Kept::UntilOpen(Some(before)) => {
                for way in ways.sockets.iter_mut().filter(|way| way.socket.is_none()) {
                    let mut before = before.sockets.iter_mut();
                    let known = before.find(|known| known.endpoint == way.endpoint);
                    way.socket = known.and_then(|known| known.socket.take());
                }
            }
        }
        *kept = Kept::UntilOpen(Some(ways));
    }

    /// Clients are let in from now on. Those that have come since the addresses were listened on have waited.
    pub(crate) fn open(&self) {
        let _change = lock(&self.change);
        let kept = std::mem::replace(&mut *lock(&self.kept), Kept::Nothing);
        if let Kept::UntilOpen(Some(ways)) = kept {
            self.acceptor.serve(ways);
        }
    }

    /// Says that descriptors do not do for a configuration, once.
    fn complain(&self, config: &Config) {
        let warning = self.open_files.warning(config);
        let mut said = lock(&self.warning);
        if *said != warning
            && let Some(what) = warning.clone()
        {
            self.log.event(Event::FewFiles { what });
        }
        *said = warning;
    }

    /// The key that passwords may be put under, where a listener needs one.
    fn key(&self, config: &Config) -> Result<Option<Arc<Key>>, Error> {
        let mut key = lock(&self.key);
        if key.is_none() && config.listeners.iter().any(has_key) {
            *key = Some(Arc::new(Key::generate().ok_or(Error::Key)?));
        }
        Ok(key.clone())
    }

    /// The addresses of a listener; those that are new are listened on.
    fn ways(
        &self,
        listener: &Arc<Listener>,
        before: &InForce,
        addresses: &mut Vec<Address>,
    ) -> Result<Vec<Way>, Error> {
        let known = before.listeners.iter();
        let known: Vec<_> = known.flat_map(|old| old.config.listen.iter()).collect();
        let way = |endpoint: &onecopy_net::Endpoint| {
            let failed = |error| Error::Listen(endpoint.clone(), error);
            let mut way = Way {
                endpoint: endpoint.clone(),
                listener: Arc::clone(listener),
                socket: None,
            };
            if let Some(at) = known.iter().position(|old| *old == endpoint) {
                addresses.extend(before.addresses.get(at).cloned());
                return Ok(way);
            }
            let options = ListenerOptions {
                socket: first_options(listener.config.socket),
                ..ListenerOptions::default()
            };
            let socket = lock(&self.sockets).listen(endpoint, &options)?;
            addresses.push(socket.address().map_err(failed)?);
            self.acceptor.try_out(&socket).map_err(failed)?;
            way.socket = Some(socket);
            Ok(way)
        };
        listener.config.listen.iter().map(way).collect()
    }

    /// Sends the sessions away whose backend is no longer there.
    fn remove_backends(&self, before: &InForce, after: &InForce, timeout: Duration) {
        let backends = |of: &InForce| -> Vec<Arc<Backend>> {
            let all = of.listeners.iter();
            all.flat_map(|listener| listener.backends.all().to_vec())
                .collect()
        };
        let after = backends(after);
        let is_gone = |old: &&Arc<Backend>| !after.iter().any(|new| new.is_same(old));
        let before = backends(before);
        let gone: Vec<_> = before.iter().filter(is_gone).collect();
        if gone.is_empty() {
            return;
        }
        let deadline = Instant::now() + timeout;
        gone.iter().for_each(|backend| backend.remove(deadline));
        self.send_away(deadline, false);
    }

    /// Has pools as they are configured now. Free connections go at once that are of another time: those of accounts that log in
    /// otherwise or not at all now, and all of a pool that has changed or that nobody logs in to any more.
    fn renew_pools(&self, before: &InForce, after: &InForce) {
        for old in &before.listeners {
            let Some(pool) = &old.pool else { continue };
            pool.forget_refusals();
            let mut successors = after.listeners.iter();
            let successor = successors.find(|new| {
                let new = new.pool.as_ref();
                new.is_some_and(|new| Arc::ptr_eq(new, pool))
            });
            let is_changed = match successor {
                None => true,
                Some(new) => {
                    pool.renew(
                        |user| match (old.accounts.find(user), new.accounts.find(user)) {
                            (Some(old), Some(new)) => !old.config.has_password_of(&new.config),
                            (old, new) => old.is_some() != new.is_some(),
                        },
                    );
                    pool.limit(&new.config.accounts);
                    // They were checked.
                    let _ = pool.set_rules(&new.config.rules);
                    pool.set_config(new.config.pool)
                }
            };
            for worker in &self.workers.0 {
                let pool = Arc::clone(pool);
                worker.order(Order::Tidy { pool, is_changed });
            }
        }
    }

    /// Sessions that are there may have more servers behind their listeners than before.
    pub(crate) fn watch_commands(&self) {
        for worker in &self.workers.0 {
            worker.order(Order::Watch);
        }
    }

    fn send_away(&self, deadline: Instant, all: bool) {
        for worker in &self.workers.0 {
            worker.order(Order::Drain { deadline, all });
        }
    }

    /// `/health` and `/ready` fail from now on. After the drain's wait no new sessions are accepted, and existing ones end.
    pub(crate) fn drain(&self) {
        let wait = self.begin_to_drain();
        // After a handover no balancer has to notice.
        if wait.is_zero() || self.is_handed_over.load(Relaxed) {
            return self.close();
        }
        if let Some(closings) = &*lock(&self.closings) {
            let _ = closings.send(Instant::now() + wait);
        }
    }

    /// Gives how long it is until nobody is let in any more.
    fn begin_to_drain(&self) -> Duration {
        let _change = lock(&self.change);
        if !self.is_draining.swap(true, Relaxed) {
            let sessions = self.workers.sessions();
            self.log.event(Event::Draining { sessions });
        }
        self.in_force().config.drain.wait
    }

    /// No new sessions are accepted, and existing ones end.
    pub(crate) fn close(&self) {
        self.is_draining.store(true, Relaxed);
        self.acceptor.stop();
        if !self.is_closed.swap(true, Relaxed) {
            let timeout = self.in_force().config.drain.timeout;
            self.send_away(Instant::now() + timeout, true);
        }
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Relaxed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Relaxed)
    }

    /// Ends all sessions and the threads that serve them, and sees that the log is written, as far as somebody reads it.
    pub(crate) fn stop(&self) {
        self.is_draining.store(true, Relaxed);
        self.is_closed.store(true, Relaxed);
        self.acceptor.stop();
        for worker in &self.workers.0 {
            worker.order(Order::Stop);
        }
        for worker in &self.workers.0 {
            if let Some(thread) = lock(&worker.thread).take() {
                let _ = thread.join();
            }
        }
        if !self.is_stopped.swap(true, Relaxed) {
            if let Some(outlet) = self.outlet.get() {
                outlet.flush(LAST_LINES);
            }
            self.log.event(Event::Stopped);
            self.log.flush(LAST_LINES);
        }
    }

    pub(crate) fn on_notice(&self, notice: Notice) {
        *lock(&self.notice) = Some(notice);
    }

    /// Reports an event that no command caused to the log and to the observers.
    pub(crate) fn tell(&self, level: LogLevel, line: &str) {
        let what = line.to_owned();
        self.log.event(Event::Reloaded { level, what });
        if let Some(notice) = &*lock(&self.notice) {
            notice(line);
        }
    }
}

/// Refuses a configuration that can't be served, and changes that need a restart.
fn check(before: &InForce, config: &Config) -> Result<(), Error> {
    config.check().map_err(Error::Config)?;
    if before.listeners.is_empty() {
        return Ok(());
    }
    let old = &before.config;
    if old.workers != config.workers {
        return Err(Error::Restart("workers"));
    }
    if old.metrics != config.metrics {
        return Err(Error::Restart("metrics.listen"));
    }
    if old.web != config.web {
        return Err(Error::Restart("web"));
    }
    if old.admin != config.admin {
        return Err(Error::Restart("admin"));
    }
    if old.upgrade.socket != config.upgrade.socket {
        return Err(Error::Restart("upgrade.socket"));
    }
    if old.log != config.log {
        return Err(Error::Restart("log"));
    }
    Ok(())
}

/// The listener in whose place another one comes: that of its name, else one on the same address.
fn predecessor<'l>(old: &'l [Arc<Listener>], new: &ListenerConfig) -> Option<&'l Arc<Listener>> {
    let by_name = old.iter().find(|old| old.config.name == new.name);
    by_name.or_else(|| {
        let mut old = old.iter();
        old.find(|old| {
            let mut listen = old.config.listen.iter();
            listen.any(|endpoint| new.listen.contains(endpoint))
        })
    })
}

pub(crate) fn listener(
    config: &Config,
    listener: &ListenerConfig,
    predecessor: Option<&Arc<Listener>>,
    others: &[Arc<Listener>],
    key: Option<&Arc<Key>>,
) -> Result<Listener, Error> {
    let queue = predecessor.map_or_else(Arc::default, |old| Arc::clone(&old.queue));
    // Before the backends look whether rules have their names.
    for rule in &listener.rules {
        if let Some(RuleTarget::Backend(name)) = &rule.to {
            let _ = Name::of(name);
        }
    }
    let tells_parts = config.health.interval.is_some() && config.health.login.is_some();
    let backend = |config: &crate::config::BackendConfig| {
        let known = predecessor.and_then(|old| {
            let mut all = old.backends.all().iter();
            all.find(|old| old.config.endpoint == config.endpoint)
        });
        let backend = match known {
            Some(known) => known.with_config(config.clone()),
            None => {
                let backend = Backend::new(config.clone(), &queue)
                    .map_err(|error| Error::Resolve(config.name.clone(), error))?;
                if tells_parts {
                    backend.health().await_part();
                }
                backend
            }
        };
        Ok(Arc::new(backend))
    };
    let backends = listener.backends.iter().map(backend);
    let backends = Backends::new(backends.collect::<Result<_, _>>()?);
    backends.set_reads(listener.replica_reads);
    backends.set_discovery(listener.discovery.is_some());
    Ok(Listener {
        backends,
        registry: predecessor.map_or_else(Arc::default, |old| Arc::clone(&old.registry)),
        refused: predecessor.map_or_else(Arc::default, |old| Arc::clone(&old.refused)),
        accounts: Accounts::new(&listener.accounts, predecessor.map(|old| &old.accounts))
            .ok_or(Error::Key)?,
        wrong_logins: predecessor.map_or_else(Arc::default, |old| Arc::clone(&old.wrong_logins)),
        account_reading: predecessor
            .map_or_else(Arc::default, |old| Arc::clone(&old.account_reading)),
        key: key.cloned().filter(|_| has_key(listener)),
        pool: pool(listener, predecessor, others),
        config: listener.clone(),
        queue,
        patience: patience(config),
        successor: OnceLock::new(),
    })
}

/// Whether clients of a listener may put their passwords under the proxy's key.
fn has_key(listener: &ListenerConfig) -> bool {
    listener.reencrypt_passwords || listener.mode.is_pooled()
}

/// The connections that clients of a listener share: those that there are, also where they are configured otherwise now. `others` have
/// theirs already.
fn pool(
    listener: &ListenerConfig,
    predecessor: Option<&Arc<Listener>>,
    others: &[Arc<Listener>],
) -> Option<Arc<Pool>> {
    if !listener.mode.is_pooled() {
        return None;
    }
    let known = predecessor.and_then(|old| old.pool.as_ref());
    let known = known.filter(|known| {
        let mut others = others.iter().filter_map(|other| other.pool.as_ref());
        !others.any(|other| Arc::ptr_eq(other, known))
    });
    let pool = known.map_or_else(
        || {
            let pool = Pool::new(listener.pool);
            pool.limit(&listener.accounts);
            // They were checked.
            let _ = pool.set_rules(&listener.rules);
            pool
        },
        Arc::clone,
    );
    Some(pool)
}

fn patience(config: &Config) -> Patience {
    Patience {
        timeout: config.queue_timeout,
        length: config.queue_length,
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("now", &self.in_force())
            .finish_non_exhaustive()
    }
}
