//! Statements that run for longer than `query-timeout`: the server is told to stop them, and their clients hear why. So it is with those
//! that a client interrupts from another server ([`kill`](super::kill)); their clients hear what the server says.
//!
//! ```text
//!   None --time is over--> Asked --answer--> Sent
//!     ^                      |                 |
//!     |<--error 1317 of the first KILL---------|   the KILL has hit
//!     |<----------- reply to DO 0 -------------|   another reply: the KILL may have come too late, and DO 0 takes it
//! ```
//!
//! Between two statements of one command a KILL leaves no error, and the rest of the reply never comes: see
//! [`left_out`](super::left_out).
//!
//! The connection belongs to nobody else afterwards ([`clients`](crate::pooling::clients)). Where the session keeps it, no command of
//! its own is sent before it is known that the KILL can't hit it.

use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use onecopy_mysql_proto::packet::{CommandByte, ErrPacket};

use super::left_out::answer_to_come;
use super::{After, Pooled, Stage};
use crate::config::HealthLogin;
use crate::kill::{For, Job, Login};
use crate::pooling::exchange::put_packet;
use crate::registry::Whose;
use crate::session::{Context, End, Phase, Session, Status};

/// A KILL that comes too early, at the end of one of several statements, or to a server that looks for it seldom, is sent again after this
/// time, then after twice that, and then each second.
const AGAIN: Duration = Duration::from_millis(250);

/// `ER_QUERY_INTERRUPTED`, and `ER_QUERY_TIMEOUT`.
const INTERRUPTED: u16 = 1317;
const INTERRUPTED_MESSAGE: &[u8] = b"Query execution was interrupted";
const TIMED_OUT: u16 = 3024;
const MESSAGE: &[u8] =
    b"Query execution was interrupted, maximum statement execution time exceeded";

/// How far the KILL of the statement under way is, or of the one before.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Cancel {
    #[default]
    None,
    /// It is run, by this number; and how many were before.
    Asked { number: u64, before: u32 },
    /// It was run.
    Sent { count: u32 },
}

/// The limit of a session's statements, and what is done about it.
#[derive(Debug, Default)]
pub(super) struct QueryTimeout {
    limit: Duration,
    /// That of the statement under way, by a rule.
    of_rule: Option<Duration>,
    /// The statement under way was interrupted by another client.
    is_interrupted: bool,
    cancel: Cancel,
    /// When a KILL is sent again.
    again_at: Option<Instant>,
    /// A word was asked for that comes behind the rest of the reply, or in its place ([`left_out`](super::left_out)), and has not come.
    pub(super) is_asking_for_rest: bool,
    /// It has come in place of a result.
    pub(super) is_left_out: bool,
}

impl QueryTimeout {
    /// `None` where statements may take as long as they like. In a box: most sessions have no limit, and idle ones are many.
    pub(super) fn new(limit: Option<Duration>) -> Option<Box<Self>> {
        let limit = limit.filter(|limit| !limit.is_zero())?;
        Some(Box::new(Self {
            limit,
            ..Self::default()
        }))
    }

    /// Has another limit for the statement that is next; `None` for that of the session.
    pub(super) fn limit_next(this: &mut Option<Box<Self>>, limit: Option<Duration>) {
        match this {
            Some(this) => this.of_rule = limit,
            None if limit.is_some() => Self::without_limit(this).of_rule = limit,
            None => {}
        }
    }

    /// The statement under way is to be stopped at once.
    pub(super) fn interrupt(this: &mut Option<Box<Self>>) {
        Self::without_limit(this).is_interrupted = true;
    }

    /// That of a session without a limit, where there is none yet.
    fn without_limit(this: &mut Option<Box<Self>>) -> &mut Self {
        this.get_or_insert_with(|| {
            Box::new(Self {
                limit: Duration::MAX,
                ..Self::default()
            })
        })
    }

    /// How long the statement under way may take.
    fn of_statement(&self) -> Duration {
        match self.of_rule {
            _ if self.is_interrupted => Duration::ZERO,
            Some(Duration::ZERO) => Duration::MAX,
            Some(limit) => limit,
            None => self.limit,
        }
    }

    fn is_asked(&self, number: u64) -> bool {
        matches!(self.cancel, Cancel::Asked { number: asked, .. } if asked == number)
    }

    /// The error that says why the statement was stopped.
    pub(super) fn error(&self) -> ErrPacket<'static> {
        let (code, sql_state, message) = match self.is_interrupted {
            true => (INTERRUPTED, *b"70100", INTERRUPTED_MESSAGE),
            false => (TIMED_OUT, *b"HY000", MESSAGE),
        };
        ErrPacket {
            code,
            sql_state: Some(sql_state),
            message,
        }
    }

    /// The statement has ended without the error of a KILL: whether one can still hit is not known, whatever error the client gets.
    pub(super) fn has_hit_nothing(&mut self) {
        match &mut self.cancel {
            Cancel::None => {}
            Cancel::Asked { before: count, .. } | Cancel::Sent { count } => *count += 1,
        }
    }

    fn answered(&mut self) {
        if let Cancel::Asked { before, .. } = self.cancel {
            self.cancel = Cancel::Sent { count: before + 1 };
        }
    }
}

