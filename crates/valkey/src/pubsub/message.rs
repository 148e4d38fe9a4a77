//! A published message, borrowed.

use std::fmt;

use super::{ChannelKind, KeyEvent};

/// A published message, borrowed from the connection's read buffer or from an [`OwnedMessage`](super::OwnedMessage).
///
/// ```no_run
/// use onecopy_valkey::blocking::Subscriber;
/// use onecopy_valkey::pubsub::Delivery;
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// let mut subscriber = Subscriber::connect("redis://localhost")?;
/// subscriber.psubscribe("room:*")?;
/// if let Delivery::Message(message) = subscriber.next()? {
///     println!("{:?}: {:?}", message.channel(), message.payload());
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Message<'r> {
    pub(super) kind: ChannelKind,
    /// What was subscribed to.
    pub(super) topic: &'r [u8],
    pub(super) channel: &'r [u8],
    pub(super) payload: &'r [u8],
}

impl<'r> Message<'r> {
    /// Returns which kind of subscription it was sent for.
    pub fn kind(&self) -> ChannelKind {
        self.kind
    }

    /// Returns the channel that it was published on.
    pub fn channel(&self) -> &'r [u8] {
        self.channel
    }

    /// Returns the pattern that the channel matches, if it was sent for a pattern.
    pub fn pattern(&self) -> Option<&'r [u8]> {
        (self.kind == ChannelKind::Pattern).then_some(self.topic)
    }

    /// Returns the bytes that were published.
    pub fn payload(&self) -> &'r [u8] {
        self.payload
    }

    /// Returns the payload as text, if it is UTF-8.
    pub fn as_str(&self) -> Option<&'r str> {
        std::str::from_utf8(self.payload).ok()
    }

    /// Reads it as a keyspace notification. `None` if its channel is not one of theirs.
    pub fn key_event(&self) -> Option<KeyEvent<'r>> {
        KeyEvent::read(self.channel, self.payload)
    }

    /// The name of the subscription that it belongs to.
    pub(crate) fn topic(&self) -> &'r [u8] {
        self.topic
    }
}

/// Shows the channel, but of the payload only the size: it is a value.
impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        let mut shown = f.debug_struct("Message");
        shown.field("channel", &text(self.channel));
        if let Some(pattern) = self.pattern() {
            shown.field("pattern", &text(pattern));
        }
        shown.field("payload", &format_args!("{} bytes", self.payload.len()));
        shown.finish()
    }
}
