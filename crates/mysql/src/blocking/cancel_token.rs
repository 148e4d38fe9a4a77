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

/// Cancels what its connection is doing, from anywhere; see [`Connection::cancel_token`].
#[derive(Debug, Clone)]
pub struct CancelToken(Arc<Target>);

impl CancelToken {
    pub(super) fn new(target: &Arc<Target>) -> Self {
        Self(Arc::clone(target))
    }

    /// Cancels the statement that is under way now, by KILL QUERY over a connection of its own to the same address, under
    /// the same login. No later statement of the connection is hit: the next one waits while the order is delivered, and
    /// is preceded by `DO 0`, which forgets warnings and counts of found rows.
    ///
    /// A statement that is still being sent may be overtaken by its order; so the order is repeated for up to a third of a
    /// second until the connection has seen the statement's end. MariaDB may still lose it, seldom, between two results of a
    /// procedure: where a `CALL` goes on, cancel again.
    ///
    /// Connecting has the deadline [`Config::connect_timeout`](crate::Config::connect_timeout), or 10 seconds where there
    /// is none, and the order has it once more. Without a statement under way it costs nothing. A token outlives its
    /// connection, and cancels what that left running.
    ///
    /// Behind a balancer with several servers at one address the order could reach another server's statement of the same
    /// number; that is seen only if their versions differ. Once the connection itself has failed nothing is cancelled: its
    /// number may be another's by then.
    ///
    /// # Errors
    /// No second connection can be had; another version of the server answered; the connection is over a stream of the
    /// caller's own. Nothing was cancelled then. Where the second connection fails behind the order, nobody knows when it
    /// will be executed: the connection is closed, and its next call says so.
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

/// The order that is being delivered.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// One that nobody waits for at the moment.
    left: Mutex<Option<Order>>,
    changed: Condvar,
}

/// A connection for orders, while no order is under way over it.
pub(super) type Side = Option<Box<Connection>>;

/// An order under way.
#[derive(Debug, Default)]
struct Order {
    side: Side,
    deadline: Option<Instant>,
    /// What is still to be queued.
    sql: Option<String>,
}

/// A connection for orders, made by `deadline`.
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

/// Gives an order to the statement `generation`, and waits for its delivery until `wait_until`, behind which it is left,
/// with its connection, to the next command.
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
