//! A pipeline whose commands go to several nodes.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::Cluster;
use super::inner::Inner;
use crate::aio::race::by;
use crate::aio::shared::{Batch, Sendable};
use crate::aio::together::Together;
use crate::cluster::{Attempts, NodeAddress, Place, Route, Target, is_rejection};
use crate::command::Command;
use crate::observe::BatchKind;
use crate::responses::ClusterResponses;
use crate::{Error, OwnedReply, ScriptCall};

/// Commands of one caller that are sent together: those for the same node in one piece and in order. Nodes work at the same time,
/// so there is no order between commands for different nodes. While a slot moves, single commands are redirected, and then executed
/// after later ones of the same pipeline.
///
/// ```no_run
/// use onecopy_valkey::command::string;
/// # async fn example(cluster: onecopy_valkey::aio::Cluster) -> Result<(), onecopy_valkey::Error> {
/// let mut pipeline = cluster.pipeline();
/// pipeline.push(&string::set("a", "1"))?.push(&string::incr("b"))?;
/// let replies = pipeline.run().await?;
/// assert_eq!(replies.get::<string::Incr>(1)?, 1);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct ClusterPipeline {
    cluster: Cluster,
    batch: Batch,
    routes: Vec<Route>,
}

impl ClusterPipeline {
    pub(super) fn new(cluster: &Cluster) -> Self {
        Self {
            cluster: cluster.clone(),
            batch: Batch::default(),
            routes: Vec::new(),
        }
    }

    /// Adds a command.
    ///
    /// # Errors
    /// Fails if its keys have several slots: the error names two. Fails if memory cannot be allocated, or if a shared connection
    /// does not accept the command. The other commands stay.
    pub fn push<C: Command>(&mut self, command: &C) -> Result<&mut Self, Error> {
        let route = Route::of(command)?;
        self.batch.push(command)?;
        self.routes.push(route);
        Ok(self)
    }

    /// Adds a call of a script, which is sent with its code: other calls may go to other nodes. Read the response as one of a
    /// [`ScriptCall`].
    ///
    /// # Errors
    /// Fails like [`push`](Self::push).
    pub fn push_script(&mut self, call: &ScriptCall<'_>) -> Result<&mut Self, Error> {
        let route = Route::of(call)?;
        self.batch.push_script(call)?;
        self.routes.push(route);
        Ok(self)
    }

    /// Returns the number of commands so far.
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Returns whether there are no commands.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sends all commands and waits for all replies. A node that fails does not affect the commands of the others: the error is in
    /// the place of the reply of each command that it concerns.
    ///
    /// # Errors
    /// Fails after [`Config::command_timeout`](crate::Config::command_timeout), which covers all of them, and if memory cannot be
    /// allocated.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [`Cluster`].
    pub async fn run(self) -> Result<ClusterResponses, Error> {
        let Self {
            cluster,
            batch,
            routes,
        } = self;
        let inner = &cluster.handle.inner;
        let mut observed = batch.observe(BatchKind::Pipeline, &inner.system);
        let sendable = batch.close()?;
        // Some of its commands may have been executed from the first attempt on.
        let is_out = AtomicBool::new(true);
        let work = async {
            let mut work = Work::new(routes, sendable);
            while !work.pending.is_empty() {
                work.attempt(inner).await;
                inner.pause(work.pause).await?;
            }
            Ok(work.end())
        };
        observed.check(by(cluster.deadline(), work, &is_out).await)
    }
}

/// A pipeline that runs.
struct Work {
    routes: Vec<Route>,
    sendable: Sendable,
    /// The commands without a result, in order, and where each is sent next.
    pending: Vec<(usize, Target)>,
    /// Of those that were attempted and not executed.
    attempts: HashMap<usize, Attempts>,
    results: Vec<Option<Result<OwnedReply, Error>>>,
    pause: Duration,
}

/// Commands for one node, and what became of them.
struct Share {
    positions: Vec<usize>,
    address: Option<NodeAddress>,
    replies: Result<Vec<OwnedReply>, Error>,
}

impl Work {
    fn new(routes: Vec<Route>, sendable: Sendable) -> Self {
        Self {
            pending: (0..sendable.len())
                .map(|position| (position, Target::Route))
                .collect(),
            results: routes.iter().map(|_| None).collect(),
            routes,
            sendable,
            attempts: HashMap::new(),
            pause: Duration::ZERO,
        }
    }

    fn end(self) -> ClusterResponses {
        let lost = || Err(Error::closed("a command got no reply"));
        let results = self.results.into_iter();
        ClusterResponses::new(results.map(|result| result.unwrap_or_else(lost)).collect())
    }

    /// Sends all that is pending, to each node its share.
    async fn attempt(&mut self, inner: &Arc<Inner>) {
        self.pause = Duration::ZERO;
        let mut shares: HashMap<(Place, bool), Vec<usize>> = HashMap::new();
        let mut unrouted = Vec::new();
        for (position, target) in std::mem::take(&mut self.pending) {
            let Some(&route) = self.routes.get(position) else {
                continue;
            };
            match inner.find(route, &target) {
                Ok((place, _)) => {
                    let is_asking = matches!(target, Target::Asking(_));
                    shares.entry((place, is_asking)).or_default().push(position);
                }
                Err(error) => unrouted.push(Share {
                    positions: vec![position],
                    address: None,
                    replies: Err(error),
                }),
            }
        }
        let sendable = &self.sendable;
        let runs = shares
            .into_iter()
            .map(|((place, is_asking), positions)| async move {
                let replies = match inner.connected(&place).await {
                    Ok(shared) => sendable.run(&shared, &positions, is_asking).await,
                    Err(error) => Err(error),
                };
                Share {
                    positions,
                    address: Some(place.address),
                    replies,
                }
            });
        let done = Together::new(runs).await;
        for share in done.into_iter().chain(unrouted) {
            self.take(inner, share);
        }
        self.pending.sort_unstable_by_key(|(position, _)| *position);
    }

    fn take(&mut self, inner: &Inner, share: Share) {
        let Share {
            positions,
            address,
            replies,
        } = share;
        match replies {
            Ok(replies) => {
                for (position, reply) in positions.into_iter().zip(replies) {
                    match reply.reply().as_error() {
                        Some(text)
                            if address
                                .as_ref()
                                .is_some_and(|from| is_rejection(text, from)) =>
                        {
                            let error = Error::server_error(text);
                            self.failed(inner, position, error, address.clone());
                        }
                        _ => self.result(position, Ok(reply)),
                    }
                }
            }
            Err(error) => {
                for position in positions {
                    self.failed(inner, position, error.clone(), address.clone());
                }
            }
        }
    }

    fn failed(&mut self, inner: &Inner, position: usize, error: Error, from: Option<NodeAddress>) {
        let attempts = self.attempts.entry(position);
        let attempts = attempts.or_insert_with(|| Attempts::new(inner.config.patience()));
        let flags = self
            .routes
            .get(position)
            .map(|route| route.flags)
            .unwrap_or_default();
        match inner.again(attempts, (error, from), flags) {
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
