//! The options of subscriptions.

use crate::Backoff;

/// What happens when a reader's queue is full. The connection never waits for a reader: that would hold up everybody else who
/// uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SlowReader {
    /// The oldest messages are dropped, and the reader gets [`Gap::Overflow`](super::Gap::Overflow) with their number in their place.
    #[default]
    DropOldest,
    /// The reader is disconnected: it gets the messages that are queued, then an error for which
    /// [`Error::is_slow_reader`](crate::Error::is_slow_reader) is true. Others are not affected.
    Disconnect,
}

/// The limits of one reader's queue.
///
/// ```
/// use onecopy_valkey::pubsub::{SlowReader, SubscriptionOptions};
///
/// let mut options = SubscriptionOptions::default();
/// options.max_messages = 100;
/// options.slow_reader = SlowReader::Disconnect;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubscriptionOptions {
    /// The maximum number of unread messages. Default: 1,024.
    pub max_messages: usize,
    /// The maximum memory of unread messages in bytes: payloads, channels of patterns, and about 100 bytes for each. Default:
    /// 4 MiB. Payloads that readers share are counted for each of them. A single message may exceed it, alone in its queue.
    pub max_bytes: usize,
    /// What happens when one of them is reached. Default: the oldest messages are dropped.
    pub slow_reader: SlowReader,
}

impl Default for SubscriptionOptions {
    fn default() -> Self {
        Self {
            max_messages: 1 << 10,
            max_bytes: 4 << 20,
            slow_reader: SlowReader::DropOldest,
        }
    }
}

/// The options of a `Subscriber`, which has a connection of its own.
///
/// ```
/// use onecopy_valkey::pubsub::SubscriberOptions;
///
/// let mut options = SubscriberOptions::default();
/// options.max_attempts = Some(10); // give up after ten attempts to reconnect
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubscriberOptions {
    /// The delays before attempts to reconnect.
    pub backoff: Backoff,
    /// How many attempts to reconnect may fail in a row before `next` returns the error. Default: `None`, no limit. An error that
    /// no retry can mend, such as a wrong password, is always returned at once.
    pub max_attempts: Option<u32>,
    /// The maximum number of messages that are kept while the subscriber waits for something else: for the confirmation of a new
    /// subscription, or of all of them after a loss. Default: 1,024. If there are more, the oldest are dropped, and the reader
    /// gets [`Gap::Overflow`](super::Gap::Overflow). At other times nothing is queued: if nobody calls `next`, the server's output
    /// buffer fills up, and the server closes the connection at its `client-output-buffer-limit pubsub`.
    pub max_messages: usize,
    /// The maximum memory of these messages in bytes. Default: 4 MiB.
    pub max_bytes: usize,
}

impl Default for SubscriberOptions {
    fn default() -> Self {
        let SubscriptionOptions {
            max_messages,
            max_bytes,
            ..
        } = SubscriptionOptions::default();
        Self {
            backoff: Backoff::default(),
            max_attempts: None,
            max_messages,
            max_bytes,
        }
    }
}

impl SubscriberOptions {
    pub(crate) fn queue(&self) -> SubscriptionOptions {
        SubscriptionOptions {
            max_messages: self.max_messages,
            max_bytes: self.max_bytes,
            slow_reader: SlowReader::DropOldest,
        }
    }
}
