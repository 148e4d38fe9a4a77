//! The prepared statements that a client was given.

use std::collections::BTreeMap;

use onecopy_wire::WireError;

use crate::packet::{Close, SendLongData, StmtReset};

/// What is known of a prepared statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerStatement {
    parameters: u16,
    columns: u16,
    /// Sorted indices of the parameters whose values came as long data.
    long_data: Vec<u16>,
}

impl ServerStatement {
    /// Returns the number of its parameters.
    pub fn parameters(&self) -> u16 {
        self.parameters
    }

    /// Returns the number of columns of its rows, as in the reply to the prepare.
    pub fn columns(&self) -> u16 {
        self.columns
    }

    /// Returns whether the value of a parameter was sent as long data: then it is not among the values of an execution.
    pub fn has_long_data(&self, parameter: u16) -> bool {
        self.long_data.binary_search(&parameter).is_ok()
    }
}

/// Statements by the number that the client was given.
#[derive(Debug, Default)]
pub(super) struct Statements {
    open: BTreeMap<u32, ServerStatement>,
    last: u32,
}

impl Statements {
    /// A number that is not in use, counted up from 1.
    pub(super) fn next_id(&self) -> u32 {
        let mut id = self.last;
        loop {
            id = id.wrapping_add(1).max(1);
            if !self.open.contains_key(&id) {
                return id;
            }
        }
    }

    pub(super) fn insert(&mut self, id: u32, parameters: u16, columns: u16) {
        self.last = id;
        self.open.insert(
            id,
            ServerStatement {
                parameters,
                columns,
                long_data: Vec::new(),
            },
        );
    }

    pub(super) fn find(&self, id: u32) -> Option<&ServerStatement> {
        self.open.get(&id)
    }

    pub(super) fn close(&mut self, close: Close) {
        self.open.remove(&close.statement_id);
    }

    /// Notes that the parameter has a value. The bytes are in the command; at most 65,535 are noted.
    pub(super) fn note_long_data(&mut self, piece: SendLongData<'_>) -> Result<(), WireError> {
        if let Some(statement) = self.open.get_mut(&piece.statement_id)
            && piece.parameter < statement.parameters
            && let Err(place) = statement.long_data.binary_search(&piece.parameter)
        {
            let bytes = size_of_val(&piece.parameter) as u64;
            statement
                .long_data
                .try_reserve(1)
                .map_err(|_| WireError::OutOfMemory { bytes })?;
            statement.long_data.insert(place, piece.parameter);
        }
        Ok(())
    }

    pub(super) fn reset(&mut self, reset: StmtReset) {
        self.forget_long_data(reset.statement_id);
    }

    /// An execution is answered: its long data are used up.
    pub(super) fn forget_long_data(&mut self, id: u32) {
        if let Some(statement) = self.open.get_mut(&id) {
            statement.long_data.clear();
        }
    }

    pub(super) fn forget_all(&mut self) {
        self.open.clear();
    }
}
