//! Commands: each one is queued as a whole and determines the expected reply.
//!
//! Parts of 16 KiB and more stay with the caller: to send the queue, pass the same text, piece or parameters as
//! [`Borrowed`](onecopy_wire::Borrowed).

use onecopy_wire::{BORROWED_THRESHOLD, Buffers, WireError};

use super::StatementId;
use super::character_set::CharacterSet;
use super::core::{Asks, ClientCore, Source, State};
use super::statement::{Params, Preparing};
use crate::codec::{Put, length_of};
use crate::frame::PayloadWriter;
use crate::packet::execute::LAST_PREPARED;
use crate::packet::{BulkExecute, CommandByte, CursorType, Execute, ParameterType};
use crate::value::Param;
use crate::{Capabilities, CollationId, Error};

impl ClientCore {
    /// Queues COM_QUERY. `sql` is borrowed if it is large. The reply is one result or several.
    ///
    /// # Errors
    /// Fails with `Busy` while a reply is outstanding, and with `OutOfMemory`; nothing is queued then. The same applies to every
    /// command.
    pub fn query(&mut self, buffers: &mut Buffers, sql: &[u8]) -> Result<(), Error> {
        if !self.is_idle() || self.attributes.is_some() {
            return self.query_later(buffers, sql);
        }
        self.begin(State::Header, Some(Source::Text))?;
        let (queued, sequence) = put_text(buffers, CommandByte::QUERY, &[], sql);
        self.queued(queued, sequence)
    }

    /// The same behind others or with attributes. Apart: its calls would make the other save registers.
    #[cold]
    #[inline(never)]
    fn query_later(&mut self, buffers: &mut Buffers, sql: &[u8]) -> Result<(), Error> {
        self.begin(State::Header, Some(Source::Text))?;
        self.send_text(buffers, CommandByte::QUERY, sql)
    }

    /// Queues COM_STMT_PREPARE. `sql` is borrowed if it is large. The reply is `Prepared`.
    ///
    /// # Errors
    /// Fails with `Busy`.
    pub fn prepare(&mut self, buffers: &mut Buffers, sql: &[u8]) -> Result<(), Error> {
        self.begin(State::Prepare(Preparing::Header), None)?;
        self.send_text(buffers, CommandByte::STMT_PREPARE, sql)
    }

    /// Queues COM_STMT_EXECUTE. Large parameters are borrowed. The reply is one result or several.
    ///
    /// # Errors
    /// Fails with `Busy`, `StatementClosed`, `ParameterCount`, `CursorOnly`, `CharacterSet` or `Parameter`.
    pub fn execute(
        &mut self,
        buffers: &mut Buffers,
        statement: StatementId,
        params: Params<'_>,
    ) -> Result<(), Error> {
        let id = self.check_execution(statement, params)?;
        if !self.is_idle() {
            return self.execute_later(buffers, statement, id, params);
        }
        self.begin(State::Header, Some(Source::Statement(statement)))?;
        self.put_execution(buffers, id, CursorType::empty(), params)
    }

    /// The same behind others. Apart like [`query_later`](Self::query_later).
    #[cold]
    #[inline(never)]
    fn execute_later(
        &mut self,
        buffers: &mut Buffers,
        statement: StatementId,
        id: u32,
        params: Params<'_>,
    ) -> Result<(), Error> {
        self.begin_later(State::Header, Some(Source::Statement(statement)), None)?;
        self.put_execution(buffers, id, CursorType::empty(), params)
    }

    /// Queues COM_STMT_EXECUTE for the statement that the prepare queued just before will make, which MariaDB 10.2 and later can.
    /// The caller must know the number of its parameters.
    ///
    /// If the prepare fails, the reply to this command is an ERR packet too. A statement with another number of parameters ends
    /// the conversation, because the server has misread the values.
    ///
    /// # Errors
    /// Fails with `Busy` unless [more commands are accepted](Self::accept_more), or with `CharacterSet`.
    pub fn execute_last_prepared(
        &mut self,
        buffers: &mut Buffers,
        params: Params<'_>,
    ) -> Result<(), Error> {
        let given = u16::try_from(params.0.len()).map_err(|_| Error::ParameterCount {
            expected: u16::MAX,
            given: params.0.len(),
        })?;
        self.begin_later(State::Header, None, Some(given))?;
        self.put_execution(buffers, LAST_PREPARED, CursorType::empty(), params)
    }

