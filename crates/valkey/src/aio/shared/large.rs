//! Remembers which commands had large replies, so that their next runs do not delay other commands.
//!
//! A command is remembered as a hash of its name and its first key, with a random state, so that nobody can choose keys that
//! collide. A command that collides with a remembered one runs on a dedicated connection once, and is then forgotten.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Response;
use super::failure::Failure;
use super::queue::Outcome;
use crate::command::{Command, Flags};
use crate::{Error, OwnedReply};

/// Commands that are known at most: 2 KiB of hashes, which are searched in some 50 ns. Who reads more large values than
/// these by turns has them on the shared connection.
const KNOWN: usize = 256;

/// The commands whose last reply was large.
#[derive(Debug)]
pub(super) struct Large {
    /// Bytes of a reply from which on it is.
    limit: usize,
    /// Whether any is known: what most commands look at, and nothing else.
    is_any: AtomicBool,
    state: RandomState,
    /// The one that was seen last is the last.
    known: Mutex<VecDeque<u64>>,
}

impl Large {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            is_any: AtomicBool::new(false),
            state: RandomState::new(),
            known: Mutex::default(),
        }
    }

    /// Whether a reply of so many bytes is large.
    #[inline]
    fn is_large(&self, bytes: usize) -> bool {
        bytes >= self.limit
    }

    /// Whether the command's last reply was large, and the command only reads: what writes keeps its place in the order.
    #[inline]
    pub(super) fn knows<C: Command>(&self, command: &C, flags: Flags) -> bool {
        // It is only a hint and guards nothing: a caller that misses the first change gets its reply all the same.
        self.is_any.load(Ordering::Relaxed)
            && flags.contains(Flags::READONLY)
            && self.lock().contains(&self.hash(command))
    }

    /// A large reply to this command has arrived, or begins to come.
    #[cold]
    pub(super) fn remember<C: Command>(&self, command: &C) {
        if !command.flags().contains(Flags::READONLY) {
            return;
        }
        let hash = self.hash(command);
        let mut known = self.lock();
        known.retain(|other| *other != hash);
        if known.len() == KNOWN {
            known.pop_front();
        }
        known.push_back(hash);
        self.is_any.store(true, Ordering::Relaxed);
    }

    /// Its replies are not large any more.
    #[cold]
    fn forget<C: Command>(&self, command: &C) {
        let hash = self.hash(command);
        let mut known = self.lock();
        known.retain(|other| *other != hash);
        self.is_any.store(!known.is_empty(), Ordering::Relaxed);
    }

    /// What comes of a command that was run on the shared connection. Inlined, as the answer is moved else.
    #[inline(always)]
    pub(super) fn response<C: Command>(
        &self,
        command: &C,
        answer: Result<Outcome, Failure>,
    ) -> Result<Response<C>, Error> {
        match answer {
            Ok(Outcome::One(reply)) => {
                if self.is_large(reply.size()) {
                    self.remember(command);
                }
                Response::new(reply)
            }
            Ok(Outcome::Group(_)) => Err(Error::closed("one command got several replies")),
            Err(failure) => Err(failure.into()),
        }
    }

    /// What came of one that was run beside it.
    pub(super) fn learn<C: Command>(&self, command: &C, reply: Result<&OwnedReply, &Error>) {
        match reply {
            Ok(reply) if self.is_large(reply.size()) => self.remember(command),
            // The server's: a small reply as well.
            Ok(_) => self.forget(command),
            Err(error) if error.server().is_some() => self.forget(command),
            Err(_) => {}
        }
    }

    fn hash<C: Command>(&self, command: &C) -> u64 {
        let mut hasher = self.state.build_hasher();
        command.hash_name_and_key(&mut hasher);
        hasher.finish()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<u64>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
