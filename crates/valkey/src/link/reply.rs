//! A reply that has arrived: as it is, as a command's output, as the caller's own, in the caller's memory.

use onecopy_resp_proto::{Frame, Message, OwnedReply, Reply};
use onecopy_wire::WireError;

use super::Link;
use crate::Error;
use crate::command::Command;

impl Link {
    /// The frame of a message, which nothing but a reply can be.
    #[inline]
    pub(crate) fn frame(&mut self, message: Message) -> Result<Frame, Error> {
        match message {
            Message::Reply(frame) => Ok(frame),
            _ => Err(self.close("a string came in pieces that was not asked for")),
        }
    }

    /// A reply that came before its command had left whole: an error, or the server's mistake. The rest can't follow.
    #[cold]
    pub(crate) fn early(&mut self, message: Message) -> Error {
        let error = match message {
            Message::Reply(frame) => self.reply(frame).as_error().map(Error::server_error),
            _ => None,
        };
        let closed = self.close("the server replied to half a command");
        error.unwrap_or(closed)
    }

    /// The reply as it is, an error of the server's too.
    #[inline]
    pub(crate) fn reply(&self, frame: Frame) -> Reply<'_> {
        self.core.reply(frame, &self.buffers)
    }

    /// The command's output, borrowed.
    #[inline]
    pub(crate) fn output<C: Command>(&self, frame: Frame) -> Result<C::Output<'_>, Error> {
        output::<C>(self.reply(frame))
    }

    /// Nothing where the reply is null; any other is no string.
    pub(crate) fn null(&self, frame: Frame) -> Result<(), Error> {
        let reply = self.reply(frame);
        match reply.as_error() {
            Some(text) => Err(Error::server_error(text)),
            None if reply.is_null() => Ok(()),
            None => Err(Error::unexpected("a bulk string", reply)),
        }
    }

    /// The reply as one that is the caller's own.
    pub(crate) fn owned(&mut self, frame: Frame) -> Result<OwnedReply, Error> {
        if let Some(text) = self.reply(frame).as_error() {
            return Err(Error::server_error(text));
        }
        let owned = self.core.detach(frame, &mut self.buffers);
        owned.map_err(|error| Error::out_of_memory(error).after_sending(true))
    }

    /// Offers the caller's vector as the home of a large string.
    pub(crate) fn offer(&mut self, into: &mut Vec<u8>) {
        self.buffers.offer_home(std::mem::take(into));
    }

    /// A string's bytes into the caller's vector, which was [offered](Self::offer): a large one is there already.
    pub(crate) fn fill(
        &mut self,
        frame: Frame,
        into: &mut Vec<u8>,
    ) -> Result<Option<usize>, Error> {
        let offered = self.buffers.withdraw_home();
        let reply = self.reply(frame);
        if let Some(text) = reply.as_error() {
            let error = Error::server_error(text);
            *into = offered.unwrap_or_default();
            into.clear();
            return Err(error);
        }
        if reply.kind().is_aggregate() {
            return Err(Error::unexpected("a string", reply));
        }
        if reply.is_null() {
            *into = offered.unwrap_or_default();
            into.clear();
            return Ok(None);
        }
        // Something large has taken it: the reply itself, or a push before it.
        let Some(offered) = offered else {
            *into = self.owned(frame)?.into_bytes();
            return Ok(Some(into.len()));
        };
        *into = offered;
        into.clear();
        let bytes = self.core.reply(frame, &self.buffers).bytes();
        let no_memory = |_| WireError::OutOfMemory {
            bytes: bytes.len() as u64,
        };
        into.try_reserve_exact(bytes.len())
            .map_err(|error| Error::out_of_memory(no_memory(error)).after_sending(true))?;
        into.extend_from_slice(bytes);
        self.buffers.count_owned(bytes.len());
        Ok(Some(into.len()))
    }
}

/// A command's output from its reply.
#[inline]
pub(crate) fn output<C: Command>(reply: Reply<'_>) -> Result<C::Output<'_>, Error> {
    if let Some(text) = reply.as_error() {
        return Err(Error::server_error(text));
    }
    C::decode(reply).map_err(|error| Error::from(error).after_sending(true))
}
