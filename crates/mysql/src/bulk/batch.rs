//! The rows that wait to be sent, and the counts of sent rows: everything of a bulk except its I/O.

use std::ops::Range;

use onecopy_mysql_proto::client::{ClientCore, StatementId};
use onecopy_mysql_proto::packet::{BulkExecute, ParameterType};
use onecopy_wire::Buffers;

use super::insert::{Encoded, Insert, Sending};
use super::types::{self, agree};
use super::{BulkMethod, BulkOptions};
use crate::{Done, Error, Param, ProtocolError, Statement};

/// A batch of at most this many bytes keeps room for the next one.
const KEPT: usize = 4 << 20;

/// The result of adding a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// It was added, and more rows fit.
    Fits,
    /// It was added, and the batch must be sent now.
    Full,
    /// It was not added: the batch must be sent first.
    SendFirst,
}

#[derive(Debug)]
enum Form {
    Execute {
        statement: Statement,
        /// Of each parameter; none as long as its column has had no value.
        types: Vec<Option<ParameterType>>,
    },
    Insert(Box<Insert>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Until the batch has left. Who finds it so was dropped in the middle.
    Sending,
    Over,
}

/// The encoded rows of the next batch, and the results of earlier batches.
#[derive(Debug)]
pub(crate) struct Batch {
    form: Form,
    state: State,
    body: Vec<u8>,
    /// Rows in `body`.
    rows: u64,
    max_rows: u64,
    max_bytes: usize,
    max_packet_bytes: usize,
    /// Rows sent whose result has not arrived.
    outstanding: u64,
    /// Rows whose result has arrived.
    stored: u64,
    done: Done,
}

impl Batch {
    /// For a server that executes a statement with many rows.
    pub(crate) fn execute(
        statement: Statement,
        options: &BulkOptions,
        max_packet: u64,
    ) -> Result<Self, Error> {
        let count = usize::from(statement.parameters());
        if count == 0 {
            return Err(no_parameters());
        }
        let types = vec![None; count];
        Ok(Self::new(
            Form::Execute { statement, types },
            options,
            max_packet,
        ))
    }

    /// For one that has only SQL for it.
    pub(crate) fn insert(
        sql: &[u8],
        core: &ClientCore,
        options: &BulkOptions,
        max_packet: u64,
    ) -> Result<Self, Error> {
        let max_bytes = max_bytes(options, max_packet);
        let insert = Insert::new(sql, core, options.max_rows.max(1), max_bytes)?;
        if insert.parameters() == 0 {
            return Err(no_parameters());
        }
        Ok(Self::new(
            Form::Insert(Box::new(insert)),
            options,
            max_packet,
        ))
    }

    fn new(form: Form, options: &BulkOptions, max_packet: u64) -> Self {
        Self {
            form,
            state: State::Open,
            body: Vec::new(),
            rows: 0,
            max_rows: options.max_rows.max(1),
            max_bytes: max_bytes(options, max_packet),
            max_packet_bytes: usize::try_from(max_packet).unwrap_or(usize::MAX),
            outstanding: 0,
            stored: 0,
            done: Done::default(),
        }
    }

    /// Whether the options and the server have COM_STMT_BULK_EXECUTE for the rows.
    pub(crate) fn executes(core: &ClientCore, method: BulkMethod) -> bool {
        match method {
            BulkMethod::Auto => core.can_bulk_execute(),
            BulkMethod::Execute => true,
            BulkMethod::Insert => false,
        }
    }

