//! Connections beside the shared one: few, made when they are needed, kept for a while.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::dedicated::Dedicated;
use super::failure::Failure;
use super::options::SharedOptions;
use crate::aio::Connection;
use crate::{Config, Error, Meter};

/// What is borrowed by [`Shared::acquire`](super::Shared::acquire).
#[derive(Debug)]
pub(super) struct Pool {
    config: Config,
    idle_time: Duration,
    unresponsive_timeout: Option<Duration>,
    /// One for each connection that may be borrowed; waiters are served in order.
    permits: Arc<Semaphore>,
    /// How many there are.
    max: usize,
    resting: Mutex<Resting>,
    /// Replies to nothing on connections that were not kept for that.
    unexpected_replies: AtomicU64,
}

#[derive(Debug, Default)]
struct Resting {
    /// In the order in which they came back: the last is borrowed first, the first has rested longest. Boxed: one is some
    /// kilobytes, and goes from hand to hand.
    connections: Vec<(Box<Connection>, Instant)>,
    /// Whether a task sees to those that rest for too long.
    has_sweeper: bool,
    is_closed: bool,
    /// Of all that was done with those that were given back.
    meter: Meter,
    /// When a new one was tried for last by who could do without it, and not had.
    failed_at: Option<Instant>,
}

/// How long who could do without it waits for a new connection, and how long none is tried for that way once it was not had.
const OPENING: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_secs(10);

impl Pool {
    pub(super) fn new(config: &Config, options: &SharedOptions) -> Self {
        let max = options.max_dedicated.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            config: config.clone(),
            idle_time: options.dedicated_idle_time,
            unresponsive_timeout: options.unresponsive_timeout(config),
            permits: Arc::new(Semaphore::new(max)),
            max,
            resting: Mutex::default(),
            unexpected_replies: AtomicU64::new(0),
        }
    }

    pub(super) async fn acquire(pool: &Arc<Self>) -> Result<Dedicated, Error> {
        let permit = pool.permit().await?;
        let connection = match pool.rested() {
            Some(connection) => connection,
            None => Box::new(Connection::connect_with(&pool.config).await?),
        };
        Ok(Dedicated::new(connection, Arc::clone(pool), permit))
    }

    /// The same for whom the shared connection will do: without waiting for a turn, and for a new connection no longer than
    /// [`OPENING`]. `None`: there is none.
    pub(super) async fn try_acquire(pool: &Arc<Self>) -> Option<Dedicated> {
        let permit = Arc::clone(&pool.permits).try_acquire_owned().ok()?;
        let connection = match pool.rested() {
            Some(connection) => connection,
            None => pool.open().await?,
        };
        Some(Dedicated::new(connection, Arc::clone(pool), permit))
    }

    /// A new one, if it can be had soon.
    async fn open(&self) -> Option<Box<Connection>> {
        let failed_at = self.lock().failed_at;
        if failed_at.is_some_and(|failed_at| failed_at.elapsed() < PAUSE) {
            return None;
        }
        let opening = timeout(OPENING, Connection::connect_with(&self.config)).await;
        let connection = opening.ok().and_then(Result::ok).map(Box::new);
        self.lock().failed_at = connection.is_none().then(Instant::now);
        connection
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// How long a server may send nothing that was asked to wait for so long.
    pub(super) fn silence(&self, wait: Duration) -> Option<Duration> {
        self.unresponsive_timeout?.checked_add(wait)
    }

    pub(super) fn command_timeout(&self) -> Option<Duration> {
        self.config.command_timeout
    }

    /// Its turn, for which a caller waits no longer than for a reply.
    async fn permit(&self) -> Result<OwnedSemaphorePermit, Failure> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        let acquired = match self.config.command_timeout {
            Some(time) => timeout(time, permit).await.map_err(|_| Failure::Timeout {
                maybe_executed: false,
            })?,
            None => permit.await,
        };
        acquired.map_err(|_| Failure::Closed)
    }

    /// One that has rested and that the server has not closed meanwhile.
    fn rested(&self) -> Option<Box<Connection>> {
        loop {
            let (mut connection, since) = self.lock().connections.pop()?;
            if since.elapsed() < self.idle_time && connection.is_quiet() {
                return Some(connection);
            }
            self.count_unexpected(&connection);
        }
    }

    /// Keeps a connection for the next one, where it is as it was borrowed, when its meter stood at `before`.
    pub(super) fn give_back(pool: &Arc<Self>, mut connection: Box<Connection>, before: &Meter) {
        pool.count(&connection.meter().since(before));
        if !connection.is_as_made(&pool.config) || !connection.is_quiet() {
            pool.count_unexpected(&connection);
            return;
        }
        connection.forget_borrower(&pool.config);
        connection.release(0);
        let mut resting = pool.lock();
        // Outside of a runtime nobody could see to it.
        let Ok(runtime) = runtime::Handle::try_current() else {
            return;
        };
        if resting.is_closed || pool.idle_time.is_zero() {
            return;
        }
        resting.connections.push((connection, Instant::now()));
        if !resting.has_sweeper {
            resting.has_sweeper = true;
            runtime.spawn(sweep(Arc::downgrade(pool), pool.idle_time));
        }
    }

    /// A connection is not kept.
    fn count_unexpected(&self, connection: &Connection) {
        let replies = connection.unexpected_replies();
        self.unexpected_replies
            .fetch_add(replies, Ordering::Relaxed);
    }

    fn count(&self, borrowed: &Meter) {
        let mut resting = self.lock();
        resting.meter = resting.meter.plus(&Meter {
            capacity_now: 0,
            ..*borrowed
        });
    }

    /// Connections that are borrowed, and those that rest.
    pub(super) fn load(&self) -> (usize, usize) {
        let in_use = self.max - self.permits.available_permits().min(self.max);
        (in_use, self.lock().connections.len())
    }

    pub(super) fn meter(&self) -> Meter {
        self.lock().meter
    }

    pub(super) fn unexpected_replies(&self) -> u64 {
        self.unexpected_replies.load(Ordering::Relaxed)
    }

    /// Closes those that rest; none is borrowed or kept any more.
    pub(super) fn close(&self) {
        self.permits.close();
        let mut resting = self.lock();
        resting.is_closed = true;
        resting.connections = Vec::new();
    }

    /// Closes those whose time is over; gives how long the next one has, `None` where there is none.
    fn sweep(&self) -> Option<Duration> {
        let mut resting = self.lock();
        let is_over = |(_, since): &(Box<Connection>, Instant)| since.elapsed() >= self.idle_time;
        let over = resting
            .connections
            .iter()
            .take_while(|resting| is_over(resting));
        let over = over.count();
        resting.connections.drain(..over);
        match resting.connections.first() {
            Some((_, since)) => Some(self.idle_time.saturating_sub(since.elapsed())),
            None => {
                resting.has_sweeper = false;
                None
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Resting> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs as long as connections rest. It holds the pool only while it looks: handles come and go without it.
async fn sweep(pool: Weak<Pool>, first: Duration) {
    let mut pause = first;
    loop {
        tokio::time::sleep(pause).await;
        let next = pool.upgrade().and_then(|pool| pool.sweep());
        let Some(next) = next else {
            return;
        };
        pause = next;
    }
}
