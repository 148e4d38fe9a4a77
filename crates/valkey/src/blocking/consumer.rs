//! A member of a consumer group.

use std::time::{Duration, Instant};

use onecopy_net::{DriveError, blocking as net};
use onecopy_resp_proto::Frame;
use onecopy_wire::Meter;

use super::{Cluster, Connection, Sentinel};
use crate::link::deadline_in;
use crate::parts::Parts;
use crate::streams::{ConsumerOptions, ConsumerStats, Delivery, EntryId, Goal, Home, Intake, Step};
use crate::url::AnyConfig;
use crate::{Config, Error};

/// One consumer of a group, which processes entries of a stream at least once. See [`streams`](crate::streams) for what is
/// guaranteed, and in which order entries come.
///
/// It has a connection of its own, and connects again when that is lost: in a cluster to the node that has the slot of the stream
/// by then, behind sentinels to the primary. Acknowledgements that were not confirmed are then sent again, and entries that were
/// in flight are asked for again.
///
/// Nobody listens while it waits for the server: a server that lost the network is left when it does not reply in time.
///
/// # Example
/// ```no_run
/// use onecopy_valkey::blocking::Consumer;
/// use onecopy_valkey::streams::ConsumerOptions;
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// let options = ConsumerOptions::new("orders", "billing", "worker-1");
/// let mut consumer = Consumer::connect("redis://localhost", options)?;
/// loop {
///     let order = consumer.next()?;
///     println!("{}: {:?}", order.id, order.get("amount"));
///     let id = order.id;
///     consumer.ack(id)?;
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Consumer {
    home: Home<Cluster, Sentinel>,
    connection: Connection,
    intake: Intake,
    /// Large arguments of what was asked.
    parts: Parts<'static>,
}

impl Consumer {
    /// Connects to the server of a URL, see [`Config::from_url`], and creates the group if the options say so. Also
    /// accepts the URLs of clusters, see [`ClusterConfig::from_url`](crate::cluster::ClusterConfig::from_url), and of sentinels, see
    /// [`SentinelConfig::from_url`](crate::sentinel::SentinelConfig::from_url).
    ///
    /// # Errors
    /// Fails like [`connect_with`](Self::connect_with), [`in_cluster`](Self::in_cluster) or
    /// [`behind_sentinel`](Self::behind_sentinel), or if the URL is invalid.
    pub fn connect(url: &str, options: ConsumerOptions) -> Result<Self, Error> {
        match AnyConfig::from_url(url)? {
            AnyConfig::Server(config) => Self::connect_with(&config, options),
            AnyConfig::Cluster(config) => {
                let cluster = Cluster::connect_with(&config)?;
                Self::in_cluster(cluster, options)
            }
            AnyConfig::Sentinel(config) => {
                let sentinel = Sentinel::connect_with(&config)?;
                Self::behind_sentinel(sentinel, options)
            }
        }
    }

    /// Connects, and creates the group if the options say so. If [`Config::command_timeout`] is not set, replies have to come
    /// within [`Config::unresponsive_timeout`], in addition to the time for which a read waits at the server.
    ///
    /// # Errors
    /// Fails like [`Connection::connect_with`], or with the server's error if the key is not a stream or the user may not create
    /// groups.
    pub fn connect_with(config: &Config, options: ConsumerOptions) -> Result<Self, Error> {
        Self::start(Home::Server, config, options)
    }

    /// Connects to the node of a cluster that has the slot of the stream, and follows that: when it moves, and when the primary
    /// fails. Otherwise like [`connect_with`](Self::connect_with), with [`ClusterConfig::node`](crate::cluster::ClusterConfig::node).
    ///
    /// # Errors
    /// Fails like [`connect_with`](Self::connect_with), if no node has the slot or takes commands within
    /// [`ClusterConfig::max_wait`](crate::cluster::ClusterConfig::max_wait), or if the key for [`Poison`](crate::streams::Poison) has
    /// another slot.
    pub fn in_cluster(cluster: Cluster, options: ConsumerOptions) -> Result<Self, Error> {
        options.check_slots()?;
        let home = Home::in_cluster(cluster, &options.key);
        Self::find(home, options)
    }

