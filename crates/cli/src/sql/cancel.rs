//! Ctrl-C and timeouts: the query is cancelled on the server, not only forgotten here.

use std::process;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use onecopy_mysql::Cancelled;
use onecopy_mysql::blocking::CancelToken;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::{Failure, say};

/// No statement is under way: a signal ends the process. SIGINT does not end a shell.
const IDLE: u8 = 0;
/// A statement is under way: a signal cancels it. Any other value is the signal that did; the next one ends the process.
const RUNNING: u8 = u8::MAX;
/// A shell waits, with nothing on the server that a signal would have to cancel.
const WAITING: u8 = u8::MAX - 1;

/// Between a statement's begin here and on the connection nothing can be cancelled; it lasts far less than this.
const NOT_SENT: Duration = Duration::from_millis(5);

/// A pause looks for signals this often: people do not notice it.
const LOOK: Duration = Duration::from_millis(20);

/// Watches for SIGINT and SIGTERM. Not for SIGHUP, which `nohup` has the process ignore.
#[derive(Debug, Clone)]
pub(super) struct Cancel(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    token: Mutex<CancelToken>,
    state: AtomicU8,
    /// SIGINT came to a shell between two statements, with nothing to cancel: a repetition has to end nevertheless.
    is_interrupted: AtomicBool,
    /// The cancelled statement has ended.
    is_over: AtomicBool,
    /// The server has taken the order to cancel, or can't.
    is_taken: Mutex<bool>,
    taken: Condvar,
    shell: Option<Shell>,
}

/// SIGINT ends statements only, and no end leaves the terminal as the line editor has it.
#[derive(Debug)]
struct Shell {
    terminal: Option<Mutex<Termios>>,
}

impl Cancel {
    /// Starts to watch on a thread of its own. The first signal ends the run.
    pub(super) fn watch(token: CancelToken) -> Result<Self, Failure> {
        Self::start(token, None)
    }

    /// The same for a shell: SIGINT cancels one statement, and the next can be run.
    pub(super) fn watch_for_shell(token: CancelToken) -> Result<Self, Failure> {
        let terminal = tcgetattr(std::io::stdin()).ok().map(Mutex::new);
        Self::start(token, Some(Shell { terminal }))
    }

    fn start(token: CancelToken, shell: Option<Shell>) -> Result<Self, Failure> {
        let mut signals = Signals::new([SIGINT, SIGTERM])
            .map_err(|error| Failure::other(format!("can't watch for signals: {error}")))?;
        let cancel = Self(Arc::new(Shared {
            token: Mutex::new(token),
            state: AtomicU8::new(IDLE),
            is_interrupted: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            is_taken: Mutex::new(false),
            taken: Condvar::new(),
            shell,
        }));
        let watched = cancel.clone();
        thread::spawn(move || {
            for signal in &mut signals {
                watched.take(signal);
            }
        });
        Ok(cancel)
    }

    /// A connection was made again, and no statement is under way.
    pub(super) fn set_token(&self, token: CancelToken) {
        *lock(&self.0.token) = token;
    }

    fn take(&self, signal: i32) {
        let number = u8::try_from(signal).unwrap_or(1);
        if self.swap(WAITING, number) {
            return;
        }
        if !self.swap(RUNNING, number) {
            if self.0.shell.is_none() || signal != SIGINT {
                self.exit(128 + signal);
            }
            self.0.is_interrupted.store(true, Ordering::SeqCst);
            return;
        }
        // A shell says it at the end of the statement: its rows, or a pager, have the screen.
        if self.0.shell.is_none() {
            say("cancelling the query on the server; Ctrl-C again exits at once");
        }
        let cancel = self.clone();
        // Not on this thread: the next signal must find it waiting.
        thread::spawn(move || {
            if !cancel.kill_surely() {
                if cancel.0.shell.is_none() {
                    process::exit(128 + signal);
                }
                // It may be tried again.
                cancel.swap(number, RUNNING);
            }
            *lock(&cancel.0.is_taken) = true;
            cancel.0.taken.notify_all();
        });
    }

