//! Results that the server has announced and leaves out, because a request to cancel came between two statements of one command.
//!
//! The connection asks for a word that comes in their place: see [`ClientCore::ask_for_rest`]. It does not hear of requests that tokens make
//! while it waits for a result, and so looks for them at times.
//!
//! [`ClientCore::ask_for_rest`]: onecopy_mysql_proto::client::ClientCore::ask_for_rest

use std::time::{Duration, Instant};

use onecopy_mysql_proto::packet::ErrPacket;

use super::Link;
use super::deadlines::{deadline_in, earlier};
use crate::Error;

/// What the caller is told: the same as of any statement that was cancelled.
pub(super) const INTERRUPTED: ErrPacket<'static> = ErrPacket {
    code: 1317,
    sql_state: Some(*b"70100"),
    message: b"Query execution was interrupted",
};

/// How long the next result is waited for before the first look, and at most between two.
const FIRST_LOOK: Duration = Duration::from_millis(16);
const LAST_LOOK: Duration = Duration::from_millis(256);

/// When the connection looks for requests.
#[derive(Debug)]
pub(crate) struct Looks(Duration);

impl Looks {
    pub(crate) fn new() -> Self {
        Self(FIRST_LOOK)
    }
}

impl Link {
    /// Whether a token may cancel what is under way.
    pub(crate) fn has_tokens(&self) -> bool {
        self.target.get().is_some()
    }

    /// Until when the next result is waited for, and the time of the next look.
    pub(crate) fn next_look(&self, looks: &mut Looks) -> Option<Instant> {
        let until = deadline_in(Some(looks.0));
        looks.0 = LAST_LOOK.min(looks.0 * 2);
        earlier(until, self.deadline())
    }

    /// Whether the wait has ended with the call's deadline, and not with a look.
    pub(crate) fn is_overdue(&self) -> bool {
        self.deadline()
            .is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Asks for the word if a request was executed.
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn ask_for_rest(&mut self) -> Result<(), Error> {
        if self
            .target
            .get()
            .is_some_and(|target| target.turn.is_late())
        {
            self.core.ask_for_rest(&mut self.buffers)?;
        }
        Ok(())
    }
}
