//! What an earlier call left to be done before the next command.

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::client::{RowMode, StatementId};
use onecopy_mysql_proto::packet::{ErrPacket, OneLine};

use super::Link;
use crate::cancel::Begin;
use crate::{Error, Statement};

/// What has to happen before the next command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing.
    Ready,
    /// Unread rows are outstanding: read and discard them.
    Drain,
    /// Long data of this statement arrived in part: the server must forget it.
    Forget(StatementId),
    /// A cancel request is in flight: wait until the server has received it.
    Await,
    /// A cancel request was executed, possibly after its statement had ended: run a statement that it can hit.
    Barrier,
    /// A rollback is queued, and must not be sent together with what follows.
    Prelude,
    /// An error may have ended the transaction: ask the server whether it is open.
    Verify,
}

/// The error that a server sends without being asked before it closes the connection, where that is all that has come.
fn farewell(bytes: &[u8]) -> Option<ErrPacket<'_>> {
    let (header, payload) = bytes.split_first_chunk::<4>()?;
    let [a, b, c, _] = *header;
    let is_whole = usize::try_from(u32::from_le_bytes([a, b, c, 0])) == Ok(payload.len());
    ErrPacket::decode(payload).ok().filter(|_| is_whole)
}

impl Link {
    /// Handles what an earlier call left. A command that was dropped before any of its bytes were sent is withdrawn. If it was partly
    /// sent and has borrowed parts, the connection was closed, because the parts are gone.
    #[inline]
    pub(crate) fn before(&mut self) -> Result<Before, Error> {
        if let Some(cause) = &self.closed {
            return Err(Error::closed(cause.clone()));
        }
        let quiet = match &self.prepared {
            None => true,
            Some(prepared) => prepared.is_quiet(),
        };
        let quiet = quiet && !self.levels.is_unsettled && self.buffers.pending().is_empty();
        if quiet && self.core.is_idle() && !self.buffers.has_output() {
            self.sent_before = self.buffers.output().sent();
            self.queued_before = 0;
            return match self.target.get() {
                None => Ok(Before::Ready),
                Some(target) if target.turn.begin() == Begin::Ready => Ok(Before::Ready),
                Some(_) => self.begin_slow(),
            };
        }
        self.before_slow()
    }

    /// Tries again to begin, because the obstacle may be gone.
    #[cold]
    fn begin_slow(&mut self) -> Result<Before, Error> {
        let begin = self.target.get().map(|target| target.turn.begin());
        match begin.unwrap_or(Begin::Ready) {
            Begin::Ready => Ok(Before::Ready),
            Begin::Delivering => Ok(Before::Await),
            Begin::Late => Ok(Before::Barrier),
            Begin::Lost => Err(self.lost()),
        }
    }

    /// Closes the connection: it is unknown when the server will execute the request, and what it will hit.
    pub(crate) fn lost(&mut self) -> Error {
        self.close("a request to cancel its statement was lost, and could still cancel a later one")
    }

    #[cold]
    fn before_slow(&mut self) -> Result<Before, Error> {
        if self.sent_ahead.is_some() {
            self.leave_pipeline();
        }
        self.core.set_home_column(None);
        drop(self.buffers.withdraw_home());
        self.abandon_local_infile()?;
        let has_borrowed = self.buffers.output().has_borrowed();
        if self.buffers.has_output() && (has_borrowed || !self.core.is_idle()) {
            self.withdraw()?;
        }
        if !self.core.is_idle() {
            self.core.set_row_mode(RowMode::Skip);
            self.observe_abandoned();
            self.start_drain();
            return Ok(Before::Drain);
        }
        if !self.buffers.pending().is_empty() {
            let why = match farewell(self.buffers.pending()) {
                Some(error) => format!(
                    "the server ended it: error {}: {}",
                    error.code,
                    OneLine(&error.message_lossy())
                ),
                None => ProtocolError::Unsolicited.to_string(),
            };
            self.core.kill(ProtocolError::Unsolicited);
            return Err(self.close(&why));
        }
        self.close_dropped()?;
        let begin = self.begin_slow()?;
        if let (Before::Ready, Some(statement)) = (begin, self.long_data()) {
            return Ok(Before::Forget(statement));
        }
        self.mark();
        if begin == Before::Ready && self.levels.is_unsettled {
            return self.settle_levels();
        }
        Ok(begin)
    }

    /// Closes the statements that were dropped: this leaves with the command that follows.
    fn close_dropped(&mut self) -> Result<(), Error> {
        let Some(prepared) = &mut self.prepared else {
            return Ok(());
        };
        while let Some(statement) = prepared.next_dropped() {
            match self.core.close_statement(&mut self.buffers, statement) {
                // A reset or a change of user has closed it too.
                Ok(()) | Err(ProtocolError::StatementClosed) => prepared.close_next(),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Closes a statement: this leaves with the next command.
    pub(crate) fn close_statement(&mut self, statement: &Statement) -> Result<(), Error> {
        self.core.close_statement(&mut self.buffers, statement.id)?;
        if let Some(prepared) = &mut self.prepared {
            prepared.closed(&statement.handle);
        }
        Ok(())
    }

    /// The statement of which long data was sent in part.
    fn long_data(&self) -> Option<StatementId> {
        self.prepared.as_ref()?.long_data
    }

    /// The statement has, or may have, a cursor whose rows will not be fetched any more.
    pub(crate) fn opens_cursor(&mut self, statement: StatementId) {
        self.set_long_data(Some(statement));
    }

    /// Long data of the statement begins to be sent, or all of it has left.
    pub(crate) fn set_long_data(&mut self, statement: Option<StatementId>) {
        if let Some(prepared) = &mut self.prepared {
            prepared.long_data = statement;
        }
    }

    /// Marks the start of a command: what is queued from now on can be withdrawn as long as none of it was sent.
    #[inline]
    pub(crate) fn mark(&mut self) {
        let waits = self.buffers.has_output();
        let output = self.buffers.output();
        self.sent_before = output.sent();
        self.queued_before = if waits { output.len() } else { 0 };
    }

    /// Withdraws the command that was queued last, if none of it was sent; what was queued before it stays. A command that was
    /// partly sent continues if the queue holds the rest of it.
    fn withdraw(&mut self) -> Result<(), Error> {
        let output = self.buffers.output();
        // A statement of a pipeline may begin behind what has left: then it is withdrawn, and the commands in front of it stay queued.
        let sent = output.sent().checked_sub(self.sent_before);
        let left = sent
            .and_then(|sent| usize::try_from(sent).ok())
            .and_then(|sent| self.queued_before.checked_sub(sent));
        match left {
            Some(left) => {
                output.truncate(left);
                self.core.withdraw();
                Ok(())
            }
            None if output.has_borrowed() => {
                Err(self.close("a command was dropped while half of it was sent"))
            }
            None => Ok(()),
        }
    }
}
