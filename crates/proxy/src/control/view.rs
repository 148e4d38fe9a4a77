//! The proxy as its control threads see it.

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::backend::Backend;
use crate::config::LogLevel;
use crate::digests::DigestSummary;
use crate::errand::Credentials;
use crate::failure::Reason;
use crate::listener::Listener;
use crate::lock::lock;
use crate::log::{Event, Log};
use crate::mailbox::{Order, Workers};
use crate::running::Running;
use crate::sockets::Sockets;
use crate::statement_log::{self, Admin, Outlet, Who};
use crate::stats::{PoolInfo, Snapshot};

/// How long an answer of a worker's is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the embedding program does when it is asked to.
#[derive(Clone)]
pub(crate) struct Hook(pub(crate) Arc<dyn Fn() -> Result<String, String> + Send + Sync>);

/// What became of an order to end a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Killed {
    /// It ends, with error 1927.
    Yes,
    /// There is no session with this connection id.
    No,
    /// Ids are the backends' own, and sessions of these listeners have the same one: none of them was ended.
    Several(Vec<String>),
}

/// What there is, for all threads but the workers.
pub(crate) struct View {
    running: Arc<Running>,
    pub(crate) began: Instant,
    reload: Mutex<Option<Hook>>,
}

impl View {
    pub(crate) fn new(running: &Arc<Running>) -> Self {
        Self {
            running: Arc::clone(running),
            began: Instant::now(),
            reload: Mutex::new(None),
        }
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.running.workers
    }

    pub(crate) fn credentials(&self) -> &Credentials {
        &self.running.credentials
    }

    /// Sockets that were passed to this process and have no use yet.
    pub(crate) fn sockets(&self) -> &Mutex<Sockets> {
        &self.running.sockets
    }

    pub(crate) fn log(&self) -> &Log {
        &self.running.log
    }

    /// The logs of statements, where there has been one.
    pub(crate) fn statement_logs(&self) -> Option<&Outlet> {
        self.running.statement_logs()
    }

    /// Has the audit log tell what an administrator did, or somebody who claims to be one.
    pub(crate) fn audit(&self, client: &str, user: Option<&str>, admin: Admin) {
        let in_force = self.running.in_force();
        let watched = in_force.watched.as_ref();
        if let Some(watched) = watched.filter(|watched| watched.has_admin()) {
            let user = user.unwrap_or(&in_force.config.admin.user);
            let who = Who {
                user: user.as_bytes().into(),
                client: client.to_owned(),
                ..Who::default()
            };
            watched.audit(Arc::new(who), statement_log::Event::Admin(admin));
        }
    }

    /// Bytes that buffers may take.
    pub(crate) fn memory(&self) -> usize {
        self.running.in_force().config.memory
    }

    pub(crate) fn listeners(&self) -> Vec<Arc<Listener>> {
        self.running.in_force().listeners.clone()
    }

    /// All backends with their listeners' names. One that two listeners lead to is there twice.
    pub(crate) fn backends(&self) -> Vec<(String, Arc<Backend>)> {
        let of = |listener: Arc<Listener>| {
            let name = listener.config.name.clone();
            let backends = listener.backends.all().to_vec();
            backends
                .into_iter()
                .map(move |backend| (name.clone(), backend))
        };
        self.listeners().into_iter().flat_map(of).collect()
    }

