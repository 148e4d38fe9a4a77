//! The logs of statements: slow ones, and the audit log, as JSON lines in files of their own; and traces, which go to a collector.
//!
//! ```text
//!   worker --what was executed--> queue, bounded --> writer: digest, redaction, JSON --> file, rotated
//!                            \--> queue, bounded --> exporter: digest, redaction, JSON of OTLP --> collector
//! ```
//!
//! Workers hand over what they know and never format, and never wait unless the audit log is to have every line. The queues, the threads
//! and the counts last as long as the proxy; a reload gives the threads other files, and workers other conditions. Why it is like this:
//! `docs/design/statement-logs.md`.

mod exporter;
mod file;
mod line;
mod redact;
mod span;
mod trace_context;
mod writer;

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::config::{AuditEvents, Config, Literals, LogFileConfig, TracesConfig, WhenFull};
use crate::lock::lock;
use crate::log::Log;
use exporter::Exporter;
use file::LogFile;
pub(crate) use line::{Admin, Event, Line, Login, Logout, Statement, Who};
pub(crate) use trace_context::{NAME as TRACE_NAME, TraceContext};
use writer::Writer;

/// So much of a statement is kept.
pub(crate) const TEXT_BYTES: usize = 4 << 10;

/// Lines that may wait for a thread: some 20 MiB where each has a statement of the greatest length.
const WAITING: usize = 4_096;

/// Buffers for texts that a worker keeps: as many as it has statements under way most of the time.
const KEPT_BUFFERS: usize = 64;

/// One of the logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Slow,
    Audit,
    Traces,
}

/// Those that are files.
const FILES: [Which; 2] = [Which::Slow, Which::Audit];

impl Which {
    pub(crate) const ALL: [Self; 3] = [Self::Slow, Self::Audit, Self::Traces];

    /// In metrics and tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Slow => "slow",
            Self::Audit => "audit",
            Self::Traces => "traces",
        }
    }

    /// Its table in the configuration.
    pub(crate) fn table(self) -> &'static str {
        match self {
            Self::Slow => "slow-log",
            Self::Audit => "audit-log",
            Self::Traces => "traces",
        }
    }
}

/// The logs that a line goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct To {
    pub(crate) slow: bool,
    pub(crate) audit: bool,
    pub(crate) traces: bool,
}

impl To {
    const AUDIT: Self = Self {
        slow: false,
        audit: true,
        traces: false,
    };

    fn has(self, which: Which) -> bool {
        match which {
            Which::Slow => self.slow,
            Which::Audit => self.audit,
            Which::Traces => self.traces,
        }
    }

    fn is_none(self) -> bool {
        !self.slow && !self.audit && !self.traces
    }
}

/// What has become of lines.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) written: AtomicU64,
    /// Too many others waited to be written.
    pub(crate) dropped: AtomicU64,
    /// The file could not be written, or the collector did not take them.
    pub(crate) failed: AtomicU64,
}

/// What a log is like at present.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    /// Path or URL.
    pub(crate) place: Option<String>,
    /// Why it cannot be written.
    pub(crate) error: Option<String>,
}

#[derive(Debug, Default)]
struct Shared {
    counts: [Counts; 3],
    states: [Mutex<State>; 3],
    /// What the thread is to write to from now on, where that has changed.
    next: Mutex<Option<[Option<Output>; 2]>>,
    /// The same for the other thread.
    next_traces: Mutex<Option<Option<TracesConfig>>>,
}

/// A log's file and what may be in it.
#[derive(Debug)]
struct Output {
    file: LogFile,
    literals: Literals,
    /// What a line says of it, where it is not 1.
    sample: f64,
}

enum Message {
    Line(Arc<Line>),
    /// There are other files.
    Files,
    /// Everything before was written, or lost.
    Flush(Sender<()>),
}

/// Where lines go. Clones lead to the same threads, which end with the last of them.
#[derive(Debug, Clone)]
pub(crate) struct Outlet {
    queue: SyncSender<Message>,
    traced: SyncSender<exporter::Message>,
    shared: Arc<Shared>,
}