    /// The server's number of a statement that these are the parameters of.
    #[inline]
    pub(super) fn check_execution(
        &self,
        statement: StatementId,
        params: Params<'_>,
    ) -> Result<u32, Error> {
        let found = self.statements.find(statement)?;
        if params.0.len() == found.plain_parameters {
            return Ok(found.id);
        }
        Err(found.refusal(params.0.len()))
    }

    #[inline(always)] // else the hot one of its callers pays for the others
    pub(super) fn put_execution(
        &mut self,
        buffers: &mut Buffers,
        id: u32,
        cursor: CursorType,
        params: Params<'_>,
    ) -> Result<(), Error> {
        if self.attributes.is_some() {
            return self.put_execution_with_attributes(buffers, id, cursor, params);
        }
        let mut sequence = 0;
        let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
        let [a, b, c, d] = id.to_le_bytes();
        // The iteration count is always 1.
        writer.put_array([
            CommandByte::STMT_EXECUTE.0,
            a,
            b,
            c,
            d,
            cursor.0,
            1,
            0,
            0,
            0,
        ]);
        if !params.0.is_empty()
            && let Err(parameter) = put_params(&mut writer, params.0, self.character_set)
        {
            buffers.output().withdraw();
            return Err(self.refuse(params, parameter));
        }
        let queued = writer.finish();
        self.queued(queued, sequence)
    }

    /// The same where the server takes attributes: parameters have names then, and a count.
    #[cold]
    #[inline(never)]
    fn put_execution_with_attributes(
        &mut self,
        buffers: &mut Buffers,
        id: u32,
        cursor: CursorType,
        params: Params<'_>,
    ) -> Result<(), Error> {
        let Some(attributes) = &self.attributes else {
            return Err(Error::Busy);
        };
        let mut flags = cursor;
        if attributes.count() > 0 {
            flags |= CursorType::PARAMETER_COUNT_AVAILABLE;
        }
        let total = params.0.len() + attributes.count();
        let mut sequence = 0;
        let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
        Execute::encode_header(id, flags, &mut writer);
        let mut refused = None;
        if total > 0 {
            writer.put_lenenc(total as u64);
            for byte in 0..total.div_ceil(8) {
                let eight = params.0.iter().skip(8 * byte).take(8).enumerate(); // attributes are not NULL
                let bits = eight.map(|(bit, param)| u8::from(param.is_null()) << bit);
                writer.put_u8(bits.fold(0, |all, bit| all | bit));
            }
            writer.put_u8(1);
            for param in params.0 {
                let [kind, flags] = type_of(param);
                writer.put(&[kind, flags, 0]); // and no name
            }
            writer.put(&attributes.types);
            let mut block = Block::new(self.character_set);
            put_values(&mut writer, &mut block, params.0);
            refused = block.refused;
            writer.put(&attributes.values);
        }
        if let Some(parameter) = refused {
            buffers.output().withdraw();
            return Err(self.refuse(params, parameter));
        }
        let queued = writer.finish();
        self.queued(queued, sequence)
    }

    /// Queues MariaDB's COM_STMT_BULK_EXECUTE: the statement is run for each of the rows in `rows`, which are
    /// [encoded](BulkExecute::encode_value) and borrowed if they are large. The reply is one result.
    ///
    /// # Errors
    /// Fails with `Busy`, `StatementClosed`, `ParameterCount` if `types` are not those of all parameters, and with
    /// `BulkUnsupported`.
    pub fn bulk_execute(
        &mut self,
        buffers: &mut Buffers,
        statement: StatementId,
        types: &[ParameterType],
        rows: &[u8],
    ) -> Result<(), Error> {
        let found = self.statements.find(statement)?;
        let (id, expected) = (found.id, found.parameters);
        if types.len() != usize::from(expected) {
            let given = types.len();
            return Err(Error::ParameterCount { expected, given });
        }
        if !self.can_bulk_execute() {
            return Err(Error::BulkUnsupported);
        }
        self.begin(State::Header, Some(Source::Statement(statement)))?;
        let mut sequence = 0;
        let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
        BulkExecute::encode_header(id, types, &mut writer);
        put_or_lend(&mut writer, 0, rows);
        let queued = writer.finish();
        self.queued(queued, sequence)
    }

    /// Returns whether the server knows COM_STMT_BULK_EXECUTE.
    pub fn can_bulk_execute(&self) -> bool {
        let capabilities = self.session().capabilities;
        capabilities.contains(Capabilities::MARIADB_STMT_BULK_OPERATIONS)
    }

