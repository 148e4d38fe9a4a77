//! What is said while the proxy runs: one line an event, as text or JSON, written by a thread of its own.
//!
//! Whoever has something to say hands it over and never waits: where the list is full it is dropped and counted. Lines hold no
//! secrets and no statements. A crate of logging is not used: its lines are made, and its output's lock is taken, by whoever
//! has something to say, which may be a worker; and of its many targets, spans and levels there would be a use for a dozen
//! events.

mod line;

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::SystemTime;
use std::{io, thread};

use crate::config::{LogConfig, LogFormat, LogLevel};
use crate::failure::Reason;
use line::{Line, Value};

/// Events that may wait for the thread: some 300 KiB where all are ends of sessions.
const WAITING: usize = 1024;

/// Something that is told of.
#[derive(Debug)]
pub(crate) enum Event {
    /// The proxy serves from now on.
    Started { addresses: Vec<String> },
    /// A session that ended by a failure.
    SessionEnded(Box<Ended>),
    /// No new sessions for it.
    BackendDown { backend: String, why: String },
    /// New sessions again.
    BackendUp { backend: String },
    /// It answers, but not as the checks need it.
    BackendOdd { backend: String, why: String },
    /// Nobody comes in any more.
    Draining { sessions: usize },
    /// An administrator's order.
    Ordered {
        order: &'static str,
        id: Option<u32>,
        client: String,
    },
    /// Something that was configured has changed, or could not be changed.
    Changed { level: LogLevel, what: String },
    /// A thread that others depend on has ended without being told to.
    ThreadDied { thread: String, why: String },
    /// The last of them.
    Stopped,
}

/// How a session ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) level: LogLevel,
    pub(crate) reason: Reason,
    /// What the client was told, 0 for nothing or for the backend's own words.
    pub(crate) code: u16,
    pub(crate) message: String,
    pub(crate) client: String,
    pub(crate) user: String,
    pub(crate) listener: String,
    pub(crate) backend: String,
    pub(crate) id: u32,
    /// It was logged in.
    pub(crate) was_in: bool,
}

impl LogConfig {
    /// A line of the embedding program's own, as the log has its lines, with its end; `None` where none of this level are
    /// written.
    pub fn line(&self, level: LogLevel, message: &str) -> Option<String> {
        let line = Line::new(SystemTime::now(), level, "note");
        let line = line.with("message", Value::Text(message.to_owned()));
        (level <= self.level).then(|| line.render(self.format))
    }
}

/// The log, for all threads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    events: SyncSender<(SystemTime, Event)>,
    level: LogLevel,
    dropped: Arc<AtomicU64>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Log {
    /// Begins to write to `output`; without one nothing is ever said.
    pub(crate) fn start(
        config: &LogConfig,
        output: Option<Box<dyn Write + Send>>,
    ) -> io::Result<Self> {
        let Some(output) = output else {
            return Ok(Self(None));
        };
        let (events, waiting) = sync_channel(WAITING);
        let dropped = Arc::new(AtomicU64::new(0));
        let mut writer = Writer {
            output,
            format: config.format,
            level: config.level,
            dropped: Arc::clone(&dropped),
            told: 0,
        };
        let thread = thread::Builder::new()
            .name("log".into())
            .spawn(move || writer.run(&waiting))?;
        Ok(Self(Some(Arc::new(Inner {
            events,
            level: config.level,
            dropped,
            thread: Mutex::new(Some(thread)),
        }))))
    }

    /// Whether events of this level are written: others need not be made.
    pub(crate) fn has(&self, level: LogLevel) -> bool {
        self.0.as_ref().is_some_and(|inner| level <= inner.level)
    }

    /// Hands an event over, or drops it where too many wait.
    pub(crate) fn event(&self, event: Event) {
        let Some(inner) = &self.0 else { return };
        if event.level() > inner.level {
            return;
        }
        if let Err(TrySendError::Full(_)) = inner.events.try_send((SystemTime::now(), event)) {
            inner.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Events that were dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.0
            .as_ref()
            .map_or(0, |inner| inner.dropped.load(Relaxed))
    }

    /// Waits until all that was handed over is written. What comes later is not.
    pub(crate) fn finish(&self) {
        let Some(inner) = &self.0 else { return };
        let thread = inner
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // Fails where the thread has ended: then there is nothing to wait for either.
            let _ = inner.events.send((SystemTime::now(), Event::Stopped));
            let _ = thread.join();
        }
    }
}

