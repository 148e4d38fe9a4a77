//! A command of a pooled session: what it needs before it may go out.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::ok::OkHeader;
use onecopy_mysql_proto::packet::{CommandByte, ErrPacket, OkPacket, err};
use onecopy_mysql_proto::relay::{Event, RelayError};
use onecopy_mysql_proto::{Capabilities, StatusFlags};

use super::last_result::{CLEAR, is_added_to_diagnostics};
use super::reply::is_statement;
use super::serve::Begun;
use super::{After, Current, Pooled, Stage};
use crate::failure::Failure;
use crate::pooling::exchange::put_packet;
use crate::pooling::held::LockCall;
use crate::pooling::look::{self, Mention, Reading};
use crate::pooling::own_id::with_own_id;
use crate::pooling::pin::Pin;
use crate::pooling::statements::Text;
use crate::pooling::{setup, state};
use crate::session::counted::Packet;
use crate::session::farewell::packet;
use crate::session::{Context, End, Phase, Session};
use crate::stats::Kind as CommandKind;

/// So much of a text is looked at. What is longer is taken to mention everything, and pins its session.
const QUERY_BYTES: usize = 64 << 10;

/// So much of the parameters of an execution, and of other commands.
const LOOK_BYTES: usize = 16 << 10;

/// The longest text of a statement that is prepared again on other connections.
const TEXT_BYTES: usize = 256 << 10;

/// Statements that may have rows. `EXPLAIN ANALYZE` and `VALUES` are none that is known by a name.
const ROWS: [look::Kind; 4] = [
    look::Kind::Select,
    look::Kind::Show,
    look::Kind::HandlerRead,
    look::Kind::Other,
];

/// What a server's status says of the session; the rest is of a statement.
const LASTING: StatusFlags = StatusFlags::IN_TRANS
    .union(StatusFlags::AUTOCOMMIT)
    .union(StatusFlags::NO_BACKSLASH_ESCAPES)
    .union(StatusFlags::IN_TRANS_READONLY)
    .union(StatusFlags::ANSI_QUOTES);

impl Session {
    /// Looks at the next command and sees to it that it may be sent. Nothing has changed where it has to wait: it is looked at again.
    pub(super) fn begin_command(&mut self, context: &mut Context<'_>) -> Result<Begun, End> {
        let bytes = self.up.pending();
        let Some((&header, behind)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(Begun::Needs(HEADER_BYTES + 1, 0));
        };
        let [a, b, c, _] = header;
        let len = u32::from_le_bytes([a, b, c, 0]) as usize;
        let whole = HEADER_BYTES + len;
        let Some(&first) = behind.first() else {
            return match len {
                // The relay has an error for it.
                0 => self.look_up(),
                _ => Ok(Begun::Needs(HEADER_BYTES + 1, len)),
            };
        };
        let command = CommandByte(first);
        let most = match command {
            CommandByte::STMT_PREPARE => TEXT_BYTES,
            CommandByte::QUERY => QUERY_BYTES,
            CommandByte::STMT_SEND_LONG_DATA | CommandByte::STMT_FETCH => 16,
            _ => LOOK_BYTES,
        };
        let needed = whole.min(most);
        if bytes.len() < needed {
            return Ok(Begun::Needs(needed, whole - bytes.len()));
        }
        match command {
            CommandByte::QUIT => {
                self.is_quitting = true;
                Err(End::Clean)
            }
            CommandByte::PING if self.is_detached() => self.answer_ok(context),
            CommandByte::RESET_CONNECTION if self.is_detached() && self.knows_reset() => {
                if let Phase::Pooled(pooled) = &mut self.phase {
                    pooled.was_reset();
                }
                self.relay.set_status(StatusFlags::AUTOCOMMIT);
                self.answer_ok(context)
            }
            CommandByte::CHANGE_USER => self.begin_change_user(whole, context),
            CommandByte::STMT_EXECUTE
            | CommandByte::STMT_CLOSE
            | CommandByte::STMT_RESET
            | CommandByte::STMT_FETCH
            | CommandByte::STMT_SEND_LONG_DATA => self.begin_statement(command, context),
            _ => self.begin_text(command, whole, context),
        }
    }