    /// Connects to the primary that sentinels watch, and follows it. Otherwise like [`connect_with`](Self::connect_with), with
    /// [`SentinelConfig::server`](crate::sentinel::SentinelConfig::server).
    ///
    /// # Errors
    /// Fails like [`connect_with`](Self::connect_with), or if no primary takes commands within
    /// [`SentinelConfig::max_wait`](crate::sentinel::SentinelConfig::max_wait).
    pub fn behind_sentinel(sentinel: Sentinel, options: ConsumerOptions) -> Result<Self, Error> {
        Self::find(Home::behind_sentinel(sentinel), options)
    }

    /// Waits for the next entry. It is pending for this consumer until it is acknowledged.
    ///
    /// # Errors
    /// Fails with the server's error; if the group does not exist (any more), [`Error::is_no_group`] is true. A lost connection is
    /// an error only after [`max_attempts`](ConsumerOptions::max_attempts) attempts, or if no retry can help. Fails with
    /// [`Error::is_misuse`] if the caller has taken [`max_unacknowledged`](ConsumerOptions::max_unacknowledged) entries. After
    /// each error this may be called again.
    #[allow(clippy::should_implement_trait)] // what it returns is borrowed
    pub fn next(&mut self) -> Result<Delivery<'_>, Error> {
        self.intake.may_take()?;
        self.advance(Goal::Entry, None)?;
        self.intake.take_entry();
        self.intake.delivery().ok_or_else(none)
    }

    /// Waits like [`next`](Self::next), for at most `timeout`. Returns `None` if nothing has come by then. An attempt to connect
    /// that has begun is not cut short.
    ///
    /// # Errors
    /// Fails like [`next`](Self::next).
    pub fn next_timeout(&mut self, timeout: Duration) -> Result<Option<Delivery<'_>>, Error> {
        self.intake.may_take()?;
        let deadline = deadline_in(Some(timeout));
        if !self.advance(Goal::Entry, deadline)? {
            return Ok(None);
        }
        self.intake.take_entry();
        Ok(self.intake.delivery())
    }

    /// Acknowledges an entry: it was processed. With an [`ack_batch`](ConsumerOptions::ack_batch) of 1, this waits until the server
    /// has confirmed it; otherwise only every so many calls do. If the connection is lost, it connects again, like
    /// [`next`](Self::next).
    ///
    /// # Errors
    /// Fails like [`flush`](Self::flush).
    pub fn ack(&mut self, id: EntryId) -> Result<(), Error> {
        match self.intake.acknowledge(id) {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Sends all acknowledgements that are queued, and waits until the server has confirmed them.
    ///
    /// # Errors
    /// Fails with the server's error, or if the connection is lost and cannot be made again, see [`next`](Self::next). The
    /// acknowledgements stay queued.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.advance(Goal::Acks, None)?;
        Ok(())
    }

    /// Gives up an entry that was taken and not processed. It stays pending, and is delivered again, to this or another
    /// consumer, when it is claimed after [`claim_min_idle`](ConsumerOptions::claim_min_idle), or when this one connects again.
    /// Returns whether it had been taken and not acknowledged.
    pub fn release(&mut self, id: EntryId) -> bool {
        self.intake.release(id)
    }

    /// Returns the number of entries that were taken, and neither acknowledged nor released.
    pub fn unacknowledged(&self) -> usize {
        self.intake.unacknowledged()
    }

    /// Returns what was done so far.
    pub fn stats(&self) -> ConsumerStats {
        self.intake.stats()
    }

    /// Returns whether there is a connection, as far as is known.
    pub fn is_connected(&self) -> bool {
        !self.connection.is_closed()
    }

    /// Returns why the connection was lost last, or why it could not be made again.
    pub fn last_error(&self) -> Option<&Error> {
        self.intake.last_error()
    }

    /// Returns the copy counters of the connection and of those that it replaced.
    pub fn meter(&self) -> Meter {
        self.connection.meter()
    }

    /// Sends the acknowledgements that are queued, and closes the connection. Dropping the consumer closes it without that:
    /// these entries are delivered again. Pending entries stay pending.
    ///
    /// # Errors
    /// Fails like [`flush`](Self::flush).
    pub fn close(mut self) -> Result<(), Error> {
        self.flush()?;
        self.connection.close();
        Ok(())
    }

    fn find(mut home: Home<Cluster, Sentinel>, options: ConsumerOptions) -> Result<Self, Error> {
        let config = home.find()?.unwrap_or_default();
        Self::start(home, &config, options)
    }

    fn start(
        mut home: Home<Cluster, Sentinel>,
        config: &Config,
        options: ConsumerOptions,
    ) -> Result<Self, Error> {
        let connected = Connection::connect_with(config);
        let mut connection = connected.inspect_err(|error| home.lost(error))?;
        let timeout = config.command_timeout.or(config.unresponsive_timeout);
        connection.set_command_timeout(timeout);
        let mut intake = Intake::new(options);
        if matches!(home, Home::Cluster(_)) {
            intake.follow_redirections();
        }
        let mut consumer = Self {
            home,
            connection,
            intake,
            parts: Parts::new(),
        };
        let max_wait = consumer.home.max_wait();
        let deadline = max_wait.and_then(|max_wait| Instant::now().checked_add(max_wait));
        if consumer.advance(Goal::Group, deadline)? {
            return Ok(consumer);
        }
        let last = consumer.last_error().cloned();
        Err(last.unwrap_or_else(|| DriveError::Timeout.into()))
    }

    /// Does what is necessary for `goal`. `false`: the time is over before.
    fn advance(&mut self, goal: Goal, deadline: Option<Instant>) -> Result<bool, Error> {
        let mut is_first = true;
        loop {
            let is_over = !is_first && deadline.is_some_and(|deadline| deadline <= Instant::now());
            let done = match self.intake.step(goal, self.connection.is_closed()) {
                Step::Done => return Ok(true),
                Step::Connect if !self.reconnect(deadline)? => return Ok(false),
                Step::Connect => Ok(()),
                // The server may reply to each read at once.
                Step::Send if is_over => return Ok(false),
                Step::Send => self.send(goal),
                Step::Receive => match self.hear(deadline) {
                    Ok(None) => return Ok(false),
                    Ok(Some(frame)) => {
                        self.intake
                            .take(frame, &mut self.connection.link, Instant::now())
                    }
                    Err(error) => Err(error),
                },
            };
            is_first = false;
            match done.map_err(|error| self.connection.failed(error)) {
                Ok(()) => {}
                Err(error) if self.connection.is_closed() => {
                    self.home.lost(&error);
                    self.intake.lost(error)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Queues what is to be asked.
    fn send(&mut self, goal: Goal) -> Result<(), Error> {
        if self.intake.is_quiet() {
            self.connection.begin()?;
            self.parts.clear();
        }
        let link = &mut self.connection.link;
        self.intake.ask(goal, link, &mut self.parts, Instant::now())
    }

    /// Sends what is queued, and waits for the next reply; `None` where there is none in time.
    fn hear(&mut self, deadline: Option<Instant>) -> Result<Option<Frame>, Error> {
        loop {
            let Connection { link, stream, .. } = &mut self.connection;
            if let Some(frame) = link.buffered() {
                return Ok(Some(frame));
            }
            let (until, is_last) = self.intake.wait_until(deadline, Instant::now());
            let (core, buffers) = (&mut link.core, &mut link.buffers);
            let driven = net::drive_duplex(core, buffers, stream, &self.parts, until);
            match driven {
                Err(DriveError::Timeout) if !is_last => return Ok(None),
                Err(DriveError::Timeout) => {
                    return Err(link.close("the server did not reply in time"));
                }
                driven => {
                    if let Some(message) = link.message(driven)? {
                        return link.frame(message).map(Some);
                    }
                }
            }
        }
    }

    /// Connects again, when its time has come. `false`: the caller's time is over before.
    fn reconnect(&mut self, deadline: Option<Instant>) -> Result<bool, Error> {
        let now = Instant::now();
        let retry_at = self.intake.retry_at(now);
        let until = deadline.map_or(retry_at, |deadline| deadline.min(retry_at));
        std::thread::sleep(until.saturating_duration_since(now));
        if until < retry_at {
            return Ok(false);
        }
        match self.reconnect_once() {
            Ok(()) => self.intake.connected(self.home.is_asking()),
            Err(error) => {
                self.home.lost(&error);
                self.intake.attempt_failed(error)?;
            }
        }
        Ok(true)
    }

    fn reconnect_once(&mut self) -> Result<(), Error> {
        if let Some(config) = self.home.find()? {
            self.connection.config = config;
        }
        self.connection.reconnect()
    }
}

/// Never: an entry was there.
#[cold]
fn none() -> Error {
    Error::closed("an entry has no fields")
}
