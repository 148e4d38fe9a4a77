//! Commands that are sent later, and perhaps again.

use onecopy_resp_proto::Reply;
use onecopy_wire::WireError;

use crate::blocking::Connection;
use crate::cluster::encoded_bytes;
use crate::command::{Command, Flags};
use crate::parts::Parts;
use crate::{Error, OwnedReply, Request};

/// A command's bytes.
#[derive(Debug)]
pub(super) struct Encoded {
    bytes: Vec<u8>,
    flags: Flags,
}

impl Encoded {
    pub(super) fn of<C: Command>(command: &C) -> Result<Self, Error> {
        Ok(Self {
            bytes: encoded_bytes(command)?,
            flags: command.flags(),
        })
    }
}

impl Command for Encoded {
    type Output<'r> = Reply<'r>;

    fn flags(&self) -> Flags {
        self.flags
    }

    fn encode<'a>(&'a self, request: &mut Request<'_, 'a>) {
        request.whole(&self.bytes);
    }
}

impl Connection {
    /// Queues commands in the place of a pipeline.
    pub(super) fn queue_all<'e>(
        &mut self,
        commands: impl Iterator<Item = &'e Encoded>,
    ) -> Result<Parts<'e>, Error> {
        let mut parts = Parts::new();
        for command in commands {
            self.link.queue(command, &mut parts)?;
        }
        Ok(parts)
    }

    /// Receives so many replies, errors of the server included.
    pub(super) fn receive_all(
        &mut self,
        parts: &Parts<'_>,
        count: usize,
    ) -> Result<Vec<OwnedReply>, Error> {
        let mut replies = Vec::new();
        let bytes = (count * size_of::<OwnedReply>()) as u64;
        let failed = |_| Error::out_of_memory(WireError::OutOfMemory { bytes });
        replies.try_reserve_exact(count).map_err(failed)?;
        self.link.start_wait();
        for _ in 0..count {
            let frame = self.receive(parts)?;
            let reply = self.link.reply(frame).detach();
            replies.push(reply.map_err(Error::out_of_memory)?);
        }
        Ok(replies)
    }
}
