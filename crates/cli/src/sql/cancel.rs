//! Ctrl-C and timeouts: the query is cancelled on the server, not only forgotten here.

use std::process;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use onecopy_mysql::Cancelled;
use onecopy_mysql::blocking::CancelToken;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::{Failure, say};

/// No statement is under way: a signal ends the process.
const IDLE: u8 = 0;
/// A statement is under way: a signal cancels it. Any other value is the signal that did; the next one ends the process.
const RUNNING: u8 = u8::MAX;

/// Between a statement's begin here and on the connection nothing can be cancelled; it lasts far less than this.
const NOT_SENT: Duration = Duration::from_millis(5);

/// Watches for SIGINT and SIGTERM. Not for SIGHUP, which `nohup` has the process ignore.
#[derive(Debug, Clone)]
pub(super) struct Cancel(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    token: CancelToken,
    state: AtomicU8,
    /// The cancelled statement has ended.
    is_over: AtomicBool,
    /// The server has taken the order to cancel.
    is_taken: OnceLock<()>,
}

impl Cancel {
    /// Starts to watch on a thread of its own.
    pub(super) fn watch(token: CancelToken) -> Result<Self, Failure> {
        let mut signals = Signals::new([SIGINT, SIGTERM])
            .map_err(|error| Failure::other(format!("can't watch for signals: {error}")))?;
        let cancel = Self(Arc::new(Shared {
            token,
            state: AtomicU8::new(IDLE),
            is_over: AtomicBool::new(false),
            is_taken: OnceLock::new(),
        }));
        let watched = cancel.clone();
        thread::spawn(move || {
            for signal in &mut signals {
                watched.take(u8::try_from(signal).unwrap_or(1));
            }
        });
        Ok(cancel)
    }

    fn take(&self, signal: u8) {
        let status = 128 + i32::from(signal);
        if self
            .0
            .state
            .compare_exchange(RUNNING, signal, Ordering::SeqCst, Ordering::SeqCst)
            .is_err()
        {
            process::exit(status);
        }
        say("cancelling the query on the server; Ctrl-C again leaves at once");
        let cancel = self.clone();
        // Not on this thread: the next signal must find it waiting.
        thread::spawn(move || {
            if !cancel.kill_surely() {
                process::exit(status);
            }
            let _ = cancel.0.is_taken.set(());
        });
    }

    /// A statement begins. Fails where a signal came before.
    pub(super) fn begin(&self) -> Result<(), Failure> {
        match self
            .0
            .state
            .compare_exchange(IDLE, RUNNING, Ordering::SeqCst, Ordering::SeqCst)
        {
            Ok(_) => Ok(()),
            Err(signal) => Err(Failure::Cancelled { signal }),
        }
    }

    /// The statement is over. Fails where it was cancelled, whatever else became of it, and once the server knows.
    pub(super) fn end(&self) -> Result<(), Failure> {
        match self
            .0
            .state
            .compare_exchange(RUNNING, IDLE, Ordering::SeqCst, Ordering::SeqCst)
        {
            Ok(_) => Ok(()),
            Err(signal) => {
                self.0.is_over.store(true, Ordering::SeqCst);
                self.0.is_taken.wait();
                Err(Failure::Cancelled { signal })
            }
        }
    }

    /// Fails where the statement under way was cancelled.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match self.0.state.load(Ordering::Relaxed) {
            RUNNING => Ok(()),
            signal => Err(Failure::Cancelled { signal }),
        }
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
        let cancelled = self.0.token.cancel();
        if let Err(error) = &cancelled {
            say(&format!(
                "can't cancel the query; it may still be running: {error}"
            ));
        }
        cancelled.ok()
    }
}