    /// How the server reads this session's texts.
    pub(super) fn reading(&self) -> Reading {
        match &self.phase {
            Phase::Pooled(pooled) => {
                Reading::of(self.relay.status(), &pooled.wanted, pooled.key.collation)
            }
            _ => Reading::default(),
        }
    }

    /// Whether its reply hides what a stored function has changed: MySQL tells of changes in OK packets only.
    pub(super) fn hides_changes_of(&self, look: look::Look) -> bool {
        match &self.phase {
            Phase::Pooled(pooled) => {
                let capabilities = pooled.key.capabilities;
                let mut with_rows = ROWS.iter();
                !capabilities.contains(Capabilities::DEPRECATE_EOF)
                    && setup::is_mysql(capabilities)
                    && with_rows.any(|&kind| look.has(kind))
            }
            _ => false,
        }
    }

    fn is_detached(&self) -> bool {
        matches!(&self.phase, Phase::Pooled(pooled) if matches!(pooled.stage, Stage::Detached))
    }

    /// Whether it is known what a reset session is like: on MySQL not as after its login. The first connection tells.
    fn knows_reset(&self) -> bool {
        matches!(&self.phase, Phase::Pooled(pooled) if pooled.key.after_reset.get().is_some())
    }

    /// Any command but those on prepared statements.
    pub(super) fn begin_text(
        &mut self,
        command: CommandByte,
        whole: usize,
        context: &mut Context<'_>,
    ) -> Result<Begun, End> {
        let bytes = self.up.pending();
        let text = bytes.get(HEADER_BYTES + 1..whole.min(bytes.len()));
        let text = text.unwrap_or_default();
        let mut look = match command {
            CommandByte::QUERY | CommandByte::STMT_PREPARE => look::look(text, self.reading()),
            _ => look::Look::default(),
        };
        if bytes.len() < whole {
            look.is_partial = true;
        }
        if command == CommandByte::QUERY
            && self.hides_changes_of(look)
            && look::may_call_stored(text, self.reading())
        {
            look = look.with(Mention::StoredFunction);
        }
        let own_id = match look.mentions(Mention::ConnectionId) && !look.is_partial {
            true => with_own_id(text, self.pooled_id),
            false => None,
        };
        if own_id.is_some() {
            // A constant is asked for.
            look = look.without(Mention::ConnectionId);
        }
        let sets_several = match text {
            [0, 0] => Some(true),
            [1, 0] => Some(false),
            _ => None,
        };
        let is_prepare = command == CommandByte::STMT_PREPARE;
        let is_known = whole <= TEXT_BYTES;
        // How it is read now, wherever it is executed.
        let reading = (is_prepare && self.hides_changes_of(look)).then(|| self.reading());
        let sql: Option<Box<[u8]>> =
            (is_prepare && is_known).then(|| own_id.as_deref().unwrap_or(text).into());
        let calls_lock = look.mentions(Mention::NamedLock);
        let lock_call = match command {
            CommandByte::QUERY if calls_lock && !look.is_partial => LockCall::of(text),
            _ => None,
        };
        if !self.is_allowed(command, None, whole, context.now) {
            return Ok(Begun::Waits);
        }
        if let Some(begun) = self.begin_kill(command, look, whole, context)? {
            return Ok(begun);
        }
        if let Some(begun) = self.come_to_connection(command, look, None, context)? {
            return Ok(begun);
        }
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Err(End::Clean);
        };
        pooled.current = Current {
            look,
            ..Current::default()
        };
        if calls_lock && !is_prepare {
            let has_rows = !pooled.has_no_rows();
            pooled.held.is_next(lock_call.filter(|_| has_rows));
        }
        match (is_prepare, sql) {
            (true, Some(sql)) => {
                let meaning = pooled.wanted.meaning();
                let text = pooled.pool.texts.intern(Text::new(sql, meaning, look));
                if let Some(reading) = reading {
                    text.look_with_calls(reading);
                }
                pooled.current.preparing = Some(text);
            }
            // It can't be prepared again elsewhere.
            (true, None) => pooled.pin(Pin::Unexplained),
            _ => {}
        }
        match command {
            CommandByte::RESET_CONNECTION => pooled.current.is_reset = true,
            CommandByte::BINLOG_DUMP | CommandByte::BINLOG_DUMP_GTID => {
                pooled.pin(Pin::Unexplained);
                self.is_quitting = true;
            }
            CommandByte::REGISTER_REPLICA => pooled.pin(Pin::Unexplained),
            CommandByte::SET_OPTION => pooled.current.sets_several = sets_several,
            _ => {}
        }
        match own_id {
            None => self.send_command(context),
            Some(sql) => self.send_instead(command, &sql, context),
        }
    }

    /// Sends another text in place of the client's.
    pub(super) fn send_instead(
        &mut self,
        command: CommandByte,
        sql: &[u8],
        context: &mut Context<'_>,
    ) -> Result<Begun, End> {
        let begun = self.send_command(context)?;
        if let Some(loan) = &mut self.up.loan {
            let _ = loan.buffers.consume(self.up.cleared);
            self.up.cleared = 0;
        }
        if let Phase::Pooled(pooled) = &mut self.phase {
            put_packet(&mut pooled.ahead, command, sql);
        }
        Ok(begun)
    }

    /// Sees to it that the session has a connection on which a statement can run; `Some` where it has to wait or was answered.
    pub(super) fn come_to_connection(
        &mut self,
        command: CommandByte,
        look: look::Look,
        text: Option<&Arc<Text>>,
        context: &mut Context<'_>,
    ) -> Result<Option<Begun>, End> {
        let refers = look.refers_to_last_result() && is_statement(command);
        if refers && let Some(begun) = self.find_last_result(look, context)? {
            return Ok(Some(begun));
        }
        let splits = matches!(&self.phase, Phase::Pooled(pooled) if pooled.reads.is_some());
        if splits && let Some(begun) = self.turn_to_part(command, look, context)? {
            return Ok(Some(begun));
        }
        if !self.attach(context)? {
            return Ok(Some(Begun::Waits));
        }
        let may_wait =
            splits || matches!(&self.phase, Phase::Pooled(pooled) if pooled.may_be_elsewhere());
        if may_wait && let Some(begun) = self.wait_for_own_changes(command, look, context)? {
            return Ok(Some(begun));
        }
        if let Some(text) = text {
            self.close_what_had_a_cursor(command, text);
        }
        if refers
            && let Phase::Pooled(pooled) = &mut self.phase
            && pooled.last.is_here
            && pooled.is_to_be_prepared(look, text)
        {
            pooled.last.is_here = false;
            if let Some(begun) = self.find_last_result(look, context)? {
                return Ok(Some(begun));
            }
        }
        let is_ready = self.make_ready(command, look, text, context)?;
        if is_ready {
            self.keep_read(command, look);
        }
        Ok((!is_ready).then_some(Begun::Waits))
    }

    /// Passes the command on: the connection is ready for it.
    pub(super) fn send_command(&mut self, context: &mut Context<'_>) -> Result<Begun, End> {
        let Some(loan) = &mut self.up.loan else {
            return Ok(Begun::Waits);
        };
        let passage = match self.relay.client(loan.buffers.pending_mut()) {
            Ok(passage) => passage,
            Err(error) => return Err(self.fault_of_client(error).into()),
        };
        self.up.cleared = passage.pass;
        self.asked = context.now;
        let (mut runs_statement, mut has_reply) = (false, true);
        if let Some(Event::Command { command, .. }) = passage.event {
            runs_statement = is_statement(command);
            has_reply = command != CommandByte::STMT_CLOSE;
            if let Some(route) = context.counters.routes.get_mut(self.route) {
                route.commands[CommandKind::of(command) as usize] += 1;
            }
            if context.digests.is_watching() {
                let packet = Packet {
                    at: 0,
                    end: passage.pass,
                    until_end: passage.until_end,
                };
                self.count_command(command, packet, context);
            }
        }
        let was_in_transaction = self.relay.in_transaction();
        let had_autocommit = self.relay.status().contains(StatusFlags::AUTOCOMMIT);
        if let Phase::Pooled(pooled) = &mut self.phase {
            if has_reply {
                pooled.current.was_held = pooled.hold_until.take().is_some();
                pooled.stop_resting();
            }
            if runs_statement {
                (pooled.last.is_fresh, pooled.last.is_here) = (false, true);
                pooled.last.part = pooled.key.part;
                if pooled.key.part.is_of_replicas() {
                    let reads = &pooled.pool.counts.replica_reads;
                    reads.fetch_add(1, SeqCst);
                }
            }
            pooled.current.was_in_transaction = was_in_transaction;
            pooled.current.had_autocommit = had_autocommit;
        }
        Ok(Begun::Something)
    }

    /// Sends what has to come before the command: `false` where its replies have to be there first.
    fn make_ready(
        &mut self,
        command: CommandByte,
        look: look::Look,
        text: Option<&Arc<Text>>,
        context: &mut Context<'_>,
    ) -> Result<bool, End> {
        let needs_insert_id = look.needs_insert_id();
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Err(End::Clean);
        };
        // The session's own statement may have changed it on this connection.
        let is_other_id = needs_insert_id && pooled.has_insert_id && !pooled.is_own_insert_id;
        if is_other_id
            || pooled.has_unknown_state() && pooled.has_something_ahead(command, look, text)
        {
            pooled.ask();
            self.send_ahead(context)?;
            return Ok(false);
        }
        let Pooled {
            connection: Some(connection),
            wanted,
            ahead,
            pool,
            current,
            last_insert_id,
            exchange,
            after,
            has_insert_id,
            last,
            pins,
            has_several,
            ..
        } = &mut **pooled
        else {
            return Ok(false);
        };
        let mut waits = false;
        let mut replies = 0;
        for id in connection.prepared.to_close.drain(..) {
            put_packet(ahead, CommandByte::STMT_CLOSE, &id.to_le_bytes());
        }
        let closes = ahead.len();
        let mut is_missing = text.filter(|text| connection.prepared.find(text).is_none());
        if is_missing.is_some_and(|text| text.meaning.schema().is_some())
            && wanted.schema().is_none()
        {
            // No command leads back to none.
            return Err(Failure::replay(
                "a statement was prepared in a schema, and the session has none any more",
            )
            .into());
        }
        // It is prepared in the state that it means something in; the rest stays: SET autocommit would end a transaction.
        let goal = match is_missing {
            Some(text) if text.meaning != wanted.meaning() => {
                Arc::new(wanted.with_meaning(&text.meaning))
            }
            _ => Arc::clone(wanted),
        };
        for state in [&goal, &*wanted] {
            if !Arc::ptr_eq(&connection.actual, state) && connection.actual != *state {
                replies +=
                    state::difference(&connection.actual, state, &connection.baseline, ahead);
                waits |= !state::is_harmless(&connection.actual, state);
                pool.counts.replays.fetch_add(1, SeqCst);
            }
            connection.actual = Arc::clone(state);
            if let Some(text) = is_missing.take() {
                put_packet(ahead, CommandByte::STMT_PREPARE, &text.sql);
                current.preparing = Some(Arc::clone(text));
                (replies, waits) = (replies + 1, true);
            }
        }
        // One that is kept has it at once: then whatever a statement makes of it is the session's.
        let is_kept = !pins.is_empty() && !look.refers_to_last_result();
        let wants_insert_id = needs_insert_id || is_kept;
        let is_other_id = connection.last_insert_id != Some(*last_insert_id) && !*has_insert_id;
        if wants_insert_id && is_other_id {
            let set = format!("SET last_insert_id = {last_insert_id}");
            put_packet(ahead, CommandByte::QUERY, set.as_bytes());
            connection.last_insert_id = Some(*last_insert_id);
            replies += 1;
        }
        if connection.has_several != *has_several {
            put_packet(
                ahead,
                CommandByte::SET_OPTION,
                &[u8::from(!*has_several), 0],
            );
            connection.has_several = *has_several;
            replies += 1;
        }
        // Its error stands beside what others have left, or what the commands before have warned of.
        let is_to_clear = is_added_to_diagnostics(command, text.is_some())
            && connection.is_mysql()
            && (connection.has_diagnostics || replies > 0)
            && !last.has_diagnostics;
        let clears = std::mem::take(&mut last.is_to_clear) || is_to_clear;
        if clears {
            (connection.has_diagnostics, last.has_own_diagnostics) = (false, true);
            put_packet(ahead, CommandByte::QUERY, CLEAR);
            replies += 1;
        }
        if replies == 0 {
            return Ok(true);
        }
        last.is_here = false;
        // MySQL clears them at each statement.
        last.has_own_diagnostics &= !(last.has_diagnostics && connection.is_mysql());
        let sent = ahead.get(closes..).unwrap_or_default();
        let mut own = connection
            .exchange(sent)
            .map_err(|_| Failure::replay("its commands can't be followed"))?;
        own.clears = clears;
        *exchange = Some(own);
        *after = match waits {
            true => After::Command,
            false => After::Reply,
        };
        if waits {
            self.send_ahead(context)?;
        }
        Ok(!waits)
    }

    /// Sends the proxy's own bytes without the client's, which are not cleared.
    pub(super) fn send_ahead(&mut self, context: &mut Context<'_>) -> Result<(), End> {
        self.send_up(context).map(drop)
    }

    /// Passes over a command that has no reply.
    pub(super) fn swallow(&mut self, context: &mut Context<'_>) -> Result<Begun, End> {
        let begun = self.send_command(context)?;
        if let Some(loan) = &mut self.up.loan {
            let _ = loan.buffers.consume(self.up.cleared);
            self.up.cleared = 0;
        }
        Ok(begun)
    }

    /// Answers the command as a server would that has nothing to say.
    pub(super) fn answer_ok(&mut self, context: &mut Context<'_>) -> Result<Begun, End> {
        let mut payload = Vec::new();
        self.ok_of_its_own()
            .encode(OkHeader::Ok, self.relay.capabilities(), &mut payload);
        self.answer_here(&payload, context)
    }

    /// An OK packet with the session's status and nothing else.
    pub(super) fn ok_of_its_own(&self) -> OkPacket<'static> {
        OkPacket {
            status_flags: self.relay.status().intersection(LASTING),
            ..OkPacket::default()
        }
    }

    pub(super) fn answer_error(
        &mut self,
        code: u16,
        sql_state: [u8; 5],
        message: &str,
        context: &mut Context<'_>,
    ) -> Result<Begun, End> {
        let mut payload = Vec::new();
        ErrPacket {
            code,
            sql_state: Some(sql_state),
            message: message.as_bytes(),
        }
        .encode(&mut payload);
        if let Phase::Pooled(pooled) = &mut self.phase {
            (pooled.last.is_fresh, pooled.last.has_diagnostics) = (false, true);
        }
        self.answer_here(&payload, context)
    }

    /// Answers a command here. The relay sees both, so that it knows how far the conversation is.
    fn answer_here(&mut self, payload: &[u8], context: &mut Context<'_>) -> Result<Begun, End> {
        self.swallow(context)?;
        let reply = packet(1, payload);
        if !self.relay.client_is_between_payloads() {
            return Err(
                Failure::client_broken(&"a command that is answered here is too long").into(),
            );
        }
        if let Err(error) = self.relay.server(&reply) {
            return Err(self.fault_of_backend(error).into());
        }
        self.count_no_reply(payload.first() == Some(&err::HEADER), context);
        if let Phase::Pooled(pooled) = &mut self.phase {
            // For its client this was the last statement.
            pooled.last.is_here = false;
            pooled.words.extend_from_slice(&reply);
        }
        // It may have come to a connection for it.
        self.settle(context)?;
        Ok(Begun::Something)
    }

    pub(super) fn fault_of_client(&self, error: RelayError) -> Failure {
        match error {
            RelayError::OutOfMemory { .. } => Failure::out_of_memory(),
            error => Failure::client_broken(&error),
        }
    }
}
