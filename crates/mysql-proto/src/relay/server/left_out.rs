//! Results that a server has announced and leaves out, because a KILL came between two statements of one command.
//!
//! It says nothing then. A proxy that has sent the KILL can ask by COM_STATISTICS: the answer, a text, comes behind the results that are still
//! to come, or in place of the one that never comes, and can't be taken for one.

use super::super::packets::{Start, Stop};
use super::super::{Event, Relay};
use super::Awaited;
use crate::frame::HEADER_BYTES;

/// What the text of all servers begins with. As the head of a result it would be longer than any.
const TEXT: &[u8] = b"Uptime: ";

impl Relay {
    /// Called when a proxy sends COM_STATISTICS of its own behind the command under way. Returns `false`, and it must not be sent, if no
    /// further result of the reply is awaited, or if its head has begun to arrive.
    ///
    /// It takes [`tell_state`](Self::tell_state). If that result is left out, [`Event::LeftOut`] tells so. If not, the answer arrives behind
    /// the reply; it is the proxy's, and must not come here.
    pub fn ask_for_rest(&mut self) -> bool {
        let is_awaited = self.awaited == Awaited::Header
            && self.begun
            && self.server.is_between_payloads()
            && !self.in_file;
        let Some(observed) = self.observed.as_mut().filter(|_| is_awaited) else {
            return false;
        };
        observed.rest_asked_of = self.commands;
        self.awaited = Awaited::HeaderOrRest;
        true
    }

    /// What comes first in the next result of the reply under way.
    pub(super) fn next_header(&self) -> Awaited {
        match &self.observed {
            Some(observed) if observed.rest_asked_of == self.commands => Awaited::HeaderOrRest,
            _ => Awaited::Header,
        }
    }

    /// Tells of the text; anything else is looked at once more, as the head of a result.
    #[cold]
    pub(super) fn header_or_rest(&mut self, start: Start<'_>) -> Result<(), Stop> {
        if start.length() >= TEXT.len() && start.prefix(TEXT.len())? == TEXT {
            start.prefix(start.length())?;
            let len = HEADER_BYTES + start.length();
            return Err(Stop::Told(Event::LeftOut { len }));
        }
        if let Some(observed) = &mut self.observed {
            // What was told of is gone where it was the text.
            observed.is_told = false;
        }
        self.awaited = Awaited::Header;
        Err(Stop::Again)
    }
}
