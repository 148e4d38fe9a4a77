//! The proxy as its control threads see it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::acceptor;
use crate::backend::Backend;
use crate::config::LogLevel;
use crate::errand::Credentials;
use crate::failure::Reason;
use crate::log::{Event, Log};
use crate::proxy::{Hook, Listener, Workers};
use crate::stats::Snapshot;
use crate::worker::Order;

/// How long an answer of a worker's is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// What there is, for all threads but the workers.
pub(crate) struct View {
    pub(crate) workers: Arc<Workers>,
    listeners: Mutex<Vec<Arc<Listener>>>,
    acceptor: Mutex<Option<acceptor::Handle>>,
    is_draining: AtomicBool,
    pub(crate) credentials: Credentials,
    pub(crate) log: Log,
    /// Bytes that buffers may take.
    pub(crate) memory: usize,
    pub(crate) began: Instant,
    reload: Mutex<Option<Hook>>,
}

impl View {
    pub(crate) fn new(
        workers: Arc<Workers>,
        listeners: Vec<Arc<Listener>>,
        acceptor: acceptor::Handle,
        credentials: Credentials,
        log: Log,
        memory: usize,
    ) -> Self {
        Self {
            workers,
            listeners: Mutex::new(listeners),
            acceptor: Mutex::new(Some(acceptor)),
            is_draining: AtomicBool::new(false),
            credentials,
            log,
            memory,
            began: Instant::now(),
            reload: Mutex::new(None),
        }
    }

    pub(crate) fn listeners(&self) -> Vec<Arc<Listener>> {
        lock(&self.listeners).clone()
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

    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Relaxed)
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
            // Also what nothing has come by yet is there.
            let entrance = sum.counters.entrance(name);
            let refused = &mut sum.counters.entrances[entrance].refused;
            refused[Reason::MaxConnections as usize] += listener.refused.load(Relaxed);
            for backend in listener.backends.all() {
                sum.counters.route(name, backend.name());
            }
        }
        sum
    }

    /// Ends the session with this connection id; tells whether there was one.
    pub(crate) fn kill(&self, id: u32) -> bool {
        self.ask_all(|reply| Order::Kill { id, reply })
            .fold(false, |was_there, one| was_there | one)
    }

    /// What all workers answer, as far as they do in time.
    fn ask_all<T>(&self, order: impl Fn(Sender<T>) -> Order) -> impl Iterator<Item = T> {
        let (reply, replies): (_, Receiver<T>) = channel();
        for worker in &self.workers.0 {
            worker.order(order(reply.clone()));
        }
        let deadline = Instant::now() + PATIENCE;
        std::iter::from_fn(move || {
            let left = deadline.saturating_duration_since(Instant::now());
            replies.recv_timeout(left).ok()
        })
    }

    /// Nobody comes in any more; sessions leave as soon as no transaction is open.
    pub(crate) fn drain(&self) {
        if !self.is_draining.swap(true, Relaxed) {
            let sessions = self.workers.sessions();
            self.log.event(Event::Draining { sessions });
        }
        self.close();
        for worker in &self.workers.0 {
            worker.order(Order::Drain);
        }
    }

    /// Nobody comes in any more.
    pub(crate) fn close(&self) {
        if let Some(mut acceptor) = lock(&self.acceptor).take() {
            acceptor.stop();
        }
    }

    /// Ends all sessions and the workers, and writes what the log has.
    pub(crate) fn stop(&self) {
        self.close();
        for worker in &self.workers.0 {
            worker.order(Order::Stop);
        }
        for worker in &self.workers.0 {
            if let Some(thread) = lock(&worker.thread).take() {
                let _ = thread.join();
            }
        }
        self.log.finish();
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
            return Err("there is no configuration file to read again".to_owned());
        };
        let outcome = (hook.0)();
        let (level, lines) = match &outcome {
            Ok(changes) => (LogLevel::Info, changes.as_str()),
            Err(why) => (LogLevel::Warn, why.as_str()),
        };
        for what in lines.lines().map(str::to_owned) {
            self.log.event(Event::Changed { level, what });
        }
        outcome
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").finish_non_exhaustive()
    }
}
