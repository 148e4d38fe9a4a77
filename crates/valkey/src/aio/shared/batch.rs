//! Encoded commands of which some can be sent, and sent again: those of a cluster's pipeline, which go to several nodes.

use bytes::Bytes;

use super::Shared;
use super::group::{Group, Pieces};
use crate::cluster::ASKING;
use crate::command::{Blocking, Command};
use crate::link::{EXEC, MULTI};
use crate::observe::{BatchKind, Observed, Operations, System};
use crate::response::Response;
use crate::responses::{TransactionResponses, executed};
use crate::{Error, OwnedReply, ScriptCall, raw};

/// Commands, and where each ends.
#[derive(Debug, Default)]
pub(in crate::aio) struct Batch {
    group: Group,
    operations: Operations,
    /// Bytes up to the end of each command.
    ends: Vec<usize>,
}

impl Batch {
    pub(in crate::aio) fn push<C: Command>(&mut self, command: &C) -> Result<(), Error> {
        self.group.push(command)?;
        self.operations.add(command);
        let start = self.ends.last().copied().unwrap_or_default();
        self.ends.push(start + self.group.last_len());
        Ok(())
    }

    /// Adds a call of a script, which carries its code: which other calls come to the same node is not known yet.
    pub(in crate::aio) fn push_script(&mut self, call: &ScriptCall<'_>) -> Result<(), Error> {
        self.push(&call.with_code())
    }

    pub(in crate::aio) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Sending of it begins, to one of several servers or to several.
    pub(in crate::aio) fn observe(&self, kind: BatchKind, system: &System) -> Observed {
        Observed::routed_batch(kind, &self.operations, self.len(), system)
    }

    /// Ends it: nothing can be added any more.
    pub(in crate::aio) fn close(self) -> Result<Sendable, Error> {
        let mut pieces = Pieces::default();
        pieces.append(self.group)?;
        let (pieces, copied) = pieces.into_parts()?;
        Ok(Sendable {
            pieces,
            copied,
            ends: self.ends,
        })
    }
}

/// Commands whose bytes are shared by all that is sent of them.
#[derive(Debug)]
pub(in crate::aio) struct Sendable {
    pieces: Vec<Bytes>,
    copied: u64,
    ends: Vec<usize>,
}

impl Sendable {
    pub(in crate::aio) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Sends the commands at these positions, which ascend, each behind ASKING if that is asked for; gives their replies.
    pub(in crate::aio) async fn run(
        &self,
        shared: &Shared,
        positions: &[usize],
        is_asking: bool,
    ) -> Result<Vec<OwnedReply>, Error> {
        let mut chosen = Vec::new();
        if is_asking {
            for &position in positions {
                chosen.push(Bytes::from_static(ASKING));
                self.add(position..position + 1, &mut chosen);
            }
        } else {
            for run in positions.chunk_by(|before, next| before + 1 == *next) {
                if let (Some(first), Some(last)) = (run.first(), run.last()) {
                    self.add(*first..last + 1, &mut chosen);
                }
            }
        }
        let share = if is_asking { 2 } else { 1 };
        let pieces = Pieces::of_bytes(chosen, share * positions.len(), false, self.copied)?;
        let mut replies = pieces.run(shared).await?;
        if is_asking {
            let mut number = 0_usize;
            replies.retain(|_| {
                number += 1;
                number.is_multiple_of(2)
            });
        }
        Ok(replies)
    }

    /// Sends all of them as a transaction.
    pub(in crate::aio) async fn execute(
        &self,
        shared: &Shared,
        is_asking: bool,
    ) -> Result<TransactionResponses, Error> {
        let mut chosen = Vec::new();
        if is_asking {
            // Before MULTI it holds up to EXEC.
            chosen.push(Bytes::from_static(ASKING));
        }
        chosen.push(Bytes::from_static(MULTI));
        self.add(0..self.len(), &mut chosen);
        chosen.push(Bytes::from_static(EXEC));
        let replies = 2 + usize::from(is_asking) + self.len();
        let pieces = Pieces::of_bytes(chosen, replies, true, self.copied)?;
        let mut replies = pieces.run(shared).await?;
        if is_asking && !replies.is_empty() {
            replies.remove(0);
        }
        executed(replies)
    }

    /// Adds the bytes of these commands.
    fn add(&self, commands: std::ops::Range<usize>, chosen: &mut Vec<Bytes>) {
        let end_of = |position: Option<usize>| {
            let end = position.and_then(|position| self.ends.get(position));
            end.copied().unwrap_or_default()
        };
        let start = end_of(commands.start.checked_sub(1));
        let end = end_of(commands.end.checked_sub(1));
        let mut at = 0;
        for piece in &self.pieces {
            let from = start.clamp(at, at + piece.len()) - at;
            let to = end.clamp(at, at + piece.len()) - at;
            if from < to {
                chosen.push(piece.slice(from..to));
            }
            at += piece.len();
        }
    }
}

impl Shared {
    /// Runs a command behind ASKING, with nothing between them.
    pub(in crate::aio) async fn run_asking<C: Command + Sync>(
        &self,
        command: &C,
    ) -> Result<Response<C>, Error> {
        if command.blocking() != Blocking::No {
            let mut connection = self.acquire().await?;
            connection.run_quietly(&raw("ASKING")).await?;
            return Response::new(connection.run_quietly(command).await?);
        }
        let mut batch = Batch::default();
        batch.push(command)?;
        let mut replies = batch.close()?.run(self, &[0], true).await?;
        match replies.pop() {
            Some(reply) => Response::new(reply),
            None => Err(Error::closed("a command got no reply")),
        }
    }
}
