//! Ctrl-C and SIGTERM: what runs for long ends, and shows what it has found.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::Failure;

/// A pause looks for signals this often, and a wait for messages too: people do not notice it.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// Watches for signals. The first one while something [runs](Self::begin) is for that to end; any other ends the process, as if
/// nobody watched.
#[derive(Debug, Clone)]
pub(super) struct Interrupt {
    /// The signal that came; 0 for none.
    signal: Arc<AtomicUsize>,
    /// Whether the next signal ends the process.
    is_deadly: Arc<AtomicBool>,
}

impl Interrupt {
    pub(super) fn watch() -> Result<Self, Failure> {
        let interrupt = Self {
            signal: Arc::default(),
            is_deadly: Arc::new(AtomicBool::new(true)),
        };
        let register = |signal: i32| {
            let number = usize::try_from(signal).unwrap_or_default();
            // They are run in this order.
            flag::register_conditional_default(signal, Arc::clone(&interrupt.is_deadly))?;
            flag::register_usize(signal, Arc::clone(&interrupt.signal), number)?;
            flag::register(signal, Arc::clone(&interrupt.is_deadly))
        };
        for signal in [SIGINT, SIGTERM] {
            register(signal)
                .map_err(|error| Failure::other(format!("can't watch for signals: {error}")))?;
        }
        Ok(interrupt)
    }

    /// Something begins that a signal asks to end; until the guard is dropped.
    pub(super) fn begin(&self) -> Running<'_> {
        self.signal.store(0, Ordering::SeqCst);
        self.is_deadly.store(false, Ordering::SeqCst);
        Running(self)
    }
}

/// Something that a signal asks to end.
#[derive(Debug)]
pub(super) struct Running<'i>(&'i Interrupt);

impl Running<'_> {
    /// The signal that has come.
    pub(super) fn signal(&self) -> Option<u8> {
        let signal = self.0.signal.load(Ordering::SeqCst);
        u8::try_from(signal).ok().filter(|&signal| signal > 0)
    }

    pub(super) fn is_over(&self) -> bool {
        self.signal().is_some()
    }

    /// Waits so long, or until a signal comes.
    pub(super) fn pause(&self, time: Duration) {
        let Some(until) = Instant::now().checked_add(time) else {
            return;
        };
        while !self.is_over() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(LOOK));
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.is_deadly.store(true, Ordering::SeqCst);
    }
}
