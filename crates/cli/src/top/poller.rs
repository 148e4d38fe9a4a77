//! The connection to one proxy: a thread that asks it at an interval, does what it is told, and connects again after a loss.

use std::fmt::Display;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, Error};
use onecopy_pool::{Backoff, Jitter};

use super::grid::{Grid, Show};
use super::proxy::Answer;
use super::value::Shown;
use crate::failure::Failure;

/// Pauses between attempts to connect.
const BACKOFF: Backoff = Backoff {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(10),
    share: 4,
};

/// Rows that are kept of an answer, and bytes of them: twice the sessions that a proxy has by default.
const MAX_ROWS: usize = 200_000;
const MAX_BYTES: usize = 64 << 20;

/// An answer that has so many times more rows is none.
const ENDLESS: usize = 10;

/// Bytes that are kept of a value.
const MAX_VALUE: usize = 16 << 10;

/// What the thread is told.
#[derive(Debug)]
pub(super) enum Order {
    /// Ask for these from now on, and at once.
    Watch(Vec<Show>),
    Interval(Duration),
    /// Ask for nothing, or again.
    Pause(bool),
    /// Do this; its answer is told with the text.
    Do {
        sql: String,
        done: Shown,
    },
}

/// What the thread tells.
#[derive(Debug)]
pub(super) enum Report {
    Answers(Vec<Answer>),
    Lost {
        why: Shown,
        retry_at: Instant,
    },
    /// What was to be done is done, or not.
    Done(Result<Shown, Shown>),
}

/// What it asks, and when.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) shows: Vec<Show>,
    pub(super) interval: Duration,
    pub(super) is_paused: bool,
}

/// Starts the thread. It ends when the orders' sender is dropped, or when a report is not wanted: `report` returns `false`.
pub(super) fn start(
    config: Config,
    plan: Plan,
    report: impl Fn(Report) -> bool + Send + 'static,
) -> Result<Sender<Order>, Failure> {
    let (sender, orders) = channel();
    let poller = Poller {
        config,
        plan,
        orders,
        report,
    };
    let thread = thread::Builder::new().name("top".to_owned());
    thread
        .spawn(move || poller.run())
        .map_err(|error| Failure::other(format!("can't start a thread: {error}")))?;
    Ok(sender)
}

struct Poller<R> {
    config: Config,
    plan: Plan,
    orders: Receiver<Order>,
    report: R,
}

/// Why a connection is over.
enum End {
    Lost(Shown),
    /// Nobody listens any more.
    Unwanted,
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::lost(error)
    }
}

impl End {
    fn lost(why: impl Display) -> Self {
        Self::Lost(Shown::new(&why.to_string()))
    }
}

impl<R: Fn(Report) -> bool> Poller<R> {
    fn run(mut self) {
        let jitter = Jitter::default();
        let mut failures = 0;
        loop {
            let ended = match Connection::connect_with(&self.config) {
                Ok(conn) => self.serve(conn, &mut failures),
                Err(error) => Err(error.into()),
            };
            let Err(End::Lost(why)) = ended else { return };
            failures += 1;
            let retry_at = Instant::now() + BACKOFF.pause(failures, &jitter);
            if !(self.report)(Report::Lost { why, retry_at }) || self.rest(retry_at).is_err() {
                return;
            }
        }
    }

    /// Asks and obeys as long as the connection holds.
    fn serve(&mut self, mut conn: Connection, failures: &mut u32) -> Result<(), End> {
        loop {
            let began = Instant::now();
            self.ask_all(&mut conn)?;
            *failures = 0;
            // A proxy that answers slowly gets a rest.
            let rest = Instant::now() + self.plan.interval / 2;
            let next = rest.max(began + self.plan.interval);
            self.obey(&mut conn, next)?;
        }
    }

