//! Cancelling a statement on the server without ever hitting a later one.
//!
//! KILL QUERY names a connection, not a statement: if it arrives late, it would hit whatever statement runs by then. The order
//! (the KILL) is therefore sent over a connection of its own, and the target connection starts no statement in the meantime:
//!
//! ```text
//!   side        connect, log in     KILL QUERY ------ reply
//!                                   |                     |
//!   turn        statement under way | delivering          | late
//!                                   |                     |
//!   connection  ... its reply ...   | (waits)             | DO 0, then its next command
//! ```
//!
//! Nothing waits while the side connection is being made: if the statement has ended by then, no order is sent. When the reply
//! arrives, the server has marked the connection's thread as killed. If no statement has consumed that mark, `DO 0` does.

mod turn;
mod way;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use onecopy_mysql_proto::client::Session;

pub(crate) use turn::{Begin, Outcome, Start, Turn};
pub(crate) use way::Way;

use crate::Error;

/// The result of a request to cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// The server received the request. The statement ends with error 1317, or with its result if it was already done. Some
    /// functions, such as `SLEEP`, end early with a value instead.
    Delivered,
    /// No statement was running, or it ended in the meantime: nothing was sent.
    Nothing,
}

/// The pauses after which an order is repeated while its statement is running, a third of a second in total. An order may
/// overtake a statement that is still in flight, and then cancels nothing. It is not repeated for longer, because it may be that
/// nobody waits for the end of the statement.
pub(crate) const AGAIN: [Duration; 5] = [
    Duration::from_millis(1),
    Duration::from_millis(4),
    Duration::from_millis(16),
    Duration::from_millis(64),
    Duration::from_millis(256),
];

/// An order has this long where the configuration sets no deadline for connecting.
const ORDER: Duration = Duration::from_secs(10);

/// The statement that consumes a late mark: the cheapest one, at whose end both servers clear the mark.
pub(crate) const BARRIER: &[u8] = b"DO 0";

/// What tokens know about a connection.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) turn: Turn,
    connection_id: u32,
    server_version: String,
    /// Another one once the connection's user has changed.
    way: Mutex<Option<Arc<Way>>>,
    pub(crate) blocking: crate::blocking::Delivery,
    #[cfg(feature = "tokio")]
    pub(crate) tokio: crate::aio::Delivery,
}

impl Target {
    pub(crate) fn new(session: &Session, way: Option<Arc<Way>>, under_way: bool) -> Self {
        Self {
            turn: Turn::new(under_way),
            connection_id: session.connection_id,
            server_version: short(&session.server_version),
            way: Mutex::new(way),
            blocking: crate::blocking::Delivery::default(),
            #[cfg(feature = "tokio")]
            tokio: crate::aio::Delivery::default(),
        }
    }

    /// The order itself.
    pub(crate) fn sql(&self) -> String {
        format!("KILL QUERY {}", self.connection_id)
    }

    /// How the server is reached.
    pub(crate) fn way(&self) -> Result<Arc<Way>, Error> {
        let way = self.way.lock().unwrap_or_else(PoisonError::into_inner);
        way.clone().ok_or_else(|| {
            Error::config(
                "a statement on a stream of the caller's own can't be cancelled: there is no address for a second \
                 connection"
                    .into(),
            )
        })
    }

    /// From here on the server is reached in this way.
    pub(crate) fn set_way(&self, way: Arc<Way>) {
        *self.way.lock().unwrap_or_else(PoisonError::into_inner) = Some(way);
    }

    /// Refuses to give an order to another server than the connection's, as far as it can be told: its threads have the
    /// same numbers.
    pub(crate) fn check(&self, session: &Session) -> Result<(), Error> {
        let found = short(&session.server_version);
        if found == self.server_version {
            return Ok(());
        }
        Err(Error::config(format!(
            "nothing was cancelled: another server answered, {found} in place of {}",
            self.server_version
        )))
    }
}

/// As much of a version as tells servers apart, fit for an error's line; a server may write 64 KiB of it.
fn short(version: &str) -> String {
    const CHARACTERS: usize = 128;
    let shown = version.chars().take(CHARACTERS);
    shown
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

impl Outcome {
    /// What the reply to KILL says, and what the caller is told.
    pub(crate) fn of(reply: Result<(), Error>) -> (Self, Result<Cancelled, Error>) {
        const NO_SUCH_THREAD: u16 = 1094;
        match reply {
            Ok(()) => (Self::Killed, Ok(Cancelled::Delivered)),
            Err(error) => match error.server().filter(|_| !error.is_closed()) {
                Some(server) if server.code == NO_SUCH_THREAD => {
                    (Self::Refused, Ok(Cancelled::Nothing))
                }
                Some(_) => (Self::Refused, Err(Error::cancel(error))),
                None => (Self::Lost, Err(Error::cancel(error))),
            },
        }
    }
}

/// Returns the deadline of an order that begins now: connecting and delivering each have this much time.
pub(crate) fn order_deadline(way: &Way) -> Option<Instant> {
    let timeout = way.config.connect_timeout.unwrap_or(ORDER);
    Instant::now().checked_add(timeout)
}
