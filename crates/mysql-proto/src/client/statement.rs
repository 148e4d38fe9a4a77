//! Prepared statements of one connection, and the parameters of an execution.

use onecopy_wire::{Borrowed, WireError};

use super::Definitions;
use crate::Error;
use crate::packet::PrepareOk;
use crate::value::Param;

/// A prepared statement of a connection. The id of a closed statement is recognised as closed, even if its slot was reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StatementId {
    index: u32,
    generation: u32,
}

/// What is known of a prepared statement.
#[derive(Debug, Default)]
pub(super) struct Statement {
    generation: u32,
    open: bool,
    /// The server's number for it.
    pub(super) id: u32,
    pub(super) parameters: u16,
    /// The parameters of an execution without a cursor; more than there can be where the server can't execute it so any more.
    pub(super) plain_parameters: usize,
    definitions: Definitions,
}

impl Statement {
    /// Why an execution without a cursor, with so many parameters, can't be.
    #[cold]
    pub(super) fn refusal(&self, given: usize) -> Error {
        let expected = self.parameters;
        if given == usize::from(expected) {
            return Error::CursorOnly;
        }
        Error::ParameterCount { expected, given }
    }
}

/// Statements by place; closed places are used again.
#[derive(Debug, Default)]
pub(super) struct Statements {
    slots: Vec<Statement>,
    free: Vec<u32>,
}

impl Statements {
    pub(super) fn insert(&mut self, ok: &PrepareOk) -> Result<StatementId, Error> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                let bytes = size_of::<Statement>() as u64;
                self.slots
                    .try_reserve(1)
                    .map_err(|_| WireError::OutOfMemory { bytes })?;
                // Closing must not need memory.
                self.free
                    .try_reserve(self.slots.len() + 1)
                    .map_err(|_| WireError::OutOfMemory { bytes })?;
                self.slots.push(Statement::default());
                u32::try_from(self.slots.len() - 1).map_err(|_| WireError::OutOfMemory { bytes })?
            }
        };
        let slot = &mut self.slots[index as usize];
        slot.open = true;
        slot.id = ok.statement_id;
        slot.parameters = ok.parameters;
        slot.plain_parameters = usize::from(ok.parameters);
        slot.definitions = Definitions::default();
        Ok(StatementId {
            index,
            generation: slot.generation,
        })
    }

    pub(super) fn find(&self, id: StatementId) -> Result<&Statement, Error> {
        match self.slots.get(id.index as usize) {
            Some(slot) if slot.open && slot.generation == id.generation => Ok(slot),
            _ => Err(Error::StatementClosed),
        }
    }

    /// From here on the statement is executed with a cursor only.
    pub(super) fn restrict_to_cursors(&mut self, id: StatementId) {
        if let Some(slot) = self.slots.get_mut(id.index as usize) {
            slot.plain_parameters = usize::MAX;
        }
    }

    pub(super) fn remove(&mut self, id: StatementId) -> Result<u32, Error> {
        let number = self.find(id)?.id;
        let slot = &mut self.slots[id.index as usize];
        slot.open = false;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id.index);
        Ok(number)
    }

    /// The server has forgotten all of them.
    pub(super) fn forget_all(&mut self) {
        for (index, slot) in self
            .slots
            .iter_mut()
            .enumerate()
            .filter(|(_, slot)| slot.open)
        {
            slot.open = false;
            slot.generation = slot.generation.wrapping_add(1);
            self.free.extend(u32::try_from(index));
        }
    }

    /// Also those of a statement that was closed since: its last rows may still be looked at.
    #[inline]
    pub(super) fn definitions(&self, id: StatementId) -> &Definitions {
        &self.slots[id.index as usize].definitions
    }

    #[inline]
    pub(super) fn definitions_mut(&mut self, id: StatementId) -> &mut Definitions {
        &mut self.slots[id.index as usize].definitions
    }
}

/// How far the reply to a prepare is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Preparing {
    Header,
    Parameters {
        id: StatementId,
        left: u16,
        columns: u16,
    },
    ParametersEof {
        id: StatementId,
        columns: u16,
    },
    Columns {
        id: StatementId,
        left: u16,
    },
    ColumnsEof {
        id: StatementId,
    },
    Done {
        id: StatementId,
    },
}

impl Preparing {
    /// Passes over parts that have no packet: none left, none at all, no EOF between them.
    pub(super) fn settle(self, before: Self, deprecates_eof: bool) -> Self {
        let had_parameters = matches!(before, Self::Parameters { .. });
        let had_columns = matches!(before, Self::Columns { .. });
        match self {
            Self::Parameters {
                id,
                left: 0,
                columns,
            } if had_parameters && !deprecates_eof => Self::ParametersEof { id, columns },
            Self::Parameters {
                id,
                left: 0,
                columns,
            } => Self::Columns { id, left: columns }.settle(before, deprecates_eof),
            Self::Columns { id, left: 0 } if had_columns && !deprecates_eof => {
                Self::ColumnsEof { id }
            }
            Self::Columns { id, left: 0 } => Self::Done { id },
            other => other,
        }
    }
}

/// The parameters of an execution, in order.
#[derive(Debug, Clone, Copy)]
pub struct Params<'p>(pub &'p [Param<'p>]);

/// Provides large parameters to the driver under their index.
impl Borrowed for Params<'_> {
    fn part(&self, index: u32) -> &[u8] {
        self.0
            .get(index as usize)
            .and_then(Param::as_bytes)
            .unwrap_or_default()
    }
}
