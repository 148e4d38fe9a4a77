//! A connection on which messages come that nothing asked for, at any time.

use onecopy_resp_proto::{Message, Protocol};
use onecopy_wire::{Core, Step};

use onecopy_net::DriveError;

use super::Link;
use crate::Error;

impl Link {
    /// Begins to wait for whatever comes next, when `answers` commands have no answer yet. What was returned last is not valid
    /// any more.
    pub(crate) fn listen_for(&mut self, answers: u64) {
        if self.buffers.pending().is_empty() && self.core.is_idle() {
            self.give_back();
        }
        // In RESP2 messages come in the place of replies.
        let expected = match self.session.protocol {
            Protocol::Resp2 => answers.max(1),
            Protocol::Resp3 => answers,
        };
        let in_flight = self.core.in_flight();
        if in_flight < expected {
            self.core.expect(expected - in_flight);
        } else {
            // Confirmed by pushes.
            self.core.withdraw(in_flight - expected);
        }
    }

    /// A message that has arrived already.
    pub(crate) fn listen_buffered(&mut self) -> Result<Option<Message>, Error> {
        if self.buffers.pending().is_empty() {
            return Ok(None);
        }
        match self.core.advance(&mut self.buffers) {
            Ok(Step::Message(message)) => Ok(Some(message)),
            Ok(_) => Ok(None),
            Err(error) => Err(self.failed(DriveError::Core(error))),
        }
    }
}
