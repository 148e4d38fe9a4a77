//! Results that a server has announced and leaves out, because a request to cancel came between two statements of one command.
//!
//! It says nothing then. COM_STATISTICS tells: its reply, a text, comes behind the results that are still to come, or in place of the one that
//! never comes, and can't be taken for one.
//!
//! ```text
//!   HeaderOrRest --result--> ... --more--> HeaderOrRest ... --end--> Between --> Rest --text--> Idle
//!        |
//!        +--text--> LeftOut --> Idle
//! ```
#![deny(clippy::indexing_slicing)]

use onecopy_wire::{Buffers, Span, Step};

use super::Reply;
use super::core::{ClientCore, HEADER, State, missing};
use crate::Error;
use crate::frame::split_header;
use crate::packet::CommandByte;

/// What the text of all servers begins with. As the head of a result it would be longer than any.
const TEXT: &[u8] = b"Uptime: ";

impl ClientCore {
    /// Queues COM_STATISTICS behind a command that a request to cancel has reached, if a result of its reply is awaited. If the server has
    /// left that result out, the reply ends with an empty [`Reply::Err`]; if not, nothing changes. Once for each command: after that, or where
    /// the server may ask for a file, this queues nothing and returns `false`.
    ///
    /// [`is_idle`](Self::is_idle) is true once the text has come, which may be after the reply: then `advance` returns [`Reply::Ok`] for it.
    ///
    /// # Errors
    /// Fails with `OutOfMemory`; nothing is queued then.
    pub fn ask_for_rest(&mut self, buffers: &mut Buffers) -> Result<bool, Error> {
        if self.state != State::Header || self.allows_local_infile || !self.ahead.is_empty() {
            return Ok(false);
        }
        self.put_ahead(buffers, CommandByte::STATISTICS, State::Rest, None, &[])?;
        self.state = State::HeaderOrRest;
        Ok(true)
    }

    /// What comes first in the next result of the reply under way.
    #[cold]
    #[inline(never)]
    pub(super) fn next_header(&self) -> State {
        match self.ahead.asks_for_rest() {
            true => State::HeaderOrRest,
            false => State::Header,
        }
    }

    /// Finds out which of the two comes. `None`: it is known.
    #[cold]
    #[inline(never)]
    pub(super) fn header_or_rest(&mut self, buffers: &mut Buffers) -> Option<Step<Reply>> {
        let pending = buffers.pending();
        let Some((&header, behind)) = pending.split_first_chunk::<HEADER>() else {
            buffers.need(HEADER - pending.len(), 0);
            return Some(missing(buffers));
        };
        let (length, _) = split_header(header);
        let arrived = behind.get(..TEXT.len().min(behind.len()));
        let may_be_text = length >= TEXT.len() && TEXT.starts_with(arrived.unwrap_or_default());
        if !may_be_text {
            self.state = State::Header;
            return None;
        }
        if behind.len() < TEXT.len() {
            buffers.need(TEXT.len() - behind.len(), 0);
            return Some(missing(buffers));
        }
        self.ahead.drop_next();
        // The first packet of a reply of its own.
        self.frames.restart(1);
        self.state = State::LeftOut;
        None
    }

    /// The text has come.
    #[cold]
    pub(super) fn rest(&mut self) -> Reply {
        let is_left_out = self.state == State::LeftOut;
        self.end_command();
        match is_left_out {
            true => Reply::Err(Span::EMPTY),
            false => Reply::Ok,
        }
    }
}

#[cfg(test)]
mod tests;
