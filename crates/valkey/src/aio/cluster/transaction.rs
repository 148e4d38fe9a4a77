//! MULTI and EXEC on the node of one slot.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Cluster;
use super::inner::Inner;
use super::repeat::Attempted;
use crate::aio::TransactionResponses;
use crate::aio::race::by;
use crate::aio::shared::{Batch, Sendable};
use crate::cluster::{Attempts, OneSlot, Route, Target};
use crate::command::{Command, Flags};
use crate::observe::{BatchKind, Observed};
use crate::{Error, ScriptCall};

/// Commands that the server executes together or not at all. All of their keys must have the same slot: give them the same hash
/// tag, as in `{user:7}:name` and `{user:7}:mail`.
///
/// ```no_run
/// use onecopy_valkey::command::string;
/// # async fn example(cluster: onecopy_valkey::aio::Cluster) -> Result<(), onecopy_valkey::Error> {
/// let mut transaction = cluster.transaction();
/// transaction.push(&string::decrby("{bank}alice", 5))?.push(&string::incrby("{bank}bob", 5))?;
/// let replies = transaction.exec().await?;
/// # let _ = replies; Ok(()) }
/// ```
#[derive(Debug)]
pub struct ClusterTransaction {
    cluster: Cluster,
    batch: Batch,
    keys: OneSlot,
}

impl ClusterTransaction {
    pub(super) fn new(cluster: &Cluster) -> Self {
        Self {
            cluster: cluster.clone(),
            batch: Batch::default(),
            keys: OneSlot::default(),
        }
    }

    /// Adds a command.
    ///
    /// # Errors
    /// Fails if one of its keys has another slot than a key before it: the error names both. Fails if memory cannot be allocated,
    /// or if a shared connection does not accept the command. The other commands stay.
    pub fn push<C: Command>(&mut self, command: &C) -> Result<&mut Self, Error> {
        self.check(command)?;
        self.batch.push(command)?;
        Ok(self)
    }

    /// Adds a call of a script, which is sent with its code. Read the response as one of a [`ScriptCall`].
    ///
    /// # Errors
    /// Fails like [`push`](Self::push).
    pub fn push_script(&mut self, call: &ScriptCall<'_>) -> Result<&mut Self, Error> {
        self.check(call)?;
        self.batch.push_script(call)?;
        Ok(self)
    }

    fn check<C: Command>(&mut self, command: &C) -> Result<(), Error> {
        Route::of(command)?;
        self.keys.add_all(command)
    }

    /// Returns the number of commands so far.
    pub fn len(&self) -> usize {
        self.batch.len()
    }

    /// Returns whether there are no commands.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sends all commands and returns their replies. If the slot moves meanwhile, it is executed as a whole by the new node.
    ///
    /// # Errors
    /// Fails with the server's error if the server refuses one of the commands: [`Error::command_index`] says which one, and
    /// nothing was executed. Otherwise like [`Cluster::run`]; errors of executed commands are among the replies.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [`Cluster`].
    pub async fn exec(self) -> Result<TransactionResponses, Error> {
        let Self {
            cluster,
            batch,
            keys,
        } = self;
        let route = Route {
            slot: keys.slot(),
            flags: Flags::WRITE,
        };
        let inner = &cluster.handle.inner;
        let mut observed = batch.observe(BatchKind::Transaction, &inner.system);
        let sendable = batch.close()?;
        let is_out = AtomicBool::new(false);
        let attempts = &mut observed;
        let work = async {
            let observed = attempts;
            let mut attempts = Attempts::new(inner.config.patience());
            let mut target = Target::Route;
            loop {
                let failed =
                    match execute(inner, &sendable, route, &target, &is_out, observed).await {
                        (Ok(responses), _) => return Ok(responses),
                        (Err(error), from) => (error, from),
                    };
                let again = inner.again(&mut attempts, failed, route.flags)?;
                inner.pause(again.pause).await?;
                target = again.target;
            }
        };
        let executed = by(cluster.deadline(), work, &is_out).await;
        observed.check(executed)
    }
}

async fn execute(
    inner: &Arc<Inner>,
    sendable: &Sendable,
    route: Route,
    target: &Target,
    is_out: &AtomicBool,
    observed: &mut Observed,
) -> Attempted<TransactionResponses> {
    let place = match inner.find(route, target) {
        Ok((place, _)) => place,
        Err(error) => return (Err(error), None),
    };
    observed.at(&place.address);
    let shared = match inner.connected(&place).await {
        Ok(shared) => shared,
        Err(error) => return (Err(error), Some(place.address)),
    };
    is_out.store(true, Ordering::Relaxed);
    let is_asking = matches!(target, Target::Asking(_));
    let executed = sendable.execute(&shared, is_asking).await;
    is_out.store(false, Ordering::Relaxed);
    (executed, Some(place.address))
}
