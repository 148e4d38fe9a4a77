//! The result of a transaction.

use onecopy_resp_proto::{Children, Reply};

use crate::Error;
use crate::command::Command;
use crate::link::output;

/// The result of EXEC.
#[derive(Debug)]
pub enum Executed<'r> {
    /// All commands were executed. Holds their replies, in order.
    Done(Results<'r>),
    /// No command was executed, because a watched key had been changed.
    Aborted,
}

impl<'r> Executed<'r> {
    /// Returns the replies, or `None` if nothing was executed.
    pub fn done(self) -> Option<Results<'r>> {
        match self {
            Self::Done(results) => Some(results),
            Self::Aborted => None,
        }
    }
}

/// The replies to a transaction's commands, borrowed.
#[derive(Debug)]
pub struct Results<'r>(Children<'r>);

impl<'r> Results<'r> {
    pub(crate) fn new(replies: Reply<'r>) -> Self {
        Self(replies.children())
    }

    /// Returns the output of the next command, whose type `C` the caller names. Returns `None` after the last one.
    ///
    /// # Errors
    /// Fails with the server's error to this command, which does not undo the others; or if the reply does not have the type of
    /// the command's output.
    #[allow(clippy::should_implement_trait)] // the caller names what it gives
    pub fn next<C: Command>(&mut self) -> Result<Option<C::Output<'r>>, Error> {
        self.0.next().map(output::<C>).transpose()
    }

    /// Returns the next reply unchanged, including server errors.
    pub fn next_reply(&mut self) -> Option<Reply<'r>> {
        self.0.next()
    }

    /// Returns the number of replies left.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether no reply is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
