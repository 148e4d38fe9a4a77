//! The threads that run `KILL` statements on other backends.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::errand::{Credentials, Errand};
use crate::kill::{Answer, For, Job};
use crate::log::{Event, Log};
use crate::mailbox::{Order, Workers};

/// How many are run at a time: one that can't be reached must not keep the others waiting.
const THREADS: usize = 2;

/// Failures are logged at most once in this time.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// `ER_NO_SUCH_THREAD`: the session has ended by itself.
const NO_SUCH_THREAD: u16 = 1094;

/// Starts the threads that run them. They end with the workers.
pub(crate) fn start(
    jobs: Receiver<Job>,
    workers: &Arc<Workers>,
    credentials: &Credentials,
    log: &Log,
) -> io::Result<()> {
    let jobs = Arc::new(Mutex::new(jobs));
    let failures = Arc::new(FailureLog::new(log));
    for number in 0..THREADS {
        let (jobs, workers, credentials, failures) = (
            Arc::clone(&jobs),
            Arc::downgrade(workers),
            credentials.clone(),
            Arc::clone(&failures),
        );
        thread::Builder::new()
            .name(format!("kill-{number}"))
            .spawn(move || {
                loop {
                    let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(job) = next else { return };
                    let answer = run(&job, &credentials, &failures);
                    let Some(workers) = workers.upgrade() else {
                        return;
                    };
                    if let Some(worker) = workers.0.get(job.worker) {
                        worker.order(Order::KillAnswered {
                            session: job.session,
                            asker: job.asker,
                            of: job.of,
                            answer,
                        });
                    }
                }
            })?;
    }
    Ok(())
}

/// Logs failures of KILLs for `query-timeout`, of which nobody else hears: the client still waits for its statement.
struct FailureLog {
    log: Log,
    next: Mutex<Option<Instant>>,
}

impl FailureLog {
    fn new(log: &Log) -> Self {
        Self {
            log: log.clone(),
            next: Mutex::default(),
        }
    }

    fn note(&self, job: &Job, error: &onecopy_mysql::Error) {
        let code = error.server().map(|server| server.code);
        let (For::Timeout(_), Some(login)) = (job.of, &job.login) else {
            return;
        };
        let now = Instant::now();
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if code == Some(NO_SUCH_THREAD) || next.is_some_and(|next| now < next) {
            return;
        }
        *next = Some(now + LOG_INTERVAL);
        self.log.event(Event::QueryTimeoutFailed {
            backend: job.target.backend.name().to_owned(),
            user: login.login.user.clone(),
            why: error.to_string(),
        });
    }
}

fn run(job: &Job, credentials: &Credentials, failures: &FailureLog) -> Answer {
    let backend = &job.target.backend;
    let name = backend.name();
    let errand = match &job.login {
        Some(own) => {
            let timeout = credentials.health().timeout;
            let errand = Errand::with(backend, own.login.clone(), timeout);
            let errand = errand.with_hash(own.hash.clone());
            Some(errand.asking_for_key(own.asks_for_key))
        }
        None => Errand::new(backend, credentials),
    };
    let Some(errand) = errand else {
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
    if let Err(error) = &done {
        failures.note(job, error);
    }
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