    /// Checks that the server reads a text of this collation as what it is.
    ///
    /// # Errors
    /// Fails with `CharacterSet`.
    pub fn check_text(
        &self,
        parameter: usize,
        collation: CollationId,
        text: &[u8],
    ) -> Result<(), Error> {
        if self.character_set.takes(collation, text) {
            return Ok(());
        }
        Err(Error::CharacterSet {
            parameter,
            collation,
            session: self.character_set.0,
        })
    }

    /// Returns the session's `character_set_client` as far as it is known: what the login asked for, then what the server
    /// reported by session tracking. Empty for one that is not known here.
    pub fn character_set(&self) -> &'static str {
        self.character_set.0
    }

    #[cold]
    fn refuse(&mut self, params: Params<'_>, parameter: usize) -> Error {
        self.retract();
        if let Some(Param::Default | Param::Ignore) = params.0.get(parameter) {
            return Error::BulkOnly { parameter };
        }
        if let Some(&Param::Invalid(problem)) = params.0.get(parameter) {
            return Error::Parameter { parameter, problem };
        }
        let collation = match params.0.get(parameter) {
            Some(Param::OtherText { collation, .. }) => *collation,
            _ => CollationId::UTF8MB4_GENERAL_CI,
        };
        Error::CharacterSet {
            parameter,
            collation,
            session: self.character_set.0,
        }
    }

    /// Queues COM_STMT_SEND_LONG_DATA: another piece of a parameter, before the execution. `piece` is borrowed if it is large.
    /// There is no reply: the server reports an error at the execution.
    ///
    /// # Errors
    /// Fails with `Busy` or `StatementClosed`.
    pub fn send_long_data(
        &mut self,
        buffers: &mut Buffers,
        statement: StatementId,
        parameter: u16,
        piece: &[u8],
    ) -> Result<(), Error> {
        let id = self.statements.find(statement)?.id;
        self.begin(State::Idle, None)?;
        let mut sequence = 0;
        let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
        let ([a, b, c, d], [e, f]) = (id.to_le_bytes(), parameter.to_le_bytes());
        writer.put_array([CommandByte::STMT_SEND_LONG_DATA.0, a, b, c, d, e, f]);
        put_or_lend(&mut writer, 0, piece);
        writer.finish().map_err(Error::of_call)
    }

    /// Queues COM_STMT_CLOSE. There is no reply, and it is sent with the next command.
    ///
    /// # Errors
    /// Fails with `Busy` or `StatementClosed`.
    pub fn close_statement(
        &mut self,
        buffers: &mut Buffers,
        statement: StatementId,
    ) -> Result<(), Error> {
        let id = self.statements.find(statement)?.id;
        self.begin(State::Idle, None)?;
        let (queued, _) = put_id(buffers, CommandByte::STMT_CLOSE, id);
        queued.map_err(Error::of_call)?;
        self.statements.remove(statement)?;
        Ok(())
    }

    /// Queues COM_STMT_RESET: discards long data and closes a cursor. The reply is OK.
    ///
    /// # Errors
    /// Fails with `Busy` or `StatementClosed`.
    pub fn reset_statement(
        &mut self,
        buffers: &mut Buffers,
        statement: StatementId,
    ) -> Result<(), Error> {
        let id = self.statements.find(statement)?.id;
        self.begin(State::Header, None)?;
        let (queued, sequence) = put_id(buffers, CommandByte::STMT_RESET, id);
        self.queued(queued, sequence)
    }

    /// Queues COM_PING. The reply is OK.
    ///
    /// # Errors
    /// Fails with `Busy`.
    pub fn ping(&mut self, buffers: &mut Buffers) -> Result<(), Error> {
        self.begin(State::Header, None)?;
        self.send_text(buffers, CommandByte::PING, &[])
    }

    /// Queues COM_INIT_DB: changes the default database. The reply is OK.
    ///
    /// # Errors
    /// Fails with `Busy`.
    pub fn init_db(&mut self, buffers: &mut Buffers, database: &[u8]) -> Result<(), Error> {
        self.begin(State::Header, None)?;
        self.send_text(buffers, CommandByte::INIT_DB, database)
    }

    /// Queues COM_RESET_CONNECTION: resets the session to its state after the login; every statement is closed. The reply is OK.
    ///
    /// # Errors
    /// Fails with `Busy`.
    pub fn reset_connection(&mut self, buffers: &mut Buffers) -> Result<(), Error> {
        self.begin(State::Header, None)?;
        self.ask(Asks::Reset);
        self.send_text(buffers, CommandByte::RESET_CONNECTION, &[])
    }

    /// Queues COM_QUIT. There is no reply: the server closes the connection.
    ///
    /// # Errors
    /// Fails with `Busy`.
    pub fn quit(&mut self, buffers: &mut Buffers) -> Result<(), Error> {
        self.begin(State::Idle, None)?;
        let (queued, _) = put_text(buffers, CommandByte::QUIT, &[], &[]);
        queued.map_err(Error::of_call)
    }

    /// Returns the number of parameters of a statement.
    ///
    /// # Errors
    /// Fails with `StatementClosed`.
    pub fn parameters(&self, statement: StatementId) -> Result<u16, Error> {
        Ok(self.statements.find(statement)?.parameters)
    }

    /// Returns the columns of a statement's rows, as reported by the prepare or by the last execution.
    ///
    /// # Errors
    /// Fails with `StatementClosed`.
    pub fn statement_definitions(
        &self,
        statement: StatementId,
    ) -> Result<&super::Definitions, Error> {
        self.statements.find(statement)?;
        Ok(self.statements.definitions(statement))
    }

    pub(super) fn send_text(
        &mut self,
        buffers: &mut Buffers,
        command: CommandByte,
        text: &[u8],
    ) -> Result<(), Error> {
        let prefix = match command {
            CommandByte::QUERY => self.query_prefix(),
            _ => &[],
        };
        let (queued, sequence) = put_text(buffers, command, prefix, text);
        self.queued(queued, sequence)
    }

    /// The command waits to be sent; or there was no memory for it, and it was never given.
    #[inline]
    pub(super) fn queued(
        &mut self,
        queued: Result<(), WireError>,
        sequence: u8,
    ) -> Result<(), Error> {
        match queued {
            Ok(()) => {
                self.reply_continues_at(sequence);
                Ok(())
            }
            Err(error) => {
                self.retract();
                Err(Error::of_call(error))
            }
        }
    }
}

