//! What a reply says of the session's state, and what follows from it.

use std::sync::Arc;

use onecopy_mysql_proto::StatusFlags;
use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::{CommandByte, ErrPacket};
use onecopy_mysql_proto::relay::{Outcome, RelayError};

use super::failover::{fate_of_transaction, may_be_left, may_end_transaction};
use super::last_result::LastResult;
use super::told::Told;
use super::{After, Pooled};
use crate::failure::{CLOSED, Failure, Reason};
use crate::pooling::exchange::put_packet;
use crate::pooling::look::{Kind, Mention};
use crate::pooling::pin::Pin;
use crate::pooling::setup;
use crate::pooling::statements::ClientStatement;
use crate::session::{Context, End, Phase, Session};
use crate::stats::{Kind as CommandKind, Taken};

/// Errors of statements that were not begun: syntax, an empty text, an unknown table, column or schema. Behind others a function, a
/// trigger or a procedure may have changed something, of which an error does not tell.
const HARMLESS_ERRORS: [u16; 5] = [1064, 1065, 1146, 1054, 1049];

impl Session {
    /// The reply to a prepare is next: the client gets an id of the proxy's.
    pub(super) fn note_prepared(&mut self, id: u32, parameters: u16) {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return;
        };
        let Some(text) = pooled.current.preparing.take() else {
            return;
        };
        if text.meaning.schema().is_none() && text.look.mentions(Mention::Schema) {
            // No command leads from a schema back to none.
            pooled.pin(Pin::SqlPrepare);
        }
        if let Some(connection) = &mut pooled.connection {
            let most = connection.most_statements(&pooled.pool.config());
            connection.prepared.insert(&text, id, most);
        }
        let own = pooled.statements.insert(ClientStatement {
            text,
            parameters,
            types: None,
            rule: pooled.rule.clone(),
            ruled: pooled.ruled,
            lost: None,
            digest: None,
        });
        let at = self.down.cleared + HEADER_BYTES + 1;
        let bytes = self
            .down
            .loan
            .as_mut()
            .map(|loan| loan.buffers.pending_mut());
        if let Some(place) = bytes.and_then(|bytes| bytes.get_mut(at..at + 4)) {
            place.copy_from_slice(&own.to_le_bytes());
        }
    }

    /// The reply to the client's command is over.
    pub(super) fn replied(
        &mut self,
        command: CommandByte,
        failed: bool,
        context: &mut Context<'_>,
    ) -> Result<(), End> {
        let kind = CommandKind::of(command);
        let time = Taken::from(context.now.saturating_duration_since(self.asked));
        if let Some(route) = context.counters.routes.get_mut(self.route) {
            route.errors += u64::from(failed);
            route.latency[kind as usize].add(time);
        }
        self.count_reply((time, failed), context);
        let (outcome, status) = (self.relay.outcome(), self.relay.status());
        let has_warned = self.relay.take_warned();
        let code = self.relay.last_error();
        let is_harmless = code.is_some_and(|code| HARMLESS_ERRORS.contains(&code));
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(());
        };
        pooled.lost.answered();
        if let Some(client) = pooled.current.ends.take() {
            client.end();
        }
        if let Some(code) = code.filter(|code| may_be_left(*code)) {
            pooled.doubt_server(code);
            self.check_cluster()?;
        }
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(());
        };
        pooled.note_partial(command);
        match (is_statement(command), failed) {
            // A new status has come with it.
            (true, false) => {
                pooled.may_have_ended = false;
                pooled.note_statement(command, status);
            }
            (true, true) => {
                // An error has no status, and what has failed may have ended the transaction before.
                pooled.may_have_ended |= !is_harmless && may_end_transaction(pooled.current.look);
                pooled.note_failed(status);
            }
            (false, false) => pooled.note_cursor(command, status),
            (false, true) if command == CommandByte::STMT_PREPARE => {
                pooled.statements.note_failed();
            }
            (false, true) => {}
        }
        pooled.note_unexplained();
        if !pooled.has_collation {
            pooled.settle_results();
        }
        if let Some(connection) = &mut pooled.connection {
            connection.actual = Arc::clone(&pooled.wanted);
        }
        if pooled.current.was_in_transaction && !status.contains(StatusFlags::IN_TRANS) {
            pooled.end_characteristics(status);
        }
        if !pooled.new_pins.is_empty() {
            self.log_pins(context);
        }
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(());
        };
        // Without an OK packet the end of rows says that something has changed, and not what, on MySQL not even that.
        if status.contains(StatusFlags::SESSION_STATE_CHANGED) && !pooled.tells_all()
            || pooled.current.look.mentions(Mention::StoredFunction)
        {
            pooled.has_unreported = true;
        }
        if let Some(has_several) = pooled.current.sets_several.filter(|_| !failed) {
            pooled.has_several = has_several;
            if let Some(connection) = &mut pooled.connection {
                connection.has_several = has_several;
            }
        }
        pooled.may_be_in_transaction = failed && !status.contains(StatusFlags::AUTOCOMMIT);
        let is_reset = std::mem::take(&mut pooled.current.is_reset) && !failed;
        if is_reset {
            // What the client has set its trackers to may have hidden a change of the schema, until that is asked for.
            let is_hidden = pooled.pins.iter().any(|pin| pin == Pin::SessionTrack);
            pooled.was_reset();
            pooled.has_unreported |= is_hidden;
            if let Some(connection) = &mut pooled.connection {
                connection.prepared.clear();
                connection.last_insert_id = Some(0);
                connection.actual = Arc::clone(&pooled.wanted);
                pooled.ahead.clear();
                let capabilities = connection.capabilities;
                setup::put_trackers(&mut pooled.ahead, capabilities, connection.key.part);
                put_packet(&mut pooled.ahead, CommandByte::QUERY, b"SELECT DATABASE()");
                pooled.exchange = connection.exchange(&pooled.ahead).ok();
                pooled.after = After::Trackers;
            }
        }
        if is_statement(command) {
            pooled.may_have_changed |= pooled.current.look.may_change();
            if pooled.reads.is_some() {
                pooled.note_untold_change(code.filter(|_| failed));
            }
            // Where reads go elsewhere it also matters which transaction was the last, as of a function that has failed behind one.
            pooled.has_unreported |= failed && (!is_harmless || pooled.reads.is_some());
            pooled.note_insert_id(outcome, failed, is_harmless);
        }
        pooled.note_last_result(command, failed || has_warned, failed);
        let releases = is_statement(command) && pooled.current.look.mentions(Mention::Release);
        if releases && !failed {
            // Its server ends the connection, and with it the session.
            self.is_quitting = true;
            return Ok(());
        }
        // A server that is to be left is not kept for longer by each statement.
        let is_leaving = pooled.current.was_held && !pooled.is_served();
        // Where reads go elsewhere they are no reason to stay.
        if !is_leaving && (pooled.reads.is_none() || !pooled.current.look.only_reads()) {
            pooled.rest_from(context.now);
        }
        // Warnings and errors can be asked for, also behind a statement that has none.
        if pooled.last.has_diagnostics && !is_reset {
            pooled.hold_until = Some(match is_leaving {
                true => pooled.rest_until,
                false => context.now + pooled.pool.config().warning_hold,
            });
            context.connections.hold(context.index);
        }
        if pooled.exchange.is_some() {
            return self.send_ahead(context);
        }
        self.settle(context)
    }

    /// Sees to the connection after a command, or when a hold is over: what is not known of it is asked for, then it goes back.
    pub(super) fn settle(&mut self, context: &mut Context<'_>) -> Result<(), End> {
        if self.settle_cancel(context)? {
            return Ok(());
        }
        let status = self.relay.status();
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(());
        };
        if pooled.is_held(context.now) {
            context.connections.hold(context.index);
        }
        // A session leaves a server that is to be left as soon as it can.
        let stays = pooled.mode.keeps_connection() && pooled.is_served();
        if pooled.is_kept(status, context.now) || stays {
            return Ok(());
        }
        if !pooled.has_collation {
            pooled.settle_results();
        }
        if pooled.has_question() {
            // What SET NAMES has set is asked for at once: a change behind it would hide it.
            if pooled.has_results.is_none() && pooled.rest(context.now) {
                context.connections.hold(context.index);
                return Ok(());
            }
            pooled.ask();
            return self.send_ahead(context);
        }
        // Not asked again: another worker may just have served those that waited.
        if self.relay.is_idle() {
            self.detach(false, context);
        }
        Ok(())
    }

    /// The state of the session could not be brought about: its command must not be run in another.
    pub(super) fn replay_failed(&mut self, error: Vec<u8>, after: After) -> End {
        let Ok(error) = ErrPacket::decode(&error) else {
            return Failure::replay("an unknown error").into();
        };
        let text = String::from_utf8_lossy(error.message);
        match after {
            // Nothing of the command has been sent: its client hears what the server says.
            After::Command => {
                Failure::refused_by_backend(error.code, error.sql_state, &text).into()
            }
            _ => Failure::replay(&text).into(),
        }
    }

    pub(super) fn backend_closed(&mut self) -> End {
        if self.is_quitting {
            return End::Clean;
        }
        if self.has_said_goodbye {
            let reason = self.relay.last_error().and_then(Reason::behind_error);
            return End::Told(reason.unwrap_or(Reason::Refused));
        }
        self.backend_lost(CLOSED)
    }

    pub(super) fn backend_lost(&mut self, why: &str) -> End {
        let name = self.backend_name();
        if self.relay.is_idle() {
            if self.up.is_empty() {
                return Failure::backend_gone(name, why).into();
            }
            let may_have_ended = match &self.phase {
                Phase::Pooled(pooled) => pooled.may_have_ended || pooled.exchange.is_some(),
                _ => false,
            };
            let fate = match self.relay.in_transaction() {
                true => fate_of_transaction(may_have_ended),
                false => "",
            };
            return Failure::backend_lost(name, &format!("between commands{fate}"), why).into();
        }
        let when = match self.relay.reply_begun() {
            false => "before replying to a command",
            true => "in the middle of its reply",
        };
        Failure::backend_lost(name, &format!("{when}{}", self.fate()), why).into()
    }

    pub(super) fn fault_of_backend(&self, error: RelayError) -> Failure {
        match error {
            RelayError::OutOfMemory { .. } => Failure::out_of_memory(),
            error => Failure::backend_broken(self.backend_name(), &error),
        }
    }
}

