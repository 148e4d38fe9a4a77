//! Tasks of tokio as the runner of a pool.

use std::sync::{Arc, OnceLock, Weak};
use std::task::Waker;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::timeout_at;

use super::Connect;
use crate::driver::{Attempt, Restoring, Runner, Shared};

/// Runs the jobs of a pool as tasks of one tokio runtime.
#[derive(Debug, Default)]
pub struct Tasks {
    /// Of the first use.
    runtime: OnceLock<Handle>,
    /// Something is due earlier than the keeper knows.
    earlier: Arc<Notify>,
    pub(super) drained: Notify,
}

impl Tasks {
    /// Starts the keeper, within a runtime.
    pub(super) fn start<C: Connect>(shared: &Arc<Shared<C, Self>>) {
        let tasks = &shared.runner;
        tasks.runtime.get_or_init(|| {
            let runtime = Handle::current();
            runtime.spawn(keep(Arc::downgrade(shared), Arc::clone(&tasks.earlier)));
            runtime
        });
    }

    /// If the runtime has ended, the task is dropped, and reports that.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = self.runtime.get() {
            runtime.spawn(task);
        }
    }
}

impl Drop for Tasks {
    /// Ends the keeper.
    fn drop(&mut self) {
        self.earlier.notify_one();
    }
}

impl<C: Connect> Runner<C> for Tasks {
    type Waiter = Waker;

    const DROPPED: &'static str = "the tokio runtime in which the pool was used first has ended; create a pool in each runtime";
    const IS_OVER: bool = true;

    fn wake(waker: Waker) {
        waker.wake();
    }

    fn connect(shared: &Arc<Shared<C, Self>>, attempt: Attempt<C, Self>) {
        shared.runner.spawn(async move {
            let made = C::connect(attempt.config()).await;
            attempt.finish(made);
        });
    }

    fn restore(shared: &Arc<Shared<C, Self>>, mut restoring: Restoring<C, Self>) {
        shared.runner.spawn(async move {
            let Some((conn, config)) = restoring.parts() else {
                return;
            };
            let is_restored = conn.restore(config).await.is_ok();
            restoring.finish(is_restored);
        });
    }

    fn is_due_earlier(shared: &Arc<Shared<C, Self>>) {
        shared.runner.earlier.notify_one();
    }

    fn closed(&self) {}

    fn drained(&self) {
        self.drained.notify_waiters();
    }
}

/// The keeper: calls the policy when it asks for it.
async fn keep<C: Connect>(shared: Weak<Shared<C, Tasks>>, earlier: Arc<Notify>) {
    loop {
        let Some(due) = shared.upgrade().map(|shared| shared.tend()) else {
            return;
        };
        let notified = earlier.notified();
        match due {
            None => notified.await,
            // Something is earlier, or due: the next round looks at both.
            Some(due) => timeout_at(due.into(), notified).await.unwrap_or_default(),
        }
    }
}
