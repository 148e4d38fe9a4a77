//! MULTI and EXEC in one piece, on the shared connection.

use super::Shared;
use super::group::Group;
use super::responses::output;
use crate::command::Command;
use crate::{Error, OwnedReply, Reply};

const MULTI: &[u8] = b"*1\r\n$5\r\nMULTI\r\n";
const EXEC: &[u8] = b"*1\r\n$4\r\nEXEC\r\n";

/// Commands that the server executes together or not at all, sent as one piece: nothing of another task comes in between,
/// and when the connection is lost before all of it was sent, none of it was executed.
///
/// ```no_run
/// use onecopy_valkey::command::string;
/// # async fn example(shared: onecopy_valkey::tokio::Shared) -> Result<(), onecopy_valkey::Error> {
/// let mut transaction = shared.transaction();
/// transaction.push(&string::decrby("alice", 5)).push(&string::incrby("bob", 5));
/// let replies = transaction.run().await?;
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
        let mut group = Group::default();
        group.push_encoded(MULTI);
        Self {
            shared: shared.clone(),
            group,
        }
    }

    /// Adds a command. One that can't be taken is reported by [`run`](Self::run), and nothing is sent then.
    pub fn push<C: Command>(&mut self, command: &C) -> &mut Self {
        self.group.push(command);
        self
    }

    /// Commands so far.
    pub fn len(&self) -> usize {
        self.group.len().saturating_sub(1)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Executes all of it.
    ///
    /// # Errors
    /// A command that is refused; one that the server refused when it was queued, which is the error, and nothing was
    /// executed then; a failure of the connection. Errors of commands that were executed are among the replies: the others
    /// were executed all the same.
    ///
    /// # Cancel safety
    /// Safe: see [`Shared`].
    pub async fn run(self) -> Result<TransactionResponses, Error> {
        let Self { shared, mut group } = self;
        group.push_encoded(EXEC);
        let mut replies = group.run(&shared, true).await?;
        let executed = replies.pop();
        // The first word that was refused is why all of it was.
        let refused = replies.iter().find_map(|reply| reply.reply().as_error());
        if let Some(text) = refused {
            return Err(Error::server_error(text));
        }
        let Some(executed) = executed else {
            return Err(Error::closed("a transaction got no reply"));
        };
        if let Some(text) = executed.reply().as_error() {
            return Err(Error::server_error(text));
        }
        Ok(TransactionResponses(executed))
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
