//! Subscriptions that follow servers: where they are now, and what is done when they are to be elsewhere.
//!
//! ```text
//!   joining -> active -- lost, or no longer the right server --> joining elsewhere -> gap -> active
//!                                                                      |
//!                                                                      +-- refused --> failed
//! ```
//!
//! A place is what is followed: a slot of a cluster, its primaries, the primary of sentinels. Each place has one [`Subscription`] of
//! the connection to its server, and so its own queue.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;

use super::race::by;
use super::together::Together;
use super::{Subscription, clock};
use crate::cluster::{NodeAddress, is_moving};
use crate::pubsub::{ChannelKind, Delivery, Gap, KINDS, OwnedMessage, SubscriptionOptions};
use crate::{Args, Error};

/// How often it is looked whether the servers are there and still the right ones.
pub(super) const LOOK: Duration = Duration::from_millis(500);

/// A server may take so long to connect and to confirm before it counts as one that is not there.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is subscribed to at a place.
pub(super) type Topics = BTreeSet<(ChannelKind, Bytes)>;

/// A subscription that is being made.
pub(super) type Joining = Pin<Box<dyn Future<Output = Result<Active, Error>> + Send>>;

/// How long subscribing is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tries {
    /// As long as a command.
    Limited,
    Endless,
}

/// Who knows which server a place is at.
pub(super) trait Source {
    type Place: Ord + Clone + Send;

    /// Subscribes at the right server, all or nothing.
    fn join(
        &self,
        place: &Self::Place,
        topics: Topics,
        options: SubscriptionOptions,
        tries: Tries,
    ) -> Joining;

    /// Whether a server is the right one, as far as is known. `looks` is how often in a row it was seen to be without a connection:
    /// the source is to find out what has become of it.
    fn is_right(&self, place: &Self::Place, address: &NodeAddress, looks: u32) -> bool;

    /// The places that there are now, where these change by themselves.
    fn places(&self) -> Option<Vec<Self::Place>>;

    /// Why nothing comes any more.
    fn ended(&self) -> Option<Error>;
}

/// A subscription at a server.
pub(super) struct Active {
    subscription: Subscription,
    address: NodeAddress,
    /// Looks in a row that found no connection.
    lost_looks: u32,
}

enum State {
    Active(Box<Active>),
    /// Subscribing at the server that is the right one now; the reader hears of this gap behind that.
    Joining(Joining, Gap),
    /// The right server has refused it. Whoever subscribes again hears of this gap behind that.
    Failed(Error, Gap),
}

struct Seat {
    topics: Topics,
    state: State,
}

/// What is followed, and what has come of it.
pub(super) struct Followed<S: Source> {
    source: S,
    options: SubscriptionOptions,
    seats: BTreeMap<S::Place, Seat>,
    /// What was read of subscriptions that have ended since.
    ready: VecDeque<Delivery<OwnedMessage>>,
    /// The place that was read last.
    turn: Option<S::Place>,
    look: Pin<Box<tokio::time::Sleep>>,
}

impl Active {
    /// Subscribes to all of it, or to none.
    pub(super) async fn join(
        mut subscription: Subscription,
        address: NodeAddress,
        topics: &Topics,
    ) -> Result<Self, (Error, NodeAddress)> {
        match patiently(add(&mut subscription, topics)).await {
            Ok(()) => Ok(Self {
                subscription,
                address,
                lost_looks: 0,
            }),
            Err(error) => Err((error, address)),
        }
    }

    fn leave(&mut self, topics: &Topics) {
        for (kind, names) in by_kind(topics) {
            self.subscription.leave(kind, names);
        }
    }
}

async fn add(subscription: &mut Subscription, topics: &Topics) -> Result<(), Error> {
    for (kind, names) in by_kind(topics) {
        subscription.join(kind, names).await?;
    }
    Ok(())
}

fn by_kind(topics: &Topics) -> impl Iterator<Item = (ChannelKind, Vec<Bytes>)> {
    KINDS.into_iter().filter_map(|kind| {
        let of_kind = topics.iter().filter(|(other, _)| *other == kind);
        let names: Vec<Bytes> = of_kind.map(|(_, name)| name.clone()).collect();
        (!names.is_empty()).then_some((kind, names))
    })
}

