//! Channels and patterns behind sentinels or in a cluster, whose servers come and go.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use super::followed::{Followed, Joining, Source, Topics, Tries, topics};
use super::{Cluster, Sentinel};
use crate::cluster::NodeAddress;
use crate::pubsub::{ChannelKind, Delivery, OwnedMessage, SubscriptionOptions};
use crate::{Args, Error};

/// A reader of channels and patterns that outlives its server. If that fails or is no primary any more, everything is subscribed to
/// again at the right one, and the reader gets a [`Gap`](crate::pubsub::Gap) before the next message from there. Nothing is lost in
/// silence.
///
/// | made by | its server |
/// |---|---|
/// | [`Sentinel::subscribe`], [`Sentinel::subscription`] | the primary |
/// | [`Cluster::subscribe`], [`Cluster::node_subscription`] | any primary: a cluster gives each of its nodes what is published |
/// | [`Cluster::primaries_subscription`] | all primaries: for events of keys, which each node tells of its own |
///
/// There is one queue of unread messages for each server, with the limits of the [`SubscriptionOptions`].
///
/// ```no_run
/// use onecopy_valkey::pubsub::Delivery;
///
/// # async fn example(sentinel: onecopy_valkey::aio::Sentinel) -> Result<(), onecopy_valkey::Error> {
/// let mut news = sentinel.subscribe(["news", "weather"]).await?;
/// loop {
///     match news.next().await? {
///         Delivery::Message(message) => println!("{:?}: {:?}", message.channel(), message.payload()),
///         Delivery::Gap(gap) => println!("messages may be missing: {gap}"),
///     }
/// }
/// # }
/// ```
pub struct FailoverSubscription {
    followed: Followed<Servers>,
}

/// Which servers messages come from.
pub(super) enum Servers {
    Primary(Sentinel),
    AnyOf(Cluster),
    AllOf(Cluster),
}

impl FailoverSubscription {
    /// # Panics
    /// Panics outside of a tokio runtime with time enabled.
    pub(super) fn new(servers: Servers, options: SubscriptionOptions) -> Self {
        Self {
            followed: Followed::new(servers, options),
        }
    }

    /// Subscribes to more channels, and waits until the server has confirmed that.
    ///
    /// # Errors
    /// Fails with the server's error if it refuses a channel, or if there is no server that takes them within `max_wait` of the
    /// configuration: then none of them is subscribed to.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, none of them is subscribed to.
    pub async fn subscribe<'n>(&mut self, channels: impl Into<Args<'n>>) -> Result<(), Error> {
        self.add(topics(ChannelKind::Channel, channels.into()))
            .await
    }

    /// Subscribes to more channels by glob patterns, like [`subscribe`](Self::subscribe).
    ///
    /// # Errors
    /// Fails like [`subscribe`](Self::subscribe).
    ///
    /// # Cancel safety
    /// Like [`subscribe`](Self::subscribe).
    pub async fn psubscribe<'n>(&mut self, patterns: impl Into<Args<'n>>) -> Result<(), Error> {
        self.add(topics(ChannelKind::Pattern, patterns.into()))
            .await
    }

    /// Ends subscriptions to channels. Their messages that were not read yet are dropped, and no more come.
    pub fn unsubscribe<'n>(&mut self, channels: impl Into<Args<'n>>) {
        let topics = topics(ChannelKind::Channel, channels.into());
        self.followed.leave(&topics);
    }

    /// Ends subscriptions to patterns, like [`unsubscribe`](Self::unsubscribe).
    pub fn punsubscribe<'n>(&mut self, patterns: impl Into<Args<'n>>) {
        let topics = topics(ChannelKind::Pattern, patterns.into());
        self.followed.leave(&topics);
    }

    /// Waits for the next message, or for the news that some are missing.
    ///
    /// # Errors
    /// Fails if the handle is closed, if the reader was [disconnected](Error::is_slow_reader), or if another server refuses what
    /// the first one took. It fails again then at later calls, until what was refused is left or subscribed to again.
    ///
    /// # Cancel safety
    /// Cancel-safe: no message is lost.
    pub async fn next(&mut self) -> Result<Delivery<OwnedMessage>, Error> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Polls for what [`next`](Self::next) returns.
    ///
    /// # Errors
    /// Fails like [`next`](Self::next).
    pub fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Delivery<OwnedMessage>, Error>> {
        self.followed.poll_next(context)
    }

    async fn add(&mut self, topics: Topics) -> Result<(), Error> {
        self.followed.add_everywhere(&topics, None).await
    }
}

impl Source for Servers {
    /// A primary, where there is one place for each.
    type Place = Option<NodeAddress>;

    fn join(
        &self,
        place: &Self::Place,
        topics: Topics,
        options: SubscriptionOptions,
        tries: Tries,
    ) -> Joining {
        match self {
            Self::Primary(sentinel) => sentinel.join_primary(topics, options, tries),
            Self::AnyOf(cluster) | Self::AllOf(cluster) => {
                cluster.join_node(place.clone(), topics, options, tries)
            }
        }
    }

    fn is_right(&self, place: &Self::Place, address: &NodeAddress, looks: u32) -> bool {
        match self {
            Self::Primary(sentinel) => sentinel.primary().is_none_or(|primary| primary == *address),
            Self::AnyOf(cluster) | Self::AllOf(cluster) => {
                if looks > 0 {
                    cluster.refresh();
                }
                // Any other is as good.
                let is_lost = place.is_none() && looks > LOOKS;
                let primaries = cluster.primaries();
                !is_lost && (primaries.is_empty() || primaries.contains(address))
            }
        }
    }

    fn places(&self) -> Option<Vec<Self::Place>> {
        match self {
            Self::Primary(_) | Self::AnyOf(_) => None,
            Self::AllOf(cluster) => Some(cluster.primaries().into_iter().map(Some).collect()),
        }
    }

    fn ended(&self) -> Option<Error> {
        match self {
            Self::Primary(sentinel) => sentinel.ended(),
            Self::AnyOf(cluster) | Self::AllOf(cluster) => cluster.ended(),
        }
    }
}

/// So many looks a node of several may be without a connection before another one is taken.
const LOOKS: u32 = 2;

impl fmt::Debug for FailoverSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (servers, subscriptions) = self.followed.len();
        f.debug_struct("FailoverSubscription")
            .field("servers", &servers)
            .field("subscriptions", &subscriptions)
            .finish_non_exhaustive()
    }
}
