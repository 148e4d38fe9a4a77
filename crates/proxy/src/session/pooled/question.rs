//! What is not known of a connection that a session has used, and how it is asked for.

use std::sync::Arc;

use onecopy_mysql_proto::packet::CommandByte;

use super::{After, IN_TRANSACTION, Pooled};
use crate::pooling::exchange::{Exchange, put_packet};
use crate::pooling::pin::Pin;
use crate::pooling::state;
use crate::session::Session;

/// Has the server report what a statement that failed has changed: it comes with the next change that is reported, and with nothing
/// else. This one changes nothing.
const REPORT: &[u8] = b"SET net_retry_count = @@net_retry_count";

impl Session {
    /// Whether the connection is in a transaction, as the last reply to the proxy's own commands says.
    pub(super) fn note_transaction(&mut self, exchange: &Exchange) {
        let known = self.relay.status().difference(IN_TRANSACTION);
        let now = exchange.status().intersection(IN_TRANSACTION);
        self.relay.set_status(known | now);
    }
}

impl Pooled {
    /// Whether something is to be asked before another session may have the connection.
    pub(super) fn has_question(&self) -> bool {
        let connection = self.connection.as_ref();
        self.has_unknown_state()
            || self.has_insert_id
            || connection.is_some_and(|connection| connection.last_insert_id != Some(0))
    }

    /// Whether the state of the connection is not known: nothing can be changed in it before.
    pub(super) fn has_unknown_state(&self) -> bool {
        self.may_be_in_transaction
            || self.has_unreported
            || self.has_collation
            || self.has_mode
            || self.has_switches
            || self.has_hidden_change()
    }

    /// Puts the first question in front of all else.
    pub(super) fn ask(&mut self) {
        let Some(connection) = &self.connection else {
            return;
        };
        let mut switches = Vec::new();
        let (questions, after): (&[&[u8]], After) = if self.may_be_in_transaction {
            (&[REPORT], After::Status)
        } else if self.has_unreported {
            (&[REPORT, b"SELECT DATABASE()"], After::Schema)
        } else if self.has_mode {
            (&[b"SELECT @@sql_mode"], After::Mode)
        } else if self.has_collation {
            (&[b"SELECT @@collation_connection"], After::Collation)
        } else if self.has_switches {
            state::put_switches(&mut switches, &connection.baseline);
            (&[&switches], After::Switches)
        } else if self.has_hidden_change() {
            (&[b"SELECT @@last_gtid"], After::OwnChange)
        } else if self.has_insert_id {
            (&[b"SELECT LAST_INSERT_ID()"], After::InsertId)
        } else {
            (&[b"SET last_insert_id = 0"], After::Forgotten)
        };
        for sql in questions {
            put_packet(&mut self.ahead, CommandByte::QUERY, sql);
        }
        let Some(connection) = &mut self.connection else {
            return;
        };
        self.exchange = connection.exchange(&self.ahead).ok();
        self.after = after;
        self.last.is_here = false;
    }

    /// The server's answer about a variable that says what statements mean.
    pub(super) fn found_meaning(&mut self, after: &After, value: Option<&[u8]>) {
        let (name, is_unknown) = match after {
            After::Mode => (&b"sql_mode"[..], &mut self.has_mode),
            _ => (&b"collation_connection"[..], &mut self.has_collation),
        };
        *is_unknown = false;
        let Some(connection) = &mut self.connection else {
            return;
        };
        let Some(value) = value else {
            // As where no row is wanted.
            return self.pin(Pin::Variable);
        };
        let changed = self.wanted.with_variable(&connection.baseline, name, value);
        if let Ok(Some(state)) = &changed {
            self.wanted = Arc::new(state.clone());
        }
        connection.actual = Arc::clone(&self.wanted);
        if let Err(pin) = changed {
            self.pin(pin);
        }
        if !self.has_collation {
            self.settle_results();
        }
    }
}
