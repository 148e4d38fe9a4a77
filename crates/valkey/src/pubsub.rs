//! Subscriptions: what a message is, what a reader hears, and how much it may leave unread.
//!
//! | what reads | connection | API |
//! |---|---|---|
//! | [`blocking::Subscriber`](crate::blocking::Subscriber), `aio::Subscriber` | one of its own, RESP2 or RESP3 | borrowed messages: no copy |
//! | `aio::Shared::subscribe` and its like | the shared one with RESP3, else a second one | owned messages: one copy, shared by all readers of a channel |
//! | [`blocking::ClusterSubscriber`](crate::blocking::ClusterSubscriber) | one of its own to each node with a slot | owned messages of sharded channels |
//! | `aio::Cluster::ssubscribe` | the shared ones | the same |
//!
//! All subscribe again after their connection was lost, and then tell the reader with a [`Gap`]: the server keeps no messages
//! for a client that is not connected, so those in between are missing. A reader that keeps state up to date by messages reads
//! that state again after each gap.
//!
//! ```
//! use onecopy_valkey::pubsub::{Delivery, Gap, Message};
//!
//! fn hear(delivery: Delivery<Message<'_>>) {
//!     match delivery {
//!         Delivery::Message(message) => println!("{:?}", message.payload()),
//!         Delivery::Gap(Gap::Overflow { messages }) => println!("{messages} messages were dropped: this reader is too slow"),
//!         Delivery::Gap(gap) => println!("messages may be missing: {gap}"),
//!     }
//! }
//! ```

mod backlog;
mod channel_kind;
mod conversation;
mod delivery;
mod feed;
mod key_event;
mod message;
mod notice;
mod options;
mod owned_message;
mod shard_unsubscribe;

pub use channel_kind::ChannelKind;
pub use delivery::{Delivery, Gap};
pub use key_event::{KeyEvent, escape_pattern, key_event_channel, key_space_channel};
pub use message::Message;
pub use options::{SlowReader, SubscriberOptions, SubscriptionOptions};
pub use owned_message::OwnedMessage;

pub(crate) use backlog::{Backlog, Overflow};
pub(crate) use channel_kind::KINDS;
pub(crate) use conversation::{Asked, Conversation, Heard, Verb, names};
pub(crate) use feed::{Feed, Next, Waited, confirmed_by};
pub(crate) use notice::Notice;
#[cfg(feature = "tokio")]
pub(crate) use shard_unsubscribe::{ErrorOf, error_of};

#[cfg(test)]
mod tests;
