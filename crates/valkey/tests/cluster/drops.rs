//! Calls that are dropped at random moments, or end by their timeout, while servers change: whoever gets a reply gets its own.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use onecopy_valkey::Error;

/// Longer than anything that is waited for takes on a busy machine: only a hang reaches it.
const LONG: Duration = Duration::from_secs(600);

/// A handle that can be asked for its caller's own text.
pub(crate) trait Echo: Clone + Send + 'static {
    /// Gives `text` back, by way of the server that has the key.
    fn echo(&self, key: &str, text: &str) -> impl Future<Output = Result<Vec<u8>, Error>> + Send;
}

/// Tasks under way.
pub(crate) struct Drops {
    is_over: Arc<AtomicBool>,
    dropped: Arc<AtomicU64>,
    tasks: Vec<tokio::task::JoinHandle<Vec<Error>>>,
}

impl Drops {
    /// Starts two tasks for each key: one drops its calls, and one has calls that end by the `timeout` of `hasty`.
    pub(crate) fn start<E: Echo>(handle: &E, hasty: &E, keys: &[String]) -> Self {
        let is_over = Arc::<AtomicBool>::default();
        let dropped = Arc::<AtomicU64>::default();
        let tasks = keys.iter().zip(1..).flat_map(|(key, seed)| {
            let task = |is_hasty: bool| Task {
                patient: handle.clone(),
                hasty: if is_hasty { hasty } else { handle }.clone(),
                is_hasty,
                key: key.clone(),
                random: 2 * seed + u64::from(is_hasty),
                number: 0,
            };
            [task(false), task(true)]
        });
        let start =
            |task: Task<E>| tokio::spawn(task.run(Arc::clone(&is_over), Arc::clone(&dropped)));
        let tasks = tasks.map(start).collect();
        Self {
            is_over,
            dropped,
            tasks,
        }
    }

    /// Waits until so many calls were dropped or timed out, and ends the tasks. Gives the number, and the errors of those calls that
    /// were waited for.
    pub(crate) async fn end(self, least: u64) -> (u64, Vec<Error>) {
        let dropped = || self.dropped.load(Ordering::Relaxed);
        let waited = tokio::time::timeout(LONG, async {
            while dropped() < least {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        assert!(waited.await.is_ok(), "{} were dropped", dropped());
        self.is_over.store(true, Ordering::Relaxed);
        let mut errors = Vec::new();
        for task in self.tasks {
            let ended = tokio::time::timeout(LONG, task).await;
            errors.extend(ended.expect("it hangs").unwrap());
        }
        (self.dropped.load(Ordering::Relaxed), errors)
    }
}

struct Task<E> {
    patient: E,
    hasty: E,
    is_hasty: bool,
    key: String,
    random: u64,
    number: u64,
}

impl<E: Echo> Task<E> {
    async fn run(mut self, is_over: Arc<AtomicBool>, dropped: Arc<AtomicU64>) -> Vec<Error> {
        let mut errors = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            for _ in 0..8 {
                let given_up = match self.is_hasty {
                    true => self.time_out().await,
                    false => self.drop_one().await,
                };
                dropped.fetch_add(u64::from(given_up), Ordering::Relaxed);
            }
            let text = self.text();
            match self.patient.echo(&self.key, &text).await {
                Ok(own) => assert_eq!(own, text.as_bytes()),
                Err(error) => errors.push(error),
            }
        }
        errors
    }

    fn text(&mut self) -> String {
        self.number += 1;
        format!("{}:{}:{}", self.key, self.is_hasty, self.number)
    }

    /// Whether it was dropped before its reply came.
    async fn drop_one(&mut self) -> bool {
        let text = self.text();
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        // At any of the points at which it can be: before it is sent, and before its reply is there.
        let mut polls = self.random % 40;
        let mut call = pin!(self.patient.echo(&self.key, &text));
        let called = poll_fn(|context| match call.as_mut().poll(context) {
            Poll::Ready(called) => Poll::Ready(Some(called)),
            Poll::Pending if polls == 0 => Poll::Ready(None),
            Poll::Pending => {
                polls -= 1;
                context.waker().wake_by_ref();
                Poll::Pending
            }
        });
        match called.await {
            None => true,
            Some(Ok(own)) => {
                assert_eq!(own, text.as_bytes());
                false
            }
            Some(Err(_)) => false, // its server was killed meanwhile
        }
    }

    /// Whether its timeout has passed.
    async fn time_out(&mut self) -> bool {
        let text = self.text();
        match self.hasty.echo(&self.key, &text).await {
            Err(error) => error.is_timeout(),
            Ok(own) => {
                assert_eq!(own, text.as_bytes());
                false
            }
        }
    }
}
