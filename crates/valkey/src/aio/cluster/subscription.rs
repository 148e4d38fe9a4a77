//! Sharded channels, whose messages come from the node that has their slot.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;

use super::Cluster;
use super::inner::Inner;
use super::together::Together;
use crate::aio::{Subscription, clock};
use crate::cluster::{Attempts, NodeAddress, Route, Target, is_moving, key_slot};
use crate::command::Flags;
use crate::pubsub::{Delivery, Gap, OwnedMessage, SubscriptionOptions};
use crate::{Args, Error};

/// How often it is looked whether the nodes of the subscriptions are there and still have the slots.
const LOOK: Duration = Duration::from_millis(500);

/// A reader of sharded channels, which follows their slots: if a slot moves or its primary fails, its channels are subscribed to at
/// the new one, and the reader gets a [`Gap`] before the next message from there. Nothing is lost in silence.
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
    cluster: Cluster,
    options: SubscriptionOptions,
    slots: BTreeMap<u16, Slot>,
    /// What was read of subscriptions that have ended since.
    ready: VecDeque<Delivery<OwnedMessage>>,
    /// The slot that was read last.
    turn: u16,
    look: Pin<Box<tokio::time::Sleep>>,
}

/// The channels of one slot.
struct Slot {
    channels: BTreeSet<Bytes>,
    state: State,
}

enum State {
    Active(Box<Active>),
    /// Subscribing at the node that has the slot now; the reader hears of this gap behind that.
    Joining(Joining, Gap),
}

struct Active {
    subscription: Subscription,
    address: NodeAddress,
}

