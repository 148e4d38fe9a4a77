//! Rows that stay on the server until they are fetched.
//!
//! An execution that opens a cursor is over behind the column definitions: the packet that ends them, or in its place the one that ends
//! the rows, has `CURSOR_EXISTS`. Where the server has opened none, rows follow.
//!
//! For a statement without columns no cursor is asked for: MySQL opens one for `DO`, with a row that the statement does not have, and
//! refuses others, as `SET` and `CREATE TABLE`, that MariaDB executes.
//!
//! MySQL (9.7.4) does not execute a statement without a cursor any more once one was opened for it, unless the statement was executed
//! without one before, and not prepared again by the server since, as it is where a table has changed or a parameter has another type:
//! the rows are missing, and an OK packet with the header 0x00, which would be a row, is in the place of their end. A client waits
//! forever then, or takes it for a row. A client can't know when this happens, so it never executes such a statement without a
//! cursor.
#![deny(clippy::indexing_slicing)]

use onecopy_wire::{Buffers, Span};

use super::core::{Asks, ClientCore, Source, State};
use super::statement::Params;
use super::{Reply, StatementId};
use crate::frame::{HEADER_BYTES, PayloadWriter};
use crate::packet::{CursorType, EofPacket, Fetch, OkPacket, eof};
use crate::{Error, StatusFlags};

impl ClientCore {
    /// Queues COM_STMT_EXECUTE for rows that are fetched in parts. The reply is that of [`execute`](Self::execute), but where the
    /// server has opened a cursor the command is over with `Columns`, and [`has_cursor`](Self::has_cursor) is true.
    ///
    /// On MySQL the statement is executed with a cursor only from then on: [`execute`](Self::execute) fails with `CursorOnly`.
    ///
    /// # Errors
    /// Fails with `Busy`, `StatementClosed`, `ParameterCount`, `CharacterSet` or `Parameter`.
    pub fn execute_with_cursor(
        &mut self,
        buffers: &mut Buffers,
        statement: StatementId,
        params: Params<'_>,
    ) -> Result<(), Error> {
        let found = self.statements.find(statement)?;
        let (id, expected, given) = (found.id, found.parameters, params.0.len());
        if self.statements.definitions(statement).is_empty() {
            return self.execute(buffers, statement, params);
        }
        if given != usize::from(expected) {
            return Err(Error::ParameterCount { expected, given });
        }
        self.begin(State::Header, Some(Source::Statement(statement)))?;
        self.ask(Asks::Cursor);
        self.put_execution(buffers, id, CursorType::READ_ONLY, params)?;
        if !self.session.version.is_mariadb {
            self.statements.restrict_to_cursors(statement);
        }
        Ok(())
    }

    /// Queues COM_STMT_FETCH: the next rows of a statement's cursor, at most `rows`. The reply is those rows and their end, behind
    /// which [`has_cursor`](Self::has_cursor) is false if no more follow.
    ///
    /// # Errors
    /// Fails with `Busy` or `StatementClosed`.
    pub fn fetch(
        &mut self,
        buffers: &mut Buffers,
        statement: StatementId,
        rows: u32,
    ) -> Result<(), Error> {
        let statement_id = self.statements.find(statement)?.id;
        let columns = self.statements.definitions(statement).len();
        self.begin(State::Rows, Some(Source::Statement(statement)))?;
        if let Err(error) = self.size_cells(columns) {
            self.retract();
            return Err(Error::of_call(error));
        }
        self.shared = None;
        let mut sequence = 0;
        let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
        Fetch { statement_id, rows }.encode(&mut writer);
        let queued = writer.finish();
        self.queued(queued, sequence)
    }

    /// Returns whether the last reply said that a cursor has more rows.
    pub fn has_cursor(&self) -> bool {
        opens(self.ok.status_flags) && !self.ok.status_flags.contains(StatusFlags::LAST_ROW_SENT)
    }

    /// The packet behind the definitions, where it is not of the rows.
    #[cold]
    pub(super) fn note_cursor(&mut self, buffers: &Buffers, payload: Span) -> Result<(), Error> {
        let status = EofPacket::decode(buffers.bytes(payload))?.status_flags;
        if opens(status) {
            self.set_status(status);
            self.end_command();
        }
        Ok(())
    }

    /// The first packet of the rows, or the one that ends them. `None`: more of it has to come.
    #[cold]
    pub(super) fn cursor_head(&mut self, buffers: &mut Buffers) -> Result<Option<Reply>, Error> {
        let Some((first, length)) = self.frames.peek(buffers) else {
            return Ok(None);
        };
        if first == eof::HEADER && self.ends_rows(length) && length <= self.limits.max_message_bytes
        {
            let packet = HEADER_BYTES..HEADER_BYTES + length;
            let Some(payload) = buffers.pending().get(packet.clone()) else {
                let missing = packet.end - buffers.pending().len();
                buffers.need(missing, missing);
                return Ok(None);
            };
            let status = OkPacket::decode(payload, self.session.capabilities)?.status_flags;
            if opens(status)
                && let Some(payload) = self.whole(buffers)?
            {
                self.take_ok(buffers, payload)?;
                self.end_command();
                return Ok(Some(Reply::Columns));
            }
        }
        self.state = State::Rows;
        Ok(Some(Reply::Columns))
    }
}

/// Where a procedure has opened a cursor of its own, results follow.
fn opens(status: StatusFlags) -> bool {
    status.contains(StatusFlags::CURSOR_EXISTS)
        && !status.contains(StatusFlags::MORE_RESULTS_EXISTS)
}
