//! MULTI and EXEC in one piece, on the shared connection.

use super::Shared;
use super::group::Group;
use super::responses::output;
use crate::command::Command;
use crate::link::Queueing;
use crate::{Error, Kind, OwnedReply, Reply};

/// Commands that the server executes together or not at all. They are sent as one piece, with no other task's commands between
/// them. If the connection is lost before all of them were sent, none was executed.
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
    /// Fails if memory cannot be allocated, or if a shared connection does not accept the command. The other commands stay.
    pub fn push<C: Command>(&mut self, command: &C) -> Result<&mut Self, Error> {
        self.group.push(command)?;
        Ok(self)
    }

    /// Returns the number of commands so far.
    pub fn len(&self) -> usize {
        self.group.len()
    }

    /// Returns whether there are no commands.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sends all commands and returns their replies.
    ///
    /// # Errors
    /// Fails with the server's error if the server refuses one of the commands: [`Error::command_index`] says which one, and
    /// nothing was executed. Fails if the connection fails. Errors of executed commands are among the replies; they do not
    /// prevent the other commands from being executed.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [`Shared`].
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

/// The responses of an executed transaction, in the order of its commands.
#[derive(Debug, Clone)]
pub struct TransactionResponses(OwnedReply);

impl TransactionResponses {
    /// Returns the number of responses, one for each command.
    pub fn len(&self) -> usize {
        self.0.reply().len()
    }

    /// Returns whether there are no responses.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the output of the command that was pushed at `position`, counted from 0. Costs a walk over the replies before it.
    ///
    /// # Errors
    /// Fails with the server's error to this command, or if the reply does not have the type of its output, or if there is no
    /// such position.
    pub fn get<C: Command>(&self, position: usize) -> Result<C::Output<'_>, Error> {
        output::<C>(self.0.reply().children().nth(position))
    }

    /// Returns an iterator over all replies as the server sent them, including errors.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Reply<'_>> {
        self.0.reply().children()
    }
}
