//! Whether commands are queued by a MULTI: their replies are QUEUED then, whatever they would be otherwise.

mod queue;

use super::words::Words;

/// The transaction that typed commands have begun.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// On the connection.
    is_open: bool,
    /// For a cluster: its commands, which are sent with EXEC.
    queue: Option<queue::Queue>,
}

impl Transaction {
    pub(super) fn is_open(&self) -> bool {
        self.is_open || self.queue.is_some()
    }

    /// A command was run on a connection, in success or not.
    pub(super) fn follow(&mut self, words: &Words, is_ok: bool) {
        let mut words = words.iter();
        let (Some(name), None) = (words.next(), words.next()) else {
            // With arguments these are errors, and change nothing.
            return;
        };
        let is = |command: &[u8]| name.eq_ignore_ascii_case(command);
        if is(b"MULTI") {
            // Inside of one it is an error, and changes nothing either.
            self.is_open |= is_ok;
        } else if is(b"EXEC") || is(b"DISCARD") || is(b"RESET") {
            // An EXEC that fails has discarded it.
            self.is_open = false;
        }
    }

    /// The connection was lost, and the transaction with it.
    pub(super) fn forget(&mut self) {
        self.is_open = false;
    }
}