struct Writer {
    output: Box<dyn Write + Send>,
    format: LogFormat,
    level: LogLevel,
    dropped: Arc<AtomicU64>,
    /// Of the dropped ones, how many were told of.
    told: u64,
}

impl Writer {
    fn run(&mut self, waiting: &Receiver<(SystemTime, Event)>) {
        while let Ok((time, event)) = waiting.recv() {
            let is_last = matches!(event, Event::Stopped);
            if event.level() <= self.level {
                self.write(&event.line(time));
            }
            let dropped = self.dropped.load(Relaxed);
            if dropped > self.told {
                let more = dropped - self.told;
                self.told = dropped;
                let line = Line::new(time, LogLevel::Warn, "events_dropped");
                self.write(&line.with("count", Value::Number(more)));
            }
            if is_last {
                return;
            }
        }
    }

    fn write(&mut self, line: &Line) {
        // Where the log goes may be gone: the proxy is not.
        let _ = self.output.write_all(line.render(self.format).as_bytes());
        let _ = self.output.flush();
    }
}

impl Event {
    fn level(&self) -> LogLevel {
        match self {
            Self::SessionEnded(ended) => ended.level,
            Self::Changed { level, .. } => *level,
            Self::BackendDown { .. } | Self::BackendOdd { .. } => LogLevel::Warn,
            Self::ThreadDied { .. } => LogLevel::Error,
            _ => LogLevel::Info,
        }
    }

    fn line(self, time: SystemTime) -> Line {
        let level = self.level();
        let line = |name| Line::new(time, level, name);
        match self {
            Self::Started { addresses } => {
                line("started").with("listening", Value::Text(addresses.join(", ")))
            }
            Self::SessionEnded(ended) => {
                let ended = *ended;
                line(if ended.was_in {
                    "session_failed"
                } else {
                    "session_refused"
                })
                .with("side", Value::Word(ended.reason.side().name()))
                .with("reason", Value::Word(ended.reason.name()))
                .with("code", Value::Number(ended.code.into()))
                .with("client", Value::Text(ended.client))
                .with("user", Value::Text(ended.user))
                .with("listener", Value::Text(ended.listener))
                .with("backend", Value::Text(ended.backend))
                .with("connection", Value::Number(ended.id.into()))
                .with("message", Value::Text(ended.message))
            }
            Self::BackendDown { backend, why } => line("backend_down")
                .with("backend", Value::Text(backend))
                .with("message", Value::Text(why)),
            Self::BackendUp { backend } => line("backend_up").with("backend", Value::Text(backend)),
            Self::BackendOdd { backend, why } => line("backend_odd")
                .with("backend", Value::Text(backend))
                .with("message", Value::Text(why)),
            Self::Draining { sessions } => {
                line("draining").with("sessions", Value::Number(sessions as u64))
            }
            Self::Ordered { order, id, client } => {
                let line = line("admin_order").with("order", Value::Word(order));
                let line = match id {
                    Some(id) => line.with("connection", Value::Number(id.into())),
                    None => line,
                };
                line.with("client", Value::Text(client))
            }
            Self::Changed { what, .. } => line("changed").with("message", Value::Text(what)),
            Self::ThreadDied { thread, why } => line("thread_died")
                .with("thread", Value::Text(thread))
                .with("message", Value::Text(why)),
            Self::Stopped => line("stopped"),
        }
    }
}

#[cfg(test)]
mod tests;
