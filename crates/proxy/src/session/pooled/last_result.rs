//! What the last statement has left on its connection beside its rows: counts, warnings and errors.
//!
//! A statement that asks for it runs where that statement ran, with nothing between the two: neither another client's statement nor
//! one of the proxy's own. Where that is not possible it fails, and the session keeps its connection from then on.

use std::sync::Arc;

use onecopy_mysql_proto::packet::CommandByte;

use super::Pooled;
use super::reply::is_statement;
use super::serve::Begun;
use crate::backend::Part;
use crate::pooling::look::{Kind, Look, Mention};
use crate::pooling::pin::Pin;
use crate::pooling::statements::Text;
use crate::session::{Context, End, Phase, Session};

/// `ER_UNKNOWN_ERROR`.
const UNKNOWN_ERROR: u16 = 1105;

/// Leaves no warnings, no error and no rows: servers clear what was before at a statement with a table.
pub(super) const CLEAR: &[u8] = b"SELECT 1 FROM (SELECT 1) AS onecopy LIMIT 0";

/// What is known of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastResult {
    /// No statement has run since the login or the last reset.
    pub(super) is_fresh: bool,
    /// It is on the session's connection, or on the one that the session had last.
    pub(super) is_here: bool,
    /// There may be warnings or an error to ask for.
    pub(super) has_diagnostics: bool,
    /// Warnings and the error on the connection are the session's own. They may be older than the last statement.
    pub(super) has_own_diagnostics: bool,
    /// So is what `FOUND_ROWS()` gives.
    pub(super) has_own_found_rows: bool,
    /// What others have left is to be cleared before the next command.
    pub(super) is_to_clear: bool,
    /// The part of the servers that the last statement ran on.
    pub(super) part: Part,
}

impl Default for LastResult {
    fn default() -> Self {
        Self {
            is_fresh: true,
            is_here: false,
            has_diagnostics: false,
            has_own_diagnostics: false,
            has_own_found_rows: false,
            is_to_clear: false,
            part: Part::All,
        }
    }
}

impl LastResult {
    /// The session comes to a connection that another one has used.
    pub(super) fn moves(&mut self, has_diagnostics_of_others: bool) {
        (self.is_here, self.has_own_found_rows) = (false, false);
        self.has_own_diagnostics = !has_diagnostics_of_others && !self.has_diagnostics;
    }

    /// Nothing is left of the statement before.
    pub(super) fn forget(&mut self) {
        (self.is_here, self.has_diagnostics) = (false, false);
        (self.has_own_diagnostics, self.has_own_found_rows) = (false, false);
    }

    /// Whether the connection has what a statement asks for.
    fn answers(self, look: Look) -> bool {
        (self.has_own_diagnostics || !look.mentions(Mention::Warnings))
            && (self.has_own_found_rows || !look.mentions(Mention::FoundRows))
    }
}

impl Session {
    /// Finds the connection with what a statement asks for; `Some` where there is none and the client was told.
    pub(super) fn find_last_result(
        &mut self,
        look: Look,
        context: &mut Context<'_>,
    ) -> Result<Option<Begun>, End> {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Err(End::Clean);
        };
        let is_here = pooled.last.is_here
            && (pooled.connection.is_some() || self.take_last_connection(context));
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Err(End::Clean);
        };
        if is_here && pooled.last.answers(look) {
            return Ok(None);
        }
        pooled.last.is_here = false;
        let is_nothing = !look.refers_to_counts() && !pooled.last.has_diagnostics;
        if pooled.last.is_fresh || is_nothing {
            pooled.last.is_to_clear = true;
            return Ok(None);
        }
        // From now on the connection is kept for the next command.
        pooled.pin(Pin::RowCount);
        self.answer_error(
            UNKNOWN_ERROR,
            *b"HY000",
            "ROW_COUNT(), FOUND_ROWS() and diagnostics of the statement before are gone: its server connection was \
             given to another client. This session keeps its connection from now on",
            context,
        )
        .map(Some)
    }

    /// Takes the connection that the session had last; `false` where it is not there any more.
    fn take_last_connection(&mut self, context: &mut Context<'_>) -> bool {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return false;
        };
        pooled.turn(pooled.last.part);
        let (key, number) = (Arc::clone(&pooled.key), pooled.number);
        let Some(last) = context.connections.take_last(&key, number, context.index) else {
            return false;
        };
        match self.attached(last, context) {
            None => true,
            Some(useless) => {
                context.connections.close(useless);
                false
            }
        }
    }
}

