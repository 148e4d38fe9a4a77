//! A command on a prepared statement: ids of clients are the proxy's, and each connection has ids of its own.

use std::sync::Arc;
use std::time::Instant;

use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::{CommandByte, CursorType, ErrPacket};

use super::serve::Begun;
use super::{Current, Pooled};
use crate::digests::{Digests, Known, STATEMENT_BYTES};
use crate::failure::Failure;
use crate::pooling::held::LockCall;
use crate::pooling::look::Mention;
use crate::pooling::pin::Pin;
use crate::pooling::statements::Text;
use crate::session::{Context, End, Phase, Session};

/// Bytes of COM_STMT_EXECUTE before the NULL bitmap, with the header.
const EXECUTE_HEAD: usize = HEADER_BYTES + 1 + 4 + 1 + 4;

/// `ER_UNKNOWN_STMT_HANDLER`.
const UNKNOWN_STATEMENT: u16 = 1243;

impl Session {
    /// A command on a prepared statement of the client's.
    pub(super) fn begin_statement(
        &mut self,
        command: CommandByte,
        context: &mut Context<'_>,
    ) -> Result<Begun, End> {
        let bytes = self.up.pending();
        let Some(&[a, b, c, d]) = bytes.get(HEADER_BYTES + 1..).and_then(<[u8]>::first_chunk)
        else {
            // Too short: the server has an error for it.
            return self.begin_text(command, bytes.len(), context);
        };
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Err(End::Clean);
        };
        let id = pooled.statements.resolve(u32::from_le_bytes([a, b, c, d]));
        let Some(statement) = pooled.statements.get_mut(id) else {
            return self.unknown_statement(command, id, context);
        };
        match command {
            CommandByte::STMT_SEND_LONG_DATA if statement.lost.is_some() => {
                return self.skip_command(context);
            }
            CommandByte::STMT_EXECUTE => {
                match types_in(bytes, statement.parameters) {
                    Types::ToCome(needs) => return Ok(needs),
                    // They hold for the next ones too, whatever becomes of this one.
                    Types::Here(types) => keep(&mut statement.types, types),
                    Types::LeftOut => {}
                }
                if let Some(lost) = statement.lost.take() {
                    return self.refuse(*lost, context);
                }
            }
            CommandByte::STMT_RESET => statement.lost = None,
            _ => {}
        }
        let (text, parameters) = (Arc::clone(&statement.text), statement.parameters);
        let has_cursor = pooled.held.has_cursor_of(id);
        match command {
            CommandByte::STMT_CLOSE => {
                pooled.statements.remove(id);
                if !has_cursor {
                    // The connection keeps it, for others or for the next time.
                    return self.swallow(context);
                }
                // No reply will say that the connection is free.
                pooled.hold_until.get_or_insert(context.now);
                context.connections.hold(context.index);
                pooled.held.cursor_closed(id);
                let on_server = pooled
                    .connection
                    .as_mut()
                    .and_then(|connection| connection.prepared.remove(&text));
                if !pooled.held.has_cursors() {
                    pooled.unpin(Pin::Cursor);
                    pooled.unpin(Pin::LongData);
                }
                let Some(on_server) = on_server else {
                    return self.swallow(context);
                };
                self.patch(on_server);
                let begun = self.send_command(context)?;
                return Ok(begun);
            }
            // There is nothing to reset where it is not prepared, and no need to: in a read-only transaction it may be refused.
            CommandByte::STMT_RESET if !has_cursor && !pooled.has_prepared(&text) => {
                return self.answer_ok(context);
            }
            _ => {}
        }
        let mut look = text.look;
        if command == CommandByte::STMT_EXECUTE && self.hides_changes_of(look) {
            look = text.look_with_calls(self.reading());
        }
        if !self.is_allowed(command, Some(id), 0, context.now) {
            return Ok(Begun::Waits);
        }
        let asks_for_cursor = self.asks_for_cursor(command);
        if let Some(begun) = self.come_to_connection(command, look, Some(&text), context)? {
            return Ok(begun);
        }
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Err(End::Clean);
        };
        pooled.current = Current {
            look,
            statement: Some((id, asks_for_cursor)),
            ..Current::default()
        };
        if look.mentions(Mention::NamedLock) && command == CommandByte::STMT_EXECUTE {
            let is_text = parameters == 0 && !pooled.has_no_rows();
            let call = is_text.then(|| LockCall::of(&text.sql));
            pooled.held.is_next(call.flatten());
        }
        let Some(connection) = &mut pooled.connection else {
            return Ok(Begun::Waits);
        };
        let Some(on_server) = connection.prepared.find(&text) else {
            return Err(Failure::replay("a prepared statement was lost").into());
        };
        let server_id = on_server.id;
        on_server.had_cursor |= asks_for_cursor;
        match command {
            CommandByte::STMT_SEND_LONG_DATA => {
                pooled.held.cursor_opened(id);
                pooled.pin(Pin::LongData);
            }
            CommandByte::STMT_EXECUTE if parameters > 0 => {
                self.patch(server_id);
                return self.send_execution(id, &text, parameters, context);
            }
            _ => {}
        }
        self.patch(server_id);
        self.send_command(context)
    }

    /// Sends an execution; the types of its parameters are put in where the client leaves them out and the connection does not
    /// have them.
    fn send_execution(
        &mut self,
        id: u32,
        text: &Arc<Text>,
        parameters: u16,
        context: &mut Context<'_>,
    ) -> Result<Begun, End> {
        let [types_at, _] = types_of(parameters);
        let bytes = self.up.pending();
        let types = types_in(bytes, parameters);
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Err(End::Clean);
        };
        let Pooled {
            statements,
            connection: Some(connection),
            ahead,
            ..
        } = &mut **pooled
        else {
            return Ok(Begun::Waits);
        };
        let (Some(client), Some(server)) = (statements.get_mut(id), connection.prepared.find(text))
        else {
            return Ok(Begun::Waits);
        };
        if let Types::Here(types) = types {
            keep(&mut server.types, types);
            return self.send_command(context);
        }
        if server.types == client.types {
            return self.send_command(context);
        }
        let (Some(known), Some(head)) = (client.types.clone(), bytes.get(..types_at)) else {
            return self.send_command(context);
        };
        let mut head = head.to_vec();
        server.types = client.types.clone();
        // The packet is longer by the types, whose flag is set.
        let [a, b, c, ..] = head
            .first_chunk::<HEADER_BYTES>()
            .copied()
            .unwrap_or_default();
        let len = u32::from_le_bytes([a, b, c, 0]) as usize + known.len();
        let [a, b, c, ..] = len.to_le_bytes();
        if len >= onecopy_mysql_proto::frame::MAX_BODY {
            return Err(Failure::replay(
                "an execution of 16 MiB without the types of its parameters",
            )
            .into());
        }
        head.get_mut(..3)
            .unwrap_or_default()
            .copy_from_slice(&[a, b, c]);
        if let Some(flag) = head.last_mut() {
            *flag = 1;
        }
        ahead.extend_from_slice(&head);
        ahead.extend_from_slice(&known);
        let begun = self.send_command(context)?;
        if let Some(loan) = &mut self.up.loan {
            let _ = loan.buffers.consume(types_at);
            self.up.cleared = self.up.cleared.saturating_sub(types_at);
        }
        Ok(begun)
    }

    /// Keeps the types of an execution that is refused: its client does not send them again. `Some` while they are to come.
    pub(super) fn keep_types(&mut self) -> Option<Begun> {
        let bytes = self.up.pending();
        let needs = types_to_come(bytes, 0);
        if needs.is_some() {
            return needs;
        }
        let id = bytes.get(HEADER_BYTES + 1..)?.first_chunk()?;
        let Phase::Pooled(pooled) = &mut self.phase else {
            return None;
        };
        let id = pooled.statements.resolve(u32::from_le_bytes(*id));
        let statement = pooled.statements.get_mut(id)?;
        match types_in(bytes, statement.parameters) {
            Types::ToCome(needs) => return Some(needs),
            Types::Here(types) => keep(&mut statement.types, types),
            Types::LeftOut => {}
        }
        None
    }

    /// Puts the backend's id of a statement into the command.
    fn patch(&mut self, id: u32) {
        let bytes = self.up.loan.as_mut().map(|loan| loan.buffers.pending_mut());
        let place = bytes.and_then(|bytes| bytes.get_mut(HEADER_BYTES + 1..HEADER_BYTES + 5));
        if let Some(place) = place {
            place.copy_from_slice(&id.to_le_bytes());
        }
    }

    /// The statement of the client's command could not be prepared again.
    pub(super) fn answer_unprepared(
        &mut self,
        error: &[u8],
        context: &mut Context<'_>,
    ) -> Result<(), End> {
        let Ok(error) = ErrPacket::decode(error) else {
            return Err(Failure::replay("an unknown error").into());
        };
        let text = String::from_utf8_lossy(error.message);
        let state = error.sql_state.unwrap_or(*b"HY000");
        self.answer_error(error.code, state, &text, context)?;
        Ok(())
    }

    pub(super) fn asks_for_cursor(&self, command: CommandByte) -> bool {
        let flags = bytes_at(self.up.pending(), HEADER_BYTES + 5);
        command == CommandByte::STMT_EXECUTE && CursorType(flags).contains(CursorType::READ_ONLY)
    }

    /// Has a statement prepared again that had a cursor: MySQL 9.7 does not end the results of its executions without one as it
    /// should then, and it would be another client that waits for their end.
    pub(super) fn close_what_had_a_cursor(&mut self, command: CommandByte, text: &Arc<Text>) {
        let begins = match command {
            CommandByte::STMT_EXECUTE => !self.asks_for_cursor(command),
            CommandByte::STMT_SEND_LONG_DATA => true,
            _ => false,
        };
        if let Phase::Pooled(pooled) = &mut self.phase
            && let Some(connection) = &mut pooled.connection
            && begins
            && !pooled.held.has_cursors()
            && connection.is_mysql()
        {
            connection.prepared.close_if_it_had_a_cursor(text);
        }
    }

    fn unknown_statement(
        &mut self,
        command: CommandByte,
        id: u32,
        context: &mut Context<'_>,
    ) -> Result<Begun, End> {
        let name = match command {
            CommandByte::STMT_CLOSE | CommandByte::STMT_SEND_LONG_DATA => {
                return self.swallow(context);
            }
            CommandByte::STMT_EXECUTE => "mysqld_stmt_execute",
            CommandByte::STMT_FETCH => "mysqld_stmt_fetch",
            _ => "mysqld_stmt_reset",
        };
        if id != u32::MAX && !self.attach(context)? {
            return Ok(Begun::Waits);
        }
        let is_known = match &self.phase {
            Phase::Pooled(pooled) => pooled
                .connection
                .as_ref()
                .is_none_or(|connection| connection.prepared.has_id(id)),
            _ => true,
        };
        if !is_known {
            // The error comes from there, with all that follows from an error.
            let len = match self.up.pending().first_chunk::<3>() {
                Some(&[a, b, c]) => u32::from_le_bytes([a, b, c, 0]) as usize,
                None => 0,
            };
            return self.begin_text(command, HEADER_BYTES + len, context);
        }
        let text = format!("Unknown prepared statement handler ({id}) given to {name}");
        self.answer_error(UNKNOWN_STATEMENT, *b"HY000", &text, context)
    }
}

