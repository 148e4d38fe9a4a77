//! Sharded channels, whose messages come from the node that has their slot.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::time::{Duration, Instant};

use bytes::Bytes;
use onecopy_net::DriveError;
use onecopy_net::blocking::wait_readable;

use super::Cluster;
use crate::backoff::Pauses;
use crate::blocking::Subscriber;
use crate::cluster::{ClusterConfig, NodeAddress, Route, Target, is_moving, key_slot};
use crate::command::Flags;
use crate::link::deadline_in;
use crate::pubsub::{Delivery, Gap, OwnedMessage, SubscriberOptions, names};
use crate::{Args, Backoff, Config, Error};

/// How often it is looked whether the nodes of the subscriptions still have the slots.
const LOOK: Duration = Duration::from_millis(500);

/// The pauses between attempts to subscribe again. Short ones: a failover takes seconds, and messages are missed until then.
const PAUSES: Backoff = Backoff {
    base: Duration::from_millis(20),
    cap: Duration::from_millis(500),
};

/// A reader of sharded channels of a cluster, over one connection to each node that has one of their slots. It follows them: if a slot
/// moves or its primary fails, its channels are subscribed to at the new one, and the reader gets a [`Gap`] before the next message
/// from there. Nothing is lost in silence.
///
/// Nothing is queued here, except while a subscription is confirmed: see [`Subscriber`]. It follows slots while
/// [`next`](Self::next) waits, so call it all the time.
///
/// ```no_run
/// use onecopy_valkey::blocking::ClusterSubscriber;
/// use onecopy_valkey::pubsub::Delivery;
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// let mut rooms = ClusterSubscriber::connect("redis+cluster://node-a,node-b,node-c")?;
/// rooms.ssubscribe(["room:1", "room:2"])?;
/// loop {
///     match rooms.next()? {
///         Delivery::Message(message) => println!("{:?}: {:?}", message.channel(), message.payload()),
///         Delivery::Gap(gap) => println!("messages may be missing: {gap}"),
///     }
/// }
/// # }
/// ```
pub struct ClusterSubscriber {
    cluster: Cluster,
    options: SubscriberOptions,
    nodes: BTreeMap<NodeAddress, Subscriber>,
    slots: BTreeMap<u16, Slot>,
    /// What was read and not returned yet.
    ready: VecDeque<Delivery<OwnedMessage>>,
    looks_at: Instant,
}

/// The channels of one slot.
#[derive(Debug)]
struct Slot {
    channels: BTreeSet<Bytes>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Subscribed to at this node.
    Joined(NodeAddress),
    Lost(Lost),
}

/// To be subscribed to again; the reader hears of the gap behind that.
#[derive(Debug)]
struct Lost {
    gap: Gap,
    pauses: Pauses,
    retries_at: Instant,
}

impl State {
    fn lost(gap: Gap) -> Self {
        Self::Lost(Lost {
            gap,
            pauses: Pauses::new(PAUSES),
            retries_at: Instant::now(),
        })
    }
}

impl ClusterSubscriber {
    /// Connects to the cluster of a URL, see [`ClusterConfig::from_url`].
    ///
    /// # Errors
    /// Fails like [`Cluster::connect`].
    pub fn connect(url: &str) -> Result<Self, Error> {
        let config = ClusterConfig::from_url(url)?;
        Self::connect_with(&config, &SubscriberOptions::default())
    }

    /// Asks the seeds for the slots of the cluster. Of the options the limits of messages apply, to each node.
    ///
    /// # Errors
    /// Fails like [`Cluster::connect_with`].
    pub fn connect_with(
        config: &ClusterConfig,
        options: &SubscriberOptions,
    ) -> Result<Self, Error> {
        Ok(Self {
            cluster: Cluster::connect_with(config)?,
            options: options.clone(),
            nodes: BTreeMap::new(),
            slots: BTreeMap::new(),
            ready: VecDeque::new(),
            looks_at: Instant::now() + LOOK,
        })
    }

