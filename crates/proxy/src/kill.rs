//! `KILL` statements that are run on another backend than the client's own, away from the workers.

use std::fmt;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::{io, thread};

use crate::errand::{Credentials, Errand};
use crate::proxy::Workers;
use crate::registry::Whose;
use crate::worker::Order;

/// How many may wait; more are refused.
const WAITING: usize = 64;

/// How many are run at a time: one that can't be reached must not keep the others waiting.
const THREADS: usize = 2;

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
    /// A listener, and what [`start`] needs for the other end.
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

/// Starts the threads that run them. They end with the workers.
pub(crate) fn start(
    jobs: Receiver<Job>,
    workers: &Arc<Workers>,
    credentials: &Credentials,
) -> io::Result<()> {
    let jobs = Arc::new(Mutex::new(jobs));
    for number in 0..THREADS {
        let (jobs, workers, credentials) = (
            Arc::clone(&jobs),
            Arc::downgrade(workers),
            credentials.clone(),
        );
        thread::Builder::new()
            .name(format!("kill-{number}"))
            .spawn(move || {
                loop {
                    let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(job) = next else { return };
                    let answer = run(&job, &credentials);
                    let Some(workers) = workers.upgrade() else {
                        return;
                    };
                    if let Some(worker) = workers.0.get(job.worker) {
                        worker.order(Order::KillAnswered {
                            session: job.session,
                            asker: job.asker,
                            answer,
                        });
                    }
                }
            })?;
    }
    Ok(())
}

fn run(job: &Job, credentials: &Credentials) -> Answer {
    let backend = &job.target.backend;
    let name = backend.name();
    let Some(errand) = Errand::new(backend, credentials) else {
        let why = format!(
            "the session is on backend '{name}', and the proxy has no user to kill it with: set health.user"
        );
        return Answer::unknown(job.id, &why);
    };
    let done = errand
        .connect(job.target.address.as_ref())
        .and_then(|mut connection| {
            connection.run(&job.sql)?;
            // Whether it has heard of the end is of no interest.
            let _ = connection.close();
            Ok(())
        });
    match done {
        Ok(()) => Answer::Done,
        Err(error) => match error.server() {
            Some(server) => Answer::Failed {
                code: server.code,
                sql_state: server
                    .sql_state
                    .as_ref()
                    .and_then(|state| state.as_bytes().try_into().ok())
                    .unwrap_or(*b"HY000"),
                message: server.message.clone(),
            },
            None => {
                let why =
                    format!("the session is on backend '{name}', which can't be reached: {error}");
                Answer::unknown(job.id, &why)
            }
        },
    }
}