pub(super) fn topics(kind: ChannelKind, names: Args<'_>) -> Topics {
    let mut topics = Topics::new();
    names.each(&mut |name| {
        topics.insert((kind, Bytes::copy_from_slice(name)));
    });
    topics
}

/// Waits for a server that is there. Where nothing is confirmed in time, there is as good as no connection.
pub(super) async fn patiently<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let deadline = clock::now().checked_add(PATIENCE);
    let worked = by(deadline, work, &AtomicBool::new(false)).await;
    worked.map_err(|error| match error.is_timeout() {
        true => Error::offline(Some(&error)),
        false => error,
    })
}

/// Attempts to subscribe, with pauses in between, until one succeeds or fails for good.
///
/// # Errors
/// The last one's error; or why all is over, as `ended` says.
pub(super) async fn attempts<F>(
    tries: Tries,
    max_wait: Duration,
    ended: impl Fn() -> Option<Error>,
    mut attempt: impl FnMut() -> F,
) -> Result<Active, Error>
where
    F: Future<Output = Result<Active, Error>>,
{
    let gives_up_at = clock::now().checked_add(max_wait);
    loop {
        let error = match attempt().await {
            Ok(active) => return Ok(active),
            Err(error) => error,
        };
        if let Some(ended) = ended() {
            return Err(ended);
        }
        let is_over = gives_up_at.is_some_and(|end| end <= clock::now());
        if !is_elsewhere(&error) || is_over && tries == Tries::Limited {
            return Err(error);
        }
        tokio::time::sleep(LOOK).await;
    }
}

impl<S: Source> Followed<S> {
    /// # Panics
    /// Panics outside of a tokio runtime with time enabled.
    pub(super) fn new(source: S, options: SubscriptionOptions) -> Self {
        Self {
            source,
            options,
            seats: BTreeMap::new(),
            ready: VecDeque::new(),
            turn: None,
            look: Box::pin(tokio::time::sleep(LOOK)),
        }
    }

    /// The number of places, and of all that is subscribed to at them.
    pub(super) fn len(&self) -> (usize, usize) {
        let topics = self.seats.values().map(|seat| seat.topics.len());
        (self.seats.len(), topics.sum())
    }

    /// Subscribes to more at all places that there are, all or nothing; at `place` where these do not change by themselves.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, none of it is subscribed to.
    pub(super) async fn add_everywhere(
        &mut self,
        topics: &Topics,
        place: S::Place,
    ) -> Result<(), Error> {
        let places = match self.source.places() {
            Some(places) => {
                // New ones get what the others have first.
                self.look_at_places(&places);
                places
            }
            None => vec![place],
        };
        if places.is_empty() {
            return Err(Error::offline(None)); // no server is known
        }
        let new = places.into_iter().map(|place| (place, topics.clone()));
        self.add(new.collect()).await
    }

    /// Subscribes to more at each place, all or nothing.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, none of it is subscribed to.
    pub(super) async fn add(&mut self, mut new: BTreeMap<S::Place, Topics>) -> Result<(), Error> {
        for (place, topics) in &mut new {
            if let Some(seat) = self.seats.get(place) {
                topics.retain(|topic| !seat.topics.contains(topic));
            }
        }
        new.retain(|_, topics| !topics.is_empty());
        let mut adding = Adding::<S> {
            seats: &mut self.seats,
            new: &new,
            is_done: false,
        };
        for place in adding.add().await? {
            if let Some(seat) = adding.seats.get_mut(&place) {
                seat.drain(&mut self.ready);
                // For what it has, whatever becomes of the rest.
                seat.rejoin(&self.source, &place, self.options, Gap::Renewed);
            }
        }
        let joins = adding.rest().into_iter().map(|(place, topics)| {
            let joining = self
                .source
                .join(&place, topics, self.options, Tries::Limited);
            async move { joining.await.map(|active| (place, active)) }
        });
        let joined = Together::new(joins).await.into_iter();
        let joined: Vec<(S::Place, Active)> = joined.collect::<Result<_, _>>()?;
        adding.is_done = true;
        drop(adding);
        for (place, active) in joined {
            let active = State::Active(Box::new(active));
            match self.seats.entry(place) {
                Entry::Vacant(entry) => {
                    entry.insert(Seat {
                        topics: Topics::new(),
                        state: active,
                    });
                }
                Entry::Occupied(mut seat) => {
                    let state = std::mem::replace(&mut seat.get_mut().state, active);
                    if let State::Joining(_, gap) | State::Failed(_, gap) = state {
                        self.ready.push_back(Delivery::Gap(gap));
                    }
                }
            }
        }
        for (place, topics) in new {
            if let Some(seat) = self.seats.get_mut(&place) {
                seat.topics.extend(topics);
            }
        }
        Ok(())
    }

