//! The statements of a session, as the logs of statements have them.
//!
//! A statement's text is gone when its reply comes. So where statements are logged a copy of it is kept meanwhile, in memory that a
//! worker's sessions share.

mod of_session;
mod trace;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use onecopy_mysql_proto::StatusFlags;
use onecopy_mysql_proto::packet::CommandByte;

use super::counted::{HEAD, Packet, Start, looked_at, text};
use super::{Context, Phase, Session};
use crate::digests::Outcome;
use crate::pooling::statements::Text as Prepared;
use crate::statement_log::{Statement, StatementLogs, TEXT_BYTES, To, TraceContext, Who};
use crate::stats::Taken;

/// Commands that a client sends ahead; of those behind nothing is logged.
const MOST_AHEAD: usize = 1_024;

/// Bytes of texts of commands that were sent ahead, and of a session's prepared statements. Others have no text in a log.
const TEXTS_BYTES: usize = 256 << 10;

/// What a server is in traces, unless it is known to be MariaDB: the protocol's name.
const MYSQL: &str = "mysql";

/// What `COM_STMT_EXECUTE` has for the statement that was prepared last: MariaDB.
const LAST_PREPARED: u32 = u32::MAX;

/// A statement's text, or so much of it as is kept.
#[derive(Debug, Default)]
enum Text {
    #[default]
    None,
    Own(Vec<u8>),
    Shared(Arc<[u8]>),
    /// Of a pooled session.
    Prepared(Arc<Prepared>),
}

/// A command whose reply is outstanding.
#[derive(Debug)]
struct Asked {
    command: CommandByte,
    text: Text,
    is_whole: bool,
    has_no_escapes: bool,
    bytes: usize,
    /// Before it was sent.
    waited: Duration,
    /// Its client's span.
    trace: Option<TraceContext>,
}

impl Asked {
    fn is_statement(&self) -> bool {
        matches!(
            self.command,
            CommandByte::QUERY | CommandByte::STMT_EXECUTE | CommandByte::STMT_BULK_EXECUTE
        )
    }
}

/// What is kept of a session for the logs.
#[derive(Debug, Default)]
pub(super) struct Logged {
    /// In the order of their replies.
    asked: VecDeque<Asked>,
    /// How many commands were sent behind these, of which nothing is kept.
    more: usize,
    /// Since when the command that is next waits.
    waits_since: Option<Instant>,
    /// Of a session with a server connection of its own, as far as it is known.
    database: Option<Box<[u8]>>,
    /// Its prepared statements, by the server's number, ascending; and the last one.
    prepared: Vec<(u32, Arc<[u8]>)>,
    last_prepared: Option<Arc<[u8]>>,
    /// Bytes of all texts here.
    bytes: usize,
    who: Option<Arc<Who>>,
}

impl Logged {
    /// Bytes of allocated memory.
    pub(super) fn memory(&self) -> usize {
        size_of::<Self>()
            + self.asked.capacity() * size_of::<Asked>()
            + self.prepared.capacity() * size_of::<(u32, Arc<[u8]>)>()
            + self.bytes
    }

    /// A command was sent while so many others before it have no reply.
    fn push(&mut self, asked: Asked, before: usize, logs: &StatementLogs) {
        if self.asked.len() >= MOST_AHEAD || self.more > 0 {
            self.more += 1;
            self.bytes -= asked.text.own_bytes();
            if asked.is_statement() {
                logs.note_dropped();
            }
            return;
        }
        // Nothing was logged when these were sent.
        while self.asked.len() < before.min(MOST_AHEAD) {
            self.asked.push_front(Asked {
                command: CommandByte::PING,
                text: Text::None,
                is_whole: true,
                has_no_escapes: false,
                bytes: 0,
                waited: Duration::ZERO,
                trace: None,
            });
        }
        self.asked.push_back(asked);
    }

    /// The command whose reply is over.
    fn next(&mut self) -> Option<Asked> {
        match self.asked.pop_front() {
            Some(asked) => {
                self.bytes -= asked.text.own_bytes();
                Some(asked)
            }
            None => {
                self.more = self.more.saturating_sub(1);
                None
            }
        }
    }