/// A command and its text; gives the sequence id that its reply begins with.
#[inline(always)] // without a prefix there is nothing to decide
fn put_text(
    buffers: &mut Buffers,
    command: CommandByte,
    prefix: &[u8],
    text: &[u8],
) -> (Result<(), WireError>, u8) {
    let mut sequence = 0;
    let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
    writer.put_u8(command.0);
    if !prefix.is_empty() {
        writer.put(prefix);
    }
    put_or_lend(&mut writer, 0, text);
    (writer.finish(), sequence)
}

/// The same of a statement's number.
fn put_id(buffers: &mut Buffers, command: CommandByte, id: u32) -> (Result<(), WireError>, u8) {
    let mut sequence = 0;
    let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
    let [a, b, c, d] = id.to_le_bytes();
    writer.put_array([command.0, a, b, c, d]);
    (writer.finish(), sequence)
}

/// Null bitmap, the flag that types follow, types, values.
///
/// # Errors
/// The number of a text that the server would misread, or of a parameter that it has no value for.
fn put_params(
    writer: &mut PayloadWriter<'_>,
    params: &[Param<'_>],
    character_set: CharacterSet,
) -> Result<(), usize> {
    let mut block = Block::new(character_set);
    for eight in params.chunks(8) {
        let nulls = eight.iter().enumerate();
        let byte = nulls.fold(0, |byte, (bit, param)| {
            byte | u8::from(param.is_null()) << bit
        });
        block.put(writer, [byte]);
    }
    block.put(writer, [1]);
    for param in params {
        block.put(writer, type_of(param));
    }
    put_values(writer, &mut block, params);
    block.refused.map_or(Ok(()), Err)
}

/// A parameter's type, and whether it is unsigned.
#[inline(always)]
fn type_of(param: &Param<'_>) -> [u8; 2] {
    const UNSIGNED: u8 = 0x80;
    let flags = if param.is_unsigned() { UNSIGNED } else { 0 };
    [param.column_type().0, flags]
}

#[inline(always)] // as it was in its one hot caller
fn put_values(writer: &mut PayloadWriter<'_>, block: &mut Block, params: &[Param<'_>]) {
    for (index, param) in params.iter().enumerate() {
        let bytes = match *param {
            Param::Int(number) => {
                block.put(writer, number.to_le_bytes());
                continue;
            }
            Param::UInt(number) => {
                block.put(writer, number.to_le_bytes());
                continue;
            }
            Param::Float(number) => {
                block.put(writer, number.to_le_bytes());
                continue;
            }
            Param::Double(number) => {
                block.put(writer, number.to_le_bytes());
                continue;
            }
            Param::Bytes(bytes) => bytes,
            Param::Str(text) => text.as_bytes(),
            Param::Decimal(decimal) => decimal.as_str().as_bytes(),
            Param::Text(text) => block.check(index, CollationId::UTF8MB4_GENERAL_CI, text),
            Param::OtherText { bytes, collation } => block.check(index, collation, bytes),
            Param::Default | Param::Ignore => {
                block.refused = Some(index);
                continue;
            }
            Param::Bytes16(_) | Param::UuidText(_) | Param::SmallDecimal(_) | Param::Invalid(_) => {
                block.put_inline(writer, index, param);
                continue;
            }
            _ => {
                block.put_prefix(writer, |out| param.encode_fixed(out));
                continue;
            }
        };
        block.put_lenenc(writer, length_of(bytes));
        block.flush(writer);
        put_or_lend(writer, u32::try_from(index).unwrap_or(u32::MAX), bytes);
    }
    block.flush(writer);
}

