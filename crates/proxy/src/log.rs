//! The log of a running proxy: one line for each event, as text or JSON, written by a thread of its own.
//!
//! Other threads queue their events and never wait, because the reader of the log may have stopped reading. If the queue is full,
//! the event is dropped and counted. The program that runs a proxy logs in the same way. Lines contain no secrets and no
//! statements. No logging crate is used: it would format lines, and take the output's lock, on the caller's thread, which may
//! be a worker; and about a dozen events need no targets, spans and levels.

mod line;

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant, SystemTime};
use std::{io, thread};

use crate::config::{LogConfig, LogFormat, LogLevel};
use crate::failure::Reason;
use crate::lock::lock;
use line::{Line, Value};

/// Events that may wait for the thread: some 300 KiB where all are ends of sessions.
const WAITING: usize = 1024;

/// How often the same shortage is logged.
const SELDOM: Duration = Duration::from_secs(10);

/// How long the end of a proxy waits for its last lines to be written.
pub(crate) const LAST_LINES: Duration = Duration::from_secs(1);

/// What is said of a backend that takes writes where another one is the primary.
const SECOND_PRIMARY: &str =
    "it takes writes while another backend is the primary: it gets no sessions; set it read-only";

/// An event that is logged.
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
    /// It takes writes as the primary does, and gets no sessions.
    SecondPrimary { backend: String },
    /// It answers, but not as the checks need it.
    BackendCheckWarning { backend: String, why: String },
    /// A statement that takes too long could not be interrupted.
    QueryTimeoutFailed {
        backend: String,
        user: String,
        why: String,
    },
    /// No new sessions are accepted.
    Draining { sessions: usize },
    /// An administrator's command.
    AdminCommand {
        command: &'static str,
        id: Option<u32>,
        /// The backend or the listener; empty where it is none, or all.
        name: String,
        client: String,
    },
    /// A client of a pooled listener keeps its server connection.
    Pinned {
        reason: &'static str,
        client: String,
        user: String,
        listener: String,
        id: u32,
    },
    /// Descriptors do not do for what is configured.
    FewFiles { what: String },
    /// They have run out since this was said last: clients or connects.
    OutOfFiles { count: u64, what: &'static str },
    /// Something that was configured has changed, or could not be changed.
    Reloaded { level: LogLevel, what: String },
    /// A log of statements, by its table in the configuration, can't be written, or can be again.
    StatementLog {
        level: LogLevel,
        table: &'static str,
        what: String,
    },
    /// A thread that others depend on has ended without being told to.
    ThreadDied { thread: String, why: String },
    /// This process has taken over from another one.
    TookOver { process: u32, sessions: usize },
    /// The process that this one has taken over from has ended, or its sessions have.
    PredecessorEnded { process: u32 },
    /// Another process has taken over; these sessions stay here.
    HandedOver { process: u32, sessions: usize },
    /// Sessions that are left here, and those that have gone to the other process since.
    SessionsLeft { sessions: usize, moved: u64 },
    /// Another process was to take over, and has not.
    UpgradeFailed { why: String },
    /// All sessions have ended, and the threads that served them.
    Stopped,
    /// What the program that runs the proxy says by itself.
    Note { level: LogLevel, text: String },
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

/// The log of a proxy, for all its threads and for the program that runs it. Clones write to the same output.
#[derive(Debug, Clone, Default)]
pub struct Log(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    events: SyncSender<(SystemTime, Event)>,
    config: LogConfig,
    /// Events that were handed over, and those that found no place.
    accepted: AtomicU64,
    dropped: Arc<AtomicU64>,
    progress: Arc<Progress>,
    began: Instant,
    /// How often descriptors have run out since that was said last, and in which second that was; 0 for never.
    out_of_files: AtomicU64,
    said_at: AtomicU64,
}

/// How far the thread is.
#[derive(Debug, Default)]
struct Progress {
    written: Mutex<Written>,
    has_written: Condvar,
}

#[derive(Debug, Default)]
struct Written {
    events: u64,
    /// How many they were when somebody last waited in vain.
    given_up_at: Option<u64>,
}

impl Log {
    /// Starts a thread that writes to `output`. It ends when the last clone is dropped.
    ///
    /// # Errors
    /// Where there is no thread to be had.
    pub fn start(config: &LogConfig, output: impl Write + Send + 'static) -> io::Result<Self> {
        let (events, waiting) = sync_channel(WAITING);
        let dropped = Arc::new(AtomicU64::new(0));
        let progress = Arc::new(Progress::default());
        let mut writer = Writer {
            output: Box::new(output),
            format: config.format,
            dropped: Arc::clone(&dropped),
            told: 0,
            progress: Arc::clone(&progress),
        };
        thread::Builder::new()
            .name("log".into())
            .spawn(move || writer.run(&waiting))?;
        Ok(Self(Some(Arc::new(Inner {
            events,
            config: config.clone(),
            accepted: AtomicU64::new(0),
            dropped,
            progress,
            began: Instant::now(),
            out_of_files: AtomicU64::new(0),
            said_at: AtomicU64::new(0),
        }))))
    }

    /// Says something of the program's own, without waiting. As text it is written as it is, whatever its level; as JSON each
    /// line is an event `note`.
    pub fn note(&self, level: LogLevel, text: &str) {
        let Some(inner) = &self.0 else { return };
        let lines: &mut dyn Iterator<Item = &str> = match inner.config.format {
            LogFormat::Text => &mut std::iter::once(text),
            LogFormat::Json => &mut text.lines(),
        };
        for text in lines.map(str::to_owned) {
            self.event(Event::Note { level, text });
        }
    }

    /// Waits until everything that was handed over is written, at most for `patience`; whether it is. Where somebody has waited
    /// in vain and nothing was written since, it does not wait again.
    pub fn flush(&self, patience: Duration) -> bool {
        let Some(inner) = &self.0 else { return true };
        let accepted = inner.accepted.load(Relaxed);
        let deadline = Instant::now() + patience;
        let mut written = lock(&inner.progress.written);
        while written.events < accepted {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || written.given_up_at == Some(written.events) {
                written.given_up_at = Some(written.events);
                return false;
            }
            let waited = inner.progress.has_written.wait_timeout(written, left);
            // A thread that dies with the lock leaves two numbers behind.
            written = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        true
    }

    /// Whether events of this level are written: others need not be made.
    pub(crate) fn has(&self, level: LogLevel) -> bool {
        let inner = self.0.as_ref();
        inner.is_some_and(|inner| level <= inner.config.level)
    }

    /// Hands an event over, or drops it where too many wait.
    pub(crate) fn event(&self, event: Event) {
        let Some(inner) = &self.0 else { return };
        if !event.is_written(&inner.config) {
            return;
        }
        match inner.events.try_send((SystemTime::now(), event)) {
            Ok(()) => inner.accepted.fetch_add(1, Relaxed),
            Err(_) => inner.dropped.fetch_add(1, Relaxed),
        };
    }

    /// Tells that descriptors have run out for something, but not each time.
    #[cold]
    pub(crate) fn out_of_files(&self, what: &'static str) {
        let Some(inner) = &self.0 else { return };
        inner.out_of_files.fetch_add(1, Relaxed);
        let now = 1 + inner.began.elapsed().as_secs();
        let said_at = inner.said_at.load(Relaxed);
        if said_at != 0 && now < said_at + SELDOM.as_secs() {
            return;
        }
        let says = inner
            .said_at
            .compare_exchange(said_at, now, Relaxed, Relaxed);
        if says.is_ok() {
            let count = inner.out_of_files.swap(0, Relaxed);
            self.event(Event::OutOfFiles { count, what });
        }
    }

    /// Events that were dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.0
            .as_ref()
            .map_or(0, |inner| inner.dropped.load(Relaxed))
    }
}

struct Writer {
    output: Box<dyn Write + Send>,
    format: LogFormat,
    dropped: Arc<AtomicU64>,
    /// How many of the dropped lines were reported.
    told: u64,
    progress: Arc<Progress>,
}

impl Writer {
    fn run(&mut self, waiting: &Receiver<(SystemTime, Event)>) {
        while let Ok((time, event)) = waiting.recv() {
            match event {
                Event::Note { text, .. } if self.format == LogFormat::Text => {
                    self.write(&format!("{text}\n"));
                }
                event => self.write(&event.line(time).render(self.format)),
            }
            let dropped = self.dropped.load(Relaxed);
            if dropped > self.told {
                let more = dropped - self.told;
                self.told = dropped;
                let line = Line::new(time, LogLevel::Warn, "events_dropped");
                let line = line.with("count", Value::Number(more));
                self.write(&line.render(self.format));
            }
            lock(&self.progress.written).events += 1;
            self.progress.has_written.notify_all();
        }
    }

    fn write(&mut self, line: &str) {
        // Where the log goes may be gone: the proxy is not.
        let _ = self.output.write_all(line.as_bytes());
        let _ = self.output.flush();
    }
}

impl Event {
    /// What a program says by itself is no event where people read it.
    fn is_written(&self, config: &LogConfig) -> bool {
        let is_plain = matches!(self, Self::Note { .. }) && config.format == LogFormat::Text;
        is_plain || self.level() <= config.level
    }

    fn level(&self) -> LogLevel {
        match self {
            Self::SessionEnded(ended) => ended.level,
            Self::Reloaded { level, .. }
            | Self::StatementLog { level, .. }
            | Self::Note { level, .. } => *level,
            Self::BackendDown { .. }
            | Self::BackendCheckWarning { .. }
            | Self::SecondPrimary { .. } => LogLevel::Warn,
            Self::FewFiles { .. } | Self::OutOfFiles { .. } => LogLevel::Warn,
            Self::UpgradeFailed { .. } => LogLevel::Warn,
            Self::QueryTimeoutFailed { .. } => LogLevel::Warn,
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
            Self::SecondPrimary { backend } => line("second_primary")
                .with("backend", Value::Text(backend))
                .with("message", Value::Text(SECOND_PRIMARY.to_owned())),
            Self::BackendUp { backend } => line("backend_up").with("backend", Value::Text(backend)),
            Self::BackendCheckWarning { backend, why } => line("backend_check_warning")
                .with("backend", Value::Text(backend))
                .with("message", Value::Text(why)),
            Self::QueryTimeoutFailed { backend, user, why } => line("query_timeout_failed")
                .with("backend", Value::Text(backend))
                .with("user", Value::Text(user))
                .with("message", Value::Text(why)),
            Self::Draining { sessions } => {
                line("draining").with("sessions", Value::Number(sessions as u64))
            }
            Self::AdminCommand {
                command,
                id,
                name,
                client,
            } => {
                let line = line("admin_command").with("command", Value::Word(command));
                let line = match name.is_empty() {
                    false => line.with("name", Value::Text(name)),
                    true => line,
                };
                let line = match id {
                    Some(id) => line.with("connection", Value::Number(id.into())),
                    None => line,
                };
                line.with("client", Value::Text(client))
            }
            Self::Pinned {
                reason,
                client,
                user,
                listener,
                id,
            } => line("session_pinned")
                .with("reason", Value::Word(reason))
                .with("client", Value::Text(client))
                .with("user", Value::Text(user))
                .with("listener", Value::Text(listener))
                .with("connection", Value::Number(id.into())),
            Self::Reloaded { what, .. } => line("reload").with("message", Value::Text(what)),
            Self::StatementLog { table, what, .. } => line("statement_log")
                .with("log", Value::Word(table))
                .with("message", Value::Text(what)),
            Self::FewFiles { what } => line("open_files").with("message", Value::Text(what)),
            Self::OutOfFiles { count, what } => line("open_files")
                .with("count", Value::Number(count))
                .with("message", Value::Text(what.to_owned())),
            Self::ThreadDied { thread, why } => line("thread_died")
                .with("thread", Value::Text(thread))
                .with("message", Value::Text(why)),
            Self::TookOver { process, sessions } => line("took_over")
                .with("process", Value::Number(process.into()))
                .with("sessions_left", Value::Number(sessions as u64)),
            Self::PredecessorEnded { process } => {
                line("predecessor_ended").with("process", Value::Number(process.into()))
            }
            Self::HandedOver { process, sessions } => line("handed_over")
                .with("process", Value::Number(process.into()))
                .with("sessions", Value::Number(sessions as u64)),
            Self::SessionsLeft { sessions, moved } => line("sessions_left")
                .with("sessions", Value::Number(sessions as u64))
                .with("moved", Value::Number(moved)),
            Self::UpgradeFailed { why } => line("upgrade_failed").with("message", Value::Text(why)),
            Self::Stopped => line("stopped"),
            Self::Note { text, .. } => line("note").with("message", Value::Text(text)),
        }
    }
}

#[cfg(test)]
mod tests;