    /// # Errors
    /// An earlier call failed, or was dropped while rows were sent.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.state {
            State::Open => Ok(()),
            State::Sending => Err(Error::config(
                "the bulk is over: an earlier call was dropped while it sent rows".into(),
            )
            .in_rows(self.waiting())),
            State::Over => Err(Error::config(
                "the bulk is over: an earlier call failed".into(),
            )),
        }
    }

    /// Encodes a row.
    pub(crate) fn push(&mut self, row: &[Param<'_>], core: &ClientCore) -> Result<Pushed, Error> {
        // A call that was dropped before it sent the batch has left it full.
        if self.rows > 0 && self.is_full() {
            return Ok(Pushed::SendFirst);
        }
        let before = self.body.len();
        let pushed = self.encode(row, core);
        match pushed {
            Ok(true) if self.command_bytes() <= self.max_packet_bytes => {
                self.rows += 1;
                return Ok(if self.is_full() {
                    Pushed::Full
                } else {
                    Pushed::Fits
                });
            }
            // Alone it may fit, or have another type.
            Ok(_) if self.rows > 0 => {
                self.truncate(before);
                return Ok(Pushed::SendFirst);
            }
            _ => {}
        }
        let bytes = self.command_bytes();
        self.truncate(before);
        let row = self.pushed();
        let error = match pushed {
            Err(error) => error,
            Ok(_) => Error::config(format!(
                "the row has {bytes} bytes and the server accepts {}; raise max_allowed_packet there",
                self.max_packet_bytes
            )),
        };
        Err(error.in_rows(row..row + 1))
    }

    #[inline]
    fn is_full(&self) -> bool {
        let max_rows = match &self.form {
            Form::Execute { .. } => self.max_rows,
            Form::Insert(insert) => insert.max_rows(),
        };
        self.rows >= max_rows || self.body.len() >= self.max_bytes
    }

    /// Forgets a row that was not added.
    fn truncate(&mut self, body: usize) {
        self.body.truncate(body);
        if let Form::Insert(insert) = &mut self.form {
            insert.truncate(self.rows);
        }
    }

    /// False where the row can't be sent together with those before.
    fn encode(&mut self, row: &[Param<'_>], core: &ClientCore) -> Result<bool, Error> {
        let expected = self.parameters();
        if row.len() != expected {
            return Err(ProtocolError::ParameterCount {
                expected: u16::try_from(expected).unwrap_or(u16::MAX),
                given: row.len(),
            }
            .into());
        }
        self.reserve(row)?;
        match &mut self.form {
            Form::Execute { types, .. } => {
                for (index, (param, ty)) in row.iter().zip(types).enumerate() {
                    check(index, param, core)?;
                    if !agree(ty, param) {
                        return Ok(false);
                    }
                    BulkExecute::encode_value(param, &mut self.body);
                }
                Ok(true)
            }
            Form::Insert(insert) => {
                let encoded = insert.encode(&mut self.body, row, self.rows, core)?;
                Ok(encoded == Encoded::Yes)
            }
        }
    }

    /// Room for the row.
    fn reserve(&mut self, row: &[Param<'_>]) -> Result<(), Error> {
        /// An indicator and a length, or a number.
        const BINARY: usize = 17;
        let bytes: usize = match &self.form {
            Form::Execute { .. } => row
                .iter()
                .map(|param| BINARY + param.as_bytes().map_or(0, <[u8]>::len))
                .sum(),
            Form::Insert(insert) => insert.max_row_bytes(row),
        };
        if bytes <= self.body.capacity() - self.body.len() {
            return Ok(());
        }
        let reserved = self.body.try_reserve(bytes);
        let bytes = bytes as u64;
        reserved.map_err(|_| ProtocolError::OutOfMemory { bytes }.into())
    }

    fn parameters(&self) -> usize {
        match &self.form {
            Form::Execute { types, .. } => types.len(),
            Form::Insert(insert) => insert.parameters(),
        }
    }

    /// The payload of the command as it would be sent now.
    fn command_bytes(&self) -> usize {
        match &self.form {
            Form::Execute { types, .. } => BulkExecute::header_bytes(types.len()) + self.body.len(),
            Form::Insert(insert) => insert.command_bytes(&self.body),
        }
    }

    /// Whether rows wait.
    pub(crate) fn has_rows(&self) -> bool {
        self.rows > 0
    }

    pub(crate) fn has_outstanding(&self) -> bool {
        self.outstanding > 0
    }

    /// Rows that were accepted so far.
    pub(crate) fn pushed(&self) -> u64 {
        self.stored + self.outstanding + self.rows
    }

    /// Rows whose result has arrived.
    pub(crate) fn stored(&self) -> u64 {
        self.stored
    }

    pub(crate) fn done(&self) -> Done {
        self.done
    }

    /// The rows that wait to be sent.
    pub(crate) fn waiting(&self) -> Range<u64> {
        let first = self.stored + self.outstanding;
        first..first + self.rows
    }

    /// The rows whose result is outstanding.
    pub(crate) fn unanswered(&self) -> Range<u64> {
        self.stored..self.stored + self.outstanding
    }

    /// The text of a statement that must be prepared before the batch is sent; [`prepared`](Self::prepared) takes it.
    pub(crate) fn unprepared(&mut self) -> Option<Vec<u8>> {
        let batch = Sending {
            rows: self.rows,
            bytes: self.body.len(),
            is_first: self.stored + self.outstanding == 0,
            is_full: self.is_full(),
        };
        let Form::Insert(insert) = &mut self.form else {
            return None;
        };
        let unprepared = insert.unprepared(batch);
        if unprepared.is_some() {
            self.state = State::Sending;
        }
        unprepared
    }

    /// What became of the statement.
    ///
    /// # Errors
    /// The rows can't be sent without it.
    pub(crate) fn prepared(&mut self, prepared: Result<Statement, Error>) -> Result<(), Error> {
        match &mut self.form {
            Form::Insert(insert) => insert.prepared(prepared),
            Form::Execute { .. } => prepared.map(drop),
        }
    }

    /// Queues the command.
    pub(crate) fn queue(
        &mut self,
        core: &mut ClientCore,
        buffers: &mut Buffers,
    ) -> Result<(), Error> {
        self.state = State::Sending;
        match &mut self.form {
            Form::Execute { statement, types } => {
                let id: StatementId = statement.id;
                let types: Vec<_> = types.iter().map(|ty| ty.unwrap_or(types::ANY)).collect();
                core.bulk_execute(buffers, id, &types, &self.body)?;
            }
            Form::Insert(insert) => insert.queue(&mut self.body, self.rows, core, buffers)?,
        }
        Ok(())
    }

    /// What was queued by reference.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// The command has left.
    pub(crate) fn sent(&mut self) {
        self.state = State::Open;
        match &mut self.form {
            Form::Execute { types, .. } => types.fill(None),
            Form::Insert(insert) => insert.sent(self.rows, self.body.len()),
        }
        self.outstanding = std::mem::take(&mut self.rows);
        self.body.clear();
        if self.body.capacity() > KEPT.max(2 * self.max_bytes) {
            self.body = Vec::new();
        }
    }

    /// The result of what was sent has arrived.
    pub(crate) fn answered(&mut self, done: Done) {
        self.stored += std::mem::take(&mut self.outstanding);
        self.done.affected_rows += done.affected_rows;
        self.done.warnings = self.done.warnings.saturating_add(done.warnings);
        if self.done.last_insert_id == 0 {
            self.done.last_insert_id = done.last_insert_id;
        }
    }

    /// It failed: no more rows are accepted.
    pub(crate) fn over(&mut self) {
        self.state = State::Over;
    }
}

/// Of a batch.
fn max_bytes(options: &BulkOptions, max_packet: u64) -> usize {
    let max_packet = usize::try_from(max_packet).unwrap_or(usize::MAX);
    options.max_bytes.min(max_packet)
}

#[cold]
fn no_parameters() -> Error {
    Error::config("the statement of a bulk needs a ? for each value of a row, as in INSERT INTO t VALUES (?, ?)".into())
}

/// For a value that was sent apart.
#[cold]
fn long_data(index: usize) -> Error {
    Error::config(format!(
        "parameter {index} is long data, which a row of a bulk can't have; give it as Param::Bytes"
    ))
}

/// # Errors
/// The server would misread it.
#[inline]
pub(super) fn check(index: usize, param: &Param<'_>, core: &ClientCore) -> Result<(), Error> {
    match *param {
        Param::Text(text) => {
            Ok(core.check_text(index, crate::CollationId::UTF8MB4_GENERAL_CI, text)?)
        }
        Param::OtherText { bytes, collation } => Ok(core.check_text(index, collation, bytes)?),
        Param::LongData | Param::LongText => Err(long_data(index)),
        Param::Invalid(problem) => {
            let parameter = index;
            Err(ProtocolError::Parameter { parameter, problem }.into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
pub(super) mod tests;