pub(super) fn put_or_lend(writer: &mut PayloadWriter<'_>, index: u32, bytes: &[u8]) {
    if bytes.len() >= BORROWED_THRESHOLD {
        writer.put_borrowed(index, bytes.len())
    } else {
        writer.put(bytes)
    }
}

/// Gathers fields of a few bytes, so that the queue is asked once for all of them.
struct Block {
    bytes: [u8; 128],
    len: usize,
    character_set: CharacterSet,
    /// The last text that the server would misread, or what it has no value for.
    refused: Option<usize>,
}

impl Block {
    #[inline]
    fn new(character_set: CharacterSet) -> Self {
        Self {
            bytes: [0; 128],
            len: 0,
            character_set,
            refused: None,
        }
    }

    /// The text, which is remembered where the server would misread it.
    #[inline(never)]
    fn check<'a>(&mut self, index: usize, collation: CollationId, text: &'a [u8]) -> &'a [u8] {
        if !self.character_set.takes(collation, text) {
            self.refused = Some(index);
        }
        text
    }

    /// A value that the parameter holds itself, or a note that it has none.
    #[cold]
    #[inline(never)]
    fn put_inline(&mut self, writer: &mut PayloadWriter<'_>, index: usize, param: &Param<'_>) {
        let mut out = [0; Param::MAX_INLINE_BYTES];
        let Some(bytes) = param.write_inline(&mut out) else {
            self.refused = Some(index);
            return;
        };
        self.put_lenenc(writer, length_of(bytes));
        self.flush(writer);
        writer.put(bytes);
    }

    #[inline]
    fn put<const N: usize>(&mut self, writer: &mut PayloadWriter<'_>, bytes: [u8; N]) {
        *self.slot(writer) = bytes;
        self.len += N;
    }

    /// Of what `encode` writes, as many bytes as it says.
    #[inline]
    fn put_prefix<const N: usize>(
        &mut self,
        writer: &mut PayloadWriter<'_>,
        encode: impl FnOnce(&mut [u8; N]) -> usize,
    ) {
        let len = encode(self.slot(writer));
        self.len += len.min(N);
    }

    #[inline]
    fn put_lenenc(&mut self, writer: &mut PayloadWriter<'_>, value: u64) {
        let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
        match value {
            0..=0xFA => self.put(writer, [a]),
            0xFB..=0xFFFF => self.put(writer, [0xFC, a, b]),
            0x1_0000..=0xFF_FFFF => self.put(writer, [0xFD, a, b, c]),
            _ => self.put(writer, [0xFE, a, b, c, d, e, f, g, h]),
        }
    }

    /// Room for the next `N` bytes.
    #[inline]
    fn slot<const N: usize>(&mut self, writer: &mut PayloadWriter<'_>) -> &mut [u8; N] {
        const { assert!(N <= 128) };
        if N > self.bytes.len() - self.len {
            self.flush(writer);
        }
        let rest = &mut self.bytes[self.len..];
        // There is room now: the block is longer than any field.
        rest.first_chunk_mut()
            .expect("a field is shorter than the block")
    }

    #[inline(never)]
    fn flush(&mut self, writer: &mut PayloadWriter<'_>) {
        writer.put(&self.bytes[..self.len]);
        self.len = 0;
    }
}