impl Pooled {
    /// Whether queries may have no row, so that they call nothing.
    pub(super) fn has_no_rows(&self) -> bool {
        self.wanted.get(b"sql_select_limit").is_some()
    }

    /// Whether a statement is prepared on the connection that the session has.
    fn has_prepared(&self, text: &Arc<Text>) -> bool {
        let connection = self.connection.as_ref();
        connection.is_some_and(|connection| connection.prepared.has(text))
    }

    /// The text of the statement that is executed.
    pub(in crate::session) fn text_of_current(&mut self) -> Option<Arc<Text>> {
        let (id, _) = self.current.statement?;
        let statement = self.statements.get_mut(id)?;
        Some(Arc::clone(&statement.text))
    }

    /// The digest of the statement that is executed.
    pub(in crate::session) fn digest_of_current(
        &mut self,
        digests: &mut Digests,
        now: Instant,
    ) -> Option<&mut Known> {
        let (id, _) = self.current.statement?;
        let statement = self.statements.get_mut(id)?;
        let sql = &statement.text.sql;
        let known = statement.digest.get_or_insert_with(|| {
            let start = sql.get(..STATEMENT_BYTES).unwrap_or(sql);
            digests.know(start, start.len() == sql.len(), now)
        });
        Some(known)
    }
}