    /// Subscribes to sharded channels, each at the node that has its slot, and waits until the nodes have confirmed that. Messages
    /// that arrive meanwhile are kept for [`next`](Self::next), within the limits of [`SubscriberOptions`].
    ///
    /// # Errors
    /// Fails with the server's error if it refuses a channel, or if the cluster does not take them within
    /// [`ClusterConfig::max_wait`]: then none of them is subscribed to.
    pub fn ssubscribe<'n>(&mut self, channels: impl Into<Args<'n>>) -> Result<(), Error> {
        let mut new: BTreeMap<u16, Vec<Bytes>> = BTreeMap::new();
        for name in names(channels) {
            let slot = key_slot(&name);
            let known = self.slots.get(&slot);
            if !known.is_some_and(|known| known.channels.contains(&name)) {
                new.entry(slot).or_default().push(name);
            }
        }
        let mut done = Vec::new();
        for (slot, channels) in new {
            match self.join_within(slot, &channels) {
                Ok(address) => {
                    done.extend(channels.iter().cloned());
                    self.joined(slot, channels, address);
                }
                Err(error) => {
                    self.sunsubscribe(&done)?;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Ends subscriptions to channels, without waiting for the servers. Their messages that were not read yet are dropped.
    ///
    /// # Errors
    /// Fails if memory cannot be allocated.
    pub fn sunsubscribe<'n>(&mut self, channels: impl Into<Args<'n>>) -> Result<(), Error> {
        for name in names(channels) {
            self.ready.retain(|delivery| match delivery {
                Delivery::Message(message) => message.channel() != &name[..],
                Delivery::Gap(_) => true,
            });
            let number = key_slot(&name);
            let Some(slot) = self.slots.get_mut(&number) else {
                continue;
            };
            slot.channels.remove(&name);
            let address = match &slot.state {
                State::Joined(address) => Some(address.clone()),
                State::Lost(_) => None,
            };
            if slot.channels.is_empty() {
                self.slots.remove(&number);
            }
            if let Some(address) = address {
                self.leave(&address, &[name])?;
            }
        }
        self.drop_unused_nodes();
        Ok(())
    }

    /// Waits for the next message, or for the news that some are missing.
    ///
    /// # Errors
    /// Fails if nothing is subscribed to, or if a server refuses a channel after its slot has moved; the others stay then. It may be
    /// called again.
    #[allow(clippy::should_implement_trait)] // it can fail, and go on
    pub fn next(&mut self) -> Result<Delivery<OwnedMessage>, Error> {
        match self.next_until(None)? {
            Some(delivery) => Ok(delivery),
            None => Err(Error::closed("a wait without a limit has ended")),
        }
    }

    /// Waits like [`next`](Self::next), for at most `timeout`. Returns `None` if nothing has come by then. An attempt to connect that
    /// has begun is not cut short.
    ///
    /// # Errors
    /// Fails like [`next`](Self::next).
    pub fn next_timeout(
        &mut self,
        timeout: Duration,
    ) -> Result<Option<Delivery<OwnedMessage>>, Error> {
        self.next_until(deadline_in(Some(timeout)))
    }

    /// Returns the number of channels that are subscribed to.
    pub fn subscriptions(&self) -> usize {
        self.slots.values().map(|slot| slot.channels.len()).sum()
    }

    /// Returns the number of nodes to which there is a connection.
    pub fn connections(&self) -> usize {
        self.nodes.len()
    }

    fn next_until(
        &mut self,
        deadline: Option<Instant>,
    ) -> Result<Option<Delivery<OwnedMessage>>, Error> {
        loop {
            if let Some(delivery) = self.ready.pop_front() {
                return Ok(Some(delivery));
            }
            if self.slots.is_empty() {
                return Err(Error::misuse(
                    "nothing is subscribed to, so no message can come: call ssubscribe first",
                ));
            }
            let now = Instant::now();
            if self.looks_at <= now {
                self.looks_at = now + LOOK;
                self.look()?;
            }
            self.join_lost()?;
            self.read_nodes()?;
            if !self.ready.is_empty() {
                continue;
            }
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Ok(None);
            }
            self.wait(deadline)?;
        }
    }

    /// Waits until a node has something to say, or something is to be done.
    fn wait(&mut self, deadline: Option<Instant>) -> Result<(), Error> {
        let retries = self.slots.values().filter_map(|slot| match &slot.state {
            State::Lost(lost) => Some(lost.retries_at),
            State::Joined(_) => None,
        });
        let others = retries.chain(deadline);
        let until = others.fold(self.looks_at, Instant::min);
        let streams = self.nodes.values().map(Subscriber::stream);
        let waited = wait_readable(streams, Some(until));
        waited.map_err(|error| Error::from(DriveError::Read(error)))?;
        Ok(())
    }

    /// Takes what each node has sent: one delivery of each, so that a busy one holds up no other.
    fn read_nodes(&mut self) -> Result<(), Error> {
        let addresses: Vec<NodeAddress> = self.nodes.keys().cloned().collect();
        let mut failed = Ok(());
        for address in addresses {
            if let Err(error) = self.read(&address) {
                failed = Err(error);
            }
        }
        failed
    }

    /// Takes the next delivery of a node.
    fn read(&mut self, address: &NodeAddress) -> Result<bool, Error> {
        let Some(node) = self.nodes.get_mut(address) else {
            return Ok(false);
        };
        match node.poll() {
            Ok(None) => Ok(false),
            Ok(Some(delivery)) => {
                if self.is_wanted(&delivery) {
                    self.ready.push_back(delivery);
                }
                Ok(true)
            }
            Err(error) => match error.channel().map(Bytes::copy_from_slice) {
                Some(channel) => self.refused(address, &channel, error).map(|()| true),
                None => {
                    self.lose(address);
                    Ok(false)
                }
            },
        }
    }

    /// Whether the reader is to hear of it: not of a channel that was left, whose messages come until the server has heard of that.
    fn is_wanted(&self, delivery: &Delivery<OwnedMessage>) -> bool {
        let message = match delivery {
            Delivery::Message(message) => message,
            // A slot has moved, and its channels are not subscribed to again yet: the gap follows when they are.
            Delivery::Gap(Gap::Renewed) => {
                let mut slots = self.slots.values();
                return slots.all(|slot| matches!(slot.state, State::Joined(_)));
            }
            Delivery::Gap(_) => return true,
        };
        let slot = self.slots.get(&key_slot(message.channel()));
        slot.is_some_and(|slot| slot.channels.contains(message.channel()))
    }

    /// A node does not take a channel any more that it had taken: its slot has moved, or it must not be read.
    fn refused(
        &mut self,
        address: &NodeAddress,
        channel: &Bytes,
        error: Error,
    ) -> Result<(), Error> {
        let number = key_slot(channel);
        let Some(slot) = self.slots.get_mut(&number) else {
            return Ok(());
        };
        if !is_moving(&error) {
            slot.channels.remove(channel);
            if slot.channels.is_empty() {
                self.slots.remove(&number);
            }
            return Err(error);
        }
        match &slot.state {
            State::Joined(joined) if joined == address => {
                self.note(error, address.clone());
                self.rejoin(number);
            }
            _ => {}
        }
        Ok(())
    }

    /// What an error shows of the cluster.
    fn note(&mut self, error: Error, from: NodeAddress) {
        let mut attempts = self.cluster.attempts();
        // What is to be done is known: only what is learned by the way is of interest.
        let _ = self
            .cluster
            .again(&mut attempts, (error, Some(from)), Flags::READONLY);
    }

    /// Subscribes to the channels of a slot elsewhere. The node that had it is told nothing: it ends the subscriptions by itself, and
    /// would answer with an error.
    fn rejoin(&mut self, number: u16) {
        let Some(slot) = self.slots.get_mut(&number) else {
            return;
        };
        let state = std::mem::replace(&mut slot.state, State::lost(Gap::Renewed));
        let channels: Vec<Bytes> = slot.channels.iter().cloned().collect();
        if let State::Joined(address) = state
            && let Some(node) = self.nodes.get_mut(&address)
        {
            node.forget(&channels);
        }
        self.drop_unused_nodes();
    }

    /// The connection to a node is lost.
    fn lose(&mut self, address: &NodeAddress) {
        self.nodes.remove(address);
        self.cluster.want_refresh();
        for slot in self.slots.values_mut() {
            if matches!(&slot.state, State::Joined(joined) if joined == address) {
                slot.state = State::lost(Gap::ConnectionLost);
            }
        }
    }

    /// Leaves nodes that have been silent for too long, and those that have lost a slot, as far as is known.
    fn look(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        let mut silent = Vec::new();
        for (address, node) in &mut self.nodes {
            if node.look(now).is_err() {
                silent.push(address.clone());
            }
        }
        silent.iter().for_each(|address| self.lose(address));
        self.cluster.refresh_if_due();
        let topology = self.cluster.router.topology();
        let has_moved = |(&number, slot): (&u16, &Slot)| {
            let primary = topology.primary(number)?;
            match &slot.state {
                State::Joined(address) if *address != primary.address => {
                    Some((number, address.clone()))
                }
                _ => None,
            }
        };
        let moved: Vec<(u16, NodeAddress)> = self.slots.iter().filter_map(has_moved).collect();
        for (number, address) in moved {
            // What has come from there is not lost, unless it is more than may be kept.
            let mut most = self.options.max_messages;
            while most > 0 && self.read(&address)? {
                most -= 1;
            }
            self.rejoin(number);
        }
        Ok(())
    }

    /// Subscribes again to the channels of slots whose time has come.
    fn join_lost(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        let is_due = |(&number, slot): (&u16, &Slot)| match &slot.state {
            State::Lost(lost) if lost.retries_at <= now => Some(number),
            _ => None,
        };
        let due: Vec<u16> = self.slots.iter().filter_map(is_due).collect();
        for number in due {
            self.try_again(number)?;
        }
        Ok(())
    }

    fn try_again(&mut self, number: u16) -> Result<(), Error> {
        let Some(slot) = self.slots.get(&number) else {
            return Ok(());
        };
        let channels: Vec<Bytes> = slot.channels.iter().cloned().collect();
        let joined = self.join(number, &channels, &Target::Primary);
        let Some(Slot { state, .. }) = self.slots.get_mut(&number) else {
            return Ok(());
        };
        let State::Lost(lost) = state else {
            return Ok(());
        };
        match joined {
            Ok(address) => {
                self.ready.push_back(Delivery::Gap(lost.gap));
                *state = State::Joined(address);
                Ok(())
            }
            Err((error, from)) => {
                lost.retries_at = Instant::now() + lost.pauses.next();
                if !is_moving(&error) && !error.is_retryable() && !error.is_closed() {
                    return Err(error);
                }
                match from {
                    Some(from) => self.note(error, from),
                    None => self.cluster.want_refresh(),
                }
                Ok(())
            }
        }
    }

    /// Channels were subscribed to at a node.
    fn joined(&mut self, number: u16, channels: Vec<Bytes>, address: NodeAddress) {
        let slot = self.slots.entry(number).or_insert_with(|| Slot {
            channels: BTreeSet::new(),
            state: State::Joined(address.clone()),
        });
        slot.channels.extend(channels);
        // The others are still at the node that had the slot before.
        if matches!(&slot.state, State::Joined(joined) if *joined != address) {
            self.rejoin(number);
        }
    }

    /// Subscribes to channels of a slot, within the time of a command.
    fn join_within(&mut self, slot: u16, channels: &[Bytes]) -> Result<NodeAddress, Error> {
        let mut attempts = self.cluster.attempts();
        let mut target = Target::Primary;
        loop {
            let failed = match self.join(slot, channels, &target) {
                Ok(address) => return Ok(address),
                Err(failed) => failed,
            };
            let again = self.cluster.again(&mut attempts, failed, Flags::READONLY)?;
            self.cluster.pause(again.pause, None);
            target = match again.target {
                // A subscription has no key that could be on its way.
                Target::Node(address) | Target::Asking(address) => Target::Node(address),
                Target::Route | Target::Primary => Target::Primary,
            };
        }
    }

    /// Subscribes to channels of a slot at the node that has it, once.
    fn join(
        &mut self,
        slot: u16,
        channels: &[Bytes],
        target: &Target,
    ) -> Result<NodeAddress, (Error, Option<NodeAddress>)> {
        let route = Route {
            slot: Some(slot),
            flags: Flags::READONLY,
        };
        let place = self.cluster.router.place(route, target);
        let address = place.map_err(|error| (error, None))?.address;
        let joined = match self.connected(&address) {
            Ok(node) => node.join_all(channels),
            Err(error) => Err(error),
        };
        match joined {
            Ok(()) => Ok(address),
            Err(error) => {
                let is_lost = |node: &Subscriber| !node.is_connected();
                if self.nodes.get(&address).is_some_and(is_lost) {
                    self.lose(&address);
                }
                self.drop_unused_nodes();
                Err((error, Some(address)))
            }
        }
    }

    fn connected(&mut self, address: &NodeAddress) -> Result<&mut Subscriber, Error> {
        if self
            .nodes
            .get(address)
            .is_some_and(|node| !node.is_connected())
        {
            self.lose(address);
        }
        if !self.nodes.contains_key(address) {
            let config = Config {
                endpoint: address.endpoint(),
                ..self.cluster.config.node.clone()
            };
            let node = Subscriber::connect_with(&config, &self.options);
            // Nothing was sent, so it is tried again.
            let node = node.map_err(|error| Error::offline(Some(&error)))?;
            self.nodes.insert(address.clone(), node);
        }
        self.nodes
            .get_mut(address)
            .ok_or_else(|| Error::offline(None))
    }

    fn leave(&mut self, address: &NodeAddress, channels: &[Bytes]) -> Result<(), Error> {
        match self.nodes.get_mut(address) {
            Some(node) => node.leave_later(channels),
            None => Ok(()),
        }
    }

    /// Closes connections to nodes that have none of the slots any more.
    fn drop_unused_nodes(&mut self) {
        let slots = &self.slots;
        self.nodes.retain(|address, node| {
            let is_joined =
                |slot: &Slot| matches!(&slot.state, State::Joined(joined) if joined == address);
            slots.values().any(is_joined) && node.is_connected()
        });
    }
}

impl fmt::Debug for ClusterSubscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterSubscriber")
            .field("channels", &self.subscriptions())
            .field("slots", &self.slots.len())
            .field("nodes", &self.nodes)
            .finish_non_exhaustive()
    }
}
