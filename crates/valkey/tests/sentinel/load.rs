//! Tasks that write and read values of which each exists once, and look at all that they get.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use onecopy_valkey::Error;
use onecopy_valkey::aio::Sentinel;
use onecopy_valkey::command::string;

use crate::common::{until, within};

/// Between two rounds of a task.
const PAUSE: Duration = Duration::from_millis(2);

/// Tasks under way.
pub(crate) struct Load {
    is_over: Arc<AtomicBool>,
    operations: Arc<AtomicU64>,
    errors: Arc<AtomicU64>,
    tasks: Vec<tokio::task::JoinHandle<Vec<Error>>>,
}

impl Load {
    pub(crate) fn start(sentinel: &Sentinel, tasks: usize) -> Self {
        let is_over = Arc::<AtomicBool>::default();
        let operations = Arc::<AtomicU64>::default();
        let errors = Arc::<AtomicU64>::default();
        let start = |number| {
            let task = Task {
                sentinel: sentinel.clone(),
                key: format!("load:{number}"),
                attempted: 0,
            };
            let counts = (Arc::clone(&operations), Arc::clone(&errors));
            tokio::spawn(task.run(Arc::clone(&is_over), counts))
        };
        let tasks = (0..tasks).map(start).collect();
        Self {
            is_over,
            operations,
            errors,
            tasks,
        }
    }

    /// Waits for so many operations more.
    pub(crate) async fn more(&self, operations: u64) {
        let end = self.operations.load(Ordering::Relaxed) + operations;
        until(|| self.operations.load(Ordering::Relaxed) >= end).await;
    }

    /// Errors so far.
    pub(crate) fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    /// Ends the tasks. All errors that they got.
    pub(crate) async fn end(self) -> Vec<Error> {
        self.is_over.store(true, Ordering::Relaxed);
        let mut errors = Vec::new();
        for task in self.tasks {
            errors.extend(within(task).await.unwrap());
        }
        errors
    }
}

struct Task {
    sentinel: Sentinel,
    key: String,
    /// The number of the last write.
    attempted: u64,
}

impl Task {
    async fn run(
        mut self,
        is_over: Arc<AtomicBool>,
        (operations, failures): (Arc<AtomicU64>, Arc<AtomicU64>),
    ) -> Vec<Error> {
        let mut errors = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            if let Err(error) = self.round().await {
                errors.push(error);
                failures.fetch_add(1, Ordering::Relaxed);
            }
            operations.fetch_add(1, Ordering::Relaxed);
            // Sentinels and servers need the processors too.
            tokio::time::sleep(PAUSE).await;
        }
        errors
    }

    async fn round(&mut self) -> Result<(), Error> {
        self.attempted += 1;
        let value = format!("{}={}", self.key, self.attempted);
        self.sentinel.run(&string::set(&self.key, value)).await?;
        let read = self.sentinel.run(&string::get(&self.key)).await?;
        // Writes that no replica has got yet are lost in a failover.
        let Some(value) = read.get()? else {
            return Ok(());
        };
        let value = std::str::from_utf8(value).unwrap();
        let (own, number) = value.rsplit_once('=').unwrap();
        assert_eq!(own, self.key, "the value of another key");
        let number: u64 = number.parse().unwrap();
        assert!(number <= self.attempted, "{number} was never written");
        Ok(())
    }
}
