//! A client of the primary that sentinels watch, which blocks the calling thread.

mod home;
mod search;
mod servers;

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use onecopy_net::DriveError;

use super::{Connection, Response};
use crate::cluster::NodeAddress;
use crate::command::{Command, Flags};
use crate::observe::{Observed, System};
use crate::sentinel::{Again, Attempts, Book, Pace, SentinelConfig};
use crate::{Error, ScriptCall};
use servers::{Primary, Replicas};

/// What changes a connection, which is the caller's only for the time of one command.
const REFUSED: Flags = Flags::BREAKS_ORDER
    .with(Flags::CONNECTION_STATE)
    .with(Flags::TRANSACTION)
    .with(Flags::ENDS_TRANSACTION);

/// A client of the primary that sentinels watch, and of its replicas.
///
/// The primary is looked for by the call that finds its connection lost or its server to be a replica, at most once in 200 ms. Each
/// server is asked for its `ROLE` before it gets commands. Nobody listens between two calls: a primary that was replaced, and is
/// still reached, is noticed at the first write. [The module](crate::sentinel) says which commands are repeated. A command that may
/// have been executed and does not only read never is: its error says so by [`Error::maybe_executed`].
///
/// With [`read_from`](SentinelConfig::read_from), commands that only read go to the replicas in turn. The primary answers if there
/// is none that can be reached. Replicas may be behind.
///
/// ```no_run
/// use onecopy_valkey::blocking::Sentinel;
/// use onecopy_valkey::command::string;
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// let mut sentinel = Sentinel::connect("redis+sentinel://host-a,host-b,host-c/main")?;
/// sentinel.run(&string::set("greeting", "hello"))?;
/// let greeting = sentinel.run(&string::get("greeting"))?;
/// assert_eq!(greeting.get()?, Some(&b"hello"[..]));
/// # Ok(()) }
/// ```
pub struct Sentinel {
    config: SentinelConfig,
    book: Book,
    pace: Pace,
    primary: Option<Primary>,
    replicas: Replicas,
    /// Why there is no primary.
    last_error: Option<Error>,
    searches: u64,
    system: System,
}

impl Sentinel {
    /// Connects to the primary that the sentinels of a URL watch, see [`SentinelConfig::from_url`].
    ///
    /// # Errors
    /// Fails like [`connect_with`](Self::connect_with), or if the URL is invalid.
    pub fn connect(url: &str) -> Result<Self, Error> {
        Self::connect_with(&SentinelConfig::from_url(url)?)
    }

    /// Asks the sentinels for the primary, and connects to it.
    ///
    /// # Errors
    /// Fails if no sentinel leads to a primary: each of up to 8 is asked, one after the other, for at most 2 seconds to connect and
    /// 2 for each of its answers. [`Error::sentinel`] says what is wrong.
    pub fn connect_with(config: &SentinelConfig) -> Result<Self, Error> {
        config.check()?;
        let mut sentinel = Self {
            book: Book::new(config.seeds()),
            config: config.clone(),
            pace: Pace::new(),
            primary: None,
            replicas: Replicas::default(),
            last_error: None,
            searches: 0,
            system: System::default(),
        };
        sentinel.search()?;
        Ok(sentinel)
    }

    /// Runs a command on the primary, or on a replica if it only reads and the configuration says so.
    ///
    /// # Errors
    /// Fails with the server's error, if there is no primary that executes it within [`SentinelConfig::max_wait`], if the connection
    /// is lost behind it, or after the command timeout, which covers all attempts together; [`Error::maybe_executed`] says whether a
    /// server may have executed it. Commands that change their connection are refused.
    pub fn run<C: Command>(&mut self, command: &C) -> Result<Response<C>, Error> {
        if command.flags().intersects(REFUSED) {
            return Err(Error::misuse(
                "this command changes its connection, which the other commands use too: run it on the one from on_primary()",
            ));
        }
        let mut observed = Observed::routed(command, &self.system);
        let response = self.run_routed(command, &mut observed);
        observed.check(response)
    }

