//! Cancelling a statement from another task.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker, ready};
use std::time::{Duration, Instant};

use ::tokio::time::sleep;
use onecopy_mysql_proto::client::Reply;
use onecopy_net::{DriveError, tokio as net};

use super::Connection;
use crate::cancel::{AGAIN, Outcome, Start, Target, Turn, Way, order_deadline};
use crate::tls::connector;
use crate::{Cancelled, Error};

/// Cancels the running statement of its connection, from anywhere; see [`Connection::cancel_token`].
///
/// # Example
/// ```no_run
/// use std::time::Duration;
///
/// use onecopy_mysql::aio::Connection;
///
/// # async fn example() -> Result<(), onecopy_mysql::Error> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop").await?;
/// let token = conn.cancel_token();
/// tokio::spawn(async move {
///     tokio::time::sleep(Duration::from_secs(1)).await;
///     token.cancel().await
/// });
/// let result = conn.run("SELECT SLEEP(60)").await; // error 1317 after a second
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct CancelToken(Arc<Target>);

impl CancelToken {
    pub(super) fn new(target: &Arc<Target>) -> Self {
        Self(Arc::clone(target))
    }

    /// Cancels the running statement, with KILL QUERY on a second connection to the same address, under the same login.
    ///
    /// No later statement on the connection is ever hit: the next statement waits while the KILL is being delivered. `DO 0` is
    /// executed before it, which resets the warnings and the count of found rows.
    ///
    /// The KILL may overtake a statement that is still being sent. It is therefore repeated for up to a third of a second, until
    /// the connection has seen the end of the statement. In rare cases MariaDB may still lose it, between two results of a
    /// procedure: if a `CALL` continues, cancel again.
    ///
    /// The deadline for connecting is [`Config::connect_timeout`](crate::Config::connect_timeout), or 10 seconds if there is
    /// none; the KILL has the same time again. If no statement is running, the call costs nothing. A token may outlive its
    /// connection, and then cancels the statement that the connection left running.
    ///
    /// Behind a load balancer with several servers at one address, the KILL could reach another server, and hit a statement of
    /// the connection with the same id there. That is detected only if the servers' versions differ. After the connection itself
    /// has failed nothing is cancelled, because its id may belong to another connection by then.
    ///
    /// # Errors
    /// Fails without cancelling anything if no second connection can be made, if a server of another version answers, or if the
    /// connection uses the caller's stream, so that its address is unknown. If the second connection fails after the KILL was
    /// sent, it is unknown when the server will execute it: the connection is closed, and its next call reports that.
    ///
    /// # Cancel safety
    /// Cancel-safe. If the future is dropped while it connects, nothing is sent. If it is dropped later, the connection's next
    /// command completes the delivery.
    pub async fn cancel(&self) -> Result<Cancelled, Error> {
        let target = &self.0;
        let Some(generation) = target.turn.under_way() else {
            return Ok(Cancelled::Nothing);
        };
        let mut side = connect(target, order_deadline(&*target.way()?)).await?;
        let cancelled = order(target, generation, &mut side).await?;
        if cancelled == Cancelled::Nothing {
            return Ok(cancelled);
        }
        for pause in AGAIN {
            sleep(pause).await;
            let again = order(target, generation, &mut side).await?;
            if again == Cancelled::Nothing {
                break;
            }
        }
        Ok(cancelled)
    }
}

/// The order (a KILL) that is being delivered. It has no owner: every task that waits for it drives it on.
#[derive(Default)]
pub(crate) struct Delivery {
    order: Mutex<Option<Order>>,
    waiting: Arc<Waiting>,
}

/// An order from its first byte to its reply, over a connection of its own, with a deadline of its own.
type Order = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// A connection for orders, or `None` while an order uses it.
pub(super) type Side = Option<Box<Connection>>;

/// The result of an order for the task that gave it, and the connection that it used.
type Told = Arc<Mutex<Option<(Result<Cancelled, Error>, Side)>>>;

/// The tasks that wait: the socket wakes only one of them, and that one may be gone.
#[derive(Debug, Default)]
struct Waiting(Mutex<Vec<Waker>>);

/// An order may be stuck beyond its own deadline if the runtime that it was started in makes no progress. It is waited for this
/// much longer.
const STUCK: Duration = Duration::from_secs(1);

/// Makes a connection for orders, by `deadline`.
pub(super) async fn connect(target: &Target, deadline: Option<Instant>) -> Result<Side, Error> {
    let way = target.way()?;
    let login = async {
        let stream = net::connect(&way.endpoint, &way.config.socket, deadline).await?;
        Connection::login(&way.config, stream, connector(&way.config)?, deadline).await
    };
    let side = login.await.map_err(Error::cancel)?;
    target.check(side.link.core.session())?;
    Ok(Some(Box::new(side)))
}

