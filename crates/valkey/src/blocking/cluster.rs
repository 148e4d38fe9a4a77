//! A client of a cluster that blocks the calling thread.

mod encoded;
mod home;
mod lines;
mod pipeline;
mod scan;
mod split;
mod subscriber;
mod transaction;

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use onecopy_net::DriveError;
use onecopy_pool::Jitter;

pub use crate::responses::ClusterResponses;
pub use pipeline::ClusterPipeline;
pub use scan::ClusterScan;
pub use subscriber::ClusterSubscriber;
pub use transaction::ClusterTransaction;

use super::{Connection, Response};
use crate::cluster::{
    Again, Asked, Attempts, ClusterConfig, ClusterStats, Counts, NodeAddress, Place, Query,
    REFRESH_INTERVAL, RefreshPace, Route, Router, Target, Topology, more_telling, no_topology,
};
use crate::command::{Command, Flags};
use crate::observe::{Observed, System};
use crate::{Arg, Config, Error, Library, ScriptCall, raw};
use lines::Lines;

/// What changes a connection, which is the caller's only for the time of one command.
const REFUSED: Flags = Flags::BREAKS_ORDER
    .with(Flags::CONNECTION_STATE)
    .with(Flags::TRANSACTION)
    .with(Flags::ENDS_TRANSACTION);

/// A client of a cluster. Each command is sent to the node that has the slot of its keys, over one connection to each node, which
/// is made when it is first needed.
///
/// The slots are asked for again when nodes redirect commands or can't be reached: by the call that notices that, at most once a
/// second. [The module](crate::cluster) says which commands are repeated. A command that may have been executed and does not only
/// read never is: its error says so by [`Error::maybe_executed`].
///
/// ```no_run
/// use onecopy_valkey::blocking::Cluster;
/// use onecopy_valkey::command::string;
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// let mut cluster = Cluster::connect("redis+cluster://node-a,node-b,node-c:6380")?;
/// cluster.run(&string::set("greeting", "hello"))?;
/// let greeting = cluster.run(&string::get("greeting"))?;
/// assert_eq!(greeting.get()?, Some(&b"hello"[..]));
/// # Ok(()) }
/// ```
pub struct Cluster {
    config: ClusterConfig,
    router: Router,
    lines: Lines,
    pace: RefreshPace,
    refreshes: u64,
    /// When a refresh that is due for its interval begins.
    due: Option<Instant>,
    /// When one that is wanted may begin.
    wanted: Option<Instant>,
    system: System,
    counts: Counts,
}

impl Cluster {
    /// Connects to the cluster of a URL, see [`ClusterConfig::from_url`].
    ///
    /// # Errors
    /// Fails like [`connect_with`](Self::connect_with), or if the URL is invalid.
    pub fn connect(url: &str) -> Result<Self, Error> {
        Self::connect_with(&ClusterConfig::from_url(url)?)
    }

    /// Asks the seeds for the slots of the cluster.
    ///
    /// # Errors
    /// Fails if no seed answers with the slots, each within 2 seconds.
    pub fn connect_with(config: &ClusterConfig) -> Result<Self, Error> {
        let seeds = config.seeds.iter().filter_map(NodeAddress::of_endpoint);
        let mut cluster = Self {
            config: config.clone(),
            router: Router::new(config.read_from.clone(), seeds.collect()),
            lines: Lines::default(),
            pace: RefreshPace::new(Jitter::default()),
            refreshes: 0,
            due: None,
            wanted: None,
            system: System::default(),
            counts: Counts::default(),
        };
        cluster.ask_for_slots()?;
        Ok(cluster)
    }

    /// Runs a command on the node of its keys. A command without keys runs on any primary.
    ///
    /// # Errors
    /// Fails with the server's error, if its keys have several slots, if the cluster does not execute it within
    /// [`ClusterConfig::max_wait`], if the connection is lost behind it, or after the command timeout, which covers all attempts
    /// together; [`Error::maybe_executed`] says whether a server may have executed it. Commands that change their connection are
    /// refused.
    pub fn run<C: Command>(&mut self, command: &C) -> Result<Response<C>, Error> {
        let route = admitted(command)?;
        let mut observed = Observed::routed(command, &self.system);
        let response = self.run_routed(command, route, &mut observed);
        observed.check(response)
    }

    fn run_routed<C: Command>(
        &mut self,
        command: &C,
        route: Route,
        observed: &mut Observed,
    ) -> Result<Response<C>, Error> {
        let deadline = self.deadline();
        self.refresh_if_due();
        let mut attempts: Option<Attempts> = None;
        let mut target = Target::Route;
        loop {
            let attempted = self.attempt(command, route, &target, deadline);
            if let Some(node) = &attempted.1 {
                observed.at(node);
            }
            let (error, from) = match attempted {
                (Ok(response), _) => return Ok(response),
                (Err(error), from) => (error, from),
            };
            let attempts = attempts.get_or_insert_with(|| self.attempts());
            let again = self.again(attempts, (error, from), route.flags)?;
            self.pause(again.pause, deadline);
            target = again.target;
        }
    }