/// What was handed over and nobody writes, for measuring what it costs to hand it over.
#[cfg(feature = "measure")]
#[derive(Debug)]
pub(crate) struct Unwritten {
    queue: std::sync::mpsc::Receiver<Message>,
    traced: std::sync::mpsc::Receiver<exporter::Message>,
}

/// Why a log's file cannot be opened.
#[derive(Debug)]
pub(crate) struct OpenError {
    pub(crate) which: Which,
    pub(crate) path: PathBuf,
    pub(crate) error: io::Error,
}

/// Files that were opened for a configuration, before it is in force, and where traces go.
#[derive(Debug)]
pub(crate) struct Opened {
    files: [Option<Output>; 2],
    traces: Option<TracesConfig>,
}

impl Opened {
    /// # Errors
    /// Fails if one of them cannot be opened.
    pub(crate) fn new(config: &Config) -> Result<Self, OpenError> {
        let (slow, audit) = (&config.slow_log, &config.audit_log);
        let open = |which, file: &LogFileConfig, literals, sample| {
            let Some(path) = &file.path else {
                return Ok(None);
            };
            let failed = |error| OpenError {
                which,
                path: path.clone(),
                error,
            };
            let file = LogFile::open(path, file.max_size, file.keep).map_err(failed)?;
            Ok(Some(Output {
                file,
                literals,
                sample,
            }))
        };
        let traces = &config.traces;
        Ok(Self {
            files: [
                open(Which::Slow, &slow.file, slow.literals, slow.sample)?,
                open(Which::Audit, &audit.file, audit.literals, audit.sample)?,
            ],
            traces: traces.endpoint.is_some().then(|| traces.clone()),
        })
    }

    pub(crate) fn is_none(&self) -> bool {
        self.files.iter().all(Option::is_none) && self.traces.is_none()
    }
}

impl Outlet {
    /// Starts the threads. `log`: where it is reported that a file cannot be written.
    ///
    /// # Errors
    /// Where there is no thread to be had.
    pub(crate) fn start(log: &Log) -> io::Result<Self> {
        let (queue, waiting) = sync_channel(WAITING);
        let shared = Arc::new(Shared::default());
        let mut writer = Writer::new(waiting, Arc::clone(&shared), log.clone());
        std::thread::Builder::new()
            .name("statement-log".into())
            .spawn(move || writer.run())?;
        let (traced, waiting) = sync_channel(WAITING);
        let mut exporter = Exporter::new(waiting, Arc::clone(&shared), log.clone());
        std::thread::Builder::new()
            .name("traces".into())
            .spawn(move || exporter.run())?;
        Ok(Self {
            queue,
            traced,
            shared,
        })
    }

    /// Without threads.
    #[cfg(feature = "measure")]
    pub(crate) fn unwritten() -> (Self, Unwritten) {
        let (queue, waiting) = sync_channel(WAITING);
        let (traced, traced_waiting) = sync_channel(WAITING);
        let this = Self {
            queue,
            traced,
            shared: Arc::default(),
        };
        let unwritten = Unwritten {
            queue: waiting,
            traced: traced_waiting,
        };
        (this, unwritten)
    }

    /// Has the threads write to these from now on, also where they are the same ones: files may have been renamed.
    pub(crate) fn write_to(&self, Opened { files, traces }: Opened) {
        *lock(&self.shared.next_traces) = Some(traces);
        *lock(&self.shared.next) = Some(files);
        // Where a queue is full, its thread looks before each line.
        let _ = self.traced.try_send(exporter::Message::Config);
        let _ = self.queue.try_send(Message::Files);
    }

    /// Hands a line over. `waits`: until there is room for it.
    fn send(&self, line: Line, waits: bool) {
        let (to, line) = (line.to, Arc::new(line));
        if to.traces {
            let message = exporter::Message::Statement(Arc::clone(&line));
            if self.traced.try_send(message).is_err() {
                let counts = self.counts(Which::Traces);
                counts.dropped.fetch_add(1, Relaxed);
            }
        }
        if !to.slow && !to.audit {
            return;
        }
        let refused = match self.queue.try_send(Message::Line(line)) {
            Ok(()) => return,
            Err(TrySendError::Full(message)) if waits => match self.queue.send(message) {
                Ok(()) => return,
                Err(_) => to,
            },
            Err(_) => to,
        };
        for which in FILES {
            if refused.has(which) {
                self.counts(which).dropped.fetch_add(1, Relaxed);
            }
        }
    }

