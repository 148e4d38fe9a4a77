//! Consumers of one group, of both faces, and what they have processed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onecopy_valkey::Error;
use onecopy_valkey::streams::{ConsumerOptions, ConsumerStats, Delivery};
use onecopy_valkey::{aio, blocking};

use crate::common::until;

/// Which consumers are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Face {
    Blocking,
    Aio,
}

/// Consumers under way.
pub(crate) struct Workers {
    shared: Arc<Shared>,
    tasks: Vec<tokio::task::JoinHandle<Result<ConsumerStats, Error>>>,
}

#[derive(Default)]
struct Shared {
    /// How often each entry was processed, by what it holds.
    processed: Mutex<BTreeMap<String, u32>>,
    is_over: AtomicBool,
}

impl Shared {
    fn take(&self, delivery: &Delivery<'_>) {
        let text = delivery.get("n").unwrap();
        let text = String::from_utf8(text.to_vec()).unwrap();
        *self.processed.lock().unwrap().entry(text).or_default() += 1;
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// How long a worker waits at a time, to see whether it is to end.
const WAIT: Duration = Duration::from_millis(20);

/// Those of a consumer that never waits for its server's time: only what it is told lets it go on elsewhere.
pub(crate) fn options(name: &str) -> ConsumerOptions {
    let mut options = ConsumerOptions::new("{jobs}stream", "group", name);
    options.batch = 5;
    options.block = Duration::from_secs(1_000);
    options.claim_min_idle = Some(Duration::from_millis(300));
    options.claim_interval = Duration::from_secs(1_000);
    options.backoff.cap = Duration::from_millis(200);
    options
}

impl Workers {
    /// Starts consumers with these options.
    pub(crate) fn start(face: Face, url: &str, options: Vec<ConsumerOptions>) -> Self {
        let shared = Arc::<Shared>::default();
        let start = |options| {
            let (url, shared) = (url.to_owned(), Arc::clone(&shared));
            match face {
                Face::Aio => tokio::spawn(run(url, options, shared)),
                Face::Blocking => {
                    tokio::task::spawn_blocking(move || run_blocking(&url, options, &shared))
                }
            }
        };
        let tasks = options.into_iter().map(start).collect();
        Self { shared, tasks }
    }

    /// Waits until each of these was processed.
    pub(crate) async fn wait_for(&self, texts: &[String]) {
        let is_done = || {
            let failed = self.tasks.iter().any(tokio::task::JoinHandle::is_finished);
            let processed = self.shared.processed.lock().unwrap();
            failed || texts.iter().all(|text| processed.contains_key(text))
        };
        until(is_done).await;
        let processed = self.shared.processed.lock().unwrap();
        let is_missing = |text: &&String| !processed.contains_key(*text);
        let missing: Vec<_> = texts.iter().filter(is_missing).collect();
        assert!(
            missing.is_empty(),
            "a worker has ended; missing: {missing:?}"
        );
    }

    /// Ends them. How often each entry was processed, and what each consumer has done.
    pub(crate) async fn end(mut self) -> (BTreeMap<String, u32>, Vec<ConsumerStats>) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let mut stats = Vec::new();
        for task in std::mem::take(&mut self.tasks) {
            stats.push(task.await.unwrap().unwrap());
        }
        let processed = std::mem::take(&mut *self.shared.processed.lock().unwrap());
        (processed, stats)
    }
}

/// Also where the test has failed: a runtime waits for those that block.
impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
    }
}

async fn run(
    url: String,
    options: ConsumerOptions,
    shared: Arc<Shared>,
) -> Result<ConsumerStats, Error> {
    let mut consumer = aio::Consumer::connect(&url, options).await?;
    while !shared.is_over() {
        let Some(delivery) = consumer.next_timeout(WAIT).await? else {
            continue;
        };
        shared.take(&delivery);
        let id = delivery.id;
        consumer.ack(id).await?;
    }
    let stats = consumer.stats();
    consumer.close().await?;
    Ok(stats)
}

fn run_blocking(
    url: &str,
    options: ConsumerOptions,
    shared: &Shared,
) -> Result<ConsumerStats, Error> {
    let mut consumer = blocking::Consumer::connect(url, options)?;
    while !shared.is_over() {
        let Some(delivery) = consumer.next_timeout(WAIT)? else {
            continue;
        };
        shared.take(&delivery);
        let id = delivery.id;
        consumer.ack(id)?;
    }
    let stats = consumer.stats();
    consumer.close()?;
    Ok(stats)
}