impl Session {
    /// Has the server stop a statement that has taken too long.
    pub(super) fn limit_time(&mut self, context: &mut Context<'_>) {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return;
        };
        let (Some(timeout), Stage::Attached, None) =
            (&mut pooled.timeout, &pooled.stage, &pooled.exchange)
        else {
            return;
        };
        let is_statement = matches!(
            self.relay.command(),
            Some(CommandByte::QUERY | CommandByte::STMT_EXECUTE | CommandByte::STMT_FETCH)
        );
        let now = context.now;
        if !is_statement
            || pooled.passes_over
            || now.saturating_duration_since(self.asked) < timeout.of_statement()
        {
            return;
        }
        let count = match timeout.cancel {
            Cancel::None => 0,
            Cancel::Sent { count } if timeout.again_at.is_some_and(|at| now >= at) => count,
            _ => return,
        };
        let number = pooled.pool.number();
        let is_attached = pooled.connection.is_some();
        // From here on the connection goes to nobody else.
        if !is_attached || pooled.client.begin_kill().is_none() {
            return;
        }
        let Some(job) = self.kill_job("QUERY", For::Timeout(number), context) else {
            return;
        };
        if context.kills.ask(job).is_err() {
            // Too many wait: at the next look at the time.
            return;
        }
        let Phase::Pooled(pooled) = &mut self.phase else {
            return;
        };
        let Some(timeout) = &mut pooled.timeout else {
            return;
        };
        if count == 0 && !timeout.is_interrupted {
            pooled.pool.counts.query_timeouts.fetch_add(1, SeqCst);
        }
        timeout.cancel = Cancel::Asked {
            number,
            before: count,
        };
        timeout.again_at = Some(now + AGAIN * (1 << count.min(2)));
    }

    /// A KILL of the session's `QUERY` or `CONNECTION` on the server that its connection is on, with its own login. `None` where there is no
    /// connection, or no account any more.
    pub(super) fn kill_job(&self, what: &str, of: For, context: &Context<'_>) -> Option<Job> {
        let Phase::Pooled(pooled) = &self.phase else {
            return None;
        };
        let connection = pooled.connection.as_ref()?;
        let account = self.listener.accounts.find(&pooled.key.user)?;
        Some(Job {
            sql: format!("KILL {what} {}", connection.id),
            id: connection.id,
            target: Whose::new(connection.place.backend(), Some(&connection.address)),
            login: Some(Login {
                login: HealthLogin {
                    user: account.config.user.clone(),
                    password: account.password().clone(),
                },
                hash: account.hash().cloned(),
                asks_for_key: self.listener.config.reencrypt_passwords,
            }),
            worker: context.worker,
            session: context.index,
            asker: self.pooled_id,
            of,
        })
    }

    /// A KILL was run, or could not be.
    pub(crate) fn timeout_killed(
        &mut self,
        asker: u32,
        number: u64,
        context: &mut Context<'_>,
    ) -> Status {
        let is_its = self.connection_id() == asker;
        let (Phase::Pooled(pooled), true) = (&mut self.phase, is_its) else {
            return Status::Waiting;
        };
        match &mut pooled.timeout {
            Some(timeout) if timeout.is_asked(number) => timeout.answered(),
            // Of a connection that the session has no more.
            _ => return Status::Waiting,
        }
        let seen_to = match self.relay.outstanding() {
            0 => self.settle(context),
            _ => self.ask_for_rest(context),
        };
        if let Err(end) = seen_to {
            return self.end(end, context);
        }
        self.go_on(context)
    }

    /// A statement has failed whose reply is about to pass: the client hears of the limit and not of a KILL that it knows nothing of.
    pub(super) fn note_interrupted(&mut self) {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return;
        };
        let Some(timeout) = &mut pooled.timeout else {
            return;
        };
        if timeout.cancel == Cancel::None || self.relay.last_error() != Some(INTERRUPTED) {
            return;
        }
        // The first KILL has hit, and there is no other that could come late.
        if let Cancel::Asked { before: 0, .. } | Cancel::Sent { count: 1 } = timeout.cancel {
            timeout.cancel = Cancel::None;
        }
        if timeout.is_interrupted {
            return;
        }
        let mut payload = Vec::new();
        timeout.error().encode(&mut payload);
        self.replace_error(INTERRUPTED, &payload);
    }

    /// Sees to a KILL that may still come, before anything else is sent: whether there is one.
    pub(super) fn settle_cancel(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(false);
        };
        let Some(timeout) = &mut pooled.timeout else {
            return Ok(false);
        };
        // The reply to the statement is over.
        timeout.is_interrupted = false;
        if timeout.is_asking_for_rest {
            let is_awaited = pooled.exchange.is_some();
            if let (false, Some(connection)) = (is_awaited, &pooled.connection) {
                pooled.exchange = answer_to_come(connection.capabilities);
                pooled.after = After::Barrier;
            }
            return Ok(true);
        }
        match timeout.cancel {
            Cancel::None => return Ok(false),
            Cancel::Asked { .. } => return Ok(true),
            Cancel::Sent { .. } => {}
        }
        let Some(connection) = &mut pooled.connection else {
            return Ok(false);
        };
        // A statement takes the mark that a late one has left.
        put_packet(&mut pooled.ahead, CommandByte::QUERY, b"DO 0");
        pooled.exchange = connection.exchange(&pooled.ahead).ok();
        pooled.after = After::Barrier;
        timeout.cancel = Cancel::None;
        // It overwrites what the statement has left.
        pooled.last.is_here = false;
        self.send_ahead(context)?;
        Ok(true)
    }
}

impl Pooled {
    /// Whether the next command waits for what becomes of a KILL.
    pub(super) fn awaits_cancel(&self) -> bool {
        let timeout = self.timeout.as_ref();
        timeout.is_some_and(|timeout| timeout.cancel != Cancel::None || timeout.is_asking_for_rest)
    }

    /// The connection is not the session's any more.
    pub(super) fn forget_cancel(&mut self) {
        if let Some(timeout) = &mut self.timeout {
            (timeout.cancel, timeout.is_interrupted) = (Cancel::None, false);
            (timeout.is_asking_for_rest, timeout.is_left_out) = (false, false);
        }
    }
}
