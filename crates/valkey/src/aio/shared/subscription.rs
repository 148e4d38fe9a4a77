//! A reader of subscriptions of a shared handle.

use std::collections::HashSet;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::time::timeout;

use super::Shared;
use super::failure::Failure;
use super::reader::Reader;
use crate::pubsub::{ChannelKind, Delivery, OwnedMessage, SubscriptionOptions, names};
use crate::{Args, Error};

/// A reader of messages, made by [`Shared::subscribe`] and its like. It has a queue of its own, whose limits are its
/// [`SubscriptionOptions`]. Any number of readers may be subscribed to the same channels: the server knows one subscription for
/// each channel, and a message is copied once for all of its readers.
///
/// With RESP3 messages come over the shared connection. With RESP2, or with
/// [`SharedOptions::own_subscription_connection`](super::SharedOptions::own_subscription_connection), the handle opens a second one
/// when somebody subscribes for the first time.
///
/// - After the connection was lost everything is subscribed to again, and the reader gets a [`Gap`](crate::pubsub::Gap) before
///   the next message: one, or one more for each subscription behind whose renewal messages came.
/// - A reader that is too slow loses its oldest messages and is told so, or is disconnected:
///   [`SlowReader`](crate::pubsub::SlowReader). It never holds up commands or other readers.
/// - Dropping it ends its subscriptions. It keeps the handle's connection open; after [`Shared::close`] it fails.
///
/// ```no_run
/// use onecopy_valkey::aio::Shared;
/// use onecopy_valkey::pubsub::Delivery;
///
/// # async fn example() -> Result<(), onecopy_valkey::Error> {
/// let shared = Shared::connect("redis://localhost").await?;
/// let mut room = shared.subscribe(["room:1", "room:2"]).await?;
/// loop {
///     match room.next().await? {
///         Delivery::Message(message) => println!("{:?}: {:?}", message.channel(), message.payload()),
///         Delivery::Gap(gap) => println!("messages may be missing: {gap}"),
///     }
/// }
/// # }
/// ```
pub struct Subscription {
    shared: Shared,
    reader: Arc<Reader>,
    topics: HashSet<(ChannelKind, Bytes)>,
}

impl Subscription {
    pub(super) fn new(shared: &Shared, options: SubscriptionOptions) -> Self {
        let subscriptions = &shared.handle.inner.subscriptions;
        let (id, _) = subscriptions.with(|registry, _| registry.reader_id());
        Self {
            shared: shared.clone(),
            reader: Arc::new(Reader::new(id, options)),
            topics: HashSet::new(),
        }
    }

    /// Subscribes to more channels, and waits until the server has confirmed that, for at most
    /// [`Config::command_timeout`](crate::Config::command_timeout).
    ///
    /// # Errors
    /// Fails with the server's error if it refuses a channel: [`Error::channel`] says which one; the others are subscribed to.
    /// Fails if the timeout passes, if there is no connection for [`OfflineQueue::max_wait`](super::OfflineQueue::max_wait), or
    /// if the handle is closed: then none of them is.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, none of them is subscribed to.
    pub async fn subscribe<'n>(&mut self, channels: impl Into<Args<'n>>) -> Result<(), Error> {
        let channels = names(channels);
        self.join(ChannelKind::Channel, channels).await
    }

    /// Subscribes to more channels by glob patterns, like [`subscribe`](Self::subscribe).
    ///
    /// # Errors
    /// Fails like [`subscribe`](Self::subscribe).
    ///
    /// # Cancel safety
    /// Like [`subscribe`](Self::subscribe).
    pub async fn psubscribe<'n>(&mut self, patterns: impl Into<Args<'n>>) -> Result<(), Error> {
        let patterns = names(patterns);
        self.join(ChannelKind::Pattern, patterns).await
    }

    /// Subscribes to more sharded channels, like [`subscribe`](Self::subscribe).
    ///
    /// # Errors
    /// Fails like [`subscribe`](Self::subscribe).
    ///
    /// # Cancel safety
    /// Like [`subscribe`](Self::subscribe).
    pub async fn ssubscribe<'n>(&mut self, channels: impl Into<Args<'n>>) -> Result<(), Error> {
        let channels = names(channels);
        self.join(ChannelKind::Shard, channels).await
    }

    /// Ends subscriptions to channels. Their messages that were not read yet are dropped, and no more come. The server is told
    /// later if this was the last reader.
    pub fn unsubscribe<'n>(&mut self, channels: impl Into<Args<'n>>) {
        self.leave(ChannelKind::Channel, names(channels));
    }

    /// Ends subscriptions to patterns, like [`unsubscribe`](Self::unsubscribe).
    pub fn punsubscribe<'n>(&mut self, patterns: impl Into<Args<'n>>) {
        self.leave(ChannelKind::Pattern, names(patterns));
    }

    /// Ends subscriptions to sharded channels, like [`unsubscribe`](Self::unsubscribe).
    pub fn sunsubscribe<'n>(&mut self, channels: impl Into<Args<'n>>) {
        self.leave(ChannelKind::Shard, names(channels));
    }

    /// Waits for the next message, or for the news that some are missing.
    ///
    /// # Errors
    /// Fails if the handle is closed, if the reader was [disconnected](Error::is_slow_reader), or if the server refuses one of its
    /// subscriptions after a loss. Nothing comes any more then, and each call returns the same error.
    ///
    /// # Cancel safety
    /// Cancel-safe: no message is lost.
    pub async fn next(&mut self) -> Result<Delivery<OwnedMessage>, Error> {
        poll_fn(|context| self.reader.poll_next(context)).await
    }

    /// Polls for what [`next`](Self::next) returns, for streams: `futures::stream::poll_fn(|cx|
    /// subscription.poll_next(cx).map(Some))`.
    ///
    /// # Errors
    /// Fails like [`next`](Self::next).
    pub fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Delivery<OwnedMessage>, Error>> {
        self.reader.poll_next(context)
    }

    /// Returns what [`next`](Self::next) returns if it need not wait.
    ///
    /// # Errors
    /// Fails like [`next`](Self::next).
    pub fn try_next(&mut self) -> Result<Option<Delivery<OwnedMessage>>, Error> {
        self.reader.try_next().transpose()
    }

    /// Returns the number of unread messages and the bytes of memory that are counted for them.
    pub fn unread(&self) -> (usize, usize) {
        self.reader.unread()
    }

    /// Returns the number of messages that were dropped because this reader was too slow.
    pub fn dropped(&self) -> u64 {
        self.reader.dropped()
    }

    /// All that is subscribed to.
    pub(in crate::aio) fn topics(&self) -> impl Iterator<Item = &(ChannelKind, Bytes)> {
        self.topics.iter()
    }

    /// Whether the server can send messages now, as far as is known.
    pub(in crate::aio) fn is_connected(&self) -> bool {
        let subscriptions = &self.shared.handle.inner.subscriptions;
        subscriptions.with(|registry, _| registry.is_up()).0
    }

    pub(in crate::aio) async fn join(
        &mut self,
        kind: ChannelKind,
        names: Vec<Bytes>,
    ) -> Result<(), Error> {
        let inner = &self.shared.handle.inner;
        if inner.with(|queue| queue.is_closed()) {
            return Err(Failure::Closed.into());
        }
        let mut joining = Joining {
            subscription: self,
            kind,
            names: Vec::new(),
        };
        joining.join(names)?;
        joining.confirmed().await?;
        let refused = joining.refused();
        joining.stay();
        refused
    }

    pub(in crate::aio) fn leave(&mut self, kind: ChannelKind, names: Vec<Bytes>) {
        self.leave_topics(kind, &names);
        self.reader.forget(|message| {
            let message = message.as_message();
            message.kind() == kind && names.iter().any(|name| name == message.topic())
        });
        for name in names {
            self.topics.remove(&(kind, name));
        }
    }

    fn leave_topics<'n>(&self, kind: ChannelKind, names: impl IntoIterator<Item = &'n Bytes>) {
        self.shared.handle.inner.subscribe(|registry, wakers| {
            for name in names {
                registry.leave(kind, name, &self.reader, wakers);
            }
        });
    }
}

