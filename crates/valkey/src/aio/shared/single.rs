//! One command, and which ones a shared connection takes.

use bytes::Bytes;
use onecopy_wire::WriteQueue;

use super::failure::Failure;
use super::group::Pieces;
use super::large::Large;
use super::queue::Encode;
use crate::command::{Command, Flags};
use crate::{Error, Request};

/// What has to be looked at before it is sent.
pub(super) const SPECIAL: Flags = Flags::BREAKS_ORDER.with(CHANGES).with(Flags::BLOCKING);

/// What the others who share the connection would notice.
const CHANGES: Flags = Flags::CONNECTION_STATE
    .with(Flags::TRANSACTION)
    .with(Flags::ENDS_TRANSACTION);

/// A command by reference: it is written when there is room for it. The others hear of it where its reply is large.
#[derive(Debug)]
pub(super) struct Single<'c, C>(pub(super) &'c C, pub(super) &'c Large);

impl<C: Command> Encode for Single<'_, C> {
    #[inline]
    fn encode(&self, queue: &mut WriteQueue, parts: &mut Vec<Bytes>) -> Result<(), Failure> {
        let mut request = Request::sharing(queue, parts);
        self.0.encode(&mut request);
        if request.end_shared()? {
            Ok(())
        } else {
            Err(Failure::NeedsCopy)
        }
    }

    #[cold]
    fn copied(&self) -> Result<Pieces, Failure> {
        Pieces::of(self.0)
    }

    #[cold]
    fn note_large(&self) {
        self.1.remember(self.0);
    }
}

/// Refuses what can't go over a connection that others use too.
#[cold]
pub(super) fn admit<C: Command>(command: &C) -> Result<(), Error> {
    let flags = command.flags();
    if flags.contains(Flags::BREAKS_ORDER) {
        return Err(Error::breaks_order());
    }
    if flags.intersects(CHANGES) {
        return Err(Error::misuse(
            "this command would change the connection that others share: run it on a connection from acquire(); send \
             transactions without WATCH with transaction()",
        ));
    }
    Ok(())
}

/// As [`admit`], for groups: nothing in them may wait, for all others would wait with it.
pub(super) fn admit_in_group<C: Command>(command: &C) -> Result<(), Error> {
    if !command.flags().intersects(SPECIAL) {
        return Ok(());
    }
    admit(command)?;
    if command.blocking() != crate::command::Blocking::No {
        return Err(Error::misuse(
            "a blocking command in a pipeline would hold up all who share the connection: run it by itself",
        ));
    }
    Ok(())
}