    /// Ends subscriptions at all places that have them. Unread messages of theirs are dropped.
    pub(super) fn leave(&mut self, topics: &Topics) {
        self.ready.retain(|delivery| match delivery {
            Delivery::Message(message) => {
                let message = message.as_message();
                let mut left = topics.iter();
                !left.any(|(kind, name)| *kind == message.kind() && name == message.topic())
            }
            Delivery::Gap(_) => true,
        });
        self.seats.retain(|_, seat| {
            let left: Topics = seat.topics.intersection(topics).cloned().collect();
            seat.topics.retain(|topic| !left.contains(topic));
            if let State::Active(active) = &mut seat.state {
                active.leave(&left);
            }
            !seat.topics.is_empty()
        });
    }

    pub(super) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Delivery<OwnedMessage>, Error>> {
        if let Some(delivery) = self.ready.pop_front() {
            return Poll::Ready(Ok(delivery));
        }
        if let Some(ended) = self.source.ended() {
            return Poll::Ready(Err(ended));
        }
        while self.look.as_mut().poll(context).is_ready() {
            self.look.as_mut().reset((clock::now() + LOOK).into());
            self.look_at_seats();
        }
        // What has come before a gap is in front of it.
        if let Some(delivery) = self.ready.pop_front() {
            return Poll::Ready(Ok(delivery));
        }
        // After the place that was read last, so that a busy one holds up no other.
        for is_behind in [true, false] {
            let turn = self.turn.clone();
            for (place, seat) in &mut self.seats {
                if (turn.as_ref() < Some(place)) != is_behind {
                    continue;
                }
                let polled = seat.poll(context, &self.source, place, self.options);
                if let Poll::Ready(delivery) = polled {
                    self.turn = Some(place.clone());
                    return Poll::Ready(delivery);
                }
            }
        }
        Poll::Pending
    }

    /// Leaves servers that are no longer the right ones, as far as is known, and places that are no more; begins at new ones.
    fn look_at_seats(&mut self) {
        if let Some(places) = self.source.places() {
            self.look_at_places(&places);
        }
        for (place, seat) in &mut self.seats {
            let State::Active(active) = &mut seat.state else {
                continue;
            };
            match active.subscription.is_connected() {
                true => active.lost_looks = 0,
                false => active.lost_looks = active.lost_looks.saturating_add(1),
            }
            let is_right = self
                .source
                .is_right(place, &active.address, active.lost_looks);
            if !is_right {
                seat.drain(&mut self.ready);
                seat.rejoin(&self.source, place, self.options, Gap::Renewed);
            }
        }
    }

    fn look_at_places(&mut self, places: &[S::Place]) {
        let Some(topics) = self.seats.values().next().map(|seat| seat.topics.clone()) else {
            return;
        };
        if places.is_empty() {
            return; // nothing is known
        }
        let ready = &mut self.ready;
        self.seats.retain(|place, seat| {
            let is_there = places.contains(place);
            if !is_there {
                seat.drain(ready);
            }
            is_there
        });
        for place in places {
            if !self.seats.contains_key(place) {
                let joining = self
                    .source
                    .join(place, topics.clone(), self.options, Tries::Endless);
                let (topics, state) = (topics.clone(), State::Joining(joining, Gap::Renewed));
                self.seats.insert(place.clone(), Seat { topics, state });
            }
        }
    }
}