    /// A copy of a text, where there is room for it.
    fn keep(&mut self, sql: &[u8], logs: &mut StatementLogs) -> Text {
        if self.bytes + sql.len() > TEXTS_BYTES {
            return Text::None;
        }
        self.bytes += sql.len();
        let mut buffer = logs.buffer();
        buffer.extend_from_slice(sql);
        Text::Own(buffer)
    }

    /// The text of the command that was sent last is there.
    pub(super) fn add_text(&mut self, text: Option<(&[u8], bool)>, context: &mut Context<'_>) {
        let Some((sql, is_whole)) = text else { return };
        if self.more > 0 {
            return;
        }
        let logs = &mut context.digests.logs;
        let text = self.keep(sql, logs);
        if let Some(last) = self.asked.back_mut() {
            (last.text, last.is_whole) = (text, is_whole);
            if logs.has_traces() && last.trace.is_none() {
                last.trace = TraceContext::of_comment(sql);
            }
        }
    }

    fn prepared(&self, id: u32) -> Text {
        let found = match id {
            LAST_PREPARED => self.last_prepared.as_ref(),
            id => {
                let place = self.prepared.binary_search_by_key(&id, |(id, _)| *id);
                let place = place.ok().and_then(|place| self.prepared.get(place));
                place.map(|(_, text)| text)
            }
        };
        found.map_or(Text::None, |text| Text::Shared(Arc::clone(text)))
    }

    fn insert_prepared(&mut self, id: u32, sql: &[u8]) {
        self.close_prepared(id);
        self.last_prepared = None;
        if self.bytes + sql.len() > TEXTS_BYTES {
            return;
        }
        self.bytes += sql.len();
        let text: Arc<[u8]> = sql.into();
        self.last_prepared = Some(Arc::clone(&text));
        let place = self.prepared.binary_search_by_key(&id, |(id, _)| *id);
        if let Err(place) = place {
            self.prepared.insert(place, (id, text));
        }
    }

    fn close_prepared(&mut self, id: u32) {
        let place = self.prepared.binary_search_by_key(&id, |(id, _)| *id);
        if let Ok(place) = place {
            let (_, text) = self.prepared.remove(place);
            self.bytes -= text.len();
        }
    }

    fn forget_prepared(&mut self) {
        for (_, text) in std::mem::take(&mut self.prepared) {
            self.bytes -= text.len();
        }
        self.last_prepared = None;
    }
}

impl Text {
    fn own_bytes(&self) -> usize {
        match self {
            Self::Own(text) => text.len(),
            _ => 0,
        }
    }

    /// Where it is kept for this command alone.
    fn own(&self) -> Option<&[u8]> {
        match self {
            Self::Own(text) => Some(text),
            _ => None,
        }
    }

    /// What a line has of it.
    fn into_line(self) -> (Option<Vec<u8>>, bool) {
        match self {
            Self::None => (None, true),
            Self::Own(text) => (Some(text), true),
            Self::Shared(text) => (Some(text.to_vec()), text.len() < TEXT_BYTES),
            Self::Prepared(text) => {
                let (start, is_whole) = looked_at(&text.sql, true);
                (Some(start.to_vec()), is_whole)
            }
        }
    }
}

