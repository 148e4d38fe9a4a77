//! What a pool has to know of a connection, and makes as new.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use onecopy_resp_proto::{Handshake, HandshakeReply};

use super::Link;
use crate::{Config, Error};

/// Connections of a process are counted.
pub(super) fn next_number() -> u64 {
    static CONNECTIONS: AtomicU64 = AtomicU64::new(0);
    CONNECTIONS.fetch_add(1, Ordering::Relaxed)
}

impl Link {
    /// Which connection of this process it is; a reconnect keeps it.
    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether a command has changed the user, the database, the name or other state of the connection.
    #[inline]
    pub(crate) fn is_touched(&self) -> bool {
        self.is_touched
    }

    /// Whether the server may hold back a reply of the last call.
    #[inline]
    pub(crate) fn is_blocked(&self) -> bool {
        self.core.in_flight() > 0 && self.blocking != Some(Duration::ZERO)
    }

    /// Whether nothing is to be sent or awaited.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.core.is_idle()
            && !self.is_open
            && !self.buffers.has_output()
            && self.buffers.pending().is_empty()
    }

    /// What follows has to be done by then.
    pub(crate) fn limit_until(&mut self, deadline: Option<Instant>) {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        self.set_command_timeout(left);
    }

    /// MULTI was discarded, and no key is watched any more.
    pub(crate) fn forget_transaction(&mut self) {
        self.is_watching = false;
        self.was_watching = false;
        self.is_ending = false;
    }

    /// The handshake was repeated after a RESET: nothing of the state before is left.
    pub(crate) fn renewed(
        &mut self,
        reply: HandshakeReply,
        handshake: Handshake,
        config: &Config,
    ) -> Result<(), Error> {
        if let HandshakeReply::Refused { refusal, frame, .. } = reply {
            let reply = handshake.reply(frame, &self.buffers);
            return Err(Error::refused(refusal, reply.bytes()));
        }
        (self.core, self.session) = handshake.into_client();
        self.set_command_timeout(config.command_timeout);
        self.forget_transaction();
        self.is_changed = false;
        self.is_touched = false;
        Ok(())
    }
}