type Joining = Pin<Box<dyn Future<Output = Result<Active, Error>> + Send>>;

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

    /// Returns a reader with these limits that is not subscribed to anything yet.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with time enabled.
    pub fn subscription(&self, options: SubscriptionOptions) -> ClusterSubscription {
        ClusterSubscription {
            cluster: self.clone(),
            options,
            slots: BTreeMap::new(),
            ready: VecDeque::new(),
            turn: 0,
            look: Box::pin(tokio::time::sleep(LOOK)),
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
        let mut new: BTreeMap<u16, BTreeSet<Bytes>> = BTreeMap::new();
        channels.into().each(&mut |name| {
            let known = self.slots.get(&key_slot(name));
            if !known.is_some_and(|slot| slot.channels.contains(name)) {
                new.entry(key_slot(name))
                    .or_default()
                    .insert(Bytes::copy_from_slice(name));
            }
        });
        let mut adding = Adding {
            slots: &mut self.slots,
            new: &new,
            is_done: false,
        };
        let inner = &self.cluster.handle.inner;
        for number in adding.add().await? {
            if let Some(slot) = adding.slots.get_mut(&number) {
                slot.drain(&mut self.ready);
                // For the channels that it has, whatever becomes of the new ones.
                slot.rejoin(inner, number, self.options, Gap::Renewed);
            }
        }
        let joins = adding.rest().into_iter().map(|(number, channels)| {
            let joining = join(
                Arc::clone(inner),
                number,
                channels,
                self.options,
                Once::Limited,
            );
            async move { joining.await.map(|active| (number, active)) }
        });
        let joined = Together::new(joins).await.into_iter();
        let joined: Vec<(u16, Active)> = joined.collect::<Result<_, _>>()?;
        adding.is_done = true;
        drop(adding);
        for (number, active) in joined {
            let active = State::Active(Box::new(active));
            match self.slots.entry(number) {
                Entry::Vacant(entry) => {
                    let channels = BTreeSet::new();
                    let state = active;
                    entry.insert(Slot { channels, state });
                }
                Entry::Occupied(mut slot) => {
                    let state = std::mem::replace(&mut slot.get_mut().state, active);
                    if let State::Joining(_, gap) = state {
                        self.ready.push_back(Delivery::Gap(gap));
                    }
                }
            }
        }
        for (number, channels) in new {
            if let Some(slot) = self.slots.get_mut(&number) {
                slot.channels.extend(channels);
            }
        }
        Ok(())
    }

    /// Ends subscriptions to channels. Their messages that were not read yet are dropped, and no more come.
    pub fn sunsubscribe<'n>(&mut self, channels: impl Into<Args<'n>>) {
        channels.into().each(&mut |name| {
            self.ready.retain(|delivery| match delivery {
                Delivery::Message(message) => message.channel() != name,
                Delivery::Gap(_) => true,
            });
            let Some(slot) = self.slots.get_mut(&key_slot(name)) else {
                return;
            };
            slot.channels.remove(name);
            if slot.channels.is_empty() {
                self.slots.remove(&key_slot(name));
            } else if let State::Active(active) = &mut slot.state {
                active.subscription.sunsubscribe(name);
            }
        });
    }

    /// Waits for the next message, or for the news that some are missing.
    ///
    /// # Errors
    /// Fails if the handle is closed, if the reader was [disconnected](Error::is_slow_reader), or if a server refuses a channel
    /// after its slot has moved.
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
        if let Some(delivery) = self.ready.pop_front() {
            return Poll::Ready(Ok(delivery));
        }
        let inner = Arc::clone(&self.cluster.handle.inner);
        if inner.is_closed() {
            return Poll::Ready(Err(Error::closed("the handle of the cluster was closed")));
        }
        while self.look.as_mut().poll(context).is_ready() {
            self.look.as_mut().reset((clock::now() + LOOK).into());
            self.look_at_slots(&inner);
        }
        // After the slot that was read last, so that a busy one holds up no other.
        let turn = self.turn;
        for is_behind in [true, false] {
            let slots = self.slots.iter_mut();
            for (&number, slot) in slots.filter(|(number, _)| (**number > turn) == is_behind) {
                if let Poll::Ready(delivery) = slot.poll(context, &inner, number, self.options) {
                    self.turn = number;
                    return Poll::Ready(delivery);
                }
            }
        }
        match self.ready.pop_front() {
            Some(delivery) => Poll::Ready(Ok(delivery)),
            None => Poll::Pending,
        }
    }

    /// Leaves nodes that have lost a slot, as far as is known; and sees to it that it becomes known if a node is gone.
    fn look_at_slots(&mut self, inner: &Arc<Inner>) {
        for (&number, slot) in &mut self.slots {
            let State::Active(active) = &mut slot.state else {
                continue;
            };
            let primary = inner.with_router(|router| {
                router
                    .topology()
                    .primary(number)
                    .map(|node| node.address.clone())
            });
            if !active.subscription.is_connected() {
                inner.want_refresh();
            }
            if primary.is_some_and(|primary| primary != active.address) {
                slot.drain(&mut self.ready);
                slot.rejoin(inner, number, self.options, Gap::Renewed);
            }
        }
    }
}

/// Channels that are being subscribed to besides those that there are. Dropped before it is done, it takes them back.
struct Adding<'a> {
    slots: &'a mut BTreeMap<u16, Slot>,
    new: &'a BTreeMap<u16, BTreeSet<Bytes>>,
    is_done: bool,
}

impl Adding<'_> {
    /// Adds channels to the subscriptions that their slots have: with two, messages would come twice. Gives the slots that are
    /// elsewhere.
    async fn add(&mut self) -> Result<Vec<u16>, Error> {
        let adds = self.slots.iter_mut().filter_map(|(&number, slot)| {
            let channels = self.new.get(&number)?;
            let State::Active(active) = &mut slot.state else {
                return None;
            };
            Some(async move {
                let channels: Vec<Bytes> = channels.iter().cloned().collect();
                let added = active.subscription.ssubscribe(&channels).await;
                (number, added)
            })
        });
        let mut moved = Vec::new();
        for (number, added) in Together::new(adds).await {
            match added {
                Ok(()) => {}
                Err(error) if is_of_cluster(&error) => moved.push(number),
                Err(error) => return Err(error),
            }
        }
        Ok(moved)
    }

    /// The slots without a subscription, with all of their channels.
    fn rest(&self) -> Vec<(u16, BTreeSet<Bytes>)> {
        let mut rest = Vec::new();
        for (&number, channels) in self.new {
            let mut channels = channels.clone();
            match self.slots.get(&number) {
                Some(slot) if matches!(slot.state, State::Active(_)) => continue,
                Some(slot) => channels.extend(slot.channels.iter().cloned()),
                None => {}
            }
            rest.push((number, channels));
        }
        rest
    }
}

