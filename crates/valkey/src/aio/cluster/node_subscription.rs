//! Channels and patterns of a cluster, which any node can serve, or events of keys, for which all are needed.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use super::Cluster;
use super::inner::{Inner, closed};
use crate::aio::FailoverSubscription;
use crate::aio::failover_subscription::Servers;
use crate::aio::followed::{Active, Joining, Topics, Tries, attempts, patiently};
use crate::cluster::{NodeAddress, Place};
use crate::pubsub::SubscriptionOptions;
use crate::{Args, Error};

impl Cluster {
    /// Subscribes to channels at any primary: a cluster gives each of its nodes what is published with PUBLISH. Returns a reader of
    /// their messages, once the server has confirmed the subscriptions. For sharded channels there is
    /// [`ssubscribe`](Self::ssubscribe), for events of keys [`primaries_subscription`](Self::primaries_subscription).
    ///
    /// # Errors
    /// Fails like [`FailoverSubscription::subscribe`].
    ///
    /// # Cancel safety
    /// Cancel-safe: if the future is dropped before it completes, nothing is subscribed to.
    pub async fn subscribe<'n>(
        &self,
        channels: impl Into<Args<'n>>,
    ) -> Result<FailoverSubscription, Error> {
        let mut subscription = self.node_subscription(SubscriptionOptions::default());
        subscription.subscribe(channels).await?;
        Ok(subscription)
    }

    /// Subscribes to channels by glob patterns, like [`subscribe`](Self::subscribe).
    ///
    /// # Errors
    /// Fails like [`FailoverSubscription::subscribe`].
    ///
    /// # Cancel safety
    /// Cancel-safe: if the future is dropped before it completes, nothing is subscribed to.
    pub async fn psubscribe<'n>(
        &self,
        patterns: impl Into<Args<'n>>,
    ) -> Result<FailoverSubscription, Error> {
        let mut subscription = self.node_subscription(SubscriptionOptions::default());
        subscription.psubscribe(patterns).await?;
        Ok(subscription)
    }

    /// Returns a reader of any one primary with these limits that is not subscribed to anything yet.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with time enabled.
    pub fn node_subscription(&self, options: SubscriptionOptions) -> FailoverSubscription {
        FailoverSubscription::new(Servers::AnyOf(self.clone()), options)
    }

    /// Returns a reader of all primaries with these limits that is not subscribed to anything yet: for
    /// [events of keys](crate::pubsub::key_event_channel), which each node tells of its own keys. It follows primaries that come and
    /// go, with a [`Gap`](crate::pubsub::Gap) for each, as they become known: at the latest after
    /// [`ClusterConfig::refresh_interval`](crate::cluster::ClusterConfig::refresh_interval). What is published with PUBLISH comes once from
    /// each primary.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with time enabled.
    pub fn primaries_subscription(&self, options: SubscriptionOptions) -> FailoverSubscription {
        FailoverSubscription::new(Servers::AllOf(self.clone()), options)
    }

    /// Subscribes at this primary, or at any one.
    pub(in crate::aio) fn join_node(
        &self,
        place: Option<NodeAddress>,
        topics: Topics,
        options: SubscriptionOptions,
        tries: Tries,
    ) -> Joining {
        let inner = Arc::clone(&self.handle.inner);
        Box::pin(join(inner, place, topics, options, tries))
    }

    pub(in crate::aio) fn ended(&self) -> Option<Error> {
        self.handle.inner.is_closed().then(closed)
    }
}

async fn join(
    inner: Arc<Inner>,
    place: Option<NodeAddress>,
    topics: Topics,
    options: SubscriptionOptions,
    tries: Tries,
) -> Result<Active, Error> {
    let ended = || inner.is_closed().then(closed);
    attempts(tries, inner.config.max_wait, ended, || {
        join_once(&inner, place.as_ref(), &topics, options)
    })
    .await
}

/// Tries each of the nodes.
async fn join_once(
    inner: &Arc<Inner>,
    place: Option<&NodeAddress>,
    topics: &Topics,
    options: SubscriptionOptions,
) -> Result<Active, Error> {
    let mut last = Error::offline(None);
    for address in candidates(inner, place) {
        match patiently(join_at(inner, address, topics, options)).await {
            Ok(active) => return Ok(active),
            Err(error) => last = error,
        }
    }
    inner.want_refresh();
    Err(last)
}

async fn join_at(
    inner: &Arc<Inner>,
    address: NodeAddress,
    topics: &Topics,
    options: SubscriptionOptions,
) -> Result<Active, Error> {
    let is_replica = false;
    let place = Place {
        address,
        is_replica,
    };
    let shared = inner.connected(&place).await?;
    let joining = Active::join(shared.subscription(options), place.address, topics);
    joining.await.map_err(|(error, _)| error)
}

/// The nodes to try: from a random one on, so that readers spread.
fn candidates(inner: &Inner, place: Option<&NodeAddress>) -> Vec<NodeAddress> {
    if let Some(place) = place {
        return vec![place.clone()];
    }
    let mut primaries: Vec<NodeAddress> = inner.with_router(|router| {
        let primaries = router.topology().primaries();
        primaries.into_iter().cloned().collect()
    });
    if !primaries.is_empty() {
        let random = RandomState::new().build_hasher().finish();
        let first = random % primaries.len() as u64;
        primaries.rotate_left(usize::try_from(first).unwrap_or(0));
    }
    primaries
}
