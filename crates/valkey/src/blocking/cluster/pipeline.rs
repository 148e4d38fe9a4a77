//! A pipeline whose commands go to several nodes.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::Cluster;
use super::encoded::Encoded;
use crate::cluster::{Attempts, NodeAddress, Place, Route, Target, is_rejection};
use crate::command::{Command, Raw, raw};
use crate::observe::{BatchKind, Observed, Operations};
use crate::responses::ClusterResponses;
use crate::{Error, OwnedReply, ScriptCall};

/// Commands that are sent together: those for the same node in one piece and in order, one node after the other. There is no order
/// between commands for different nodes. While a slot moves, single commands are redirected, and then executed after later ones of
/// the same pipeline. Commands are copied when they are pushed, and once more when they are sent.
///
/// ```no_run
/// use onecopy_valkey::command::string;
/// # fn example(cluster: &mut onecopy_valkey::blocking::Cluster) -> Result<(), onecopy_valkey::Error> {
/// let mut pipeline = cluster.pipeline();
/// pipeline.push(&string::set("a", "1"))?.push(&string::incr("b"))?;
/// let replies = pipeline.run()?;
/// assert_eq!(replies.get::<string::Incr>(1)?, 1);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct ClusterPipeline<'c> {
    cluster: &'c mut Cluster,
    commands: Vec<(Encoded, Route)>,
    operations: Operations,
}

impl<'c> ClusterPipeline<'c> {
    pub(super) fn new(cluster: &'c mut Cluster) -> Self {
        Self {
            cluster,
            commands: Vec::new(),
            operations: Operations::none(),
        }
    }

    /// Adds a command.
    ///
    /// # Errors
    /// Fails if its keys have several slots: the error names two. Fails if memory cannot be allocated, or if the command changes
    /// its connection. The other commands stay.
    pub fn push<C: Command>(&mut self, command: &C) -> Result<&mut Self, Error> {
        let route = super::admitted(command)?;
        self.commands.push((Encoded::of(command)?, route));
        self.operations.add(command);
        Ok(self)
    }

    /// Adds a call of a script, which is sent with its code: other calls may go to other nodes. Read the response as one of a
    /// [`ScriptCall`].
    ///
    /// # Errors
    /// Fails like [`push`](Self::push).
    pub fn push_script(&mut self, call: &ScriptCall<'_>) -> Result<&mut Self, Error> {
        self.push(&call.with_code())
    }

    /// Returns the number of commands so far.
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    /// Returns whether there are no commands.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sends all commands and waits for all replies. A node that fails does not affect the commands of the others: the error is in
    /// the place of the reply of each command that it concerns.
    ///
    /// # Errors
    /// Never as a whole; the command timeout, which covers all of them, is the error of the commands that have no reply by then.
    pub fn run(self) -> Result<ClusterResponses, Error> {
        let Self {
            cluster,
            commands,
            operations,
        } = self;
        let (kind, count) = (BatchKind::Pipeline, commands.len());
        let observed = Observed::routed_batch(kind, &operations, count, &cluster.system);
        let _observed = observed.until_dropped();
        let deadline = cluster.deadline();
        cluster.refresh_if_due();
        let mut work = Work {
            pending: (0..commands.len())
                .map(|position| (position, Target::Route))
                .collect(),
            results: commands.iter().map(|_| None).collect(),
            commands,
            attempts: HashMap::new(),
            pause: Duration::ZERO,
        };
        while !work.pending.is_empty() {
            work.attempt(cluster, deadline);
            cluster.pause(work.pause, deadline);
        }
        let lost = || Err(Error::closed("a command got no reply"));
        let results = work.results.into_iter();
        Ok(ClusterResponses::new(
            results.map(|result| result.unwrap_or_else(lost)).collect(),
        ))
    }
}

/// A pipeline that runs.
struct Work {
    commands: Vec<(Encoded, Route)>,
    /// The commands without a result, in order, and where each is sent next.
    pending: Vec<(usize, Target)>,
    /// Of those that were attempted and not executed.
    attempts: HashMap<usize, Attempts>,
    results: Vec<Option<Result<OwnedReply, Error>>>,
    pause: Duration,
}

impl Work {
    /// Sends all that is pending, to each node its share.
    fn attempt(&mut self, cluster: &mut Cluster, deadline: Option<Instant>) {
        self.pause = Duration::ZERO;
        let mut shares: HashMap<(Place, bool), Vec<usize>> = HashMap::new();
        for (position, target) in std::mem::take(&mut self.pending) {
            let Some((_, route)) = self.commands.get(position) else {
                continue;
            };
            match cluster.router.place(*route, &target) {
                Ok(place) => {
                    let is_asking = matches!(target, Target::Asking(_));
                    shares.entry((place, is_asking)).or_default().push(position);
                }
                Err(error) => self.failed(cluster, position, error, None),
            }
        }
        for ((place, is_asking), positions) in shares {
            let replies = self.send(cluster, &place, &positions, is_asking, deadline);
            match replies {
                Ok(replies) => {
                    for (position, reply) in positions.into_iter().zip(replies) {
                        self.replied(cluster, position, reply, &place.address);
                    }
                }
                Err(error) => {
                    if error.is_closed() {
                        cluster.lines.forget(&place);
                    }
                    for position in positions {
                        self.failed(
                            cluster,
                            position,
                            error.clone(),
                            Some(place.address.clone()),
                        );
                    }
                }
            }
        }
        self.pending.sort_unstable_by_key(|(position, _)| *position);
    }

    fn send(
        &self,
        cluster: &mut Cluster,
        place: &Place,
        positions: &[usize],
        is_asking: bool,
        deadline: Option<Instant>,
    ) -> Result<Vec<OwnedReply>, Error> {
        let connection = cluster.connected(place, deadline)?;
        let commands = positions
            .iter()
            .filter_map(|&position| self.commands.get(position));
        let commands = commands.map(|(command, _)| command);
        connection.begin()?;
        if !is_asking {
            let parts = connection.queue_all(commands)?;
            return connection.receive_all(&parts, positions.len());
        }
        let asking = Encoded::of::<Raw<'_>>(&raw("ASKING"))?;
        let both = commands.flat_map(|command| [&asking, command]);
        let parts = connection.queue_all(both)?;
        let replies = connection.receive_all(&parts, 2 * positions.len())?;
        Ok(replies.into_iter().skip(1).step_by(2).collect())
    }

    fn replied(
        &mut self,
        cluster: &mut Cluster,
        position: usize,
        reply: OwnedReply,
        from: &NodeAddress,
    ) {
        match reply.reply().as_error() {
            Some(text) if is_rejection(text, from) => {
                let error = Error::server_error(text);
                self.failed(cluster, position, error, Some(from.clone()));
            }
            _ => self.result(position, Ok(reply)),
        }
    }

    fn failed(
        &mut self,
        cluster: &mut Cluster,
        position: usize,
        error: Error,
        from: Option<NodeAddress>,
    ) {
        let attempts = self.attempts.entry(position);
        let attempts = attempts.or_insert_with(|| cluster.attempts());
        let flags = self.commands.get(position).map(|(_, route)| route.flags);
        match cluster.again(attempts, (error, from), flags.unwrap_or_default()) {
            Ok(again) => {
                self.pause = self.pause.max(again.pause);
                self.pending.push((position, again.target));
            }
            Err(error) => self.result(position, Err(error)),
        }
    }

    fn result(&mut self, position: usize, result: Result<OwnedReply, Error>) {
        if let Some(place) = self.results.get_mut(position) {
            *place = Some(result);
        }
    }
}
