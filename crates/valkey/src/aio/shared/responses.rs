//! The replies to several commands.

use crate::command::Command;
use crate::responses::output;
use crate::{Error, OwnedReply, Reply};

/// Owned responses, in the order of their commands.
#[derive(Debug, Clone)]
pub struct Responses(Vec<OwnedReply>);

impl Responses {
    pub(super) fn new(replies: Vec<OwnedReply>) -> Self {
        Self(replies)
    }

    /// Returns the number of responses, one for each command.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no responses.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the output of the command that was pushed at `position`, counted from 0.
    ///
    /// # Errors
    /// Fails with the server's error to this command, or if the reply does not have the type of its output, or if there is no
    /// such position.
    pub fn get<C: Command>(&self, position: usize) -> Result<C::Output<'_>, Error> {
        output::<C>(self.reply(position))
    }

    /// Returns the reply to the command at `position` as the server sent it, including an error.
    pub fn reply(&self, position: usize) -> Option<Reply<'_>> {
        self.0.get(position).map(OwnedReply::reply)
    }

    /// Returns an iterator over all replies.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Reply<'_>> {
        self.0.iter().map(OwnedReply::reply)
    }

    /// Takes the last one.
    pub(super) fn pop(&mut self) -> Option<OwnedReply> {
        self.0.pop()
    }

    /// Returns all replies as a vector.
    pub fn into_inner(self) -> Vec<OwnedReply> {
        self.0
    }
}
