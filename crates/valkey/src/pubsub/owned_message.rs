//! A message that outlives the connection's next read.

use std::fmt;

use bytes::Bytes;
use onecopy_resp_proto::{Client, Frame, OwnedReply};
use onecopy_wire::{Buffers, WireError};

use super::{ChannelKind, Message, Notice};

/// Payloads from this size on are moved out of the buffers and not copied: 64 KiB, as for all strings.
const LARGE: usize = 64 << 10;

/// A published message, detached from the connection. Its bytes were copied once, in one allocation; payloads of 64 KiB and more
/// were moved. Clones share them.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnedMessage {
    kind: ChannelKind,
    topic: Bytes,
    /// Of a pattern; else the topic is it.
    channel: Bytes,
    payload: Bytes,
}

/// A large payload in the reply that it came in.
struct LargePayload(OwnedReply);

impl AsRef<[u8]> for LargePayload {
    fn as_ref(&self) -> &[u8] {
        match Notice::read(self.0.reply()) {
            Notice::Message(message) => message.payload,
            _ => &[],
        }
    }
}

impl OwnedMessage {
    /// Detaches the message that was scanned last. `topic` is its topic where that is held already, which costs no copy.
    ///
    /// # Errors
    /// Memory that could not be had.
    pub(crate) fn detach(
        core: &Client,
        buffers: &mut Buffers,
        frame: Frame,
        topic: Option<&Bytes>,
    ) -> Result<Self, WireError> {
        let message = match Notice::read(core.reply(frame, buffers)) {
            Notice::Message(message) => message,
            _ => Message {
                kind: ChannelKind::Channel,
                topic: &[],
                channel: &[],
                payload: &[],
            },
        };
        let kind = message.kind;
        // In one allocation what has to be copied: the topic if nobody holds it, a pattern's channel, the payload.
        let topic_len = if topic.is_some() {
            0
        } else {
            message.topic.len()
        };
        let is_pattern = kind == ChannelKind::Pattern;
        let channel_len = if is_pattern { message.channel.len() } else { 0 };
        let is_large = message.payload.len() >= LARGE;
        let small = if is_large { &[] } else { message.payload };
        let bytes = topic_len + channel_len + small.len();
        let mut copy = Vec::new();
        copy.try_reserve_exact(bytes)
            .map_err(|_| WireError::OutOfMemory {
                bytes: bytes as u64,
            })?;
        copy.extend_from_slice(&message.topic[..topic_len]);
        copy.extend_from_slice(&message.channel[..channel_len]);
        copy.extend_from_slice(small);
        buffers.count_owned(bytes);
        let mut copy = Bytes::from(copy);
        let own_topic = take(&mut copy, topic_len);
        let channel = take(&mut copy, channel_len);
        let payload = match is_large {
            true => Bytes::from_owner(LargePayload(core.detach(frame, buffers)?)),
            false => copy,
        };
        Ok(Self {
            kind,
            topic: topic.cloned().unwrap_or(own_topic),
            channel,
            payload,
        })
    }

    /// Returns a view of the message.
    pub fn as_message(&self) -> Message<'_> {
        Message {
            kind: self.kind,
            topic: &self.topic,
            channel: match self.kind {
                ChannelKind::Pattern => &self.channel,
                _ => &self.topic,
            },
            payload: &self.payload,
        }
    }

    /// Returns the channel that it was published on.
    pub fn channel(&self) -> &[u8] {
        self.as_message().channel
    }

    /// Returns the pattern that the channel matches, if it was sent for a pattern.
    pub fn pattern(&self) -> Option<&[u8]> {
        self.as_message().pattern()
    }

    /// Returns the bytes that were published.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Returns the bytes that were published. They are shared and not copied; the channel of a pattern's message stays in memory
    /// with them.
    pub fn into_payload(self) -> Bytes {
        self.payload
    }

    /// The bytes of memory that a queue counts for it: what lies behind it, and itself.
    pub(super) fn memory(&self) -> usize {
        size_of::<Self>() + self.channel.len() + self.payload.len()
    }
}

/// The first `len` bytes; no share of the memory where there are none.
fn take(bytes: &mut Bytes, len: usize) -> Bytes {
    match len {
        0 => Bytes::new(),
        len => bytes.split_to(len),
    }
}

/// Shows what a [`Message`] shows.
impl fmt::Debug for OwnedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_message().fmt(f)
    }
}
