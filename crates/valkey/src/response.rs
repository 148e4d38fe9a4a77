//! An owned reply.

use std::fmt;
use std::marker::PhantomData;

use crate::command::Command;
use crate::{Error, OwnedReply, Reply};

/// The reply to a command `C`, detached from the connection. Its bytes were copied once; large strings were moved.
pub struct Response<C> {
    reply: OwnedReply,
    command: PhantomData<fn() -> C>,
}

impl<C: Command> Response<C> {
    /// The reply, unless it is an error of the server.
    #[inline]
    pub(crate) fn new(reply: OwnedReply) -> Result<Self, Error> {
        if reply.reply().kind().is_error() {
            return Err(Error::server_error(reply.reply().bytes()));
        }
        Ok(Self {
            reply,
            command: PhantomData,
        })
    }

    /// Returns the command's output, borrowed from the reply.
    ///
    /// # Errors
    /// Fails if the reply does not have the type of the command's output.
    #[inline]
    pub fn get(&self) -> Result<C::Output<'_>, Error> {
        Ok(C::decode(self.reply.reply())?)
    }

    /// Returns the reply as the server sent it.
    #[inline]
    pub fn reply(&self) -> Reply<'_> {
        self.reply.reply()
    }

    /// Returns the integer, if the reply is one or is a string that contains one.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        self.reply().as_i64()
    }

    /// Returns the bytes of a string, or `None` if the reply is null. Large strings are not copied.
    #[inline]
    pub fn into_bytes(self) -> Option<Vec<u8>> {
        (!self.reply().is_null()).then(|| self.reply.into_bytes())
    }

    /// Returns the reply itself.
    #[inline]
    pub fn into_reply(self) -> OwnedReply {
        self.reply
    }
}

impl<C> Clone for Response<C> {
    fn clone(&self) -> Self {
        Self {
            reply: self.reply.clone(),
            command: PhantomData,
        }
    }
}

/// Shows the whole reply. Use it for debugging, not for logs.
impl<C> fmt::Debug for Response<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reply.fmt(f)
    }
}
