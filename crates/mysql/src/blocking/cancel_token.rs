//! Cancelling a statement from another thread.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use onecopy_mysql_proto::client::Reply;
use onecopy_net::{DriveError, blocking as net};

use super::Connection;
use crate::cancel::{AGAIN, Outcome, Start, Target, Turn, order_deadline};
use crate::tls::connector;
use crate::{Cancelled, Error};

/// Cancels the running statement of its connection, from anywhere; see [`Connection::cancel_token`].
///
/// # Example
/// ```no_run
/// use std::thread;
/// use std::time::Duration;
///
/// use onecopy_mysql::blocking::Connection;
///
/// # fn main() -> Result<(), onecopy_mysql::Error> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop")?;
/// let token = conn.cancel_token();
/// let timer = thread::spawn(move || {
///     thread::sleep(Duration::from_secs(1));
///     token.cancel()
/// });
/// let result = conn.run("SELECT SLEEP(60)"); // error 1317 after a second
/// println!("{result:?}, {:?}", timer.join());
/// conn.ping()?; // the connection is still usable
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
    pub fn cancel(&self) -> Result<Cancelled, Error> {
        let target = &self.0;
        let Some(generation) = target.turn.under_way() else {
            return Ok(Cancelled::Nothing);
        };
        let mut side = connect(target, order_deadline(&*target.way()?))?;
        let cancelled = order(target, generation, &mut side, None)?;
        if cancelled == Cancelled::Nothing {
            return Ok(cancelled);
        }
        for pause in AGAIN {
            thread::sleep(pause);
            let again = order(target, generation, &mut side, None)?;
            if again == Cancelled::Nothing {
                break;
            }
        }
        Ok(cancelled)
    }
}

/// The order (a KILL) that is being delivered.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// One that nobody waits for at the moment.
    left: Mutex<Option<Order>>,
    changed: Condvar,
}

/// A connection for orders, or `None` while an order uses it.
pub(super) type Side = Option<Box<Connection>>;

/// An order under way.
#[derive(Debug, Default)]
struct Order {
    side: Side,
    deadline: Option<Instant>,
    /// What is still to be queued.
    sql: Option<String>,
}

/// Makes a connection for orders, by `deadline`.
pub(super) fn connect(target: &Target, deadline: Option<Instant>) -> Result<Side, Error> {
    let way = target.way()?;
    let login = || {
        let stream = net::connect(&way.endpoint, &way.config.socket, deadline)?;
        Connection::login(&way.config, stream, connector(&way.config)?, deadline)
    };
    let side = login().map_err(Error::cancel)?;
    target.check(side.link.core.session())?;
    Ok(Some(Box::new(side)))
}

/// Gives an order to the statement `generation`, and waits for its delivery until `wait_until`. After that the order is left to
/// the next command, together with its connection.
pub(super) fn order(
    target: &Target,
    generation: u64,
    side: &mut Side,
    wait_until: Option<Instant>,
) -> Result<Cancelled, Error> {
    loop {
        match target.turn.start(generation) {
            Start::Started => break,
            Start::Over => return Ok(Cancelled::Nothing),
            Start::Busy => target.blocking.settle(&target.turn, wait_until)?,
        }
    }
    let mut order = Order {
        side: side.take(),
        deadline: target.way().ok().and_then(|way| order_deadline(&way)),
        sql: Some(target.sql()),
    };
    let told = target.blocking.drive(&target.turn, &mut order, wait_until);
    *side = order.side;
    told
}

impl Delivery {
    /// Waits until no order is being delivered; one that was left is driven on.
    ///
    /// # Errors
    /// The deadline.
    pub(super) fn settle(&self, turn: &Turn, until: Option<Instant>) -> Result<(), Error> {
        let mut left = self.lock();
        while turn.is_delivering() {
            if let Some(mut order) = left.take() {
                drop(left);
                let driven = self.drive(turn, &mut order, until);
                left = self.lock();
                match driven {
                    Err(error) if turn.is_delivering() => return Err(error),
                    _ => continue,
                }
            }
            left = match until {
                None => self
                    .changed
                    .wait(left)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let time = until.saturating_duration_since(Instant::now());
                    if time.is_zero() {
                        return Err(timeout());
                    }
                    let waited = self.changed.wait_timeout(left, time);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        Ok(())
    }

    fn drive(
        &self,
        turn: &Turn,
        order: &mut Order,
        until: Option<Instant>,
    ) -> Result<Cancelled, Error> {
        let by = match (order.deadline, until) {
            (Some(order), Some(until)) => Some(order.min(until)),
            (order, until) => order.or(until),
        };
        let reply = order.send(by);
        let is_early = by != order.deadline;
        if let Err(error) = &reply
            && error.is_timeout()
            && is_early
        {
            *self.lock() = Some(std::mem::take(order));
            self.changed.notify_all();
            return Err(timeout());
        }
        let (outcome, told) = Outcome::of(reply);
        {
            let _lock = self.lock();
            turn.delivered(outcome);
        }
        self.changed.notify_all();
        told
    }

    fn lock(&self) -> MutexGuard<'_, Option<Order>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Order {
    /// Sends it and waits for its reply.
    fn send(&mut self, deadline: Option<Instant>) -> Result<(), Error> {
        let Some(side) = self.side.as_deref_mut() else {
            return Err(timeout());
        };
        side.link.set_deadline(deadline);
        if let Some(sql) = self.sql.take() {
            let buffers = &mut side.link.buffers;
            side.link.core.query(buffers, sql.as_bytes())?;
        }
        match side.drive(&())? {
            Reply::Ok => {
                side.link.finish();
                Ok(())
            }
            _ => Err(side.link.close("an order got another reply than ok")),
        }
    }
}

fn timeout() -> Error {
    DriveError::Timeout.into()
}