    /// Waits until everything that was handed over is written or lost, at most for `patience`.
    pub(crate) fn flush(&self, patience: Duration) {
        const PAUSE: Duration = Duration::from_millis(5);
        let deadline = Instant::now() + patience;
        let (done, flushed) = channel();
        let _ = self.traced.try_send(exporter::Message::Flush(done.clone()));
        let mut message = Message::Flush(done);
        while let Err(TrySendError::Full(refused)) = self.queue.try_send(message) {
            if Instant::now() >= deadline {
                return;
            }
            message = refused;
            std::thread::sleep(PAUSE);
        }
        // By both threads.
        for _ in 0..2 {
            let _ = flushed.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        }
    }

    pub(crate) fn counts(&self, which: Which) -> &Counts {
        &self.shared.counts[which as usize]
    }

    pub(crate) fn state(&self, which: Which) -> State {
        lock(&self.shared.states[which as usize]).clone()
    }
}

#[cfg(feature = "measure")]
impl Unwritten {
    /// Takes it out; how much it was.
    pub(crate) fn take(&self) -> usize {
        self.queue.try_iter().count() + self.traced.try_iter().count()
    }
}

/// A share of all, as random numbers of 32 bits that are below.
#[derive(Debug, Clone, Copy)]
struct Share(u64);

impl Share {
    fn new(share: f64) -> Self {
        const ALL: f64 = (1_u64 << 32) as f64;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // it is from 0 to 2^32
        Self((share.clamp(0.0, 1.0) * ALL).round() as u64)
    }
}

#[derive(Debug)]
struct Audit {
    what: AuditEvents,
    users: HashSet<Box<[u8]>>,
    except_users: HashSet<Box<[u8]>>,
    share: Share,
    waits: bool,
}

impl Audit {
    fn has_user(&self, user: &[u8]) -> bool {
        (self.users.is_empty() || self.users.contains(user))
            && (self.except_users.is_empty() || !self.except_users.contains(user))
    }
}

/// What is logged, by a configuration.
#[derive(Debug)]
pub(crate) struct Watched {
    /// From so many microseconds on, and what share of these.
    slow: Option<(u64, Share)>,
    audit: Option<Audit>,
    /// The share of statements of which their clients do not say whether they are traced.
    traces: Option<Share>,
    outlet: Outlet,
}

impl Watched {
    /// `None` where nothing is.
    pub(crate) fn new(config: &Config, outlet: &Outlet) -> Option<Self> {
        let bytes = |users: &[String]| {
            let users = users.iter();
            users.map(|user| user.as_bytes().into()).collect()
        };
        let (slow, audit) = (&config.slow_log, &config.audit_log);
        let threshold = u64::try_from(slow.threshold.as_micros()).unwrap_or(u64::MAX);
        let has = |file: &LogFileConfig| file.path.is_some();
        let this = Self {
            slow: has(&slow.file).then(|| (threshold, Share::new(slow.sample))),
            audit: has(&audit.file).then(|| Audit {
                what: audit.what,
                users: bytes(&audit.users),
                except_users: bytes(&audit.except_users),
                share: Share::new(audit.sample),
                waits: audit.when_full == WhenFull::Wait,
            }),
            traces: (config.traces.endpoint.is_some()).then(|| Share::new(config.traces.sample)),
            outlet: outlet.clone(),
        };
        let is_any = this.slow.is_some() || this.audit.is_some() || this.traces.is_some();
        is_any.then_some(this)
    }

    fn has_statements(&self) -> bool {
        let audit = self.audit.as_ref();
        self.slow.is_some()
            || self.traces.is_some()
            || audit.is_some_and(|audit| audit.what.statements)
    }

