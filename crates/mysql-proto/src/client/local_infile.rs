//! LOCAL INFILE: the server requests a file, and the caller sends what it wants to.
//!
//! ```text
//!   COM_QUERY --> 0xFB and a name --> packets of data --> empty packet --> OK or ERR
//! ```
//!
//! The sequence ids continue from those of the request. The name is the server's choice: it is handed to the caller and means
//! nothing here.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_local_infile_request.html>
#![deny(clippy::indexing_slicing)]

use onecopy_wire::{Buffers, Span, Step, WireError};

use super::Reply;
use super::command::put_or_lend;
use super::core::{ClientCore, Source, State, missing, unexpected};
use crate::Error;
use crate::frame::{MAX_BODY, PayloadWriter};
use crate::packet::{CommandByte, err};

impl ClientCore {
    /// Queues COM_QUERY like [`query`](Self::query), for a statement that may request a file: the reply may then be
    /// [`Reply::LocalInfile`], in the place of each of its results.
    ///
    /// # Errors
    /// Fails like [`query`](Self::query).
    pub fn query_with_local_infile(
        &mut self,
        buffers: &mut Buffers,
        sql: &[u8],
    ) -> Result<(), Error> {
        // Behind a prelude there is no other command whose reply could be taken for this one's.
        if !self.is_idle() && self.state != State::Prelude {
            return Err(self.dead().cloned().unwrap_or(Error::Busy));
        }
        self.begin(State::Header, Some(Source::Text))?;
        self.allows_local_infile = true;
        self.send_text(buffers, CommandByte::QUERY, sql)
    }

    /// Returns whether the server waits for data of a file.
    #[inline]
    pub fn is_in_local_infile(&self) -> bool {
        self.state == State::LocalInfile
    }

    /// Queues the next bytes of the file that the server requested, as one packet; `piece` is borrowed if it is large. No bytes
    /// are no packet.
    ///
    /// # Errors
    /// Fails with `LocalInfileOver`, if the piece does not fit one packet, and with `OutOfMemory`; nothing is queued then.
    pub fn send_local_infile(&mut self, buffers: &mut Buffers, piece: &[u8]) -> Result<(), Error> {
        self.check_local_infile()?;
        // A full packet would be followed by an empty one, which ends the file.
        if piece.len() >= MAX_BODY {
            return Err(Error::of_call(WireError::LimitExceeded {
                needed: piece.len() as u64,
                max: MAX_BODY as u64 - 1,
            }));
        }
        if piece.is_empty() {
            return Ok(());
        }
        self.queue_local_infile(buffers, piece)
    }

    /// Queues the end of the file. The reply of the statement follows.
    ///
    /// # Errors
    /// Fails with `LocalInfileOver`, and with `OutOfMemory`; nothing is queued then.
    pub fn end_local_infile(&mut self, buffers: &mut Buffers) -> Result<(), Error> {
        self.check_local_infile()?;
        self.queue_local_infile(buffers, &[])?;
        self.state = State::Header;
        Ok(())
    }

    fn check_local_infile(&self) -> Result<(), Error> {
        if self.is_in_local_infile() {
            Ok(())
        } else {
            Err(self.dead().cloned().unwrap_or(Error::LocalInfileOver))
        }
    }

    fn queue_local_infile(&mut self, buffers: &mut Buffers, piece: &[u8]) -> Result<(), Error> {
        let mut sequence = self.frames.sequence();
        let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
        put_or_lend(&mut writer, 0, piece);
        writer.finish().map_err(Error::of_call)?;
        self.frames.restart(sequence);
        Ok(())
    }

    /// The server asks for a file where it may answer.
    #[cold]
    pub(super) fn local_infile_requested(&mut self, payload: Span) -> Result<Option<Reply>, Error> {
        if !self.allows_local_infile {
            return Err(Error::LocalInfileRefused);
        }
        self.state = State::LocalInfile;
        Ok(Some(Reply::LocalInfile(payload.after(1))))
    }

    /// Until the file has ended the server may only break off, with an ERR packet: of any id, as it is not known which packet
    /// it answers.
    #[cold]
    pub(super) fn in_local_infile(&mut self, buffers: &mut Buffers) -> Result<Step<Reply>, Error> {
        if buffers.pending().is_empty() {
            buffers.need(1, 0);
            return Ok(Step::NeedInput(1));
        }
        let Some(payload) = self.whole(buffers)? else {
            return Ok(missing(buffers));
        };
        let bytes = buffers.bytes(payload);
        if bytes.first() != Some(&err::HEADER) {
            return Err(unexpected("the transfer of a local file", bytes));
        }
        self.kill(Error::LocalInfileBroken);
        Ok(Step::Message(Reply::Err(payload)))
    }
}

#[cfg(test)]
mod tests;
