//! Several commands as one: written before they are asked for, with nothing of another caller between them.

use std::io::IoSlice;

use bytes::Bytes;
use onecopy_resp_proto::OwnedReply;
use onecopy_wire::{BORROWED_THRESHOLD, WireError, WriteQueue};

use super::Shared;
use super::call::Call;
use super::failure::Failure;
use super::parts::Shares;
use super::queue::{Encode, Outcome};
use super::single::admit_in_group;
use crate::command::Command;
use crate::link::{EXEC, MULTI};
use crate::script::Sent;
use crate::{Error, Request, ScriptCall};

/// Slices that are looked at together.
const SLICES: usize = 64;

/// Commands, encoded.
#[derive(Debug, Default)]
pub(super) struct Group {
    queue: WriteQueue,
    shares: Shares,
    commands: u32,
    scripts: Sent,
}

impl Group {
    /// Adds a command.
    pub(super) fn push<C: Command>(&mut self, command: &C) -> Result<(), Error> {
        admit_in_group(command)?;
        self.encode(command)
    }

    /// Adds a call of a script: the first of each with the code, the others with the digest.
    pub(super) fn push_script(&mut self, call: &ScriptCall<'_>) -> Result<(), Error> {
        if self.scripts.is_first(call) {
            self.push(&call.with_code())?;
            self.scripts.add(call);
            return Ok(());
        }
        self.push(call)
    }

    fn encode<C: Command>(&mut self, command: &C) -> Result<(), Error> {
        let mut request = Request::owning(&mut self.queue, self.shares.list(), 0);
        command.encode(&mut request);
        let ended = request.end();
        self.pushed(ended)
    }

    /// Adds a command that is encoded already.
    fn push_encoded(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.queue.begin_here();
        self.queue.push(bytes);
        let ended = self.queue.end();
        self.pushed(ended)
    }

    fn pushed(&mut self, ended: Result<(), WireError>) -> Result<(), Error> {
        ended.map_err(Error::out_of_memory)?;
        self.commands += 1;
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.commands as usize
    }

    /// Bytes of the command that was added last.
    pub(super) fn last_len(&self) -> usize {
        self.queue.command_len()
    }

    /// Sends all of them; gives their replies, errors of the server included.
    pub(super) async fn run(self, shared: &Shared) -> Result<Vec<OwnedReply>, Error> {
        if self.commands == 0 {
            return Ok(Vec::new());
        }
        let mut pieces = Pieces::default();
        pieces.append(self)?;
        pieces.run(shared).await
    }

    /// The same between MULTI and EXEC: one more reply before and one behind.
    pub(super) async fn execute(self, shared: &Shared) -> Result<Vec<OwnedReply>, Error> {
        let mut pieces = Pieces {
            is_atomic: true,
            ..Pieces::default()
        };
        for (before, group) in [(MULTI, Some(self)), (EXEC, None)] {
            let mut word = Self::default();
            word.push_encoded(before)?;
            pieces.append(word)?;
            if let Some(group) = group {
                pieces.append(group)?;
            }
        }
        pieces.run(shared).await
    }
}

/// Commands' bytes in pieces that can be sent again where a connection was lost before: the small ones in one, large
/// arguments shared.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    replies: u32,
    pieces: Vec<Bytes>,
    /// What belongs behind the last piece.
    small: Vec<u8>,
    is_atomic: bool,
    /// Bytes that were copied for all of it, into the groups' queues and out of them.
    copied: u64,
}

impl Pieces {
    /// One command, with copies of its large arguments.
    pub(super) fn of<C: Command>(command: &C) -> Result<Self, Failure> {
        let mut group = Group::default();
        let mut pieces = Self {
            is_atomic: true,
            ..Self::default()
        };
        let copied = group.encode(command).and_then(|()| pieces.append(group));
        copied.and_then(|()| pieces.end_small())?;
        Ok(pieces)
    }

    /// Bytes that are encoded and cut already, as one whole.
    pub(super) fn of_bytes(
        pieces: Vec<Bytes>,
        replies: usize,
        is_atomic: bool,
        copied: u64,
    ) -> Result<Self, Error> {
        let too_many = |_| Error::misuse("a pipeline has more than 4,294,967,295 commands");
        Ok(Self {
            replies: u32::try_from(replies).map_err(too_many)?,
            pieces,
            small: Vec::new(),
            is_atomic,
            copied,
        })
    }

    /// The bytes, and how many of them were copied.
    pub(super) fn into_parts(mut self) -> Result<(Vec<Bytes>, u64), Error> {
        self.end_small()?;
        Ok((self.pieces, self.copied))
    }

    /// Bytes that were copied for it.
    pub(super) fn copied(&self) -> u64 {
        self.copied
    }

    pub(super) fn append(&mut self, group: Group) -> Result<(), Error> {
        let Group {
            mut queue,
            shares,
            commands,
            ..
        } = group;
        self.replies += commands;
        self.copied += queue.copied();
        let mut large = shares.iter();
        let mut next = large.next();
        while !queue.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let count = queue.slices(&shares, &mut slices);
            let mut taken = 0;
            for slice in &slices[..count] {
                taken += slice.len();
                match next {
                    Some(part) if part.as_ptr() == slice.as_ptr() => {
                        self.end_small()?;
                        self.pieces.push(part.clone());
                        next = large.next();
                    }
                    _ => self.append_small(slice)?,
                }
            }
            queue.advance(taken);
        }
        Ok(())
    }

    fn append_small(&mut self, bytes: &[u8]) -> Result<(), Error> {
        reserve(&mut self.small, bytes.len())?;
        self.small.extend_from_slice(bytes);
        self.copied += bytes.len() as u64;
        Ok(())
    }

    fn end_small(&mut self) -> Result<(), Error> {
        // This one, and the large one behind it.
        reserve(&mut self.pieces, 2)?;
        self.pieces.push(std::mem::take(&mut self.small).into());
        Ok(())
    }

    pub(super) async fn run(mut self, shared: &Shared) -> Result<Vec<OwnedReply>, Error> {
        self.end_small()?;
        let copied = self.copied;
        shared.handle.inner.with(|queue| queue.count_copied(copied));
        match Call::new(&shared.handle.inner, self).await {
            Ok(Outcome::One(reply)) => Ok(vec![reply]),
            Ok(Outcome::Group(replies)) => Ok(replies),
            Err(failure) => Err(failure.into()),
        }
    }
}

fn reserve<T>(list: &mut Vec<T>, count: usize) -> Result<(), Error> {
    let failed = |_| WireError::OutOfMemory {
        bytes: (count * size_of::<T>()) as u64,
    };
    list.try_reserve(count)
        .map_err(failed)
        .map_err(Error::out_of_memory)
}

impl Encode for Pieces {
    fn encode(&self, queue: &mut WriteQueue, parts: &mut Vec<Bytes>) -> Result<(), Failure> {
        let before = parts.len();
        queue.begin_here();
        for piece in &self.pieces {
            let index = u32::try_from(parts.len());
            match index {
                Ok(index) if piece.len() >= BORROWED_THRESHOLD && parts.try_reserve(1).is_ok() => {
                    parts.push(piece.clone());
                    queue.push_borrowed(index, 0, piece.len());
                }
                _ => queue.push(piece),
            }
        }
        queue.end().map_err(|error| {
            parts.truncate(before);
            error.into()
        })
    }

    fn copied(&self) -> Result<Pieces, Failure> {
        Err(Failure::NeedsCopy) // it is one
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
