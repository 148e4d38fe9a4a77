//! What happens to a session whose server is away, or is to be left: its next transaction waits for another one.
//!
//! ```text
//!   no backend serves --> in line, the first one looks every 100 ms, all backends are asked soon
//!                     --> one serves: connections are made as always, in order
//!                     --> failover-timeout: 1429, and the session goes on
//! ```

use std::time::{Duration, Instant};

use super::{Pooled, Stage};
use crate::backend::Part;
use crate::config::Role;
use crate::failure::Failure;
use crate::pooling::look::{Kind, Look};
use crate::session::{Context, End, Phase, Session};

/// How often the first one in line looks for a backend. The others wait for it, so that a server that comes back meets one.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// `ER_OPTION_PREVENTS_STATEMENT` and `ER_READ_ONLY_MODE`: what servers that are read only say of a change.
pub(super) const READ_ONLY: [u16; 2] = [1290, 1836];

/// `ER_UNKNOWN_COM_ERROR`: what a node of Galera says of everything while it is no part of its cluster.
const NOT_READY: u16 = 1047;

/// Whether a server that says so may have got another part.
pub(super) fn may_be_left(code: u16) -> bool {
    READ_ONLY.contains(&code) || code == NOT_READY
}

/// Statements that end no transaction.
const HARMLESS: [Kind; 4] = [Kind::Select, Kind::Change, Kind::Savepoint, Kind::Show];

impl Session {
    /// No backend is there for the command that is next: it waits for one, or has waited for as long as it may.
    pub(super) fn wait_for_backend(&mut self, context: &mut Context<'_>) {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return;
        };
        let now = context.now;
        pooled.without_backend.get_or_insert(now);
        if pooled.failover_is_over(now) {
            return self.refuse_without_backend(now);
        }
        self.listener.backends.hurry();
        let Phase::Pooled(pooled) = &mut self.phase else {
            return;
        };
        // Each of them may be back at the next look.
        pooled.tried.clear();
        let when = now + pooled.pool.jitter().shortened(LOOK_AGAIN, 4);
        context.connections.wake_at(when, &pooled.pool);
        self.wait_for_connection(context);
    }

    /// Looks whether the session is to leave its server, or has waited for one as long as it may; `true` where there is nothing else to
    /// look at.
    pub(super) fn tick_failover(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        if self.is_left_behind() && !self.lose_connection(context) {
            return Err(self.left_behind());
        }
        if self.relay.is_idle() {
            self.check_cluster()?;
        }
        if let Some(why) = self.connects_in_vain() {
            self.connect_failed(why, context)?;
            return Ok(true);
        }
        let is_idle = self.relay.is_idle() && self.up.is_empty();
        let Phase::Pooled(pooled) = &self.phase else {
            return Ok(true);
        };
        if pooled.waits_for_backend() {
            if pooled.failover_is_over(context.now) {
                self.refuse_without_backend(context.now);
            }
            return Ok(true);
        }
        let is_attached = matches!(pooled.stage, Stage::Attached);
        let keeps = pooled.mode.keeps_connection() && is_attached && is_idle;
        if keeps && !pooled.is_served() {
            self.settle(context)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Why nobody waits for a connection that is being made, where another server serves.
    fn connects_in_vain(&self) -> Option<&'static str> {
        let Phase::Pooled(pooled) = &self.phase else {
            return None;
        };
        let Stage::Connecting(connecting) = &pooled.stage else {
            return None;
        };
        let backend = connecting.place.backend();
        let why = match backend.is_up() {
            false => "its health checks fail",
            true if backend.is_removed() => "a reload has removed it",
            true => return None,
        };
        let serves = self.listener.backends.serve_part(pooled.key.part);
        serves.then_some(why)
    }

    /// Whether the primary that a command is under way on, or the replica of a read, is down, and another one serves: it will not be
    /// answered any more. A server without a role may only be slow, and is waited for.
    fn is_left_behind(&self) -> bool {
        let Phase::Pooled(pooled) = &self.phase else {
            return false;
        };
        let Some(connection) = &pooled.connection else {
            return false;
        };
        let backend = connection.place.backend();
        let part = connection.key.part;
        let backends = &self.listener.backends;
        let serves_another = match part {
            Part::Reads | Part::ReadsOf(_) => {
                backends.serve_part(part) || backends.serve_part(Part::Writes)
            }
            _ => backend.config.role == Role::Primary && backends.serve_part(part),
        };
        let is_busy = !self.relay.is_idle() || pooled.exchange.is_some();
        !backend.is_up() && is_busy && serves_another
    }

    /// What is known of the work of a command that was sent and will not be answered any more.
    pub(super) fn fate(&self) -> &'static str {
        let Phase::Pooled(pooled) = &self.phase else {
            return "";
        };
        let look = pooled.current.look;
        let may_have_ended = may_end_transaction(look) || pooled.may_have_ended;
        fate(look, self.relay.in_transaction(), may_have_ended)
    }

    /// The end of a session whose command was under way on a server that another one has taken over from.
    fn left_behind(&mut self) -> End {
        let name = self.backend_name();
        let when = format!("before replying to a command{}", self.fate());
        let why = "its health checks fail, and another backend serves";
        Failure::backend_lost(name, &when, why).into()
    }

    /// The end of a session whose transaction, or what it is pinned for, is on a server that has left its cluster and refuses all
    /// statements, so that it could not even be rolled back.
    pub(super) fn check_cluster(&mut self) -> Result<(), End> {
        let status = self.relay.status();
        let Phase::Pooled(pooled) = &self.phase else {
            return Ok(());
        };
        let connection = pooled.connection.as_ref();
        let is_out = connection.is_some_and(|connection| connection.place.backend().is_out());
        if !is_out || !pooled.has_state(status) {
            return Ok(());
        }
        let when = match self.relay.in_transaction() {
            true => "in a transaction, which was not committed",
            false => "between two commands",
        };
        let why = "it is no part of its cluster any more";
        Err(Failure::backend_lost(self.backend_name(), when, why).into())
    }
}

