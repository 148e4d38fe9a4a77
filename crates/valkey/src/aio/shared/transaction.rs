//! MULTI and EXEC in one piece, on the shared connection.

use super::Shared;
use super::group::Group;
use crate::command::Command;
use crate::observe::{BatchKind, Operations};
use crate::responses::{TransactionResponses, executed};
use crate::{Error, ScriptCall};

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
    operations: Operations,
}

impl SharedTransaction {
    pub(super) fn new(shared: &Shared) -> Self {
        Self {
            shared: shared.clone(),
            group: Group::default(),
            operations: Operations::none(),
        }
    }

    /// Adds a command.
    ///
    /// # Errors
    /// Fails if memory cannot be allocated, or if a shared connection does not accept the command. The other commands stay.
    pub fn push<C: Command>(&mut self, command: &C) -> Result<&mut Self, Error> {
        self.group.push(command)?;
        self.operations.add(command);
        Ok(self)
    }

    /// Adds a call of a script. The first call of each script in the transaction is sent with the code of the script, further ones
    /// with its digest. None can fail because the server does not know the
    /// script. Read the response as one of a [`ScriptCall`].
    ///
    /// # Errors
    /// Fails like [`push`](Self::push).
    pub fn push_script(&mut self, call: &ScriptCall<'_>) -> Result<&mut Self, Error> {
        self.group.push_script(call)?;
        self.operations.add(call);
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
        let Self {
            shared,
            group,
            operations,
        } = self;
        let mut observed = shared.observe_batch(BatchKind::Transaction, &operations, group.len());
        let replies = observed.step(group.execute(&shared).await)?;
        observed.check(executed(replies))
    }
}
