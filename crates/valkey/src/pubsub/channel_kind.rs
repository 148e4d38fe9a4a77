//! The three kinds of subscriptions, and their words.

/// What a subscription names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChannelKind {
    /// A channel, by its exact name: SUBSCRIBE.
    Channel,
    /// All channels whose names match a glob pattern: PSUBSCRIBE.
    Pattern,
    /// A sharded channel, which lives on the cluster node of its slot, since 7.0: SSUBSCRIBE.
    Shard,
}

/// All of them, in the order of [`ChannelKind::index`].
pub(crate) const KINDS: [ChannelKind; 3] = [
    ChannelKind::Channel,
    ChannelKind::Pattern,
    ChannelKind::Shard,
];

impl ChannelKind {
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Channel => 0,
            Self::Pattern => 1,
            Self::Shard => 2,
        }
    }
}