impl Pooled {
    /// Its connection's server may be no primary any more, as this error of its says.
    #[cold]
    pub(super) fn doubt_server(&self, code: u16) {
        if let Some(connection) = &self.connection {
            let backend = connection.place.backend();
            if code == NOT_READY {
                backend.leave_cluster();
            }
            backend.health().hurry();
        }
    }

    /// Whether its connection's server is one that it may stay on.
    pub(super) fn is_served(&self) -> bool {
        let connection = self.connection.as_ref();
        connection.is_none_or(|connection| connection.is_served())
    }

    /// Whether its connection's server is to be left and is as good as before.
    pub(super) fn is_drained(&self) -> bool {
        let connection = self.connection.as_ref();
        connection.is_some_and(|connection| connection.place.backend().is_only_drained())
    }

    /// Whether the command that is next has waited for a backend for as long as it may.
    pub(super) fn failover_is_over(&self, now: Instant) -> bool {
        let patience = self.pool.config().failover_timeout;
        self.without_backend
            .is_some_and(|since| now.saturating_duration_since(since) >= patience)
    }

    /// Whether it waits for a backend, and not only for a connection.
    pub(super) fn waits_for_backend(&self) -> bool {
        matches!(self.stage, Stage::Waiting(_)) && self.without_backend.is_some()
    }
}

/// Whether a statement may end a transaction, as far as its text tells.
pub(super) fn may_end_transaction(look: Look) -> bool {
    look.is_partial || !HARMLESS.iter().any(|&kind| look.is_only(kind))
}

/// What is known of a transaction whose server is lost.
pub(super) fn fate_of_transaction(may_have_ended: bool) -> &'static str {
    match may_have_ended {
        false => " (its transaction was not committed)",
        true => " (whether its transaction was committed is not known)",
    }
}

fn fate(look: Look, in_transaction: bool, may_have_ended: bool) -> &'static str {
    match in_transaction {
        true => fate_of_transaction(may_have_ended),
        false if look.is_only(Kind::Select) || look.is_only(Kind::Show) => "",
        false => " (whether it was executed is not known)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pooling::look::{Reading, look};

    #[test]
    fn a_client_is_told_what_is_known_of_its_work() {
        for (sql, in_transaction, expected) in [
            ("INSERT INTO t VALUES (1)", true, "was not committed"),
            ("SELECT 1", true, "was not committed"),
            ("COMMIT", true, "committed is not known"),
            ("SET autocommit = 1", true, "committed is not known"),
            ("CREATE TABLE t (a INT)", true, "committed is not known"),
            ("UPDATE t SET a = 1; COMMIT", true, "committed is not known"),
            ("CALL p()", true, "committed is not known"),
            ("INSERT INTO t VALUES (1)", false, "executed is not known"),
            ("COMMIT", false, "executed is not known"),
        ] {
            let look = look(sql.as_bytes(), Reading::default());
            let said = fate(look, in_transaction, may_end_transaction(look));
            assert!(said.contains(expected), "{sql}: {said}");
        }
        assert_eq!(
            fate(look(b"SELECT 1", Reading::default()), false, false),
            ""
        );
    }
}
