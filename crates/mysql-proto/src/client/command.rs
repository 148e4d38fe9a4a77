//! Commands: each one is queued as a whole and determines the expected reply.
//!
//! Parts of 16 KiB and more stay with the caller: to send the queue, pass the same text, piece or parameters as
//! [`Borrowed`](onecopy_wire::Borrowed).

use onecopy_wire::{BORROWED_THRESHOLD, Buffers, WireError};

use super::StatementId;
use super::core::{Asks, ClientCore, Source, State};
use super::statement::Preparing;
use crate::codec::Put;
use crate::frame::PayloadWriter;
use crate::packet::{BulkExecute, CommandByte, ParameterType};
use crate::{Capabilities, Error};

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

    /// Returns the session's `character_set_client` as far as it is known: what the login asked for, then what the server
    /// reported by session tracking. Empty for one that is not known here.
    pub fn character_set(&self) -> &'static str {
        self.character_set.0
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

pub(super) fn put_or_lend(writer: &mut PayloadWriter<'_>, index: u32, bytes: &[u8]) {
    if bytes.len() >= BORROWED_THRESHOLD {
        writer.put_borrowed(index, bytes.len())
    } else {
        writer.put(bytes)
    }
}