impl Session {
    /// The client has begun a command, and statements are logged.
    #[inline(never)]
    pub(super) fn log_command(
        &mut self,
        command: CommandByte,
        packet: Packet,
        context: &mut Context<'_>,
    ) {
        let bytes = self.up.pending().get(packet.at..packet.end);
        let bytes = bytes.unwrap_or_default();
        let id = bytes.get(HEAD..).and_then(<[u8]>::first_chunk);
        let id = id.map(|id| u32::from_le_bytes(*id));
        let logged = self.counted.log();
        if !self.relay.last_has_reply() {
            if let (CommandByte::STMT_CLOSE, Some(id)) = (command, id) {
                logged.close_prepared(id);
            }
            return;
        }
        let waits_since = logged.waits_since.take();
        let waited = waits_since.map(|since| context.now.saturating_duration_since(since));
        let is_short = packet.until_end > 0 && bytes.len() < HEAD + TEXT_BYTES;
        let (mut text_, mut is_whole) = (Text::None, true);
        let trace = match context.digests.logs.has_traces() {
            true => trace::of_command(command, bytes, self.relay.capabilities()),
            false => None,
        };
        match command {
            CommandByte::QUERY | CommandByte::STMT_PREPARE if is_short => {
                self.counted.start = Some(Box::new(Start(bytes.to_vec())));
            }
            CommandByte::QUERY | CommandByte::STMT_PREPARE | CommandByte::INIT_DB => {
                let sql = text(bytes, self.relay.capabilities());
                let sql = sql.map(|sql| looked_at(sql, packet.until_end == 0));
                // A pooled session has the texts of its prepared statements, and knows its schema.
                let is_meant = command == CommandByte::QUERY || self.phase_is_transit();
                if let Some((sql, whole)) = sql.filter(|_| is_meant) {
                    is_whole = whole;
                    let logged = self.counted.log();
                    text_ = logged.keep(sql, &mut context.digests.logs);
                }
            }
            CommandByte::STMT_EXECUTE | CommandByte::STMT_BULK_EXECUTE => {
                text_ = match &mut self.phase {
                    Phase::Pooled(pooled) => {
                        let text = pooled.text_of_current();
                        text.map_or(Text::None, Text::Prepared)
                    }
                    _ => id.map_or(Text::None, |id| self.counted.log().prepared(id)),
                };
            }
            _ => {}
        }
        let asked = Asked {
            command,
            text: text_,
            is_whole,
            has_no_escapes: self.has_no_escapes(),
            bytes: packet.end - packet.at + packet.until_end,
            waited: waited.unwrap_or_default(),
            trace,
        };
        let before = self.relay.outstanding().saturating_sub(1);
        (self.counted.log()).push(asked, before, &context.digests.logs);
    }

    fn phase_is_transit(&self) -> bool {
        matches!(self.phase, Phase::Transit)
    }

    fn has_no_escapes(&self) -> bool {
        let status = self.relay.status();
        status.contains(StatusFlags::NO_BACKSLASH_ESCAPES)
    }

    /// The command that is next cannot be sent yet.
    #[cold]
    pub(super) fn log_wait(&mut self, context: &Context<'_>) {
        if context.digests.logs.has_statements() {
            let logged = self.counted.log();
            logged.waits_since.get_or_insert(context.now);
        }
    }

    /// The reply to a command is over.
    #[inline(never)]
    pub(super) fn log_reply(&mut self, outcome: &Outcome, context: &mut Context<'_>) {
        let asked = self.counted.logged().and_then(Logged::next);
        let Some(asked) = asked else { return };
        if !outcome.failed && self.phase_is_transit() {
            self.log_effect(&asked);
        }
        self.log_statement(asked, outcome, Statement::default(), context);
    }

    /// The proxy itself has answered the command that came last.
    #[cold]
    pub(super) fn log_answered_here(&mut self, failed: bool, context: &mut Context<'_>) {
        let asked = self.counted.logged().and_then(Logged::next);
        let Some(asked) = asked else { return };
        let outcome = Outcome {
            failed,
            ..self.no_outcome(Duration::ZERO)
        };
        let statement = Statement {
            is_by_proxy: true,
            ..Statement::default()
        };
        self.log_statement(asked, &outcome, statement, context);
    }

    /// The session ends, and nothing more comes.
    #[cold]
    pub(super) fn log_unanswered(&mut self, context: &mut Context<'_>) {
        let mut taken = context.now.saturating_duration_since(self.asked);
        while let Some(asked) = self.counted.logged().and_then(Logged::next) {
            let outcome = self.no_outcome(std::mem::take(&mut taken));
            let statement = Statement {
                is_unanswered: true,
                ..Statement::default()
            };
            self.log_statement(asked, &outcome, statement, context);
        }
    }

    fn no_outcome(&mut self, taken: Duration) -> Outcome {
        Outcome {
            taken: Taken::from(taken),
            tally: self.relay.take_tally(),
            failed: false,
            bytes_from_client: 0,
            bytes_from_backend: 0,
        }
    }

