//! When the accounts of a listener are read from a server: what sessions ask for, and how they see that it was done.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::Thread;

/// The reading of one listener's accounts.
#[derive(Debug, Default)]
pub(crate) struct AccountReading {
    is_wanted: AtomicBool,
    begun: AtomicU64,
    done: AtomicU64,
    /// Who reads.
    reader: OnceLock<Thread>,
}

impl AccountReading {
    /// Has the accounts read, because a password was wrong and may be a new one. Gives the number of a reading that begins after this.
    pub(crate) fn want(&self) -> u64 {
        // Before it is asked for: one that begins in between is counted, and knows all that a server knew now.
        let number = self.begun.load(SeqCst) + 1;
        self.is_wanted.store(true, SeqCst);
        if let Some(reader) = self.reader.get() {
            reader.unpark();
        }
        number
    }

    /// Whether this reading, or a later one, is over, with whatever result.
    pub(crate) fn is_over(&self, number: u64) -> bool {
        self.done.load(SeqCst) >= number
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted.load(SeqCst)
    }

    /// The thread that calls reads from now on.
    pub(crate) fn read_here(&self) {
        self.reader.get_or_init(std::thread::current);
    }

    pub(crate) fn begin(&self) {
        self.is_wanted.store(false, SeqCst);
        self.begun.fetch_add(1, SeqCst);
    }

    /// What it found is in force.
    pub(crate) fn end(&self) {
        self.done.store(self.begun.load(SeqCst), SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_that_has_begun_before_is_not_enough() {
        let reading = AccountReading::default();
        reading.begin();
        let number = reading.want();
        reading.end();
        assert!(!reading.is_over(number) && reading.is_wanted());
        reading.begin();
        assert!(!reading.is_over(number) && !reading.is_wanted());
        reading.end();
        assert!(reading.is_over(number));
    }

    #[test]
    fn who_reads_is_woken() {
        let reading = AccountReading::default();
        reading.read_here();
        reading.want();
        // At once.
        std::thread::park();
        assert!(reading.is_wanted());
    }
}