    /// Calls a script by its digest on the node of its keys. If that does not know the script, it is called again with its code;
    /// nothing is executed twice.
    ///
    /// # Errors
    /// Fails like [`run`](Self::run), or if the script does not compile. All keys of a script must have the same slot.
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

    /// Loads a library of functions on each primary that does not have it with the same code, and so on its replicas. Returns
    /// whether it was loaded anywhere.
    ///
    /// # Errors
    /// Fails with the first error; other primaries may have the library then.
    pub fn load_library(&mut self, library: &Library) -> Result<bool, Error> {
        let mut is_loaded = false;
        for address in self.primaries() {
            is_loaded |= self.on_node(&address)?.load_library(library)?;
        }
        Ok(is_loaded)
    }

    /// Runs a command on all primaries that have slots, one after the other: `DBSIZE`, `FLUSHALL`, `SCRIPT LOAD`, `CONFIG SET`.
    /// Returns the nodes with their results. Nothing is repeated or redirected.
    pub fn on_all_primaries<C: Command>(
        &mut self,
        command: &C,
    ) -> Vec<(NodeAddress, Result<Response<C>, Error>)> {
        let mut results = Vec::new();
        for address in self.primaries() {
            let connection = self.on_node(&address);
            let reply = connection.and_then(|connection| connection.run_owned(command));
            results.push((address, reply.and_then(Response::new)));
        }
        results
    }

    /// Returns the connection to the primary at this address, which is made if there is none: for commands that concern one node.
    /// Nothing is repeated or redirected there, and what it is left with, such as an open transaction, stays.
    ///
    /// # Errors
    /// Fails if the node can't be reached.
    pub fn on_node(&mut self, address: &NodeAddress) -> Result<&mut Connection, Error> {
        let place = Place {
            address: address.clone(),
            is_replica: false,
        };
        let connection = self.lines.connected(&place, &self.config.node)?;
        connection.set_command_timeout(self.config.node.command_timeout);
        Ok(connection)
    }