    fn run_routed<C: Command>(
        &mut self,
        command: &C,
        observed: &mut Observed,
    ) -> Result<Response<C>, Error> {
        let flags = command.flags();
        let deadline = self.deadline();
        let mut reads = flags.contains(Flags::READONLY) && self.config.reads_from_replicas();
        let mut attempts: Option<Attempts> = None;
        loop {
            let error = match self.attempt(command, reads, deadline, observed) {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            reads = false;
            let max_wait = self.config.max_wait;
            let attempts = attempts.get_or_insert_with(|| Attempts::new(max_wait));
            let again = attempts.failed(error, flags, Instant::now())?;
            self.prepare(again, deadline);
        }
    }

    /// Calls a script by its digest. If the server does not know the script, it is called again with its code; nothing is executed
    /// twice.
    ///
    /// # Errors
    /// Fails like [`run`](Self::run), or if the script does not compile.
    pub fn run_script<'c>(
        &mut self,
        call: &ScriptCall<'c>,
    ) -> Result<Response<ScriptCall<'c>>, Error> {
        match self.run(call) {
            Err(error) if error.is_no_script() => {}
            answered => return answered,
        }
        let response = self.run(&call.with_code())?;
        Response::new(response.into_reply())
    }

    /// Returns the connection to the primary, for pipelines, transactions and streamed values. Nothing is repeated there, and what it
    /// is left with, such as an open transaction, stays. After an error READONLY or a lost connection, call this again. Waits while
    /// there is no primary.
    ///
    /// # Errors
    /// Fails if there is no primary within [`SentinelConfig::max_wait`].
    pub fn on_primary(&mut self) -> Result<&mut Connection, Error> {
        let deadline = self.deadline();
        let mut attempts = Attempts::new(self.config.max_wait);
        while self.connected_primary().is_none() {
            let again = attempts.failed(self.no_primary(), Flags::NONE, Instant::now())?;
            self.prepare(again, deadline);
        }
        let timeout = self.config.server.command_timeout;
        match self.connected_primary() {
            Some(connection) => {
                connection.set_command_timeout(timeout);
                Ok(connection)
            }
            None => Err(Error::offline(None)),
        }
    }

    /// Returns the primary, as far as is known; `None` while there is no connection to one.
    pub fn primary(&self) -> Option<NodeAddress> {
        let primary = self.primary.as_ref();
        let open = primary.filter(|primary| !primary.connection.is_closed());
        Some(open?.address.clone())
    }

    /// Returns the replicas that the sentinels found healthy last. Empty if only the primary is read from.
    pub fn replicas(&self) -> Vec<NodeAddress> {
        self.replicas.addresses()
    }

    /// Returns the sentinels that are known, the one that is asked next first. At most 64.
    pub fn sentinels(&self) -> Vec<NodeAddress> {
        self.book.known().to_vec()
    }

    /// Asks the sentinels again, and checks that the primary is one.
    ///
    /// # Errors
    /// Fails if no sentinel leads to a primary.
    pub fn refresh(&mut self) -> Result<(), Error> {
        self.search()
    }

    /// Returns how often the primary was looked for, in success or not.
    pub fn searches(&self) -> u64 {
        self.searches
    }

    /// Returns the number of servers to which there is a connection now.
    pub fn connections(&self) -> usize {
        usize::from(self.primary().is_some()) + self.replicas.connections()
    }

    /// The end of the time of what begins now.
    fn deadline(&self) -> Option<Instant> {
        let timeout = self.config.server.command_timeout?;
        Instant::now().checked_add(timeout)
    }

    fn attempt<C: Command>(
        &mut self,
        command: &C,
        reads: bool,
        deadline: Option<Instant>,
        observed: &mut Observed,
    ) -> Result<Response<C>, Error> {
        let Self {
            config, replicas, ..
        } = self;
        let replica = match reads {
            true => replicas.next(config),
            false => None,
        };
        let connection = match replica {
            Some(replica) => replica,
            None => {
                let error = self.no_primary();
                self.connected_primary().ok_or(error)?
            }
        };
        observed.at_endpoint(&connection.config.endpoint);
        if let Some(deadline) = deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(DriveError::Timeout.into());
            }
            connection.set_command_timeout(Some(left));
        }
        Response::new(connection.run_quietly(command)?)
    }

    /// Waits, and searches if that is wanted.
    fn prepare(&mut self, again: Again, deadline: Option<Instant>) {
        if again.leaves {
            self.primary = None;
        }
        let now = Instant::now();
        let mut pause = again.pause;
        let searches = again.searches && self.primary().is_none();
        if searches {
            pause = pause.max(self.pace.next(now).saturating_duration_since(now));
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(now));
        thread::sleep(left.map_or(pause, |left: Duration| left.min(pause)));
        if searches && left.is_none_or(|left| left > pause) {
            // Why it failed is what the next attempt fails with.
            let _ = self.search();
        }
    }

    fn connected_primary(&mut self) -> Option<&mut Connection> {
        let primary = self.primary.as_mut();
        let open = primary.filter(|primary| !primary.connection.is_closed());
        Some(&mut open?.connection)
    }

    /// Why there is no primary.
    fn no_primary(&self) -> Error {
        let last = self.last_error.clone();
        last.unwrap_or_else(|| Error::offline(None))
    }
}

impl fmt::Debug for Sentinel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sentinel")
            .field("name", &self.config.name)
            .field("primary", &self.primary())
            .field("sentinels", &self.sentinels())
            .finish_non_exhaustive()
    }
}
