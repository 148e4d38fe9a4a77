//! Ctrl-C and timeouts: the query is cancelled on the server, not only forgotten here.

use std::process;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use onecopy_mysql::Config;
use onecopy_mysql::blocking::Connection;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::{Failure, say};

/// No statement is under way: a signal ends the process.
const IDLE: u8 = 0;
/// A statement is under way: a signal cancels it. Any other value is the signal that did; the next one ends the process.
const RUNNING: u8 = u8::MAX;

/// The order to cancel has a deadline of its own: that of the url's queries may be too short for it, or none at all.
const ORDER: Duration = Duration::from_secs(10);

/// Watches for SIGINT and SIGTERM. Not for SIGHUP, which `nohup` has the process ignore.
#[derive(Debug, Clone)]
pub(super) struct Cancel(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    config: Config,
    connection_id: u32,
    state: AtomicU8,
    /// The server has taken the order to cancel.
    is_taken: OnceLock<()>,
}

impl Cancel {
    /// Starts to watch on a thread of its own.
    pub(super) fn watch(config: &Config, connection_id: u32) -> Result<Self, Failure> {
        let mut signals = Signals::new([SIGINT, SIGTERM])
            .map_err(|error| Failure::other(format!("can't watch for signals: {error}")))?;
        let mut orders = config.clone();
        orders.call_timeout = Some(ORDER);
        orders.connect_timeout.get_or_insert(ORDER);
        let cancel = Self(Arc::new(Shared {
            config: orders,
            connection_id,
            state: AtomicU8::new(IDLE),
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
            if !cancel.kill() {
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

    /// Cancels the statement under way, which nobody waits for any more. Whether the server has taken the order; the user
    /// is told where it has not.
    pub(super) fn kill(&self) -> bool {
        let done = self.order();
        if let Err(error) = &done {
            say(&format!(
                "can't cancel the query, it may go on without us: {error}"
            ));
        }
        done.is_ok()
    }

    fn order(&self) -> Result<(), onecopy_mysql::Error> {
        let mut connection = Connection::connect_with(&self.0.config)?;
        connection.run(&format!("KILL QUERY {}", self.0.connection_id))?;
        connection.close()
    }
}