/// What is being subscribed to besides what there is. Dropped before it is done, it takes that back.
struct Adding<'a, S: Source> {
    seats: &'a mut BTreeMap<S::Place, Seat>,
    new: &'a BTreeMap<S::Place, Topics>,
    is_done: bool,
}

impl<S: Source> Adding<'_, S> {
    /// Adds to the subscriptions that places have: with two, messages would come twice. Gives the places that are elsewhere.
    async fn add(&mut self) -> Result<Vec<S::Place>, Error> {
        let adds = self.seats.iter_mut().filter_map(|(place, seat)| {
            let topics = self.new.get(place)?;
            let State::Active(active) = &mut seat.state else {
                return None;
            };
            let adding = patiently(add(&mut active.subscription, topics));
            Some(async move { (place.clone(), adding.await) })
        });
        let mut moved = Vec::new();
        for (place, added) in Together::new(adds).await {
            match added {
                Ok(()) => {}
                Err(error) if is_elsewhere(&error) => moved.push(place),
                Err(error) => return Err(error),
            }
        }
        Ok(moved)
    }

    /// The places without a subscription, with all that is to be subscribed to there.
    fn rest(&self) -> Vec<(S::Place, Topics)> {
        let mut rest = Vec::new();
        for (place, topics) in self.new {
            let mut topics = topics.clone();
            match self.seats.get(place) {
                Some(seat) if matches!(seat.state, State::Active(_)) => continue,
                Some(seat) => topics.extend(seat.topics.iter().cloned()),
                None => {}
            }
            rest.push((place.clone(), topics));
        }
        rest
    }
}

impl<S: Source> Drop for Adding<'_, S> {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        for (place, topics) in self.new {
            if let Some(seat) = self.seats.get_mut(place)
                && let State::Active(active) = &mut seat.state
            {
                active.leave(topics);
            }
        }
    }
}

impl Seat {
    /// Takes what has come before its subscription ends.
    fn drain(&mut self, into: &mut VecDeque<Delivery<OwnedMessage>>) {
        if let State::Active(active) = &mut self.state {
            while let Ok(Some(delivery)) = active.subscription.try_next() {
                into.push_back(delivery);
            }
        }
    }

    fn rejoin<S: Source>(
        &mut self,
        source: &S,
        place: &S::Place,
        options: SubscriptionOptions,
        gap: Gap,
    ) {
        let joining = source.join(place, self.topics.clone(), options, Tries::Endless);
        self.state = State::Joining(joining, gap);
    }

    fn poll<S: Source>(
        &mut self,
        context: &mut Context<'_>,
        source: &S,
        place: &S::Place,
        options: SubscriptionOptions,
    ) -> Poll<Result<Delivery<OwnedMessage>, Error>> {
        loop {
            match &mut self.state {
                State::Active(active) => match active.subscription.poll_next(context) {
                    Poll::Ready(Err(error)) if is_elsewhere(&error) => {
                        self.rejoin(source, place, options, Gap::Renewed);
                    }
                    polled => return polled,
                },
                State::Joining(joining, gap) => match joining.as_mut().poll(context) {
                    Poll::Ready(Ok(mut active)) => {
                        // What was left meanwhile.
                        let topics = active.subscription.topics();
                        let left = topics.filter(|topic| !self.topics.contains(topic));
                        let left: Topics = left.cloned().collect();
                        active.leave(&left);
                        let gap = *gap;
                        self.state = State::Active(Box::new(active));
                        return Poll::Ready(Ok(Delivery::Gap(gap)));
                    }
                    Poll::Ready(Err(error)) => self.state = State::Failed(error, *gap),
                    Poll::Pending => return Poll::Pending,
                },
                State::Failed(error, _) => return Poll::Ready(Err(error.clone())),
            }
        }
    }
}

/// Whether another server may take the subscription, or the same one later.
pub(super) fn is_elsewhere(error: &Error) -> bool {
    is_moving(error) || error.is_closed() || error.is_retryable()
}
