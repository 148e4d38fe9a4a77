//! Sharded channels, whose messages come from the node that has their slot.

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;

use super::Cluster;
use super::inner::{Inner, closed};
use crate::aio::followed::{
    Active, Followed, Joining, LOOK, Source, Topics, Tries, is_elsewhere, topics,
};
use crate::cluster::{Attempts, NodeAddress, Route, Target, key_slot};
use crate::command::Flags;
use crate::pubsub::{ChannelKind, Delivery, OwnedMessage, SubscriptionOptions};
use crate::{Args, Error};

/// A reader of sharded channels, which follows their slots: if a slot moves or its primary fails, its channels are subscribed to at
/// the new one, and the reader gets a [`Gap`](crate::pubsub::Gap) before the next message from there. Nothing is lost in silence.
///
/// Each slot has its own queue of unread messages, with the limits of the [`SubscriptionOptions`].
///
/// ```no_run
/// use onecopy_valkey::pubsub::Delivery;
///
/// # async fn example(cluster: onecopy_valkey::aio::Cluster) -> Result<(), onecopy_valkey::Error> {
/// let mut rooms = cluster.ssubscribe(["room:1", "room:2"]).await?;
/// loop {
///     match rooms.next().await? {
///         Delivery::Message(message) => println!("{:?}: {:?}", message.channel(), message.payload()),
///         Delivery::Gap(gap) => println!("messages may be missing: {gap}"),
///     }
/// }
/// # }
/// ```
pub struct ClusterSubscription {
    followed: Followed<Slots>,
}

/// The slots of a cluster.
struct Slots(Cluster);

impl Cluster {
    /// Subscribes to sharded channels, each at the node that has its slot: returns a reader of their messages, once the servers
    /// have confirmed the subscriptions.
    ///
    /// # Errors
    /// Fails like [`ClusterSubscription::ssubscribe`].
    ///
    /// # Cancel safety
    /// Cancel-safe: if the future is dropped before it completes, nothing is subscribed to.
    pub async fn ssubscribe<'n>(
        &self,
        channels: impl Into<Args<'n>>,
    ) -> Result<ClusterSubscription, Error> {
        let mut subscription = self.subscription(SubscriptionOptions::default());
        subscription.ssubscribe(channels).await?;
        Ok(subscription)
    }

    /// Returns a reader of sharded channels with these limits that is not subscribed to anything yet.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with time enabled.
    pub fn subscription(&self, options: SubscriptionOptions) -> ClusterSubscription {
        ClusterSubscription {
            followed: Followed::new(Slots(self.clone()), options),
        }
    }
}

impl ClusterSubscription {
    /// Subscribes to more sharded channels, and waits until the servers have confirmed that.
    ///
    /// # Errors
    /// Fails with the server's error if it refuses a channel, or if the cluster does not take them within
    /// [`ClusterConfig::max_wait`](crate::cluster::ClusterConfig::max_wait): then none of them is subscribed to.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, none of them is subscribed to.
    pub async fn ssubscribe<'n>(&mut self, channels: impl Into<Args<'n>>) -> Result<(), Error> {
        let mut new: BTreeMap<u16, Topics> = BTreeMap::new();
        channels.into().each(&mut |name| {
            let topics = new.entry(key_slot(name)).or_default();
            topics.insert((ChannelKind::Shard, Bytes::copy_from_slice(name)));
        });
        self.followed.add(new).await
    }

    /// Ends subscriptions to channels. Their messages that were not read yet are dropped, and no more come.
    pub fn sunsubscribe<'n>(&mut self, channels: impl Into<Args<'n>>) {
        self.followed
            .leave(&topics(ChannelKind::Shard, channels.into()));
    }

    /// Waits for the next message, or for the news that some are missing.
    ///
    /// # Errors
    /// Fails if the handle is closed, if the reader was [disconnected](Error::is_slow_reader), or if a server refuses a channel
    /// after its slot has moved. It fails again then at later calls, between the messages of other slots, until the channels of that slot
    /// are left or subscribed to again.
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
}

impl Source for Slots {
    type Place = u16;

    fn join(
        &self,
        &slot: &u16,
        topics: Topics,
        options: SubscriptionOptions,
        tries: Tries,
    ) -> Joining {
        let inner = Arc::clone(&self.0.handle.inner);
        Box::pin(join(inner, slot, topics, options, tries))
    }

    fn is_right(&self, &slot: &u16, address: &NodeAddress, looks: u32) -> bool {
        let inner = &self.0.handle.inner;
        if looks > 0 {
            inner.want_refresh();
        }
        inner.with_router(|router| {
            let primary = router.topology().primary(slot);
            primary.is_none_or(|primary| primary.address == *address)
        })
    }

    fn places(&self) -> Option<Vec<u16>> {
        None
    }

    fn ended(&self) -> Option<Error> {
        self.0.handle.inner.is_closed().then(closed)
    }
}

/// Subscribes to channels of one slot at the node that has it.
async fn join(
    inner: Arc<Inner>,
    slot: u16,
    topics: Topics,
    options: SubscriptionOptions,
    tries: Tries,
) -> Result<Active, Error> {
    let route = Route {
        slot: Some(slot),
        flags: Flags::READONLY,
    };
    let mut attempts = Attempts::new(inner.config.patience());
    let mut target = Target::Primary;
    loop {
        let failed = match inner.find(route, &target) {
            Err(error) => (error, None),
            Ok((place, _)) => match inner.connected(&place).await {
                Err(error) => (error, Some(place.address)),
                Ok(shared) => {
                    let subscription = shared.subscription(options);
                    match Active::join(subscription, place.address, &topics).await {
                        Ok(active) => return Ok(active),
                        Err((error, address)) => (error, Some(address)),
                    }
                }
            },
        };
        let is_endless = tries == Tries::Endless && is_elsewhere(&failed.0);
        match inner.again(&mut attempts, failed, route.flags) {
            Ok(again) => {
                match tries {
                    Tries::Limited => inner.pause(again.pause).await?,
                    // It takes no place of a caller.
                    Tries::Endless => tokio::time::sleep(again.pause).await,
                }
                target = match again.target {
                    Target::Node(address) | Target::Asking(address) => Target::Node(address),
                    Target::Route | Target::Primary => Target::Primary,
                };
            }
            Err(_) if is_endless && !inner.is_closed() => {
                attempts = Attempts::new(inner.config.patience());
                target = Target::Primary;
                inner.want_refresh();
                tokio::time::sleep(LOOK).await;
            }
            Err(error) => return Err(error),
        }
    }
}

impl fmt::Debug for ClusterSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (slots, channels) = self.followed.len();
        f.debug_struct("ClusterSubscription")
            .field("channels", &channels)
            .field("slots", &slots)
            .finish_non_exhaustive()
    }
}
