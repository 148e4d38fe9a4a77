//! A command whose reply is read as a type of the caller's.

use std::fmt;
use std::hash::Hasher;
use std::marker::PhantomData;

use onecopy_resp_proto::Reply;

use super::{Blocking, Command, DecodeError, Flags, FromReply};
use crate::request::Request;

/// The command that [`Command::typed`] returns.
pub struct Typed<C, T> {
    command: C,
    output: PhantomData<fn() -> T>,
}

impl<C, T> Typed<C, T> {
    pub(super) fn new(command: C) -> Self {
        Self {
            command,
            output: PhantomData,
        }
    }
}

impl<C: Command, T: for<'r> FromReply<'r>> Command for Typed<C, T> {
    type Output<'r> = T;

    fn name(&self) -> &str {
        self.command.name()
    }

    fn flags(&self) -> Flags {
        self.command.flags()
    }

    fn encode<'a>(&'a self, request: &mut Request<'_, 'a>) {
        self.command.encode(request);
    }

    fn decode<'r>(reply: Reply<'r>) -> Result<T, DecodeError> {
        T::from_reply(reply)
    }

    fn blocking(&self) -> Blocking {
        self.command.blocking()
    }

    fn each_key(&self, visit: &mut dyn FnMut(&[u8])) {
        self.command.each_key(visit);
    }

    fn hash_name_and_key(&self, hasher: &mut dyn Hasher) {
        self.command.hash_name_and_key(hasher);
    }
}

impl<C: Clone, T> Clone for Typed<C, T> {
    fn clone(&self) -> Self {
        Self::new(self.command.clone())
    }
}

impl<C: fmt::Debug, T> fmt::Debug for Typed<C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.command.fmt(f)
    }
}
