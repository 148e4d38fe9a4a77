//! The thread that writes the logs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use onecopy_mysql_proto::digest::Digester;

use super::line::{self, Line, Style};
use super::{FILES, Message, Output, Shared, State, Which};
use crate::config::LogLevel;
use crate::lock::lock;
use crate::log::{self, Log};

/// So much is written at once where lines come fast.
const BATCH: usize = 32 << 10;

/// After a write the thread sleeps this long: waking it for each line would cost more than writing the lines.
const PAUSE: Duration = Duration::from_millis(2);

/// How often it is tried whether a file can be written again. What comes meanwhile is lost.
const RETRY: Duration = Duration::from_secs(1);

/// So much of a digest's text is shown.
pub(super) const DIGEST_BYTES: usize = 4 << 10;

pub(super) struct Writer {
    waiting: Receiver<Message>,
    shared: Arc<Shared>,
    digester: Digester,
    targets: [Target; 2],
    log: Log,
}

/// One of the logs.
struct Target {
    which: Which,
    output: Option<Output>,
    /// Lines that are not written yet, and how many.
    batch: Vec<u8>,
    lines: u64,
    /// How many lost lines the file tells of, and how many more the batch does.
    told: u64,
    tells: u64,
    /// It could not be written: it is tried again then.
    retry: Option<Instant>,
    /// How many lines were lost when that began.
    lost_before: u64,
    has_said_not_rotated: bool,
}

impl Writer {
    pub(super) fn new(waiting: Receiver<Message>, shared: Arc<Shared>, log: Log) -> Self {
        Self {
            waiting,
            shared,
            digester: Digester::new(DIGEST_BYTES),
            targets: FILES.map(|which| Target {
                which,
                output: None,
                batch: Vec::new(),
                lines: 0,
                told: 0,
                tells: 0,
                retry: None,
                lost_before: 0,
                has_said_not_rotated: false,
            }),
            log,
        }
    }

    pub(super) fn run(&mut self) {
        while let Ok(first) = self.waiting.recv() {
            let mut next = Some(first);
            while let Some(message) = next {
                self.handle(message);
                next = self.waiting.try_recv().ok().or_else(|| {
                    self.flush();
                    thread::sleep(PAUSE);
                    self.waiting.try_recv().ok()
                });
            }
        }
    }

    fn handle(&mut self, message: Message) {
        let next = lock(&self.shared.next).take();
        if let Some(outputs) = next {
            self.flush();
            self.write_to(outputs);
        }
        match message {
            Message::Line(line) => self.add(&line),
            Message::Files => {}
            Message::Flush(done) => {
                self.flush();
                let _ = done.send(());
            }
        }
    }

    fn write_to(&mut self, outputs: [Option<Output>; 2]) {
        for (target, output) in self.targets.iter_mut().zip(outputs) {
            let path = output.as_ref().map(|output| output.file.path().to_owned());
            let place = path.map(|path| path.display().to_string());
            *lock(&self.shared.states[target.which as usize]) = State { place, error: None };
            target.output = output;
            target.retry = None;
            target.has_said_not_rotated = false;
        }
    }

    fn add(&mut self, line: &Line) {
        for target in &mut self.targets {
            // One that was turned off meanwhile has no place for it.
            if line.to.has(target.which) && target.output.is_some() {
                target.add(line, &self.shared, &mut self.digester);
                if target.batch.len() >= BATCH {
                    target.flush(&self.shared, &self.log);
                }
            }
        }
    }

    fn flush(&mut self) {
        for target in &mut self.targets {
            target.flush(&self.shared, &self.log);
        }
    }
}

impl Target {
    fn lost(&self, shared: &Shared) -> u64 {
        let counts = &shared.counts[self.which as usize];
        counts.dropped.load(Relaxed) + counts.failed.load(Relaxed)
    }

    fn add(&mut self, line: &Line, shared: &Shared, digester: &mut Digester) {
        let Some(output) = &self.output else { return };
        let style = Style {
            literals: output.literals,
            sample: output.sample,
        };
        let lost = self.lost(shared);
        if lost > self.told + self.tells {
            line::write_gap(lost - self.told - self.tells, &mut self.batch);
            self.tells = lost - self.told;
        }
        line.write(style, digester, &mut self.batch);
        self.lines += 1;
    }

    fn flush(&mut self, shared: &Shared, log: &Log) {
        if self.batch.is_empty() {
            return;
        }
        let waits = self.retry.is_some_and(|retry| Instant::now() < retry);
        let result = match &mut self.output {
            Some(output) if !waits => Some(output.file.append(&self.batch)),
            _ => None,
        };
        let counts = &shared.counts[self.which as usize];
        match result {
            Some(Ok(())) => {
                counts.written.fetch_add(self.lines, Relaxed);
                self.told += self.tells;
                self.recovered(shared, log);
            }
            Some(Err(error)) => {
                self.failed(&error, shared, log);
                counts.failed.fetch_add(self.lines, Relaxed);
            }
            None => {
                counts.failed.fetch_add(self.lines, Relaxed);
            }
        }
        self.batch.clear();
        (self.lines, self.tells) = (0, 0);
        self.say_not_rotated(log);
    }

    /// Says so once, and not again before it could be written.
    fn failed(&mut self, error: &io::Error, shared: &Shared, log: &Log) {
        let is_first = self.retry.is_none();
        self.retry = Some(Instant::now() + RETRY);
        let mut state = lock(&shared.states[self.which as usize]);
        state.error = Some(error.to_string());
        drop(state);
        if is_first {
            self.lost_before = self.lost(shared);
            let path = self.path();
            let what =
                format!("can't write {path}: {error}; lines are lost until it can be written");
            self.say(LogLevel::Warn, what, log);
        }
    }

    fn recovered(&mut self, shared: &Shared, log: &Log) {
        if self.retry.take().is_some() {
            lock(&shared.states[self.which as usize]).error = None;
            let lost = self.lost(shared) - self.lost_before;
            let what = format!("{} is written again; {lost} lines were lost", self.path());
            self.say(LogLevel::Info, what, log);
        }
    }

    fn say_not_rotated(&mut self, log: &Log) {
        let output = self.output.as_ref();
        let error = output.and_then(|output| output.file.not_rotated.as_ref());
        if let Some(error) = error
            && !self.has_said_not_rotated
        {
            let path = self.path();
            let what = format!(
                "can't rename {path}: {error}; it grows until the next reload: let the proxy write to its folder"
            );
            self.has_said_not_rotated = true;
            self.say(LogLevel::Warn, what, log);
        }
    }

    fn path(&self) -> String {
        let path = self.output.as_ref().map(|output| output.file.path());
        path.map(|path| path.display().to_string())
            .unwrap_or_default()
    }

    fn say(&self, level: LogLevel, what: String, log: &Log) {
        let table = self.which.table();
        log.event(log::Event::StatementLog { level, table, what });
    }
}
