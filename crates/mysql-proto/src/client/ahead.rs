//! Commands that were sent ahead: their replies come in order, behind that of the command under way.
//!
//! ```text
//!   sent        prelude | command | command | ...
//!   reply         ^ under way: `State`
//!   waits for its turn    `Later`   `Later`
//! ```
//!
//! A *prelude* is a statement of the client's own in front of the caller's command, in the same write: its OK is swallowed, and
//! anything else ends the conversation, because the command behind it was executed without what it relies on.

use std::collections::VecDeque;

use onecopy_wire::{Buffers, Span, WireError};

use super::core::{Asks, ClientCore, Source, State, unexpected};
use super::statement::Preparing;
use super::{Reply, RowMode, StatementId};
use crate::codec::Put;
use crate::frame::PayloadWriter;
use crate::packet::{CommandByte, ErrPacket, err};
use crate::{Error, StatusFlags};

/// A list for more than so many commands is given back when the last of them is answered.
const KEPT: usize = 16;

/// A command whose reply is not under way yet.
#[derive(Debug, Clone, Copy)]
struct Later {
    /// What its reply begins with.
    state: State,
    /// Which definitions its results have; none where that does not matter.
    source: Option<Source>,
    /// It executes the statement that the prepare before it makes, with so many parameters.
    of_last_prepared: Option<u16>,
    /// The sequence id that its reply begins with.
    sequence: u8,
    asks: Asks,
}

/// The commands behind the one under way.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    later: VecDeque<Later>,
    /// More may be queued although a reply is outstanding.
    accepts: bool,
    /// The last prelude is done.
    prelude_done: bool,
    /// What the last prepare made, while the execution behind it waits for its turn.
    last_prepared: Option<StatementId>,
}

impl Ahead {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.later.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.later.clear();
        self.last_prepared = None;
    }

    /// What a prepare gave, for an execution that was sent with it.
    pub(super) fn prepared(&mut self, statement: Option<StatementId>) {
        self.last_prepared = statement;
    }

    #[cold]
    fn continue_at(&mut self, sequence: u8) {
        if let Some(last) = self.later.back_mut() {
            last.sequence = sequence;
        }
    }

    /// Whether the next command asks for the rest of the reply under way.
    #[inline]
    pub(super) fn asks_for_rest(&self) -> bool {
        self.later
            .front()
            .is_some_and(|next| next.state == State::Rest)
    }

    /// Takes the next command off the list: its reply has come in place of another.
    pub(super) fn drop_next(&mut self) {
        let _ = self.pop();
    }

    fn pop(&mut self) -> Option<Later> {
        let next = self.later.pop_front();
        if self.later.is_empty() && self.later.capacity() > KEPT {
            self.later = VecDeque::new();
        }
        next
    }
}

impl ClientCore {
    /// Sets whether further commands may be queued while replies are outstanding. Their replies come in order;
    /// [`is_command_over`](Self::is_command_over) tells where one command's ends. They must be sent with a driver that reads while
    /// it writes.
    pub fn accept_more(&mut self, accepts: bool) {
        self.ahead.accepts = accepts;
    }

    /// Returns whether the command whose reply came last is over. Replies to commands that were sent ahead may be outstanding.
    #[inline]
    pub fn is_command_over(&self) -> bool {
        self.is_idle() || self.state == State::Between
    }

    /// Returns the number of commands that were sent ahead and whose reply has not begun.
    pub fn waiting(&self) -> usize {
        self.ahead.later.len()
    }

    /// Withdraws the last `count` of the outstanding commands: not one byte of them has left. The first of them may be the one under
    /// way.
    pub fn withdraw_last(&mut self, count: usize) {
        match self.ahead.later.len().checked_sub(count) {
            None => self.withdraw(),
            Some(left) => self.ahead.later.truncate(left),
        }
        if self.ahead.is_empty() && self.state == State::Between {
            self.state = State::Idle;
        }
    }

