//! Several commands as one: written before they are asked for, with nothing of another caller between them.

use std::io::IoSlice;

use bytes::Bytes;
use onecopy_resp_proto::OwnedReply;
use onecopy_wire::{LENT_THRESHOLD, WriteQueue};

use super::Shared;
use super::call::Call;
use super::failure::Failure;
use super::parts::Shares;
use super::queue::{Encode, Outcome};
use super::single::admit_in_group;
use crate::command::Command;
use crate::{Error, Request};

/// Commands, encoded.
#[derive(Debug, Default)]
pub(super) struct Group {
    queue: WriteQueue,
    shares: Shares,
    commands: u32,
    /// The first command that could not be taken, and why.
    refused: Option<Error>,
}

impl Group {
    /// Adds a command.
    pub(super) fn push<C: Command>(&mut self, command: &C) {
        if let Err(error) = admit_in_group(command) {
            return self.refuse(error);
        }
        let mut request = Request::owning(&mut self.queue, self.shares.list(), 0);
        command.encode(&mut request);
        match request.end() {
            Ok(()) => self.commands = self.commands.saturating_add(1),
            Err(error) => self.refuse(Error::out_of_memory(error)),
        }
    }

    /// Adds a command that is encoded already.
    pub(super) fn push_encoded(&mut self, bytes: &[u8]) {
        self.queue.begin_here();
        self.queue.push(bytes);
        match self.queue.end() {
            Ok(()) => self.commands = self.commands.saturating_add(1),
            Err(error) => self.refuse(Error::out_of_memory(error)),
        }
    }

    fn refuse(&mut self, error: Error) {
        self.refused.get_or_insert(error);
    }

    pub(super) fn len(&self) -> usize {
        self.commands as usize
    }

    /// Sends all of them; gives their replies, errors of the server included.
    pub(super) async fn run(
        self,
        shared: &Shared,
        is_atomic: bool,
    ) -> Result<Vec<OwnedReply>, Error> {
        if let Some(error) = self.refused {
            return Err(error);
        }
        if self.commands == 0 {
            return Ok(Vec::new());
        }
        let frozen = Frozen {
            replies: self.commands,
            pieces: pieces(self.queue, &self.shares),
            is_atomic,
        };
        match Call::new(&shared.handle.inner, frozen).await {
            Ok(Outcome::One(reply)) => Ok(vec![reply]),
            Ok(Outcome::Group(replies)) => Ok(replies),
            Err(failure) => Err(failure.into()),
        }
    }
}

/// A group's bytes in pieces that can be sent again where a connection was lost before.
#[derive(Debug)]
struct Frozen {
    replies: u32,
    pieces: Vec<Bytes>,
    is_atomic: bool,
}

/// The queue's bytes in one piece between large arguments, which are shared.
fn pieces(mut queue: WriteQueue, shares: &Shares) -> Vec<Bytes> {
    let mut large = shares.iter();
    let mut next = large.next();
    let mut pieces = Vec::new();
    let mut small = Vec::with_capacity(queue.len() - shares.iter().map(Bytes::len).sum::<usize>());
    while !queue.is_empty() {
        let mut slices = [IoSlice::new(&[]); 64];
        let count = queue.slices(shares, &mut slices);
        let mut taken = 0;
        for slice in &slices[..count] {
            taken += slice.len();
            match next {
                Some(part) if part.as_ptr() == slice.as_ptr() => {
                    pieces.push(Bytes::from(std::mem::take(&mut small)));
                    pieces.push(part.clone());
                    next = large.next();
                }
                _ => small.extend_from_slice(slice),
            }
        }
        queue.advance(taken);
    }
    pieces.push(Bytes::from(small));
    pieces
}

impl Encode for Frozen {
    fn encode(&self, queue: &mut WriteQueue, parts: &mut Vec<Bytes>) -> Result<(), Failure> {
        let before = parts.len();
        queue.begin_here();
        for piece in &self.pieces {
            let index = u32::try_from(parts.len());
            match index {
                Ok(index) if piece.len() >= LENT_THRESHOLD && parts.try_reserve(1).is_ok() => {
                    parts.push(piece.clone());
                    queue.push_lent(index, 0, piece.len());
                }
                _ => queue.push(piece),
            }
        }
        queue.end().map_err(|error| {
            parts.truncate(before);
            error.into()
        })
    }

    fn replies(&self) -> u32 {
        self.replies
    }

    fn is_atomic(&self) -> bool {
        self.is_atomic
    }
}

#[cfg(test)]
mod tests;
