//! Commands that leave together on the shared connection.

use super::group::Group;
use super::{Responses, Shared};
use crate::Error;
use crate::command::Command;

/// Commands of one caller, sent with none of another between them. They are executed one after the other; commands of other
/// clients of the server may come in between, unlike in a [transaction](Shared::transaction).
///
/// What is pushed is encoded at once, and copied once or twice more when it is sent; arguments of 16 KiB and more are not.
/// All of it waits for room together, and may exceed the bounds of [`SharedOptions`](super::SharedOptions) by itself.
///
/// ```no_run
/// use onecopy_valkey::command::string;
/// # async fn example(shared: onecopy_valkey::aio::Shared) -> Result<(), onecopy_valkey::Error> {
/// let mut pipeline = shared.pipeline();
/// pipeline.push(&string::set("a", "1"))?.push(&string::incr("a"))?;
/// let replies = pipeline.run().await?;
/// assert_eq!(replies.get::<string::Incr>(1)?, 2);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct SharedPipeline {
    shared: Shared,
    group: Group,
}

impl SharedPipeline {
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

    /// Sends all of it and waits for the last reply. Without a command nothing is sent.
    ///
    /// # Errors
    /// A failure of the connection. Errors of the server are among the replies, each in the place
    /// of its own command's.
    ///
    /// # Cancel safety
    /// Safe: see [`Shared`].
    pub async fn run(self) -> Result<Responses, Error> {
        let Self { shared, group } = self;
        Ok(Responses::new(group.run(&shared).await?))
    }
}
