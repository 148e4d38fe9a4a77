//! Channels and patterns at the primary.

use std::sync::Arc;

use super::Sentinel;
use super::inner::{Inner, closed};
use crate::aio::FailoverSubscription;
use crate::aio::failover_subscription::Servers;
use crate::aio::followed::{Active, Joining, Topics, Tries, attempts};
use crate::pubsub::SubscriptionOptions;
use crate::{Args, Error};

impl Sentinel {
    /// Subscribes to channels at the primary, whichever server that is: returns a reader of their messages, once the server has
    /// confirmed the subscriptions.
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
        let mut subscription = self.subscription(SubscriptionOptions::default());
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
        let mut subscription = self.subscription(SubscriptionOptions::default());
        subscription.psubscribe(patterns).await?;
        Ok(subscription)
    }

    /// Returns a reader with these limits that is not subscribed to anything yet.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with time enabled.
    pub fn subscription(&self, options: SubscriptionOptions) -> FailoverSubscription {
        FailoverSubscription::new(Servers::Primary(self.clone()), options)
    }

    /// Subscribes at the primary.
    pub(in crate::aio) fn join_primary(
        &self,
        topics: Topics,
        options: SubscriptionOptions,
        tries: Tries,
    ) -> Joining {
        let inner = Arc::clone(&self.handle.inner);
        Box::pin(join(inner, topics, options, tries))
    }

    pub(in crate::aio) fn ended(&self) -> Option<Error> {
        self.handle.inner.is_closed().then(closed)
    }
}

async fn join(
    inner: Arc<Inner>,
    topics: Topics,
    options: SubscriptionOptions,
    tries: Tries,
) -> Result<Active, Error> {
    let ended = || inner.is_closed().then(closed);
    attempts(tries, inner.config.max_wait, ended, || {
        join_once(&inner, &topics, options)
    })
    .await
}

async fn join_once(
    inner: &Arc<Inner>,
    topics: &Topics,
    options: SubscriptionOptions,
) -> Result<Active, Error> {
    let primary = inner.current().ok_or_else(|| inner.no_primary());
    let joined = match primary {
        Ok(primary) => {
            let subscription = primary.shared.subscription(options);
            let joining = Active::join(subscription, primary.address, topics);
            joining.await.map_err(|(error, _)| error)
        }
        Err(error) => Err(error),
    };
    if joined.is_err() {
        inner.want();
    }
    joined
}