impl Pooled {
    /// A statement may have made an insert id, which is not known here.
    fn note_insert_id(&mut self, outcome: Outcome, failed: bool, is_harmless: bool) {
        let look = self.current.look;
        let changes = look.has(Kind::Change) || look.has(Kind::Load);
        // Of several statements the last one's reply is known, and an end of rows has no insert id.
        let is_hidden = look.mentions(Mention::HiddenInsertId)
            || look.has(Kind::Load)
            || changes && look.is_several;
        let may_be = match failed {
            true => changes && !is_harmless,
            false => outcome.last_insert_id != 0 || look.has(Kind::Call),
        };
        // What is behind the part that was looked at may be any statement.
        let may_be = may_be || look.is_partial;
        if !may_be && !is_hidden && !look.mentions(Mention::SetsLastInsertId) {
            return;
        }
        self.forget_insert_id();
    }

    /// What `LAST_INSERT_ID()` is on the connection is not known any more.
    pub(super) fn forget_insert_id(&mut self) {
        if let Some(connection) = &mut self.connection {
            if !self.has_insert_id {
                self.is_own_insert_id = connection.last_insert_id == Some(self.last_insert_id);
            }
            connection.last_insert_id = None;
        }
        self.has_insert_id = true;
    }

    /// A transaction is over. Servers do not always say that what was chosen for it is used up, and MariaDB says so where it is not: a
    /// transaction that `SET autocommit = 1` ends leaves it to the statements behind it, until another transaction is over.
    pub(super) fn end_characteristics(&mut self, status: StatusFlags) {
        let is_by_autocommit =
            !self.current.had_autocommit && status.contains(StatusFlags::AUTOCOMMIT);
        if is_by_autocommit && self.has_characteristics {
            return self.pin(Pin::TransactionCharacteristics);
        }
        self.has_characteristics = false;
        self.unpin(Pin::TransactionCharacteristics);
    }

    /// The session is as after its login; the schema stays.
    pub(super) fn was_reset(&mut self) {
        let schema = self.wanted.schema().map(Box::from);
        let after_reset = self.key.after_reset.get().unwrap_or(&self.initial);
        self.wanted = Arc::new(after_reset.with_schema(schema));
        self.statements.clear();
        self.held.clear();
        self.last_insert_id = 0;
        self.has_insert_id = false;
        self.is_own_insert_id = false;
        self.told = Told::default();
        self.last = LastResult::default();
        (self.has_collation, self.has_mode) = (false, false);
        self.has_results = None;
        self.has_switches = false;
        self.hold_until = None;
        self.may_be_in_transaction = false;
        self.has_characteristics = false;
        self.unpin_all();
    }
}

/// Whether a command runs a statement, and does not only prepare it.
pub(super) fn is_statement(command: CommandByte) -> bool {
    matches!(command, CommandByte::QUERY | CommandByte::STMT_EXECUTE)
}