    fn exit(&self, status: i32) -> ! {
        if let Some(Shell {
            terminal: Some(terminal),
        }) = &self.0.shell
        {
            let _ = tcsetattr(std::io::stdin(), SetArg::TCSANOW, &lock(terminal));
        }
        process::exit(status);
    }

    fn swap(&self, from: u8, to: u8) -> bool {
        let swapped = (self.0.state).compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
        swapped.is_ok()
    }

    /// A statement begins. Fails where a signal came before.
    pub(super) fn begin(&self) -> Result<(), Failure> {
        if !self.swap(IDLE, RUNNING) {
            return Err(self.cancelled());
        }
        // An order that failed while its statement ended may have left it.
        *lock(&self.0.is_taken) = false;
        Ok(())
    }

    /// The statement is over. Fails where it was cancelled, whatever else became of it, and once the server knows.
    pub(super) fn end(&self) -> Result<(), Failure> {
        if self.swap(RUNNING, IDLE) {
            return Ok(());
        }
        let cancelled = self.cancelled();
        self.0.is_over.store(true, Ordering::SeqCst);
        let mut is_taken = lock(&self.0.is_taken);
        while !*is_taken {
            let waited = self.0.taken.wait(is_taken);
            is_taken = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if self.0.shell.is_some() {
            *is_taken = false;
            self.0.is_over.store(false, Ordering::SeqCst);
            self.0.state.store(IDLE, Ordering::SeqCst);
        }
        Err(cancelled)
    }

    /// Fails where the statement under way was cancelled.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match self.0.state.load(Ordering::Relaxed) {
            RUNNING => Ok(()),
            signal => Err(Failure::Cancelled { signal }),
        }
    }

    /// What repeats statements begins: only signals from now on end it.
    pub(super) fn start_repeating(&self) {
        self.0.is_interrupted.store(false, Ordering::SeqCst);
    }

    /// Waits so long. Fails as soon as a signal comes, and where SIGINT came since the last statement or just before it.
    pub(super) fn pause(&self, time: Duration) -> Result<(), Failure> {
        let until = Instant::now() + time;
        self.swap(IDLE, WAITING);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.0.is_interrupted.swap(false, Ordering::SeqCst) {
                self.0.state.store(IDLE, Ordering::SeqCst);
                let signal = u8::try_from(SIGINT).unwrap_or(1);
                return Err(Failure::Cancelled { signal });
            }
            if self.0.state.load(Ordering::SeqCst) != WAITING {
                let cancelled = self.cancelled();
                self.0.state.store(IDLE, Ordering::SeqCst);
                return Err(cancelled);
            }
            if left.is_zero() && self.swap(WAITING, IDLE) {
                return Ok(());
            }
            thread::sleep(left.min(LOOK));
        }
    }

    fn cancelled(&self) -> Failure {
        let signal = self.0.state.load(Ordering::SeqCst);
        Failure::Cancelled { signal }
    }

    /// Cancels the statement that has begun, also where the signal came just before it was sent.
    fn kill_surely(&self) -> bool {
        loop {
            match self.kill() {
                None => return false,
                Some(Cancelled::Nothing) if !self.0.is_over.load(Ordering::SeqCst) => {
                    thread::sleep(NOT_SENT);
                }
                Some(_) => return true,
            }
        }
    }

    /// Cancels the statement under way, which nobody waits for any more. Whether the server has taken the order, or there
    /// was nothing to cancel any more; the user is told where it has not.
    pub(super) fn kill(&self) -> Option<Cancelled> {
        let token = lock(&self.0.token).clone();
        let cancelled = token.cancel();
        if let Err(error) = &cancelled {
            let more = match self.0.shell {
                Some(_) => "; Ctrl-\\ exits at once",
                None => "",
            };
            say(&format!(
                "can't cancel the query; it may still be running: {error}{more}"
            ));
        }
        cancelled.ok()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