    /// Queues a statement without rows in front of the next command, which may be queued although its reply is outstanding. Its OK
    /// is not returned, unless it is alone.
    ///
    /// After any other reply the state machine is dead, with [`Error::PreludeRefused`] after a server's error.
    ///
    /// # Errors
    /// Fails with `Busy` while a reply is outstanding, and with `OutOfMemory`; nothing is queued then.
    pub fn prelude(&mut self, buffers: &mut Buffers, sql: &[u8]) -> Result<(), Error> {
        if !self.is_idle() {
            return Err(self.dead().cloned().unwrap_or(Error::Busy));
        }
        self.begin(State::Prelude, None)?;
        self.ahead.prelude_done = false;
        self.send_text(buffers, CommandByte::QUERY, sql)
    }

    /// Queues COM_QUERY behind the command that was queued last, if there is one. `sql` is copied, however long it is.
    ///
    /// # Errors
    /// Fails with `OutOfMemory`. The commands before it stay queued.
    pub fn query_ahead(&mut self, buffers: &mut Buffers, sql: &[u8]) -> Result<(), Error> {
        self.put_ahead(
            buffers,
            CommandByte::QUERY,
            State::Header,
            Some(Source::Text),
            sql,
        )
    }

    /// Queues COM_INIT_DB behind the command that was queued last; like [`query_ahead`](Self::query_ahead). The reply is OK.
    ///
    /// # Errors
    /// Fails like [`query_ahead`](Self::query_ahead).
    pub fn init_db_ahead(&mut self, buffers: &mut Buffers, database: &[u8]) -> Result<(), Error> {
        self.put_ahead(buffers, CommandByte::INIT_DB, State::Header, None, database)
    }

    /// Queues COM_STMT_PREPARE behind the command that was queued last; like [`query_ahead`](Self::query_ahead). The reply is
    /// `Prepared`.
    ///
    /// # Errors
    /// Fails like [`query_ahead`](Self::query_ahead).
    pub fn prepare_ahead(&mut self, buffers: &mut Buffers, sql: &[u8]) -> Result<(), Error> {
        let state = State::Prepare(Preparing::Header);
        self.put_ahead(buffers, CommandByte::STMT_PREPARE, state, None, sql)
    }

    pub(super) fn put_ahead(
        &mut self,
        buffers: &mut Buffers,
        command: CommandByte,
        state: State,
        source: Option<Source>,
        text: &[u8],
    ) -> Result<(), Error> {
        let accepts = std::mem::replace(&mut self.ahead.accepts, true);
        let begun = self.begin(state, source);
        self.ahead.accepts = accepts;
        begun?;
        let mut sequence = 0;
        let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
        writer.put_u8(command.0);
        if command == CommandByte::QUERY {
            writer.put(self.query_prefix());
        }
        writer.put(text);
        let queued = writer.finish();
        self.queued(queued, sequence)
    }

    /// Returns whether the prelude was executed since this was last asked for.
    pub fn take_prelude_done(&mut self) -> bool {
        std::mem::take(&mut self.ahead.prelude_done)
    }

    /// Where the command that is being queued is the last of several.
    #[cold]
    pub(super) fn begin_later(
        &mut self,
        state: State,
        source: Option<Source>,
        of_last_prepared: Option<u16>,
    ) -> Result<(), Error> {
        let is_behind_prelude = self.state == State::Prelude && self.ahead.is_empty();
        if !(self.ahead.accepts || is_behind_prelude) || self.state == State::Dead {
            return Err(self.dead().cloned().unwrap_or(Error::Busy));
        }
        if state == State::Idle {
            return Ok(()); // no reply comes
        }
        let bytes = ((self.ahead.later.len() + 1) * size_of::<Later>()) as u64;
        let reserved = self.ahead.later.try_reserve(1);
        reserved.map_err(|_| Error::of_call(WireError::OutOfMemory { bytes }))?;
        self.ahead.later.push_back(Later {
            state,
            source,
            of_last_prepared,
            sequence: 1,
            asks: Asks::Reply,
        });
        Ok(())
    }

