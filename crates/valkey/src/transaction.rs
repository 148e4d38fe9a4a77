//! What a transaction came to.

use onecopy_resp_proto::{Children, Reply};

use crate::Error;
use crate::command::Command;
use crate::link::output;

/// What EXEC came to.
#[derive(Debug)]
pub enum Executed<'r> {
    /// All commands were executed: their replies, in order.
    Done(Results<'r>),
    /// None was: a watched key had been changed.
    Aborted,
}

impl<'r> Executed<'r> {
    /// The replies; `None` where nothing was executed.
    pub fn done(self) -> Option<Results<'r>> {
        match self {
            Self::Done(results) => Some(results),
            Self::Aborted => None,
        }
    }
}

/// The replies of a transaction's commands, borrowed.
#[derive(Debug)]
pub struct Results<'r>(Children<'r>);

impl<'r> Results<'r> {
    pub(crate) fn new(replies: Reply<'r>) -> Self {
        Self(replies.children())
    }

    /// The next command's output, which the caller names. `None` behind the last.
    ///
    /// # Errors
    /// The server's error, as one command's does not undo the others; or a reply that is not what the command's output is
    /// made of.
    #[allow(clippy::should_implement_trait)] // the caller names what it gives
    pub fn next<C: Command>(&mut self) -> Result<Option<C::Output<'r>>, Error> {
        self.0.next().map(output::<C>).transpose()
    }

    /// The next reply as it is, an error of the server's too.
    pub fn next_reply(&mut self) -> Option<Reply<'r>> {
        self.0.next()
    }

    /// Replies that are left.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
