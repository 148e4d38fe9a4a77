//! Tasks that write and read values of which each exists once, and look at all that they get.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use onecopy_valkey::Error;
use onecopy_valkey::aio::Cluster;
use onecopy_valkey::command::string;

use crate::common::within;

/// Tasks under way.
pub(crate) struct Load {
    is_over: Arc<AtomicBool>,
    operations: Arc<AtomicU64>,
    tasks: Vec<tokio::task::JoinHandle<Vec<Error>>>,
}

/// What may be found behind a write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// All that was confirmed.
    Everything,
    /// What a replica had got before its primary was killed.
    WhatWasReplicated,
}

impl Load {
    /// Starts so many tasks; each has two keys of its own, `{tag}` from `tag_of`.
    pub(crate) fn start(
        cluster: &Cluster,
        tasks: usize,
        keeps: Keeps,
        tag_of: impl Fn(usize) -> String,
    ) -> Self {
        let is_over = Arc::<AtomicBool>::default();
        let operations = Arc::<AtomicU64>::default();
        let start = |number| {
            let task = Task {
                cluster: cluster.clone(),
                first: format!("{{{}}}:{number}:a", tag_of(number)),
                second: format!("{{{}}}:{number}:b", tag_of(number)),
                keeps,
                attempted: 0,
                confirmed: 0,
                errors: Vec::new(),
            };
            tokio::spawn(task.run(Arc::clone(&is_over), Arc::clone(&operations)))
        };
        let tasks = (0..tasks).map(start).collect();
        Self {
            is_over,
            operations,
            tasks,
        }
    }

    /// Operations so far.
    pub(crate) fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Waits for so many more.
    pub(crate) async fn more(&self, operations: u64) {
        let end = self.operations() + operations;
        crate::common::until(|| self.operations() >= end).await;
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
    cluster: Cluster,
    first: String,
    second: String,
    keeps: Keeps,
    /// The number of the last write, and of the last one that was confirmed.
    attempted: u64,
    confirmed: u64,
    errors: Vec<Error>,
}

impl Task {
    async fn run(mut self, is_over: Arc<AtomicBool>, operations: Arc<AtomicU64>) -> Vec<Error> {
        let mut round = 0_u64;
        while !is_over.load(Ordering::Relaxed) {
            round += 1;
            let done = match round % 4 {
                0 => self.set_both().await,
                1 => self.get().await,
                2 => self.pipeline().await,
                _ => self.transaction().await,
            };
            if let Err(error) = done {
                self.errors.push(error);
            }
            operations.fetch_add(1, Ordering::Relaxed);
        }
        self.errors
    }

    fn value(&self, key: &str) -> String {
        format!("{key}={}", self.attempted)
    }

    /// It must be a value of this key, not older than the last that was confirmed.
    fn check(&self, key: &str, value: Option<&[u8]>) {
        let number = match value {
            None => 0,
            Some(value) => {
                let value = std::str::from_utf8(value).unwrap();
                let (own, number) = value.rsplit_once('=').unwrap();
                assert_eq!(own, key, "the value of another key");
                number.parse::<u64>().unwrap()
            }
        };
        assert!(
            number <= self.attempted,
            "{key}: {number} was never written"
        );
        if self.keeps == Keeps::Everything {
            assert!(
                number >= self.confirmed,
                "{key}: {number} is older than {}",
                self.confirmed
            );
        }
    }

    async fn set_both(&mut self) -> Result<(), Error> {
        self.attempted += 1;
        let (first, second) = (self.value(&self.first), self.value(&self.second));
        let pairs = [
            (self.first.as_str(), first.as_str()),
            (&self.second, &second),
        ];
        self.cluster.run(&string::mset(pairs)).await?;
        self.confirmed = self.attempted;
        Ok(())
    }

    async fn get(&mut self) -> Result<(), Error> {
        let one = self.cluster.run(&string::get(&self.first)).await?;
        self.check(&self.first, one.get()?);
        let both = self
            .cluster
            .run(&string::mget([&self.first, &self.second]))
            .await?;
        let values: Vec<Option<&[u8]>> = both.get()?.iter().collect();
        self.check(&self.first, values[0]);
        self.check(&self.second, values[1]);
        Ok(())
    }

    async fn pipeline(&mut self) -> Result<(), Error> {
        self.attempted += 1;
        let mut pipeline = self.cluster.pipeline();
        pipeline.push(&string::set(&self.first, self.value(&self.first)))?;
        pipeline.push(&string::set(&self.second, self.value(&self.second)))?;
        let replies = pipeline.run().await?;
        replies.get::<string::Set>(0)?;
        replies.get::<string::Set>(1)?;
        self.confirmed = self.attempted;
        Ok(())
    }

    async fn transaction(&mut self) -> Result<(), Error> {
        self.attempted += 1;
        let mut transaction = self.cluster.transaction();
        transaction.push(&string::set(&self.first, self.value(&self.first)))?;
        transaction.push(&string::set(&self.second, self.value(&self.second)))?;
        transaction.push(&string::get(&self.first))?;
        let replies = transaction.exec().await?;
        self.confirmed = self.attempted;
        self.check(&self.first, replies.get::<string::Get>(2)?);
        Ok(())
    }
}

impl fmt::Debug for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Load")
            .field("operations", &self.operations())
            .finish_non_exhaustive()
    }
}
