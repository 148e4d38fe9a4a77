//! What a push of RESP3, or a reply of RESP2 in its place, says.
//!
//! | first element | the others | |
//! |---|---|---|
//! | `message`, `smessage` | channel, payload | |
//! | `pmessage` | pattern, channel, payload | |
//! | `subscribe`, `psubscribe`, `ssubscribe` | name, number of subscriptions | once for each name |
//! | `unsubscribe`, `punsubscribe`, `sunsubscribe` | name, number of subscriptions | `sunsubscribe` also unasked, when a slot moves |
//! | `pong` | text | RESP2's reply to PING while anything is subscribed to |
//!
//! Source: <https://valkey.io/topics/pubsub/>.

use onecopy_resp_proto::{Kind, Reply};

use super::{ChannelKind, Message};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice<'r> {
    Message(Message<'r>),
    Subscribed(ChannelKind, &'r [u8]),
    Unsubscribed(ChannelKind, &'r [u8]),
    Pong,
    /// Nothing of subscriptions.
    Other,
}

impl<'r> Notice<'r> {
    pub(crate) fn read(reply: Reply<'r>) -> Self {
        use ChannelKind::{Channel, Pattern, Shard};

        if !matches!(reply.kind(), Kind::Push | Kind::Array) {
            return Self::Other;
        }
        let mut words = reply.children();
        let mut next = || {
            let word = words.next()?;
            let is_text = !word.kind().is_aggregate() && !word.is_null();
            is_text.then(|| word.bytes())
        };
        let Some(first) = next() else {
            return Self::Other;
        };
        let read = match first {
            b"message" => message(Channel, &mut next),
            b"pmessage" => message(Pattern, &mut next),
            b"smessage" => message(Shard, &mut next),
            b"subscribe" => next().map(|name| Self::Subscribed(Channel, name)),
            b"psubscribe" => next().map(|name| Self::Subscribed(Pattern, name)),
            b"ssubscribe" => next().map(|name| Self::Subscribed(Shard, name)),
            b"unsubscribe" => next().map(|name| Self::Unsubscribed(Channel, name)),
            b"punsubscribe" => next().map(|name| Self::Unsubscribed(Pattern, name)),
            b"sunsubscribe" => next().map(|name| Self::Unsubscribed(Shard, name)),
            b"pong" => Some(Self::Pong),
            _ => None,
        };
        read.unwrap_or(Self::Other)
    }
}

fn message<'r>(
    kind: ChannelKind,
    next: &mut impl FnMut() -> Option<&'r [u8]>,
) -> Option<Notice<'r>> {
    let topic = next()?;
    let channel = match kind {
        ChannelKind::Pattern => next()?,
        _ => topic,
    };
    let payload = next()?;
    Some(Notice::Message(Message {
        kind,
        topic,
        channel,
        payload,
    }))
}