    /// Does what it is told until the next question is due.
    fn obey(&mut self, conn: &mut Connection, mut next: Instant) -> Result<(), End> {
        loop {
            let order = match self.plan.is_paused {
                true => self
                    .orders
                    .recv()
                    .map_err(|_| RecvTimeoutError::Disconnected),
                false => {
                    let left = next.saturating_duration_since(Instant::now());
                    self.orders.recv_timeout(left)
                }
            };
            match order {
                Ok(Order::Watch(shows)) => {
                    self.plan.shows = shows;
                    return Ok(());
                }
                Ok(Order::Interval(interval)) => {
                    self.plan.interval = interval;
                    next = next.min(Instant::now() + interval);
                }
                Ok(Order::Pause(is_paused)) => {
                    self.plan.is_paused = is_paused;
                    if !is_paused {
                        return Ok(());
                    }
                }
                Ok(Order::Do { sql, done }) => {
                    self.perform(conn, &sql, done)?;
                    return Ok(());
                }
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(End::Unwanted),
            }
        }
    }

    /// Waits until it is time to connect again.
    fn rest(&mut self, until: Instant) -> Result<(), End> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.orders.recv_timeout(left) {
                Ok(Order::Watch(shows)) => self.plan.shows = shows,
                Ok(Order::Interval(interval)) => self.plan.interval = interval,
                Ok(Order::Pause(is_paused)) => self.plan.is_paused = is_paused,
                Ok(Order::Do { .. }) => {
                    let why = Shown::new("not done: the proxy is not connected");
                    self.tell(Report::Done(Err(why)))?;
                }
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(End::Unwanted),
            }
        }
    }

    fn perform(&self, conn: &mut Connection, sql: &str, done: Shown) -> Result<(), End> {
        let error = match conn.run(sql) {
            Ok(_) => return self.tell(Report::Done(Ok(done))),
            Err(error) => error,
        };
        let text = match error.maybe_executed() {
            true => format!("{error}; it may or may not have been done"),
            false => error.to_string(),
        };
        self.tell(Report::Done(Err(Shown::new(&text))))?;
        match is_answer(&error) {
            true => Ok(()),
            false => Err(error.into()),
        }
    }

    fn ask_all(&self, conn: &mut Connection) -> Result<(), End> {
        let shows = self.plan.shows.iter();
        let answers = shows.map(|show| Ok((*show, ask(conn, *show)?)));
        let answers = answers.collect::<Result<Vec<_>, End>>()?;
        self.tell(Report::Answers(answers))
    }

    fn tell(&self, report: Report) -> Result<(), End> {
        match (self.report)(report) {
            true => Ok(()),
            false => Err(End::Unwanted),
        }
    }
}

/// Whether the proxy has answered, and goes on.
fn is_answer(error: &Error) -> bool {
    error.server().is_some() && !error.is_closed()
}

/// The answer to one statement. An error of the admin listener's is an answer too.
fn ask(conn: &mut Connection, show: Show) -> Result<Result<Grid, Shown>, End> {
    let mut rows = match conn.query(show.sql()) {
        Ok(rows) => rows,
        Err(error) if is_answer(&error) => return Ok(Err(Shown::new(&error.to_string()))),
        Err(error) => return Err(error.into()),
    };
    let columns = rows.columns().map(|columns| {
        let name = |at| columns.name(at).unwrap_or_default();
        let names = (0..columns.len()).map(|at| text(name(at)));
        names.collect()
    });
    let mut grid = Grid::new(Instant::now(), columns.unwrap_or_default());
    let (mut count, mut bytes) = (0, 0);
    while let Some(row) = rows.next()? {
        count += 1;
        if count > MAX_ROWS * ENDLESS {
            return Err(End::lost(format!(
                "its answer to {} does not end",
                show.sql()
            )));
        }
        if count > MAX_ROWS || bytes > MAX_BYTES {
            grid.is_cut = true;
            continue;
        }
        let values = (0..row.len()).map(|at| Ok(row.bytes(at)?.map(text)));
        let values = values.collect::<Result<Vec<_>, Error>>()?;
        let lens = values
            .iter()
            .map(|value| value.as_ref().map_or(0, String::len));
        bytes += lens.sum::<usize>();
        grid.push(values);
    }
    rows.finish()?;
    Ok(Ok(grid))
}

/// The start of a value, whatever it is.
fn text(bytes: &[u8]) -> String {
    let start = bytes.get(..MAX_VALUE).unwrap_or(bytes);
    String::from_utf8_lossy(start).into_owned()
}