impl Drop for Adding<'_> {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        for (number, channels) in self.new {
            if let Some(slot) = self.slots.get_mut(number)
                && let State::Active(active) = &mut slot.state
            {
                let channels: Vec<Bytes> = channels.iter().cloned().collect();
                active.subscription.sunsubscribe(&channels);
            }
        }
    }
}

impl Slot {
    /// Takes what has come before its subscription ends.
    fn drain(&mut self, into: &mut VecDeque<Delivery<OwnedMessage>>) {
        if let State::Active(active) = &mut self.state {
            while let Ok(Some(delivery)) = active.subscription.try_next() {
                into.push_back(delivery);
            }
        }
    }

    fn rejoin(&mut self, inner: &Arc<Inner>, number: u16, options: SubscriptionOptions, gap: Gap) {
        let joining = join(
            Arc::clone(inner),
            number,
            self.channels.clone(),
            options,
            Once::Endless,
        );
        self.state = State::Joining(Box::pin(joining), gap);
    }

    fn poll(
        &mut self,
        context: &mut Context<'_>,
        inner: &Arc<Inner>,
        number: u16,
        options: SubscriptionOptions,
    ) -> Poll<Result<Delivery<OwnedMessage>, Error>> {
        loop {
            match &mut self.state {
                State::Active(active) => match active.subscription.poll_next(context) {
                    Poll::Ready(Err(error)) if is_of_cluster(&error) => {
                        self.rejoin(inner, number, options, Gap::Renewed);
                    }
                    polled => return polled,
                },
                State::Joining(joining, gap) => match joining.as_mut().poll(context) {
                    Poll::Ready(Ok(mut active)) => {
                        // Those that were left meanwhile.
                        let topics = active.subscription.topics();
                        let left: Vec<Bytes> = topics
                            .filter(|name| !self.channels.contains(*name))
                            .cloned()
                            .collect();
                        active.subscription.sunsubscribe(&left);
                        let gap = *gap;
                        self.state = State::Active(Box::new(active));
                        return Poll::Ready(Ok(Delivery::Gap(gap)));
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => return Poll::Pending,
                },
            }
        }
    }
}

/// Whether another node may take the subscription.
fn is_of_cluster(error: &Error) -> bool {
    is_moving(error) || error.is_closed()
}

/// How long subscribing is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Once {
    /// As long as a command.
    Limited,
    Endless,
}

/// Subscribes to channels of one slot at the node that has it.
async fn join(
    inner: Arc<Inner>,
    slot: u16,
    channels: BTreeSet<Bytes>,
    options: SubscriptionOptions,
    tries: Once,
) -> Result<Active, Error> {
    let channels: Vec<Bytes> = channels.into_iter().collect();
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
                    let mut subscription = shared.subscription(options);
                    match subscription.ssubscribe(&channels).await {
                        Ok(()) => {
                            return Ok(Active {
                                subscription,
                                address: place.address,
                            });
                        }
                        Err(error) => (error, Some(place.address)),
                    }
                }
            },
        };
        let is_endless =
            tries == Once::Endless && (failed.0.is_retryable() || is_of_cluster(&failed.0));
        match inner.again(&mut attempts, failed, route.flags) {
            Ok(again) => {
                inner.pause(again.pause).await?;
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
        let channels: usize = self.slots.values().map(|slot| slot.channels.len()).sum();
        f.debug_struct("ClusterSubscription")
            .field("channels", &channels)
            .field("slots", &self.slots.len())
            .finish_non_exhaustive()
    }
}
