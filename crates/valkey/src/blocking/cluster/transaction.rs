//! MULTI and EXEC on the node of one slot.

use std::time::Instant;

use super::Cluster;
use super::encoded::Encoded;
use crate::cluster::{OneSlot, Place, Route, Target};
use crate::command::{Command, Flags};
use crate::link::{EXEC, MULTI};
use crate::observe::{BatchKind, Observed, Operations};
use crate::parts::Parts;
use crate::responses::{TransactionResponses, executed};
use crate::{Error, ScriptCall, raw};

/// Commands that the server executes together or not at all. All of their keys must have the same slot: give them the same hash
/// tag, as in `{user:7}:name` and `{user:7}:mail`.
///
/// ```no_run
/// use onecopy_valkey::command::string;
/// # fn example(cluster: &mut onecopy_valkey::blocking::Cluster) -> Result<(), onecopy_valkey::Error> {
/// let mut transaction = cluster.transaction();
/// transaction.push(&string::decrby("{bank}alice", 5))?.push(&string::incrby("{bank}bob", 5))?;
/// let replies = transaction.exec()?;
/// # let _ = replies; Ok(()) }
/// ```
#[derive(Debug)]
pub struct ClusterTransaction<'c> {
    cluster: &'c mut Cluster,
    commands: Vec<Encoded>,
    keys: OneSlot,
    operations: Operations,
}

impl<'c> ClusterTransaction<'c> {
    pub(super) fn new(cluster: &'c mut Cluster) -> Self {
        Self {
            cluster,
            commands: Vec::new(),
            keys: OneSlot::default(),
            operations: Operations::none(),
        }
    }

    /// Adds a command.
    ///
    /// # Errors
    /// Fails if one of its keys has another slot than a key before it: the error names both. Fails if memory cannot be allocated,
    /// or if the command changes its connection. The other commands stay.
    pub fn push<C: Command>(&mut self, command: &C) -> Result<&mut Self, Error> {
        super::admitted(command)?;
        let encoded = Encoded::of(command)?;
        self.keys.add_all(command)?;
        self.commands.push(encoded);
        self.operations.add(command);
        Ok(self)
    }

    /// Adds a call of a script, which is sent with its code. Read the response as one of a [`ScriptCall`].
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

    /// Sends all commands and returns their replies. If the slot moves meanwhile, it is executed as a whole by the new node.
    ///
    /// # Errors
    /// Fails with the server's error if the server refuses one of the commands: [`Error::command_index`] says which one, and
    /// nothing was executed. Otherwise like [`Cluster::run`]; errors of executed commands are among the replies.
    pub fn exec(self) -> Result<TransactionResponses, Error> {
        let (kind, count) = (BatchKind::Transaction, self.len());
        let system = &self.cluster.system;
        let mut observed = Observed::routed_batch(kind, &self.operations, count, system);
        let executed = self.exec_routed(&mut observed);
        observed.check(executed)
    }

    fn exec_routed(self, observed: &mut Observed) -> Result<TransactionResponses, Error> {
        let Self {
            cluster,
            commands,
            keys,
            ..
        } = self;
        let route = Route {
            slot: keys.slot(),
            flags: Flags::WRITE,
        };
        let deadline = cluster.deadline();
        cluster.refresh_if_due();
        let mut attempts = cluster.attempts();
        let mut target = Target::Route;
        loop {
            let failed = match cluster.router.place(route, &target) {
                Err(error) => (error, None),
                Ok(place) => {
                    observed.at(&place.address);
                    let is_asking = matches!(target, Target::Asking(_));
                    match execute(cluster, &place, &commands, is_asking, deadline) {
                        Ok(responses) => return Ok(responses),
                        Err(error) => {
                            if error.is_closed() {
                                cluster.lines.forget(&place);
                            }
                            (error, Some(place.address))
                        }
                    }
                }
            };
            let again = cluster.again(&mut attempts, failed, route.flags)?;
            cluster.pause(again.pause, deadline);
            target = again.target;
        }
    }
}

fn execute(
    cluster: &mut Cluster,
    place: &Place,
    commands: &[Encoded],
    is_asking: bool,
    deadline: Option<Instant>,
) -> Result<TransactionResponses, Error> {
    let connection = cluster.connected(place, deadline)?;
    if is_asking {
        // Before MULTI it holds up to EXEC.
        connection.run_quietly(&raw("ASKING"))?;
    }
    connection.begin()?;
    connection.link.queue_encoded(MULTI)?;
    let parts = connection.queue_all(commands.iter())?;
    connection.link.queue_encoded(EXEC)?;
    // In a transaction no command blocks.
    connection.link.never_blocks();
    let mut replies = connection.receive_all(&parts, 1 + commands.len())?;
    let frame = connection.receive(&Parts::new())?;
    let reply = connection.link.reply(frame).detach();
    connection.link.ended(frame);
    replies.push(reply.map_err(Error::out_of_memory)?);
    executed(replies)
}