/// Subscriptions that are not confirmed yet: they are given up if their caller is gone.
struct Joining<'s> {
    subscription: &'s mut Subscription,
    kind: ChannelKind,
    names: Vec<Bytes>,
}

impl Joining<'_> {
    fn join(&mut self, mut names: Vec<Bytes>) -> Result<(), Error> {
        let (topics, kind) = (&self.subscription.topics, self.kind);
        let mut seen = HashSet::new();
        names.retain(|name| !topics.contains(&(kind, name.clone())) && seen.insert(name.clone()));
        self.names = names;
        let (names, reader) = (&self.names, &self.subscription.reader);
        self.subscription
            .shared
            .handle
            .inner
            .subscribe(|registry, _| match registry.ended() {
                Some(error) => Err(error.clone()),
                None => {
                    names
                        .iter()
                        .for_each(|name| registry.join(kind, name, reader));
                    Ok(())
                }
            })
    }

    /// Waits until all of them have an answer.
    async fn confirmed(&self) -> Result<(), Error> {
        let Subscription { shared, reader, .. } = &*self.subscription;
        let (command_timeout, offline) = {
            let limits = shared.handle.inner.with(|queue| queue.limits());
            (limits.command_timeout, limits.offline)
        };
        let joined = || poll_fn(|context| reader.poll_all_answered(context));
        if let Some(time) = command_timeout {
            let timed_out = Failure::Timeout {
                maybe_executed: false,
            };
            return timeout(time, joined())
                .await
                .unwrap_or_else(|_| Err(timed_out.into()));
        }
        let Some(offline) = offline else {
            return joined().await;
        };
        loop {
            if let Ok(joined) = timeout(offline.max_wait, joined()).await {
                return joined;
            }
            let subscriptions = &shared.handle.inner.subscriptions;
            if !subscriptions.with(|registry, _| registry.is_up()).0 {
                return Err(Failure::Offline(None).into());
            }
        }
    }

    fn refused(&self) -> Result<(), Error> {
        self.subscription.reader.take_refusal().map_or(Ok(()), Err)
    }

    fn stay(mut self) {
        let (kind, names) = (self.kind, std::mem::take(&mut self.names));
        let named = names.into_iter().map(|name| (kind, name));
        self.subscription.topics.extend(named);
    }
}

impl Drop for Joining<'_> {
    fn drop(&mut self) {
        if !self.names.is_empty() {
            self.subscription.leave_topics(self.kind, &self.names);
            let _ = self.subscription.reader.take_refusal();
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared.handle.inner.subscribe(|registry, wakers| {
            for (kind, name) in &self.topics {
                registry.leave(*kind, name, &self.reader, wakers);
            }
        });
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (messages, bytes) = self.unread();
        f.debug_struct("Subscription")
            .field("subscriptions", &self.topics.len())
            .field("unread_messages", &messages)
            .field("unread_bytes", &bytes)
            .finish_non_exhaustive()
    }
}
