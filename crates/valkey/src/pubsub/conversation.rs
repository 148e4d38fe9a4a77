//! Subscription commands without a reply, on a connection whose order they keep.
//!
//! One command names one channel, so that each has exactly one answer: a push that confirms it, or an error in the place of a
//! reply. The server answers in order, so a push is the answer to the oldest command, if it names that one's channel; SUNSUBSCRIBE
//! has a PING behind it that makes this certain. All other pushes are out of band.

use std::collections::VecDeque;

use bytes::Bytes;
use onecopy_resp_proto::{Reply, RequestWriter};
use onecopy_wire::{WireError, WriteQueue};

use super::shard_unsubscribe::{ErrorOf, error_of};
use super::{ChannelKind, Notice};
use crate::{Args, Error};

/// Whether it begins or ends a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Subscribe,
    Unsubscribe,
}

/// A command, and so its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) verb: Verb,
    pub(crate) kind: ChannelKind,
    pub(crate) name: Bytes,
}

impl Asked {
    /// Writes it as one command of the queue.
    pub(crate) fn encode(&self, queue: &mut WriteQueue) -> Result<(), WireError> {
        use ChannelKind::{Channel, Pattern, Shard};

        let head: &[u8] = match (self.verb, self.kind) {
            (Verb::Subscribe, Channel) => b"*2\r\n$9\r\nSUBSCRIBE\r\n",
            (Verb::Subscribe, Pattern) => b"*2\r\n$10\r\nPSUBSCRIBE\r\n",
            (Verb::Subscribe, Shard) => b"*2\r\n$10\r\nSSUBSCRIBE\r\n",
            (Verb::Unsubscribe, Channel) => b"*2\r\n$11\r\nUNSUBSCRIBE\r\n",
            (Verb::Unsubscribe, Pattern) => b"*2\r\n$12\r\nPUNSUBSCRIBE\r\n",
            (Verb::Unsubscribe, Shard) => b"*2\r\n$12\r\nSUNSUBSCRIBE\r\n",
        };
        let mut writer = RequestWriter::new(queue);
        writer.encoded(head);
        writer.bulk(&self.name);
        writer.end()
    }

    /// Whether this is its answer, if it is the oldest one.
    pub(crate) fn is_confirmed_by(&self, notice: &Notice<'_>) -> bool {
        let confirmed = match notice {
            Notice::Subscribed(kind, name) => (Verb::Subscribe, *kind, *name),
            Notice::Unsubscribed(kind, name) => (Verb::Unsubscribe, *kind, *name),
            _ => return false,
        };
        (self.verb, self.kind, &*self.name) == confirmed
    }

    /// Whether a push may look like its answer and not be it, so that a PING follows it.
    pub(crate) fn has_ping(&self) -> bool {
        (self.verb, self.kind) == (Verb::Unsubscribe, ChannelKind::Shard)
    }

    /// The server's error to it. None where a node has lost the slot: it has ended the subscription, as was asked.
    #[cold]
    pub(crate) fn refused(&self, text: &[u8]) -> Option<Error> {
        let is_done = self.has_ping() && text.starts_with(b"MOVED ");
        (!is_done).then(|| Error::server_error(text).of_channel(&self.name))
    }
}

/// The names that a caller gives.
pub(crate) fn names<'a>(list: impl Into<Args<'a>>) -> Vec<Bytes> {
    let mut names = Vec::new();
    list.into()
        .each(&mut |name| names.push(Bytes::copy_from_slice(name)));
    names
}

/// What was asked on a connection that has nothing but subscriptions.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    asked: VecDeque<Ask>,
    /// A push has come that looks like the answer to the oldest command, and a PING follows that.
    is_confirmed: bool,
}

#[derive(Debug)]
enum Ask {
    Subscription(Asked),
    Ping,
}

/// What has arrived on it.
#[derive(Debug)]
pub(crate) enum Heard {
    Message,
    /// A command was confirmed, or refused with an error.
    Answered(Asked, Option<Error>),
    /// The server has ended a subscription by itself.
    Unsubscribed(ChannelKind, Bytes),
    /// Nothing that anybody waits for.
    Nothing,
    /// A reply that nothing asked for.
    Unexpected,
}

impl Conversation {
    /// Answers that are missing.
    pub(crate) fn len(&self) -> u64 {
        self.asked.len() as u64
    }

    pub(crate) fn ask(&mut self, asked: Asked, queue: &mut WriteQueue) -> Result<(), WireError> {
        asked.encode(queue)?;
        let has_ping = asked.has_ping();
        self.asked.push_back(Ask::Subscription(asked));
        if has_ping { self.ping(queue) } else { Ok(()) }
    }

    pub(crate) fn ping(&mut self, queue: &mut WriteQueue) -> Result<(), WireError> {
        let mut writer = RequestWriter::new(queue);
        writer.encoded(b"*1\r\n$4\r\nPING\r\n");
        writer.end()?;
        self.asked.push_back(Ask::Ping);
        Ok(())
    }

    /// What a frame is; `is_push` says whether it came out of band, as nothing does in RESP2.
    pub(crate) fn hear(&mut self, reply: Reply<'_>, is_push: bool) -> Heard {
        let notice = Notice::read(reply);
        match notice {
            Notice::Message(_) => return Heard::Message,
            Notice::Subscribed(..) | Notice::Unsubscribed(..) => {}
            Notice::Pong | Notice::Other if is_push => return Heard::Nothing,
            Notice::Pong | Notice::Other => return self.hear_reply(reply),
        }
        match self.asked.pop_front() {
            Some(Ask::Subscription(asked)) if asked.is_confirmed_by(&notice) => {
                if asked.has_ping() {
                    self.is_confirmed = true;
                    self.asked.push_front(Ask::Subscription(asked));
                    return Heard::Nothing;
                }
                return Heard::Answered(asked, None);
            }
            Some(other) => self.asked.push_front(other),
            None => {}
        }
        match notice {
            Notice::Unsubscribed(kind, name) => {
                Heard::Unsubscribed(kind, Bytes::copy_from_slice(name))
            }
            _ => Heard::Nothing,
        }
    }

    /// A reply in the place of one, which a subscription gets only if it was refused.
    fn hear_reply(&mut self, reply: Reply<'_>) -> Heard {
        let is_confirmed = std::mem::take(&mut self.is_confirmed);
        let error = reply.as_error();
        let asked = match self.asked.pop_front() {
            Some(Ask::Ping) => return Heard::Nothing, // an error shows as well that the server answers
            Some(Ask::Subscription(asked)) => asked,
            None => return Heard::Unexpected,
        };
        if !is_confirmed {
            return match error {
                Some(text) => {
                    let refused = asked.refused(text);
                    Heard::Answered(asked, refused)
                }
                None => Heard::Unexpected,
            };
        }
        match error.map_or(ErrorOf::Ping, error_of) {
            ErrorOf::Unsubscribe => {}
            ErrorOf::Ping => {
                self.asked.pop_front();
            }
            ErrorOf::Unknown => return Heard::Unexpected,
        }
        Heard::Answered(asked, None)
    }
}