/// Gives an order to the statement `generation`.
///
/// # Cancel safety
/// If it is dropped before the order is started, nothing is sent. If it is dropped later, the order is left, with its connection,
/// to the next task that waits for it.
pub(super) async fn order(
    target: &Target,
    generation: u64,
    side: &mut Side,
) -> Result<Cancelled, Error> {
    let told = Told::default();
    loop {
        match target.tokio.start(target, generation, side, &told) {
            Start::Started => break,
            Start::Over => return Ok(Cancelled::Nothing),
            Start::Busy => target.tokio.settle(&target.turn).await,
        }
    }
    target.tokio.settle(&target.turn).await;
    let Some((told, again)) = lock(&told).take() else {
        return Err(Error::cancel(timeout())); // given up
    };
    *side = again;
    told
}

fn deliver(side: Side, sql: String, deadline: Option<Instant>, told: Told) -> Order {
    Box::pin(async move {
        let Some(mut side) = side else {
            return Outcome::Refused;
        };
        let (outcome, result) = Outcome::of(side.kill(&sql, deadline).await);
        *lock(&told) = Some((result, Some(side)));
        outcome
    })
}

impl Delivery {
    /// Leaves an order over `side` to be driven, where its time has come.
    fn start(&self, target: &Target, generation: u64, side: &mut Side, told: &Told) -> Start {
        let mut slot = lock(&self.order);
        let start = target.turn.start(generation);
        if start == Start::Started {
            let deadline = target.way().ok().and_then(|way| order_deadline(&way));
            let order = deliver(side.take(), target.sql(), deadline, Arc::clone(told));
            *slot = Some(order);
        }
        start
    }

    /// Waits until no order is being delivered, and drives the one that is.
    pub(super) async fn settle(&self, turn: &Turn) {
        poll_fn(|context| self.poll(turn, context)).await;
    }

    fn poll(&self, turn: &Turn, context: &mut Context<'_>) -> Poll<()> {
        self.waiting.add(context.waker());
        let mut slot = lock(&self.order);
        let Some(order) = slot.as_mut() else {
            return Poll::Ready(());
        };
        let waker = Waker::from(Arc::clone(&self.waiting));
        let outcome = ready!(order.as_mut().poll(&mut Context::from_waker(&waker)));
        self.end(turn, slot, outcome);
        Poll::Ready(())
    }

    /// Gives up an order that is stuck.
    pub(super) fn give_up(&self, turn: &Turn) {
        let slot = lock(&self.order);
        if slot.is_some() {
            self.end(turn, slot, Outcome::Lost);
        }
    }

    fn end(&self, turn: &Turn, mut slot: MutexGuard<'_, Option<Order>>, outcome: Outcome) {
        turn.delivered(outcome);
        let over = slot.take();
        drop(slot);
        drop(over);
        self.waiting.wake_all();
    }
}

/// Until when an order that was given before now can take.
pub(super) fn stuck_at(way: &Way) -> Option<Instant> {
    order_deadline(way).and_then(|deadline| deadline.checked_add(STUCK))
}

impl Waiting {
    fn add(&self, waker: &Waker) {
        let mut wakers = lock(&self.0);
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }

    fn wake_all(&self) {
        let wakers = std::mem::take(&mut *lock(&self.0));
        for waker in wakers {
            waker.wake();
        }
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_all();
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery").finish_non_exhaustive()
    }
}

impl Connection {
    /// Sends the order and waits for its reply.
    async fn kill(&mut self, sql: &str, deadline: Option<Instant>) -> Result<(), Error> {
        self.link.set_deadline(deadline);
        let buffers = &mut self.link.buffers;
        self.link.core.query(buffers, sql.as_bytes())?;
        match self.drive(&()).await? {
            Reply::Ok => {
                self.link.finish();
                Ok(())
            }
            _ => Err(self.link.close("an order got another reply than ok")),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn timeout() -> Error {
    DriveError::Timeout.into()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn all_who_wait_for_an_order_are_woken_once() {
        let counts = [Arc::new(Count::default()), Arc::new(Count::default())];
        let waiting = Arc::new(Waiting::default());
        for count in [&counts[0], &counts[0], &counts[1]] {
            waiting.add(&Waker::from(Arc::clone(count)));
        }
        let waker = Waker::from(Arc::clone(&waiting));
        waker.wake_by_ref();
        waker.wake();
        for count in counts {
            assert_eq!(count.0.load(Ordering::Relaxed), 1);
        }
    }
}