impl Pooled {
    /// What a command has left, whose reply is over. `has_some`: an error or a warning, of any of its statements.
    pub(super) fn note_last_result(&mut self, command: CommandByte, has_some: bool, failed: bool) {
        let look = self.current.look;
        let runs = is_statement(command);
        // Servers clear what was before at a statement with a table. Other statements leave it.
        let changes = look.has(Kind::Change) || look.has(Kind::Load);
        let has_table = changes || look.mentions(Mention::Table) && !look.is_several;
        if has_some {
            // Of any command, also of one that is no statement.
            (self.last.is_fresh, self.last.is_here) = (false, true);
        }
        if has_some || runs && has_table {
            self.last.has_diagnostics = has_some;
            let is_known = self.current.statement.is_some();
            let is_added = is_added_to_diagnostics(command, is_known)
                && self.connection.as_ref().is_some_and(|one| one.is_mysql());
            self.last.has_own_diagnostics |= !is_added;
            if let Some(connection) = &mut self.connection {
                connection.has_diagnostics = has_some;
            }
        }
        if runs && look.has(Kind::Select) {
            self.last.has_own_found_rows = !failed;
        }
    }

    /// Whether something of the proxy's own has to run on the connection before a statement.
    pub(super) fn is_to_be_prepared(&self, look: Look, text: Option<&Arc<Text>>) -> bool {
        let Some(connection) = &self.connection else {
            return true;
        };
        let is_other_id = match self.has_insert_id {
            true => !self.is_own_insert_id,
            false => connection.last_insert_id != Some(self.last_insert_id),
        };
        self.is_to_be_changed(text)
            || connection.has_several != self.has_several
            || look.needs_insert_id() && is_other_id
    }

    /// Whether something of the proxy's own runs on the connection before a command. A change that the server has not reported yet would
    /// be reported with it.
    pub(super) fn has_something_ahead(
        &self,
        command: CommandByte,
        look: Look,
        text: Option<&Arc<Text>>,
    ) -> bool {
        // The insert id is not set in front of a statement that refers to the last one.
        let keeps = !self.pins.is_empty() && !look.refers_to_last_result();
        let has_other_id = self.connection.as_ref().is_some_and(|connection| {
            connection.last_insert_id != Some(self.last_insert_id) && !self.has_insert_id
        });
        // What it means has to be known where it is prepared again.
        let is_new = command == CommandByte::STMT_PREPARE;
        let knows_meaning = !self.has_collation && !self.has_mode && !self.has_unreported;
        is_new && !knows_meaning && !look.refers_to_last_result()
            || self.is_to_be_prepared(look, text)
            || self.last.is_to_clear
            || is_added_to_diagnostics(command, text.is_some()) && !self.last.has_diagnostics
            || keeps && has_other_id
    }

    /// Whether the state of the connection is to be another one for a statement, if only to prepare it.
    pub(super) fn is_to_be_changed(&self, text: Option<&Arc<Text>>) -> bool {
        let Some(connection) = &self.connection else {
            return true;
        };
        connection.actual != self.wanted || text.is_some_and(|text| !connection.prepared.has(text))
    }
}

/// Whether an error of the command stands beside what was noted before, on MySQL: of one that is no statement. `is_known`: whether it
/// is of a prepared statement that there is.
pub(super) fn is_added_to_diagnostics(command: CommandByte, is_known: bool) -> bool {
    match command {
        CommandByte::QUERY | CommandByte::STMT_PREPARE => false,
        CommandByte::STMT_EXECUTE => !is_known,
        _ => true,
    }
}
