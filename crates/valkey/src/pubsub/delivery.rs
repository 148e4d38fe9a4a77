//! What a reader hears.

use std::fmt;

/// A message, or the news that some are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery<M> {
    /// A message.
    Message(M),
    /// Messages before this moment are missing, or may be. Everything that is subscribed to is subscribed again.
    Gap(Gap),
}

impl<M> Delivery<M> {
    /// Returns the message, or `None` if it is a gap.
    pub fn message(self) -> Option<M> {
        match self {
            Self::Message(message) => Some(message),
            Self::Gap(_) => None,
        }
    }

    /// Returns the gap, or `None` if it is a message.
    pub fn gap(&self) -> Option<Gap> {
        match self {
            Self::Message(_) => None,
            Self::Gap(gap) => Some(*gap),
        }
    }
}

/// Why messages are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Gap {
    /// The connection was lost and replaced. The server dropped what was published in between; how much is unknown.
    ConnectionLost,
    /// The server ended a subscription by itself, as it does when the slot of a sharded channel moves, or the reader went to another server; it
    /// is subscribed again.
    Renewed,
    /// The reader's queue was full, and this many of its oldest messages were dropped.
    Overflow {
        /// The number of messages.
        messages: u64,
    },
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConnectionLost => f.write_str("the connection was lost and replaced"),
            Self::Renewed => f.write_str("the server ended a subscription, which was renewed"),
            Self::Overflow { messages } => {
                write!(
                    f,
                    "{messages} messages were dropped because the reader is too slow"
                )
            }
        }
    }
}
