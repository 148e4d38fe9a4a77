//! The replies to several commands.

use crate::command::Command;
use crate::{Error, OwnedReply, Reply};

/// Responses in the order of their commands, each the caller's own.
#[derive(Debug, Clone)]
pub struct Responses(Vec<OwnedReply>);

impl Responses {
    pub(super) fn new(replies: Vec<OwnedReply>) -> Self {
        Self(replies)
    }

    /// How many there are: one for each command.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The output of the command that was pushed at this position, counted from 0.
    ///
    /// # Errors
    /// The server's error to this command, a reply that is not what its output is made of, no such position.
    pub fn get<C: Command>(&self, position: usize) -> Result<C::Output<'_>, Error> {
        output::<C>(self.reply(position))
    }

    /// The reply to the command at this position as the server sent it, an error too.
    pub fn reply(&self, position: usize) -> Option<Reply<'_>> {
        self.0.get(position).map(OwnedReply::reply)
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Reply<'_>> {
        self.0.iter().map(OwnedReply::reply)
    }

    /// All of them as they are.
    pub fn into_inner(self) -> Vec<OwnedReply> {
        self.0
    }
}

/// A command's output of a reply that may not be there, or be an error.
pub(super) fn output<C: Command>(reply: Option<Reply<'_>>) -> Result<C::Output<'_>, Error> {
    let Some(reply) = reply else {
        return Err(Error::misuse("there is no command at this position"));
    };
    match reply.as_error() {
        Some(text) => Err(Error::server_error(text)),
        None => Ok(C::decode(reply)?),
    }
}