    /// What has failed in the proxy itself.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.running.alarm.why()
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.running.is_draining()
    }

    /// What the workers counted.
    pub(crate) fn snapshot(&self, with_clients: bool) -> Snapshot {
        let mut sum = Snapshot::default();
        let replies = self.ask_all(|reply| Order::Snapshot {
            with_clients,
            reply,
        });
        replies.for_each(|one| sum.merge(one));
        for listener in self.listeners() {
            let name = &listener.config.name;
            // Also what nothing has arrived by yet is there.
            let entrance = sum.counters.entrance(name);
            let refused = &mut sum.counters.entrances[entrance].refused;
            let by_acceptor = &listener.refused;
            refused[Reason::MaxConnections as usize] += by_acceptor.max_connections.load(Relaxed);
            refused[Reason::OpenFiles as usize] += by_acceptor.open_files.load(Relaxed);
            if let Some(pool) = &listener.pool {
                sum.pools.push(PoolInfo {
                    listener: name.clone(),
                    connections: pool.connections(),
                    idle: pool.idle(),
                    waiting: pool.waiting(),
                    waits: pool.counts.waits.load(Relaxed),
                    connects: pool.counts.connects.load(Relaxed),
                    replays: pool.counts.replays.load(Relaxed),
                    resets: pool.counts.resets.load(Relaxed),
                });
            }
            for backend in listener.backends.all() {
                sum.counters.route(name, backend.name());
            }
        }
        sum.counters.sort_routes();
        sum
    }

    /// Whether all workers answer that have not died.
    pub(crate) fn workers_answer(&self) -> bool {
        let all = self.workers().running();
        // No session has this id.
        let answers = self.ask_all(|reply| Order::Find { id: 0, reply });
        answers.take(all).count() == all
    }

    /// Whether statements are counted by digest.
    pub(crate) fn counts_digests(&self) -> bool {
        self.running.in_force().config.digests.max > 0
    }

    /// What the workers counted by digest; those that took most time first.
    pub(crate) fn digests(&self) -> DigestSummary {
        DigestSummary::of_all(self.ask_all(|reply| Order::Digests { reply }))
    }

    /// Forgets what was counted by digest; returns when all workers have.
    pub(crate) fn reset_digests(&self) {
        self.ask_all(|reply| Order::ResetDigests { reply })
            .for_each(drop);
    }

    /// Ends the session with this connection id, of this listener where one is named.
    pub(crate) fn kill(&self, listener: Option<&str>, id: u32) -> Killed {
        // Those that have none yet are not meant.
        if id == 0 {
            return Killed::No;
        }
        let found = self.ask_all(|reply| Order::Find { id, reply }).flatten();
        let is_meant = |found: &String| listener.is_none_or(|listener| listener == found);
        let mut found: Vec<_> = found.filter(is_meant).collect();
        found.sort_unstable();
        found.dedup();
        match found.as_slice() {
            [] => Killed::No,
            [listener] => {
                let order = |reply| Order::Kill {
                    id,
                    listener: listener.clone(),
                    reply,
                };
                match self.ask_all(order).any(|was_there| was_there) {
                    true => Killed::Yes,
                    // It has ended meanwhile.
                    false => Killed::No,
                }
            }
            _ => Killed::Several(found),
        }
    }

    /// What all workers answer, as far as they do in time.
    fn ask_all<T>(&self, order: impl Fn(Sender<T>) -> Order) -> impl Iterator<Item = T> {
        let (reply, replies): (_, Receiver<T>) = channel();
        for worker in &self.workers().0 {
            worker.order(order(reply.clone()));
        }
        let deadline = Instant::now() + PATIENCE;
        std::iter::from_fn(move || {
            let left = deadline.saturating_duration_since(Instant::now());
            replies.recv_timeout(left).ok()
        })
    }

    /// Sends everybody away, as [`Proxy::drain`](crate::Proxy::drain).
    pub(crate) fn drain(&self) {
        self.running.drain();
    }

    /// The listener of that name whose clients share connections, or all of those where none is named.
    pub(crate) fn pooled_listeners(&self, name: Option<&str>) -> Vec<Arc<Listener>> {
        let mut listeners = self.listeners();
        listeners.retain(|one| {
            let is_meant = name.is_none_or(|name| one.config.name == name);
            one.pool.is_some() && is_meant
        });
        listeners
    }

    /// Has sessions leave the backends of that name, or come again; `false` where there is none.
    pub(crate) fn drain_backend(&self, name: &str, is_drained: bool) -> bool {
        let backends = self.backends();
        let meant = backends.iter().filter(|(_, one)| one.name() == name);
        let is_found = meant.clone().next().is_some();
        meant.for_each(|(_, backend)| backend.drain(is_drained));
        self.call_pools();
        is_found
    }

    /// Has the connections to the backends of that name made anew where there are fewest; `false` where there is none.
    pub(crate) fn move_backend(&self, name: &str) -> bool {
        let backends = self.backends();
        let meant = backends.iter().filter(|(_, one)| one.name() == name);
        let is_found = meant.clone().next().is_some();
        meant.for_each(|(_, backend)| backend.move_away());
        self.call_pools();
        is_found
    }

    /// There may be room for sessions that wait.
    fn call_pools(&self) {
        for listener in self.listeners() {
            if let Some(pool) = &listener.pool {
                pool.call();
            }
        }
    }

    pub(crate) fn set_reload(&self, hook: Hook) {
        *lock(&self.reload) = Some(hook);
    }

    /// Has the configuration read again.
    ///
    /// # Errors
    /// Why that can't be done.
    pub(crate) fn reload(&self) -> Result<String, String> {
        let hook = lock(&self.reload).clone();
        let Some(hook) = hook else {
            return Err("there is no configuration file to reload".to_owned());
        };
        let outcome = (hook.0)();
        let (level, lines) = match &outcome {
            Ok(changes) => (LogLevel::Info, changes.as_str()),
            Err(why) => (LogLevel::Warn, why.as_str()),
        };
        for what in lines.lines().map(str::to_owned) {
            self.log().event(Event::Reloaded { level, what });
        }
        outcome
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").finish_non_exhaustive()
    }
}
