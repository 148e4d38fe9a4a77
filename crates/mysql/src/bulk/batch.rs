//! The rows that wait to be sent, and the counts of sent rows: everything of a bulk except its I/O.

use std::ops::Range;

use onecopy_mysql_proto::client::{ClientCore, StatementId};
use onecopy_mysql_proto::packet::{BulkExecute, Indicator, ParameterType};
use onecopy_wire::Buffers;

use super::literal::{self, Escapes, out_of_memory};
use super::template::Template;
use super::{BulkMethod, BulkOptions};
use crate::{ColumnType, Done, Error, Param, ProtocolError, Statement};

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
    Text {
        template: Template,
        escapes: Escapes,
    },
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
    pub(crate) fn text(
        sql: &[u8],
        core: &ClientCore,
        options: &BulkOptions,
        max_packet: u64,
    ) -> Result<Self, Error> {
        literal::check_session(core)?;
        let escapes = Escapes::of(core.ok().status_flags);
        let template = Template::new(sql, escapes);
        if template.parameters() == 0 {
            return Err(no_parameters());
        }
        let takes_rows = template.takes_rows();
        let mut batch = Self::new(Form::Text { template, escapes }, options, max_packet);
        if !takes_rows {
            batch.max_rows = 1;
        }
        Ok(batch)
    }

    fn new(form: Form, options: &BulkOptions, max_packet: u64) -> Self {
        let max_packet_bytes = usize::try_from(max_packet).unwrap_or(usize::MAX);
        Self {
            form,
            state: State::Open,
            body: Vec::new(),
            rows: 0,
            max_rows: options.max_rows.max(1),
            max_bytes: options.max_bytes.min(max_packet_bytes),
            max_packet_bytes,
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
        let before = self.body.len();
        let pushed = self.encode(row, core);
        match pushed {
            Ok(true) if self.command_bytes() <= self.max_packet_bytes => {
                self.rows += 1;
                let full = self.rows >= self.max_rows || self.body.len() >= self.max_bytes;
                return Ok(if full { Pushed::Full } else { Pushed::Fits });
            }
            // Alone it may fit, or have another type.
            Ok(_) if self.rows > 0 => {
                self.body.truncate(before);
                return Ok(Pushed::SendFirst);
            }
            _ => {}
        }
        let bytes = self.command_bytes();
        self.body.truncate(before);
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

    /// False where its types are not those of the rows before.
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
            }
            Form::Text { template, escapes } => {
                if self.body.is_empty() {
                    self.body.extend_from_slice(template.head());
                } else {
                    self.body.push(b',');
                }
                for (index, param) in row.iter().enumerate() {
                    self.body.extend_from_slice(template.before(index));
                    literal::put(&mut self.body, index, param, *escapes, core)?;
                }
                self.body.extend_from_slice(template.before(row.len()));
            }
        }
        Ok(true)
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
            Form::Text { template, .. } => {
                let around =
                    template.head().len() + template.row_bytes() + template.tail().len() + 1;
                around + row.iter().map(literal::max_bytes).sum::<usize>()
            }
        };
        if bytes <= self.body.capacity() - self.body.len() {
            return Ok(());
        }
        let reserved = self.body.try_reserve(bytes);
        reserved.map_err(|_| out_of_memory(bytes))
    }

    fn parameters(&self) -> usize {
        match &self.form {
            Form::Execute { types, .. } => types.len(),
            Form::Text { template, .. } => template.parameters(),
        }
    }

    /// The payload of the command as it would be sent now.
    fn command_bytes(&self) -> usize {
        match &self.form {
            Form::Execute { types, .. } => BulkExecute::header_bytes(types.len()) + self.body.len(),
            Form::Text { template, .. } => 1 + self.body.len() + template.tail().len(),
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

    /// Queues the command.
    pub(crate) fn queue(
        &mut self,
        core: &mut ClientCore,
        buffers: &mut Buffers,
    ) -> Result<(), Error> {
        self.state = State::Sending;
        match &self.form {
            Form::Execute { statement, types } => {
                let id: StatementId = statement.id;
                // A column of NULLs alone: its type does not matter.
                let unknown = ParameterType::new(ColumnType::VAR_STRING.0, false);
                let types: Vec<_> = types.iter().map(|ty| ty.unwrap_or(unknown)).collect();
                core.bulk_execute(buffers, id, &types, &self.body)?;
            }
            Form::Text { template, .. } => {
                self.body.extend_from_slice(template.tail());
                core.query(buffers, &self.body)?;
            }
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
        self.outstanding = std::mem::take(&mut self.rows);
        self.body.clear();
        if self.body.capacity() > KEPT.max(2 * self.max_bytes) {
            self.body = Vec::new();
        }
        if let Form::Execute { types, .. } = &mut self.form {
            types.fill(None);
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

#[cold]
fn no_parameters() -> Error {
    Error::config("the statement of a bulk needs a ? for each value of a row, as in INSERT INTO t VALUES (?, ?)".into())
}

/// # Errors
/// The server would misread it.
#[inline]
fn check(index: usize, param: &Param<'_>, core: &ClientCore) -> Result<(), Error> {
    match *param {
        Param::Text(text) => {
            Ok(core.check_text(index, crate::CollationId::UTF8MB4_GENERAL_CI, text)?)
        }
        Param::OtherText { bytes, collation } => Ok(core.check_text(index, collation, bytes)?),
        Param::LongData | Param::LongText => Err(literal::long_data(index)),
        Param::Invalid(problem) => Err(literal::invalid(index, problem)),
        _ => Ok(()),
    }
}

/// Whether the value can be sent with the type that its column has; the first value decides it. An integer that both signs have
/// agrees with both.
#[inline]
fn agree(ty: &mut Option<ParameterType>, param: &Param<'_>) -> bool {
    let own = ParameterType::new(param.column_type().0, param.is_unsigned());
    match *ty {
        Some(ty) if ty == own => true,
        _ if Indicator::of(param) != Indicator::None => true,
        None => {
            *ty = Some(own);
            true
        }
        Some(ty) => {
            let both = match *param {
                Param::Int(number) => number >= 0,
                Param::UInt(number) => i64::try_from(number).is_ok(),
                _ => false,
            };
            both && ty.column_type() == own.column_type()
        }
    }
}

#[cfg(test)]
mod tests;
