//! The reply to a read.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::aio::Response;
use crate::caching::Entry;
use crate::command::Command;
use crate::{Error, Reply};

/// The reply to a read through a [`Cached`](super::Cached) connection. It stays as it is when its key changes. Clones of one that is
/// cached share its bytes.
pub struct CachedReply<C> {
    reply: Source<C>,
    command: PhantomData<fn() -> C>,
}

enum Source<C> {
    Cached(Arc<Entry>),
    Read(Box<Response<C>>),
}

impl<C: Command> CachedReply<C> {
    #[inline]
    pub(super) fn cached(entry: Arc<Entry>) -> Self {
        Self {
            reply: Source::Cached(entry),
            command: PhantomData,
        }
    }

    pub(super) fn read(response: Response<C>) -> Self {
        Self {
            reply: Source::Read(Box::new(response)),
            command: PhantomData,
        }
    }

    /// Returns the command's output, borrowed from the reply.
    ///
    /// # Errors
    /// Fails if the reply does not have the type of the command's output.
    #[inline]
    pub fn get(&self) -> Result<C::Output<'_>, Error> {
        Ok(C::decode(self.reply())?)
    }

    /// Returns the reply as the server sent it.
    #[inline]
    pub fn reply(&self) -> Reply<'_> {
        match &self.reply {
            Source::Cached(entry) => entry.reply().reply(),
            Source::Read(response) => response.reply(),
        }
    }
}

/// Shows the whole reply. Use it for debugging, not for logs.
impl<C: Command> fmt::Debug for CachedReply<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reply().fmt(f)
    }
}
