//! Executions of prepared statements: a command's header, its types and values.

use onecopy_wire::Buffers;

use super::StatementId;
use super::character_set::CharacterSet;
use super::command::put_or_lend;
use super::core::{ClientCore, Source, State};
use super::statement::Params;
use crate::codec::{Put, length_of};
use crate::frame::PayloadWriter;
use crate::packet::execute::LAST_PREPARED;
use crate::packet::{CommandByte, CursorType, Execute};
use crate::value::Param;
use crate::{CollationId, Error};

impl ClientCore {
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