    /// What a command has changed that was answered, of a session with a server connection of its own.
    fn log_effect(&mut self, asked: &Asked) {
        let id = self.relay.last_prepared();
        let Some(logged) = self.counted.logged() else {
            return;
        };
        match (asked.command, asked.text.own()) {
            (CommandByte::STMT_PREPARE, Some(sql)) => {
                if let Some(id) = id {
                    logged.insert_prepared(id, sql);
                }
            }
            (CommandByte::RESET_CONNECTION, _) => logged.forget_prepared(),
            (CommandByte::CHANGE_USER, _) => {
                logged.forget_prepared();
                (logged.database, logged.who) = (None, None);
            }
            (CommandByte::INIT_DB, name) => logged.database = name.map(Box::from),
            (CommandByte::QUERY, Some(sql)) => {
                if let Some(name) = used(sql) {
                    logged.database = Some(name);
                }
            }
            _ => {}
        }
    }

    /// `statement`: what is known of it already.
    fn log_statement(
        &mut self,
        asked: Asked,
        outcome: &Outcome,
        statement: Statement,
        context: &mut Context<'_>,
    ) {
        let logs = &mut context.digests.logs;
        let wait_us = Taken::from(asked.waited).micros;
        let micros = outcome.taken.micros.saturating_add(wait_us);
        let to = match asked.is_statement() {
            true => logs.targets(micros, &self.user, asked.trace.as_ref()),
            false => None,
        };
        let Some(to) = to else {
            if let Text::Own(buffer) = asked.text {
                logs.give_back(buffer);
            }
            return;
        };
        self.send_statement(to, asked, outcome, statement, context);
    }

    fn send_statement(
        &mut self,
        to: To,
        asked: Asked,
        outcome: &Outcome,
        statement: Statement,
        context: &mut Context<'_>,
    ) {
        let has_no_escapes = asked.has_no_escapes || self.has_no_escapes();
        let (text, is_rest_whole) = asked.text.into_line();
        let error = self.relay.error_sent().filter(|_| outcome.failed);
        let (backend_session, pins, system) = match &self.phase {
            Phase::Pooled(pooled) => (pooled.backend_id(), pooled.pin_names(), pooled.system()),
            _ => (0, String::new(), MYSQL),
        };
        let statement = Statement {
            backend: self.backend_name().to_owned(),
            backend_session,
            database: self.logged_database().map(Box::from),
            text,
            is_whole: asked.is_whole && is_rest_whole,
            is_prepared: asked.command != CommandByte::QUERY,
            has_no_escapes,
            wait_us: Taken::from(asked.waited).micros,
            server_us: outcome.taken.micros,
            rows_sent: outcome.tally.rows,
            rows_affected: outcome.tally.affected_rows,
            bytes_received: asked.bytes as u64,
            bytes_sent: outcome.bytes_from_backend,
            warnings: outcome.tally.warnings,
            error: error.map_or(0, |(code, _)| code),
            sql_state: error.and_then(|(_, state)| state),
            in_transaction: self.relay.in_transaction(),
            pins,
            trace: asked.trace,
            system,
            ..statement
        };
        let who = self.logged_who();
        context.digests.logs.send(to, who, Box::new(statement));
    }

    /// The database that the session is in, as far as it is known.
    fn logged_database(&mut self) -> Option<&[u8]> {
        match &self.phase {
            Phase::Pooled(pooled) => pooled.schema(),
            _ => self.counted.logged()?.database.as_deref(),
        }
    }
}

/// The database of a statement `USE name`.
fn used(sql: &[u8]) -> Option<Box<[u8]>> {
    let (word, rest) = sql.trim_ascii().split_first_chunk::<3>()?;
    let name = rest.trim_ascii();
    let name = name.strip_suffix(b";").unwrap_or(name).trim_ascii();
    let is_apart = rest
        .first()
        .is_some_and(|next| *next == b'`' || next.is_ascii_whitespace());
    if !word.eq_ignore_ascii_case(b"use") || !is_apart || name.is_empty() {
        return None;
    }
    let quoted = name
        .strip_prefix(b"`")
        .and_then(|name| name.strip_suffix(b"`"));
    Some(match quoted {
        None => name.into(),
        Some(quoted) => {
            let mut name = Vec::with_capacity(quoted.len());
            let mut bytes = quoted.iter();
            while let Some(byte) = bytes.next() {
                name.push(*byte);
                if *byte == b'`' {
                    // The second one.
                    bytes.next();
                }
            }
            name.into()
        }
    })
}

#[cfg(test)]
mod tests;
