//! `KILL` statements that are run on another backend than the client's own, away from the workers.

use std::fmt;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use onecopy_mysql_proto::auth::native_password::PasswordHash;

use crate::config::HealthLogin;
use crate::registry::Whose;

/// How many may wait; more are refused.
const WAITING: usize = 64;

/// A statement to be run.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) sql: String,
    pub(crate) id: u32,
    /// Where the session is.
    pub(crate) target: Whose,
    /// Who asks: worker, place of the session there, its connection id.
    pub(crate) worker: usize,
    pub(crate) session: usize,
    pub(crate) asker: u32,
    /// Who runs it; `None` for the user of the health checks.
    pub(crate) login: Option<Login>,
    pub(crate) of: For,
}

/// Why a statement is run, and so what its outcome is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// A client has asked for it.
    Client,
    /// A statement of the session's has taken too long: the number of this KILL.
    Timeout(u64),
}

/// Who a session is at its server.
#[derive(Debug)]
pub(crate) struct Login {
    pub(crate) login: HealthLogin,
    /// In place of the password.
    pub(crate) hash: Option<PasswordHash>,
    /// Whether a server without TLS may be asked for the key that the password goes under.
    pub(crate) asks_for_key: bool,
}

/// What the client is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Done,
    Failed {
        code: u16,
        sql_state: [u8; 5],
        message: String,
    },
}

impl Answer {
    /// `ER_NO_SUCH_THREAD`
    pub(crate) fn unknown(id: u32, why: &dyn fmt::Display) -> Self {
        Self::Failed {
            code: 1094,
            sql_state: *b"HY000",
            message: format!("Unknown thread id: {id} ({why})"),
        }
    }

    /// `ER_NOT_SUPPORTED_YET`
    pub(crate) fn unclear() -> Self {
        Self::Failed {
            code: 1235,
            sql_state: *b"42000",
            message: "This proxy doesn't yet support 'KILL of anything but a plain number': there are several servers behind it, \
                      whose threads have the same numbers; write the connection id as a number, and nothing behind it"
                .to_owned(),
        }
    }

    /// `ER_UNSUPPORTED_PS`, at which drivers that can send the statement as text.
    pub(crate) fn prepared() -> Self {
        Self::Failed {
            code: 1295,
            sql_state: *b"HY000",
            message: "This command is not supported in the prepared statement protocol yet: KILL through this proxy, which has \
                      several servers behind it, whose threads have the same numbers; send it as text, the connection id as \
                      a number"
                .to_owned(),
        }
    }

    /// `ER_UNKNOWN_STMT_HANDLER`
    pub(crate) fn no_statement() -> Self {
        Self::Failed {
            code: 1243,
            sql_state: *b"HY000",
            message: "Unknown prepared statement handler (the last one): its KILL was refused"
                .to_owned(),
        }
    }

    /// `ER_KILL_DENIED_ERROR`
    pub(crate) fn not_owner(id: u32, backend: &str) -> Self {
        Self::Failed {
            code: 1095,
            sql_state: *b"HY000",
            message: format!(
                "You are not owner of thread {id} (another user's session on backend '{backend}': kill it there, or by the \
                 proxy's admin listener)"
            ),
        }
    }
}

/// Where workers hand them over.
#[derive(Debug, Clone)]
pub(crate) struct Kills(SyncSender<Job>);

impl Kills {
    /// The sending end for workers, and the other one for the threads that run them.
    pub(crate) fn channel() -> (Self, Receiver<Job>) {
        let (sender, receiver) = sync_channel(WAITING);
        (Self(sender), receiver)
    }

    /// Hands one over; never waits.
    ///
    /// # Errors
    /// The answer, where too many wait.
    pub(crate) fn ask(&self, job: Job) -> Result<(), Answer> {
        let id = job.id;
        self.0.try_send(job).map_err(|_| {
            Answer::unknown(id, &"too many KILLs to other backends at once: try again")
        })
    }
}
