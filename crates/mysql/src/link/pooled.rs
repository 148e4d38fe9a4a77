//! What a pool does with a connection between two borrowers.

use std::sync::OnceLock;
use std::time::Duration;

use super::Link;
use crate::pool::FollowUp;
use crate::{Config, Error};

impl Link {
    /// Tells connections apart.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Bytes that have left so far.
    #[inline]
    pub(crate) fn sent(&mut self) -> u64 {
        self.buffers.output().sent()
    }

    /// Whether nothing is outstanding, so that nothing has to be sent or read before the next command.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let is_answered = self.is_answered();
        let prepared = self.prepared.as_ref();
        is_answered
            && prepared.is_none_or(|prepared| prepared.is_quiet())
            && !self.levels.is_unsettled
    }

    /// Whether no reply is outstanding, and no unsolicited bytes have arrived.
    fn is_answered(&mut self) -> bool {
        self.closed.is_none()
            && self.core.is_idle()
            && !self.buffers.has_output()
            && self.buffers.pending().is_empty()
    }

    /// Closes a connection whose server has sent unsolicited bytes: the next borrower would take them for a reply.
    pub(crate) fn check_answered(&mut self) -> Result<(), Error> {
        // Statements may be dropped meanwhile, which is no reason to close it.
        if self.is_answered() {
            return Ok(());
        }
        Err(self.close("the server sent more than the replies to the reset"))
    }

    /// Whether the session belongs to another user than at the login.
    pub(crate) fn has_other_user(&self) -> bool {
        self.user_changed
    }

    /// The session belongs to the login's user again.
    pub(crate) fn set_own_user(&mut self) {
        self.user_changed = false;
    }

    /// The timeouts are those of the configuration again, or that of a restore.
    pub(crate) fn set_timeouts(&mut self, config: &Config) {
        self.set_call_timeout(config.call_timeout);
        self.set_statement_timeout(config.statement_timeout);
    }

    /// Everything that follows has this much time altogether, until the timeouts are set again.
    pub(crate) fn limit_to(&mut self, timeout: Duration) {
        self.set_statement_timeout(None);
        self.set_call_timeout(Some(timeout));
    }

    /// The tokens that were given out so far cancel nothing any more.
    ///
    /// # Errors
    /// One of them is about to cancel something, and could hit a later statement: the connection is closed.
    pub(crate) fn forget_tokens(&mut self) -> Result<(), Error> {
        // From here on no cancel request can start: the target never becomes active again.
        self.ended();
        let is_clear = self
            .target
            .get()
            .is_none_or(|target| target.turn.is_clear());
        if is_clear {
            self.target = OnceLock::new();
            Ok(())
        } else {
            Err(self.close("a request to cancel its last statement is still being delivered"))
        }
    }

    /// Queues COM_RESET_CONNECTION and all that follows it, to be sent in one write, unless pipelining is off.
    pub(crate) fn queue_reset(&mut self, follow_ups: &[FollowUp]) -> Result<(), Error> {
        self.core.reset_connection(&mut self.buffers)?;
        if self.pipelining {
            for follow_up in follow_ups {
                self.queue_follow_up(follow_up)?;
            }
        }
        Ok(())
    }

    /// Queues what follows a reset.
    pub(crate) fn queue_follow_up(&mut self, follow_up: &FollowUp) -> Result<(), Error> {
        let buffers = &mut self.buffers;
        match follow_up {
            FollowUp::Database(name) => self.core.init_db_ahead(buffers, name.as_bytes())?,
            other => self.core.query_ahead(buffers, other.sql().as_bytes())?,
        }
        Ok(())
    }

    /// Bytes of memory that the connection holds, column definitions included.
    #[inline]
    pub(crate) fn held(&self) -> usize {
        self.buffers.capacity() + self.core.definitions().raw_len()
    }
}