    /// Whether what administrators do is logged.
    pub(crate) fn has_admin(&self) -> bool {
        let audit = self.audit.as_ref();
        audit.is_some_and(|audit| audit.what.admin)
    }

    /// Logs something else than a statement.
    pub(crate) fn audit(&self, who: Arc<Who>, event: Event) {
        let waits = self.audit.as_ref().is_some_and(|audit| audit.waits);
        let line = Line::new(To::AUDIT, who, event);
        self.outlet.send(line, waits);
    }
}

/// The logs as a worker sees them.
#[derive(Debug)]
pub(crate) struct StatementLogs {
    watched: Option<Arc<Watched>>,
    has_statements: bool,
    random: u64,
    /// Memory for the texts of statements under way.
    buffers: Vec<Vec<u8>>,
}

impl Default for StatementLogs {
    fn default() -> Self {
        Self {
            watched: None,
            has_statements: false,
            // Any number but 0.
            random: RandomState::new().build_hasher().finish() | 1,
            buffers: Vec::new(),
        }
    }
}

impl StatementLogs {
    /// This is logged from now on.
    pub(crate) fn watch(&mut self, watched: Option<Arc<Watched>>) {
        self.has_statements = watched.as_ref().is_some_and(|all| all.has_statements());
        self.watched = watched;
        if !self.has_statements {
            self.buffers = Vec::new();
        }
    }

    /// Whether anything is logged.
    pub(crate) fn is_on(&self) -> bool {
        self.watched.is_some()
    }

    /// Whether statements are looked at.
    #[inline]
    pub(crate) fn has_statements(&self) -> bool {
        self.has_statements
    }

    /// Whether it is of interest which span a statement belongs to.
    pub(crate) fn has_traces(&self) -> bool {
        let watched = self.watched.as_ref();
        watched.is_some_and(|watched| watched.traces.is_some())
    }

    /// Where the logins of a user are logged.
    pub(crate) fn of_logins(&self, user: &[u8]) -> Option<&Watched> {
        let watched = self.watched.as_deref()?;
        let audit = watched.audit.as_ref()?;
        (audit.what.logins && audit.has_user(user)).then_some(watched)
    }

    /// An empty buffer for a text.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    /// It is not needed any more.
    pub(crate) fn give_back(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() > 0 && self.buffers.len() < KEPT_BUFFERS && self.has_statements {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }

    /// Which logs get a statement of this user and of this client's span, which took so many microseconds.
    pub(crate) fn targets(
        &mut self,
        micros: u64,
        user: &[u8],
        trace: Option<&TraceContext>,
    ) -> Option<To> {
        let watched = self.watched.as_deref()?;
        let random = &mut self.random;
        let slow = watched.slow;
        let audit = watched.audit.as_ref();
        let to = To {
            slow: slow.is_some_and(|(least, share)| micros >= least && is_in(share, random)),
            audit: audit.is_some_and(|audit| {
                audit.what.statements && audit.has_user(user) && is_in(audit.share, random)
            }),
            traces: watched.traces.is_some_and(|share| match trace {
                Some(trace) => trace.is_sampled,
                None => is_in(share, random),
            }),
        };
        (!to.is_none()).then_some(to)
    }

    /// A statement could not be kept until its reply.
    #[cold]
    pub(crate) fn note_dropped(&self) {
        let Some(watched) = &self.watched else { return };
        let audit = watched.audit.as_ref();
        if audit.is_some_and(|audit| audit.what.statements) {
            let counts = watched.outlet.counts(Which::Audit);
            counts.dropped.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn send(&self, to: To, who: Arc<Who>, statement: Box<Statement>) {
        let Some(watched) = &self.watched else { return };
        let waits = to.audit && watched.audit.as_ref().is_some_and(|audit| audit.waits);
        let line = Line::new(to, who, Event::Statement(statement));
        watched.outlet.send(line, waits);
    }
}

/// Draws whether one is in a share: xorshift64, whose numbers nobody has to be kept from guessing.
fn is_in(share: Share, random: &mut u64) -> bool {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    (*random >> 32) < share.0
}

#[cfg(test)]
mod tests;
