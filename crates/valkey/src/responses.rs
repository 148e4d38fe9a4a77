//! The responses of transactions, and of a cluster's pipelines.

use crate::command::Command;
use crate::link::Queueing;
use crate::{Error, Kind, OwnedReply, Reply};

/// The results of a pipeline, in the order of its commands.
#[derive(Debug)]
pub struct ClusterResponses(Vec<Result<OwnedReply, Error>>);

impl ClusterResponses {
    pub(crate) fn new(results: Vec<Result<OwnedReply, Error>>) -> Self {
        Self(results)
    }

    /// Returns the number of results, one for each command.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the output of the command that was pushed at `position`, counted from 0.
    ///
    /// # Errors
    /// Fails with the error of this command, as `run` of the cluster would, or if there is no such position.
    pub fn get<C: Command>(&self, position: usize) -> Result<C::Output<'_>, Error> {
        output::<C>(self.reply(position)?)
    }

    /// Returns the reply to the command at `position` as the server sent it, including its errors.
    ///
    /// # Errors
    /// Fails if the command got no reply: the node could not be reached, the connection was lost.
    pub fn reply(&self, position: usize) -> Result<Option<Reply<'_>>, Error> {
        match self.0.get(position) {
            None => Ok(None),
            Some(Ok(reply)) => Ok(Some(reply.reply())),
            Some(Err(error)) => Err(error.clone()),
        }
    }

    /// Returns all results as a vector.
    pub fn into_inner(self) -> Vec<Result<OwnedReply, Error>> {
        self.0
    }
}

/// What the replies to MULTI, the commands and EXEC say.
pub(crate) fn executed(mut replies: Vec<OwnedReply>) -> Result<TransactionResponses, Error> {
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

    /// Returns all replies as the server sent them: one array.
    pub fn reply(&self) -> Reply<'_> {
        self.0.reply()
    }

    /// Returns an iterator over all replies as the server sent them, including errors.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Reply<'_>> {
        self.0.reply().children()
    }
}

/// A command's output of a reply that may not be there, or be an error.
pub(crate) fn output<C: Command>(reply: Option<Reply<'_>>) -> Result<C::Output<'_>, Error> {
    let Some(reply) = reply else {
        return Err(Error::misuse("there is no command at this position"));
    };
    match reply.as_error() {
        Some(text) => Err(Error::server_error(text)),
        None => Ok(C::decode(reply)?),
    }
}
