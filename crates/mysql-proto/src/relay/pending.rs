//! Commands that wait behind the one whose reply is under way.

use std::collections::VecDeque;

use super::RelayError;
use super::server::Awaited;
use crate::packet::CommandByte;

/// The most commands that are kept: 64 Ki, or 768 KiB. Clients that send ahead do so by the hundred.
pub(super) const MAX_PENDING: usize = 64 << 10;

/// A list for more than so many commands is given back when the last of them is answered.
const KEPT: usize = 16;

/// A command that something is still to be done for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    pub(super) command: CommandByte,
    /// The sequence id that its reply begins with.
    pub(super) sequence: u8,
    /// The statement that it closes.
    pub(super) closes: Option<u32>,
    /// It is an execution that asks for a cursor to fetch rows from.
    pub(super) asks_for_cursor: bool,
    /// Its result under way is a row of OUT parameters.
    pub(super) has_out_parameters: bool,
}

impl Pending {
    /// What the server says first; `None` where it says nothing.
    pub(super) fn awaits(self) -> Option<Awaited> {
        match self.command {
            CommandByte::QUIT | CommandByte::STMT_SEND_LONG_DATA | CommandByte::STMT_CLOSE => None,
            CommandByte::STATISTICS => Some(Awaited::Anything),
            CommandByte::STMT_PREPARE => Some(Awaited::PrepareOk),
            CommandByte::CHANGE_USER => Some(Awaited::Authentication),
            CommandByte::FIELD_LIST
            | CommandByte::STMT_FETCH
            | CommandByte::BINLOG_DUMP
            | CommandByte::BINLOG_DUMP_GTID => Some(Awaited::Rows),
            _ => Some(Awaited::Header),
        }
    }

    /// Whether other results may follow the first.
    pub(super) fn may_have_more_results(self) -> bool {
        self.awaits() == Some(Awaited::Header)
    }

    pub(super) fn is_binlog_dump(self) -> bool {
        matches!(
            self.command,
            CommandByte::BINLOG_DUMP | CommandByte::BINLOG_DUMP_GTID
        )
    }
}

/// In the order in which the server takes them.
#[derive(Debug, Default)]
pub(super) struct Queue {
    commands: VecDeque<Pending>,
    /// How many of them the server answers.
    with_reply: u32,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Bytes of memory that the list takes.
    pub(super) fn memory(&self) -> usize {
        self.commands.capacity() * size_of::<Pending>()
    }

    /// Bytes of the commands that wait in it.
    pub(super) fn bytes(&self) -> usize {
        self.commands.len() * size_of::<Pending>()
    }

    pub(super) fn with_reply(&self) -> usize {
        self.with_reply as usize
    }

    pub(super) fn push(&mut self, pending: Pending) -> Result<(), RelayError> {
        let max = MAX_PENDING;
        if self.commands.len() == max {
            return Err(RelayError::TooManyOutstanding { max });
        }
        self.commands.try_reserve(1).map_err(|_| {
            RelayError::out_of_memory(size_of::<Pending>() * (self.commands.len() + 1))
        })?;
        self.commands.push_back(pending);
        self.with_reply += u32::from(pending.awaits().is_some());
        Ok(())
    }

    pub(super) fn last(&self) -> Option<&Pending> {
        self.commands.back()
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut Pending> {
        self.commands.back_mut()
    }

    pub(super) fn pop(&mut self) -> Option<Pending> {
        let pending = self.commands.pop_front()?;
        self.with_reply -= u32::from(pending.awaits().is_some());
        if self.commands.is_empty() && self.commands.capacity() > KEPT {
            self.commands = VecDeque::new();
        }
        Some(pending)
    }
}