/// Where the types of an execution's parameters begin and end. The byte before them says whether there are any.
fn types_of(parameters: u16) -> [usize; 2] {
    let count = usize::from(parameters);
    let begin = EXECUTE_HEAD + count.div_ceil(8) + 1;
    [begin, begin + 2 * count]
}

/// The types of an execution's parameters.
enum Types<'a> {
    Here(&'a [u8]),
    /// They are those of an execution before.
    LeftOut,
    /// This is to be received first.
    ToCome(Begun),
}

fn types_in(bytes: &[u8], parameters: u16) -> Types<'_> {
    let [begin, end] = types_of(parameters);
    match bytes.get(begin - 1) {
        Some(1) if parameters > 0 => {
            if let Some(types) = bytes.get(begin..end) {
                return Types::Here(types);
            }
        }
        Some(_) => return Types::LeftOut,
        None => {}
    }
    types_to_come(bytes, parameters).map_or(Types::LeftOut, Types::ToCome)
}

fn keep(known: &mut Option<Box<[u8]>>, types: &[u8]) {
    if known.as_deref() != Some(types) {
        *known = Some(types.into());
    }
}

/// What is missing of an execution's head and types, at most 136 KiB. All have to be there, as they are kept for executions that leave them out.
#[cold]
fn types_to_come(bytes: &[u8], parameters: u16) -> Option<Begun> {
    let [a, b, c, ..] = *bytes.first_chunk::<HEADER_BYTES>()?;
    let whole = HEADER_BYTES + u32::from_le_bytes([a, b, c, 0]) as usize;
    let [begin, end] = types_of(parameters);
    let end = match bytes.get(begin - 1) {
        None | Some(1) => end,
        Some(_) => begin,
    };
    let needed = whole.min(end);
    (bytes.len() < needed).then(|| Begun::Needs(needed, whole - bytes.len()))
}

fn bytes_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or_default()
}
