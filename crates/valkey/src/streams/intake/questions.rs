//! The questions that have no reply yet, in the order in which they were sent.

use std::collections::VecDeque;

use super::super::EntryId;
use super::super::page::Source;
use crate::Error;
use crate::cluster::ASKING;
use crate::command::Command;
use crate::link::Link;
use crate::parts::Parts;

/// A question that has no reply yet.
#[derive(Debug)]
pub(super) enum Asked {
    /// What makes a node of a cluster take the next question, though the slot is still being migrated to it.
    Asking,
    Create,
    Ack(Vec<EntryId>),
    /// How often an entry was delivered.
    Count(EntryId),
    Move(EntryId),
    Read(Source),
}

#[derive(Debug, Default)]
pub(super) struct Questions {
    sent: VecDeque<Asked>,
    /// Whether each is sent behind ASKING.
    pub(super) is_asking: bool,
}

impl Questions {
    /// Queues one.
    ///
    /// # Errors
    /// Memory can't be allocated.
    pub(super) fn queue<C: Command>(
        &mut self,
        command: &C,
        asked: Asked,
        link: &mut Link,
        parts: &mut Parts<'static>,
    ) -> Result<(), Error> {
        if self.is_asking {
            link.queue_encoded(ASKING)?;
            self.sent.push_back(Asked::Asking);
        }
        link.queue_owned(command, parts)?;
        self.sent.push_back(asked);
        Ok(())
    }

    /// The oldest, whose reply has come.
    pub(super) fn next(&mut self) -> Option<Asked> {
        self.sent.pop_front()
    }

    /// Its reply does not count.
    pub(super) fn put_back(&mut self, asked: Asked) {
        self.sent.push_front(asked);
    }

    /// All of them: they get no replies.
    pub(super) fn take(&mut self) -> VecDeque<Asked> {
        std::mem::take(&mut self.sent)
    }

    pub(super) fn any(&self, is_it: impl FnMut(&Asked) -> bool) -> bool {
        self.sent.iter().any(is_it)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }
}
