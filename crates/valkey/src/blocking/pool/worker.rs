//! The threads that work for a pool: usually one.
//!
//! A worker takes one job after the other. While one is busy for long, another one is started, at most as many as connects are
//! allowed at the same time and one more. A worker that finds nothing to do leaves, except for the last one as long as the policy
//! wants to be called later. All leave when the pool is closed.

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::connect::Attempt;
use super::restore::Restoring;
use super::shared::Shared;

/// A job that takes longer than this does not hold up those behind it.
const SLOW: Duration = Duration::from_millis(5);

/// A worker that has nothing to do stays for this long.
const LINGER: Duration = Duration::from_secs(5);

/// Something that blocks.
pub(super) enum Job {
    Connect(Attempt),
    Restore(Restoring),
}

/// The workers and what they are to do.
#[derive(Default)]
pub(super) struct Workers {
    jobs: VecDeque<Job>,
    running: usize,
    idle: usize,
    /// When a job was taken last.
    taken: Option<Instant>,
    /// Something is due earlier than the idle workers know.
    is_due: bool,
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers")
            .field("jobs", &self.jobs.len())
            .field("running", &self.running)
            .field("idle", &self.idle)
            .finish_non_exhaustive()
    }
}

impl Job {
    fn run(self) {
        match self {
            Self::Connect(attempt) => attempt.run(),
            Self::Restore(restoring) => restoring.run(),
        }
    }
}

impl Shared {
    fn workers(&self) -> MutexGuard<'_, Workers> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a job to a worker.
    pub(super) fn queue(self: &Arc<Self>, job: Job) {
        let mut workers = self.workers();
        // It takes long, and others would wait behind it.
        let is_long = matches!(job, Job::Connect(_));
        workers.jobs.push_back(job);
        self.staff(workers, is_long);
    }

    /// Something is due earlier than the idle workers know.
    pub(super) fn wake_worker(self: &Arc<Self>) {
        let mut workers = self.workers();
        workers.is_due = true;
        self.staff(workers, false);
    }

    /// Jobs may be waiting behind a slow one.
    pub(super) fn unstick(self: &Arc<Self>) {
        let workers = self.workers();
        if !workers.jobs.is_empty() {
            self.staff(workers, false);
        }
    }

    /// Wakes or starts a worker if one is needed.
    fn staff(self: &Arc<Self>, mut workers: MutexGuard<'_, Workers>, is_long: bool) {
        if workers.idle > 0 {
            drop(workers);
            self.work.notify_one();
            return;
        }
        let is_slow = workers.taken.is_none_or(|taken| taken.elapsed() >= SLOW);
        let most = self.config().pool.max_connecting.saturating_add(1);
        let is_needed = workers.running == 0 || (is_long || is_slow) && !workers.jobs.is_empty();
        if !is_needed || workers.running >= most {
            return;
        }
        workers.running += 1;
        drop(workers);
        let shared = Arc::clone(self);
        let started = thread::Builder::new()
            .name("onecopy-pool".to_owned())
            .spawn(move || shared.work());
        if started.is_err() {
            self.no_thread();
        }
    }

    /// No worker can be started: the jobs are dropped, which reports them as failed, unless there is another worker.
    fn no_thread(&self) {
        let mut workers = self.workers();
        workers.running -= 1;
        if workers.running == 0 {
            let jobs = std::mem::take(&mut workers.jobs);
            drop(workers);
            drop(jobs);
        }
    }

    /// A worker's life.
    fn work(self: &Arc<Self>) {
        while let Some(job) = self.next_job() {
            job.run();
        }
    }

    /// Waits for a job, and calls the policy meanwhile. `None`: the worker leaves.
    fn next_job(self: &Arc<Self>) -> Option<Job> {
        let lingers_until = Instant::now() + LINGER;
        loop {
            let mut workers = self.workers();
            if let Some(job) = workers.jobs.pop_front() {
                workers.taken = Some(Instant::now());
                return Some(job);
            }
            workers.is_due = false;
            drop(workers);
            let due = self.tend();
            let is_closed = self.core().policy.is_closed();
            let mut workers = self.workers();
            if !workers.jobs.is_empty() || workers.is_due {
                continue;
            }
            let now = Instant::now();
            let is_spare = workers.idle > 0 || due.is_none();
            if is_closed || is_spare && now >= lingers_until {
                workers.running -= 1;
                return None;
            }
            let until = if is_spare {
                due.map_or(lingers_until, |due| due.min(lingers_until))
            } else {
                due.unwrap_or(lingers_until)
            };
            workers.idle += 1;
            let time = until.saturating_duration_since(now);
            let waited = self.work.wait_timeout(workers, time);
            let (mut workers, _) = waited.unwrap_or_else(PoisonError::into_inner);
            workers.idle -= 1;
        }
    }
}