    /// Returns the connection to the primary that has the slot of a key: for transactions that watch keys, and for streamed values.
    /// Commands there are not redirected: after an error MOVED, call this again.
    ///
    /// # Errors
    /// Fails if no node has the slot, or if it can't be reached.
    pub fn connection_of<'k>(&mut self, key: impl Into<Arg<'k>>) -> Result<&mut Connection, Error> {
        let route = Route::of_key(&key.into());
        let place = self.router.place(route, &Target::Primary)?;
        self.on_node(&place.address)
    }

    /// Starts a pipeline: its commands are split by node, sent together to one node after the other, and their replies put together
    /// in order.
    pub fn pipeline(&mut self) -> ClusterPipeline<'_> {
        ClusterPipeline::new(self)
    }

    /// Starts a transaction on the keys of one slot.
    pub fn transaction(&mut self) -> ClusterTransaction<'_> {
        ClusterTransaction::new(self)
    }

    /// Returns the primaries that have slots, as far as is known.
    pub fn primaries(&self) -> Vec<NodeAddress> {
        let primaries = self.router.topology().primaries();
        primaries.into_iter().cloned().collect()
    }

    /// Returns the primary that has the slot of a key, as far as is known.
    pub fn primary_of(&self, key: impl AsRef<[u8]>) -> Option<NodeAddress> {
        let slot = crate::cluster::key_slot(key.as_ref());
        Some(self.router.topology().primary(slot)?.address.clone())
    }

    /// Asks for the slots again, unless that was done within the last second.
    ///
    /// # Errors
    /// Fails if no node answers with the slots; what was known is kept.
    pub fn refresh(&mut self) -> Result<(), Error> {
        match self.pace.may_begin(Instant::now()) {
            true => self.ask_for_slots(),
            false => Ok(()),
        }
    }

    /// Returns how often the slots were asked for, in success or not.
    pub fn refreshes(&self) -> u64 {
        self.refreshes
    }

    /// Returns the number of nodes to which there is a connection now.
    pub fn connections(&self) -> usize {
        self.lines.count()
    }

    /// Returns what the client has done and what it is doing: for metrics.
    pub fn stats(&self) -> ClusterStats {
        let primaries = self.router.topology().primaries().len();
        self.counts
            .stats(primaries, self.connections(), self.refreshes)
    }

    /// The end of the time of what begins now.
    fn deadline(&self) -> Option<Instant> {
        let timeout = self.config.node.command_timeout?;
        Instant::now().checked_add(timeout)
    }

    fn attempts(&self) -> Attempts {
        Attempts::new(self.config.patience())
    }

    /// What to do after an attempt that has failed at this node.
    fn again(
        &mut self,
        attempts: &mut Attempts,
        (error, from): (Error, Option<NodeAddress>),
        flags: Flags,
    ) -> Result<Again, Error> {
        let again = attempts.failed(error, from.as_ref(), flags, Instant::now())?;
        self.counts.add(&again);
        if let Some((slot, to)) = &again.moved {
            self.router.moved(*slot, to);
        }
        if again.wants_refresh {
            self.want_refresh();
        }
        self.refresh_if_due();
        Ok(again)
    }

    fn want_refresh(&mut self) {
        let next = self.pace.next(Instant::now());
        self.wanted.get_or_insert(next);
    }

    fn pause(&mut self, pause: Duration, deadline: Option<Instant>) {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        thread::sleep(left.map_or(pause, |left| left.min(pause)));
        self.refresh_if_due();
    }

    fn attempt<C: Command>(
        &mut self,
        command: &C,
        route: Route,
        target: &Target,
        deadline: Option<Instant>,
    ) -> (Result<Response<C>, Error>, Option<NodeAddress>) {
        let place = match self.router.place(route, target) {
            Ok(place) => place,
            Err(error) => return (Err(error), None),
        };
        let is_asking = matches!(target, Target::Asking(_));
        let result = self.run_at(&place, command, is_asking, deadline);
        if result.as_ref().is_err_and(Error::is_closed) {
            self.lines.forget(&place);
        }
        (result, Some(place.address))
    }

    fn run_at<C: Command>(
        &mut self,
        place: &Place,
        command: &C,
        is_asking: bool,
        deadline: Option<Instant>,
    ) -> Result<Response<C>, Error> {
        let connection = self.connected(place, deadline)?;
        if is_asking {
            connection.run_quietly(&raw("ASKING"))?;
        }
        Response::new(connection.run_quietly(command)?)
    }

    /// A connection whose next command ends by the deadline.
    fn connected(
        &mut self,
        place: &Place,
        deadline: Option<Instant>,
    ) -> Result<&mut Connection, Error> {
        let connection = self.lines.connected(place, &self.config.node)?;
        if let Some(deadline) = deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(DriveError::Timeout.into());
            }
            connection.set_command_timeout(Some(left));
        }
        Ok(connection)
    }

    fn refresh_if_due(&mut self) {
        let now = Instant::now();
        let begins = [self.due, self.wanted];
        if begins.into_iter().flatten().any(|begins| begins <= now) && self.pace.may_begin(now) {
            // What failed is wanted again by those who still need it.
            let _ = self.ask_for_slots();
        }
    }

    /// Asks nodes where they are, once each. Those that don't answer are asked again at the next refresh.
    fn ask_for_zones(&mut self) {
        for address in self.router.without_zone() {
            let config = Query::new(&address, &self.config.node).config(&self.config.node);
            let info = Connection::connect_with(&config)
                .and_then(|mut connection| connection.run_quietly(&raw("INFO").arg("server")));
            if let Ok(info) = info {
                self.router.learn_zone(&address, info.reply().bytes());
            }
        }
    }

    fn ask_for_slots(&mut self) -> Result<(), Error> {
        self.pace.begin(Instant::now());
        self.refreshes += 1;
        self.wanted = None;
        let interval = self.config.refresh_interval;
        let due = interval.and_then(|interval| {
            self.pace
                .due(interval.max(REFRESH_INTERVAL), Instant::now())
        });
        self.due = due;
        let mut last = None;
        let lines = &self.lines;
        for address in self.router.candidates(|address| lines.has(address)) {
            match ask(&address, &self.config.node, &self.system) {
                Ok(topology) => {
                    self.router.learn(topology);
                    self.lines.retain(|place| self.router.has(place));
                    self.ask_for_zones();
                    return Ok(());
                }
                Err(error) => last = Some(more_telling(last, error)),
            }
        }
        Err(no_topology(last))
    }
}

/// Where a command goes, if it may be run on a connection that other commands use too.
fn admitted<C: Command>(command: &C) -> Result<Route, Error> {
    let route = Route::of(command)?;
    match route.flags.intersects(REFUSED) {
        true => Err(Error::misuse(
            "this command changes its connection, which others of the cluster's commands use: run it on one from connection_of()",
        )),
        false => Ok(route),
    }
}

fn ask(address: &NodeAddress, node: &Config, system: &System) -> Result<Topology, Error> {
    let mut query = Query::new(address, node);
    let mut connection = Connection::connect_with(&query.config(node))?;
    system.learn(connection.session());
    loop {
        let reply = connection.run_quietly(&query.command());
        if let Asked::Topology(topology) = query.answered(reply)? {
            return Ok(topology);
        }
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("primaries", &self.primaries())
            .field("connections", &self.connections())
            .finish_non_exhaustive()
    }
}
