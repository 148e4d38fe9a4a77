//! What a command of a pooled session is refused for without being sent: the session goes on.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::{CommandByte, ErrPacket};

use super::serve::Begun;
use super::{Pooled, Stage};
use crate::backend::{Backend, Backends};
use crate::failure::Failure;
use crate::pooling::refusals::{Refusal, Refused};
use crate::pooling::statements::ClientStatement;
use crate::session::farewell::packet;
use crate::session::{Context, End, Phase, Session};

/// `ER_USER_LIMIT_REACHED`.
const USER_LIMIT_REACHED: u16 = 1226;

impl Session {
    /// Begins the next command, or answers it where it is refused.
    pub(super) fn begin_or_refuse(&mut self, context: &mut Context<'_>) -> Result<Begun, End> {
        if let Phase::Pooled(pooled) = &mut self.phase
            && let Some(refused) = pooled.refused.take()
        {
            if refused.is_end {
                return self.end_of_transaction(refused);
            }
            // It has waited in vain.
            return self.refuse(*refused, context);
        }
        if let Some(refused) = self.count_statement(context) {
            return self.refuse(refused, context);
        }
        let begun = self.begin_command(context)?;
        let Phase::Pooled(pooled) = &mut self.phase else {
            // It logs in again.
            return Ok(begun);
        };
        if let Begun::Something = begun {
            pooled.comes_to_next();
        }
        let refused = pooled.refused.take();
        match refused {
            None => {
                if let Begun::Waits = begun {
                    self.log_wait(context);
                }
                Ok(begun)
            }
            Some(refused) => self.refuse(*refused, context),
        }
    }

    /// Counts the next command once, where it is a statement; what it is answered with where there are too many.
    fn count_statement(&mut self, context: &mut Context<'_>) -> Option<Refused> {
        let command = self.up.pending().get(HEADER_BYTES).copied()?;
        let Phase::Pooled(pooled) = &mut self.phase else {
            return None;
        };
        let is_statement = matches!(
            CommandByte(command),
            CommandByte::QUERY | CommandByte::STMT_PREPARE | CommandByte::STMT_EXECUTE
        );
        if !is_statement || pooled.is_counted {
            return None;
        }
        match pooled.key.limiter.take(context.now) {
            Ok(()) => {
                pooled.is_counted = true;
                None
            }
            Err(rate) => {
                pooled.pool.note_limited(&pooled.key);
                let user = String::from_utf8_lossy(&pooled.key.user);
                let per_second = rate.per_second;
                Some(Refused {
                    code: USER_LIMIT_REACHED,
                    sql_state: *b"42000",
                    message: format!(
                        "User '{user}' has exceeded the 'statements_per_second' resource (current value: {per_second})"
                    ),
                    is_end: false,
                })
            }
        }
    }

    /// Answers the command that is next with an error. A value that is sent ahead has no reply: the execution that it is for gets the
    /// error. Every other one without a reply ends the session.
    pub(super) fn refuse(
        &mut self,
        refused: Refused,
        context: &mut Context<'_>,
    ) -> Result<Begun, End> {
        let command = self.up.pending().get(HEADER_BYTES).copied();
        let command = command.map(CommandByte);
        if command == Some(CommandByte::STMT_SEND_LONG_DATA)
            && let Some(statement) = self.statement_of_command()
        {
            statement.lost = Some(Box::new(refused));
            return self.skip_command(context);
        }
        if let Some(CommandByte::STMT_SEND_LONG_DATA | CommandByte::STMT_CLOSE) = command {
            let state = Some(refused.sql_state);
            return Err(Failure::refused_by_backend(refused.code, state, &refused.message).into());
        }
        if command == Some(CommandByte::STMT_EXECUTE) {
            if let Some(needs) = self.keep_types() {
                if let Phase::Pooled(pooled) = &mut self.phase {
                    pooled.refused = Some(Box::new(refused));
                }
                return Ok(needs);
            }
            self.note_refused_statement();
            self.drop_long_data();
        }
        self.swallow(context)?;
        if let Phase::Pooled(pooled) = &mut self.phase {
            pooled.comes_to_next();
            pooled.lost.answered();
            pooled.passes_over = true;
            if command == Some(CommandByte::STMT_PREPARE) {
                pooled.statements.note_failed();
            }
            pooled.refused = Some(Box::new(refused));
        }
        self.answer_when_over(context)
    }

