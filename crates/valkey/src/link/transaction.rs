//! What of a connection a new one would not have: a transaction that is open, and what commands have changed for good.

use onecopy_resp_proto::{Frame, Reply};

use super::Link;
use crate::Error;

/// The commands around a transaction, encoded.
pub(crate) const MULTI: &[u8] = b"*1\r\n$5\r\nMULTI\r\n";
pub(crate) const EXEC: &[u8] = b"*1\r\n$4\r\nEXEC\r\n";

/// How a transaction's commands were taken up: the first refusal.
#[derive(Debug, Default)]
pub(crate) struct Queueing(Option<Error>);

impl Queueing {
    /// The reply at `position`: 0 is MULTI's.
    #[inline]
    pub(crate) fn look_at(&mut self, position: usize, reply: Reply<'_>) {
        if let (None, Some(text)) = (&self.0, reply.as_error()) {
            let error = Error::server_error(text);
            self.0 = Some(match position.checked_sub(1) {
                Some(index) => error.of_command(index),
                None => error,
            });
        }
    }

    pub(crate) fn error(self) -> Option<Error> {
        self.0
    }
}

impl Link {
    /// The reply to the only command of a call, which may have ended a transaction.
    #[inline]
    pub(crate) fn replied(&mut self, frame: Frame) {
        if self.is_ending {
            self.ended(frame);
        }
    }

    /// The reply to a command that ends a transaction. It is over only where the server says so: UNWATCH inside of MULTI
    /// is queued, EXEC without MULTI leaves the watched keys, and users may lack the right to either.
    #[cold]
    pub(crate) fn ended(&mut self, frame: Frame) {
        let reply = self.reply(frame);
        let is_over = match reply.as_error() {
            // The transaction was given up, and with it the watched keys.
            Some(text) => text.starts_with(b"EXECABORT"),
            None => reply.bytes() != b"QUEUED",
        };
        self.is_watching &= !is_over;
    }

    /// Whether a transaction is open or keys are watched, as far as is known; of a closed connection, whether that was so.
    pub(crate) fn is_watching(&self) -> bool {
        self.is_watching
    }

    /// Refuses to set up again what can't be known.
    pub(crate) fn may_reconnect(&self) -> Result<(), Error> {
        if self.is_changed {
            return Err(Error::misuse(
                "a command has changed the connection's user, database, protocol or name, which a new one would not have: use \
                 select, auth and set_client_name, or connect by the right configuration",
            ));
        }
        // Of one that is closed the transaction is gone: its caller has heard of that by an error.
        if self.is_watching && !self.is_closed() {
            return Err(Error::misuse(
                "a transaction is open or keys are watched, which a new connection would not know of: end it by EXEC, DISCARD \
                 or UNWATCH, or connect by connect_with",
            ));
        }
        Ok(())
    }

    /// Whether a command has changed the connection for good, as far as no method keeps account of it.
    pub(crate) fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// What the connection is was changed by a method that keeps account of it, or left as it was where the server refused.
    pub(crate) fn keep_account(&mut self, was_changed: bool, done: &Result<(), Error>) {
        if done
            .as_ref()
            .err()
            .is_none_or(|error| error.server().is_some())
        {
            self.is_changed = was_changed;
        }
    }
}
