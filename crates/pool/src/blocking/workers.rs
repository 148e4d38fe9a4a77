//! The threads that work for a pool: usually one.
//!
//! A worker takes one job after the other. While one is busy for long, another one is started, at most as many as connects are
//! allowed at the same time and one more. A worker that finds nothing to do leaves, except for the last one as long as the policy
//! wants to be called later. All leave when the pool is closed.

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Connect, Threads};
use crate::driver::{Attempt, Restoring, Shared};

/// A job that takes longer than this does not hold up those behind it.
const SLOW: Duration = Duration::from_millis(5);

/// A worker that has nothing to do stays for this long.
const LINGER: Duration = Duration::from_secs(5);

/// Something that blocks.
pub(super) enum Job<C: Connect> {
    Connect(Attempt<C, Threads<C>>),
    Restore(Restoring<C, Threads<C>>),
}

/// The workers and what they are to do.
pub(super) struct Workers<C: Connect> {
    jobs: VecDeque<Job<C>>,
    running: usize,
    idle: usize,
    /// When a job was taken last.
    taken: Option<Instant>,
    /// Something is due earlier than the idle workers know.
    is_due: bool,
}

impl<C: Connect> Default for Workers<C> {
    fn default() -> Self {
        Self {
            jobs: VecDeque::new(),
            running: 0,
            idle: 0,
            taken: None,
            is_due: false,
        }
    }
}

impl<C: Connect> Job<C> {
    fn run(self) {
        match self {
            Self::Connect(attempt) => {
                let made = C::connect(attempt.config());
                attempt.finish(made);
            }
            Self::Restore(mut restoring) => {
                let Some((conn, config)) = restoring.parts() else {
                    return;
                };
                let is_restored = conn.restore(config).is_ok();
                restoring.finish(is_restored);
            }
        }
    }
}

/// A worker that leaves because of a panic in [`Connect`].
struct Panicked<'s, C: Connect>(&'s Arc<Shared<C, Threads<C>>>);

impl<C: Connect> Drop for Panicked<'_, C> {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut workers = self.0.workers();
            workers.running -= 1;
            // Another one takes its place.
            self.0.staff(workers, true);
        }
    }
}

impl<C: Connect> Shared<C, Threads<C>> {
    fn workers(&self) -> MutexGuard<'_, Workers<C>> {
        let workers = self.runner.workers.lock();
        workers.unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a job to a worker.
    pub(super) fn queue(self: &Arc<Self>, job: Job<C>) {
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
    fn staff(self: &Arc<Self>, mut workers: MutexGuard<'_, Workers<C>>, is_long: bool) {
        if workers.idle > 0 {
            drop(workers);
            self.runner.work.notify_one();
            return;
        }
        let is_slow = workers.taken.is_none_or(|taken| taken.elapsed() >= SLOW);
        let max_connecting = C::pool_config(self.config()).max_connecting;
        let most = max_connecting.saturating_add(1);
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
        let _panicked = Panicked(self);
        while let Some(job) = self.next_job() {
            job.run();
        }
    }

    /// Waits for a job, and calls the policy meanwhile. `None`: the worker leaves.
    fn next_job(self: &Arc<Self>) -> Option<Job<C>> {
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
                drop(workers);
                // What is due was told to this one; another one that is idle may not know.
                self.runner.work.notify_one();
                return None;
            }
            let until = if is_spare {
                due.map_or(lingers_until, |due| due.min(lingers_until))
            } else {
                due.unwrap_or(lingers_until)
            };
            workers.idle += 1;
            let time = until.saturating_duration_since(now);
            let waited = self.runner.work.wait_timeout(workers, time);
            let (mut workers, _) = waited.unwrap_or_else(PoisonError::into_inner);
            workers.idle -= 1;
        }
    }
}