    /// Passes over the command that is next, which has no reply.
    pub(super) fn skip_command(&mut self, context: &mut Context<'_>) -> Result<Begun, End> {
        self.swallow(context)?;
        if let Phase::Pooled(pooled) = &mut self.phase {
            pooled.passes_over = true;
        }
        self.answer_when_over(context)
    }

    /// What is known of the command under way is of the one before, as this one was not begun.
    fn note_refused_statement(&mut self) {
        let id = self.up.pending().get(HEADER_BYTES + 1..);
        let id = id.and_then(<[u8]>::first_chunk);
        if let Phase::Pooled(pooled) = &mut self.phase {
            let id = id.map(|id| pooled.statements.resolve(u32::from_le_bytes(*id)));
            pooled.current.statement = id.map(|id| (id, false));
        }
    }

    /// Values that were sent ahead of the execution that is refused are gone for its client, and its cursor is, as with a server whose
    /// execution fails: the connection closes the statement, and prepares it again for the next one.
    fn drop_long_data(&mut self) {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return;
        };
        let Some((id, _)) = pooled.current.statement else {
            return;
        };
        if !pooled.held.has_cursor_of(id) {
            return;
        }
        if let Some(statement) = pooled.statements.get_mut(id)
            && let Some(connection) = &mut pooled.connection
        {
            connection.prepared.close(&statement.text);
        }
        pooled.statement_rests(id);
    }

    /// The prepared statement that the command that is next is about.
    fn statement_of_command(&mut self) -> Option<&mut ClientStatement> {
        let id = self.up.pending().get(HEADER_BYTES + 1..)?.first_chunk()?;
        let id = u32::from_le_bytes(*id);
        match &mut self.phase {
            Phase::Pooled(pooled) => {
                let id = pooled.statements.resolve(id);
                pooled.statements.get_mut(id)
            }
            _ => None,
        }
    }

    /// The rest of a command, a file or an answer; or of a command that is passed over.
    pub(super) fn look_up_or_pass_over(&mut self, context: &mut Context<'_>) -> Result<Begun, End> {
        let begun = self.look_up()?;
        let passes_over = match &self.phase {
            Phase::Pooled(pooled) => pooled.passes_over,
            _ => false,
        };
        if !passes_over || !matches!(begun, Begun::Something) {
            return Ok(begun);
        }
        if let Some(loan) = &mut self.up.loan {
            let _ = loan.buffers.consume(self.up.cleared);
            self.up.cleared = 0;
        }
        self.answer_when_over(context)
    }

    /// Answers a command that was passed over, once all of it was.
    fn answer_when_over(&mut self, context: &mut Context<'_>) -> Result<Begun, End> {
        if !self.relay.client_is_between_payloads() {
            return Ok(Begun::Something);
        }
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Err(End::Clean);
        };
        pooled.passes_over = false;
        let Some(refused) = pooled.refused.take() else {
            return Ok(Begun::Something);
        };
        let mut payload = Vec::new();
        ErrPacket {
            code: refused.code,
            sql_state: Some(refused.sql_state),
            message: refused.message.as_bytes(),
        }
        .encode(&mut payload);
        let sequence = self.relay.error_sequence().unwrap_or(1);
        let reply = packet(sequence, &payload);
        // It sees both, so that it knows how far the conversation is.
        if let Err(error) = self.relay.server(&reply) {
            return Err(self.fault_of_backend(error).into());
        }
        self.count_no_reply(true, context);
        if let Phase::Pooled(pooled) = &mut self.phase {
            // For its client this was the last statement.
            (pooled.last.is_fresh, pooled.last.has_diagnostics) = (false, true);
            pooled.last.is_here = false;
            pooled.words.extend_from_slice(&reply);
        }
        // A connection that was kept for this command is not any more.
        self.settle(context)?;
        Ok(Begun::Something)
    }

    /// All backends refuse logins of this user: its connections that there are will do, or its client hears why.
    pub(super) fn wait_or_refuse(
        &mut self,
        refused: Vec<(Arc<Backend>, Refusal, Instant)>,
        context: &mut Context<'_>,
    ) -> bool {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return false;
        };
        // The one that is tried again first.
        let Some((backend, refusal, until)) = refused.into_iter().min_by_key(|(.., until)| *until)
        else {
            return false;
        };
        pooled.tried.clear();
        if pooled.pool.can_wait(&pooled.key, until) {
            pooled.fails_because(format!("backend '{}': {}", backend.name(), refusal.message));
            return self.wait_for_connection(context);
        }
        let left = until.saturating_duration_since(context.now).as_secs_f64();
        let refused = Refused {
            code: refusal.code,
            sql_state: refusal.sql_state.unwrap_or(*b"HY000"),
            message: format!(
                "{} (backend '{}' has refused the proxy's login, which tries again in {left:.1} s)",
                refusal.message,
                backend.name()
            ),
            is_end: false,
        };
        pooled.pool.counts.refused_commands.fetch_add(1, SeqCst);
        pooled.gets(refused, context.now);
        false
    }

    /// No backend is there for the command that is next.
    pub(super) fn refuse_without_backend(&mut self, now: Instant) {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return;
        };
        let why = match pooled.reason() {
            "" => "no backend is up and eligible by its role",
            reason => reason,
        };
        let failure = Failure::no_backend(why);
        pooled.pool.counts.refused_commands.fetch_add(1, SeqCst);
        pooled.gets(failure.into(), now);
    }

    /// The command that is next has waited for a connection for as long as it may.
    pub(super) fn waited_in_vain(&mut self, now: Instant) {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return;
        };
        let pool = &pooled.pool;
        pool.counts.timeouts.fetch_add(1, SeqCst);
        let failure = Failure::pool_timeout(
            pool.config().wait_timeout,
            pool.connections(),
            pool.waiting(),
            pooled.reason(),
        );
        pooled.gets(failure.into(), now);
    }
}

