//! MULTI and EXEC in one piece, on the shared connection.

use super::Shared;
use super::group::Group;
use super::responses::output;
use crate::command::Command;
use crate::link::Queueing;
use crate::{Error, Kind, OwnedReply, Reply};

/// Commands that the server executes together or not at all, sent as one piece: nothing of another task comes in between,
/// and when the connection is lost before all of it was sent, none of it was executed.
///
/// ```no_run
/// use onecopy_valkey::command::string;
/// # async fn example(shared: onecopy_valkey::aio::Shared) -> Result<(), onecopy_valkey::Error> {
/// let mut transaction = shared.transaction();
/// transaction.push(&string::decrby("alice", 5))?.push(&string::incrby("bob", 5))?;
/// let replies = transaction.exec().await?;
/// let alice = replies.get::<string::Decrby>(0)?;
/// # let _ = alice; Ok(()) }
/// ```
#[derive(Debug)]
pub struct SharedTransaction {
    shared: Shared,
    group: Group,
}

impl SharedTransaction {
    pub(super) fn new(shared: &Shared) -> Self {
        Self {
            shared: shared.clone(),
            group: Group::default(),
        }
    }

    /// Adds a command.
    ///
    /// # Errors
    /// Memory that could not be had, or a command that a shared connection does not take; the others stay.
    pub fn push<C: Command>(&mut self, command: &C) -> Result<&mut Self, Error> {
        self.group.push(command)?;
        Ok(self)
    }

    /// Commands so far.
    pub fn len(&self) -> usize {
        self.group.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sends all of it, and gives the commands' replies.
    ///
    /// # Errors
    /// Where the server refuses one of the commands, its error: [`Error::command_index`] says whose; nothing was executed
    /// then. Else a failure of the connection. Errors of commands that were executed are among the replies: the others were
    /// executed all the same.
    ///
    /// # Cancel safety
    /// Safe: see [`Shared`].
    pub async fn exec(self) -> Result<TransactionResponses, Error> {
        let Self { shared, group } = self;
        let mut replies = group.execute(&shared).await?;
        let executed = replies.pop();
        let mut queueing = Queueing::default();
        for (position, reply) in replies.iter().enumerate() {
            queueing.look_at(position, reply.reply());
        }
        if let Some(error) = queueing.error() {
            return Err(error);
        }
        let Some(executed) = executed else {
            return Err(Error::closed("a transaction got no reply"));
        };
        match executed.reply().kind() {
            Kind::Array => Ok(TransactionResponses(executed)),
            _ => Err(match executed.reply().as_error() {
                Some(text) => Error::server_error(text),
                None => Error::unexpected("the array of a transaction's replies", executed.reply()),
            }),
        }
    }
}

/// Responses of a transaction that was executed, in the order of its commands.
#[derive(Debug, Clone)]
pub struct TransactionResponses(OwnedReply);

impl TransactionResponses {
    /// How many there are: one for each command.
    pub fn len(&self) -> usize {
        self.0.reply().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The output of the command that was pushed at this position, counted from 0. Costs a walk to it.
    ///
    /// # Errors
    /// The server's error to this command, a reply that is not what its output is made of, no such position.
    pub fn get<C: Command>(&self, position: usize) -> Result<C::Output<'_>, Error> {
        output::<C>(self.0.reply().children().nth(position))
    }

    /// All of them as the server sent them, errors too.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Reply<'_>> {
        self.0.reply().children()
    }
}
