//! Commands that are sent together on the shared connection.

use super::group::Group;
use super::{Responses, Shared};
use crate::command::Command;
use crate::observe::{BatchKind, Operations};
use crate::{Error, ScriptCall};

/// Commands of one caller, sent with no other caller's commands between them. They are executed one after the other; unlike in a
/// [transaction](Shared::transaction), the server may execute commands of other clients in between.
///
/// Commands are encoded when they are pushed, and copied once or twice more when they are sent, except arguments of 16 KiB and
/// more. The pipeline waits for room as a whole, and may exceed the bounds of [`SharedOptions`](super::SharedOptions) by itself.
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
    operations: Operations,
}

impl SharedPipeline {
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

    /// Adds a call of a script. The first call of each script in the pipeline is sent with the code of the script, further ones
    /// with its digest. Only if another client empties the server's script cache in the middle of the
    /// pipeline, further calls fail, with [`Error::is_no_script`]. Read the response as one of a [`ScriptCall`].
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

    /// Sends all commands and waits for the last reply. Without commands, nothing is sent.
    ///
    /// # Errors
    /// Fails if the connection fails. Server errors are among the replies, each in the place of its command's reply.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [`Shared`].
    pub async fn run(self) -> Result<Responses, Error> {
        let Self {
            shared,
            group,
            operations,
        } = self;
        if group.len() == 0 {
            return Ok(Responses::new(Vec::new()));
        }
        let mut observed = shared.observe_batch(BatchKind::Pipeline, &operations, group.len());
        let replies = observed.check(group.run(&shared).await)?;
        Ok(Responses::new(replies))
    }
}