    /// Sets the sequence id that the reply to the command queued last begins with.
    #[inline]
    pub(super) fn reply_continues_at(&mut self, sequence: u8) {
        if self.ahead.is_empty() {
            self.frames.restart(sequence);
        } else {
            self.ahead.continue_at(sequence);
        }
    }

    /// Sets what the command queued last asks for.
    pub(super) fn ask(&mut self, asks: Asks) {
        match self.ahead.later.back_mut() {
            None => self.asks = asks,
            Some(last) => last.asks = asks,
        }
    }

    /// The command queued last was not queued after all.
    #[cold]
    pub(super) fn retract(&mut self) {
        if self.ahead.later.pop_back().is_none() {
            self.withdraw();
        }
    }

    /// A reply is over.
    #[inline]
    pub(super) fn end_command(&mut self) {
        self.state = if self.ahead.is_empty() {
            State::Idle
        } else {
            State::Between
        };
    }

    /// The reply of the next command begins.
    #[cold]
    pub(super) fn start_next(&mut self) {
        let Some(next) = self.ahead.pop() else {
            self.state = State::Idle;
            return;
        };
        self.frames.restart(next.sequence);
        self.asks = next.asks;
        self.state = next.state;
        if let Some(source) = next.source {
            self.source = source;
        }
        if let Some(given) = next.of_last_prepared {
            self.start_last_prepared(given);
        }
    }

    fn start_last_prepared(&mut self, given: u16) {
        let Some(statement) = self.ahead.last_prepared.take() else {
            self.state = State::Refusal;
            return;
        };
        self.source = Source::Statement(statement);
        if self.parameters(statement) != Ok(given) {
            // Its values were read as those of other parameters.
            self.die(unexpected("the reply to prepare", &[]));
        }
    }

    pub(super) fn prelude_reply(
        &mut self,
        buffers: &Buffers,
        payload: Span,
    ) -> Result<Option<Reply>, Error> {
        let bytes = buffers.bytes(payload);
        match bytes.first() {
            Some(0x00) => self.take_ok(buffers, payload)?,
            Some(&err::HEADER) => {
                let code = ErrPacket::decode(bytes)?.code;
                return Err(Error::PreludeRefused { code });
            }
            _ => return Err(unexpected("the reply to a prelude", bytes)),
        }
        let status = self.ok.status_flags;
        if status.contains(StatusFlags::MORE_RESULTS_EXISTS) {
            return Err(unexpected("the reply to a prelude", bytes));
        }
        self.ahead.prelude_done = true;
        let is_alone = self.ahead.is_empty();
        self.end_command();
        Ok(is_alone.then_some(Reply::Ok))
    }

    /// The reply to an execution whose prepare failed: the server has no statement that it could have executed.
    pub(super) fn refusal(
        &mut self,
        buffers: &Buffers,
        payload: Span,
    ) -> Result<Option<Reply>, Error> {
        let bytes = buffers.bytes(payload);
        if bytes.first() != Some(&err::HEADER) {
            return Err(unexpected(
                "the reply to a statement that was not prepared",
                bytes,
            ));
        }
        self.end_command();
        Ok(Some(Reply::Err(payload)))
    }

    /// A command begins although nothing of it may be sent before this: rows are borrowed unless they are to be skipped.
    #[inline]
    pub(super) fn begin(&mut self, next: State, source: Option<Source>) -> Result<(), Error> {
        if !self.is_idle() {
            return self.begin_later(next, source, None);
        }
        self.set_row_mode(RowMode::Borrow);
        self.asks = Asks::Reply;
        self.allows_local_infile = false;
        self.state = next;
        if let Some(source) = source {
            self.source = source;
        }
        Ok(())
    }
}