impl Pooled {
    /// The command that was next is under way, or was answered: nothing is known of the one behind it.
    pub(super) fn comes_to_next(&mut self) {
        (self.is_counted, self.is_ruled) = (false, false);
        self.lost.comes_to_next();
        self.turns_again();
    }

    /// The command that is next is answered with this, and waits for nothing any more.
    fn gets(&mut self, refused: Refused, now: Instant) {
        self.refused = Some(Box::new(refused));
        let ticket = std::mem::replace(&mut self.stage, Stage::Detached);
        if let Stage::Waiting(ticket) = ticket {
            ticket.end(true, now);
        }
        self.waited = None;
        self.without_backend = None;
        self.tried.clear();
        self.reason = None;
    }

    /// The backends that refuse logins of this user at present, what they say, and when they are tried again.
    pub(super) fn refused_by(
        &self,
        backends: &Backends,
        now: Instant,
    ) -> Vec<(Arc<Backend>, Refusal, Instant)> {
        let refusals = &self.pool.refusals;
        if refusals.len() == 0 {
            return Vec::new();
        }
        let user = Some(&*self.key.user);
        let backends = backends.all().iter();
        backends
            .filter_map(|backend| {
                let (refusal, until) = refusals.find(user, backend, now)?;
                Some((Arc::clone(backend), refusal, until))
            })
            .collect()
    }
}
