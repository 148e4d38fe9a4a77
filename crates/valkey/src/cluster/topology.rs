//! Which node has which slot: what a cluster says of itself, as far as it was checked.

mod reading;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::address::NodeAddress;
use super::slot::SLOTS;

/// Nodes of the largest cluster: twice the 1,000 that the specification allows for. A description with more is refused, so what a
/// hostile node can make a client allocate and connect to is bounded.
pub(crate) const MAX_NODES: usize = 2_000;

/// In the place of a shard: the slot has no node.
const NONE: u16 = u16::MAX;

/// The nodes of a cluster and their slots.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Topology {
    nodes: Vec<Node>,
    shards: Vec<Shard>,
    /// For each slot the position of its shard, or [`NONE`].
    slots: Box<[u16]>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) address: NodeAddress,
    /// Where it runs, if the cluster says so.
    pub(crate) zone: Option<Arc<str>>,
}

/// A primary and its replicas, by their positions among the nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Shard {
    primary: usize,
    replicas: Vec<usize>,
}

impl Topology {
    /// One in which no slot has a node.
    pub(crate) fn empty() -> Self {
        Self {
            nodes: Vec::new(),
            shards: Vec::new(),
            slots: vec![NONE; usize::from(SLOTS)].into(),
        }
    }

    /// Returns the primary of a slot.
    #[inline]
    pub(crate) fn primary(&self, slot: u16) -> Option<&Node> {
        self.nodes.get(self.shard(slot)?.primary)
    }

    /// Returns the replicas of a slot.
    pub(crate) fn replicas(&self, slot: u16) -> impl ExactSizeIterator<Item = &Node> {
        let replicas = self.shard(slot).map_or(&[][..], |shard| &shard.replicas);
        replicas
            .iter()
            .filter_map(|&at| self.nodes.get(at))
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// Returns the primaries that have slots, each once, in the order of their first slots.
    pub(crate) fn primaries(&self) -> Vec<&NodeAddress> {
        let mut primaries: Vec<&NodeAddress> = Vec::new();
        let mut last = NONE;
        for &shard in &self.slots {
            if shard == last {
                continue;
            }
            last = shard;
            let node = self
                .shards
                .get(usize::from(shard))
                .and_then(|shard| self.nodes.get(shard.primary));
            if let Some(node) = node
                && !primaries.contains(&&node.address)
            {
                primaries.push(&node.address);
            }
        }
        primaries
    }

    /// Returns whether a node is a replica, or a primary, of any slot.
    pub(crate) fn has(&self, address: &NodeAddress, is_replica: bool) -> bool {
        let is_it = |&at: &usize| {
            self.nodes
                .get(at)
                .is_some_and(|node| node.address == *address)
        };
        self.shards.iter().any(|shard| match is_replica {
            true => shard.replicas.iter().any(is_it),
            false => is_it(&shard.primary),
        })
    }

    /// Returns all nodes.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn set_zone(&mut self, address: &NodeAddress, zone: Option<Arc<str>>) {
        let node = self.nodes.iter_mut().find(|node| node.address == *address);
        if let Some(node) = node {
            node.zone = zone;
        }
    }

    /// Returns the number of slots that have a node.
    pub(crate) fn assigned(&self) -> usize {
        self.slots.iter().filter(|&&shard| shard != NONE).count()
    }

    /// Notes that a slot has moved. It is known from now on, until the next description of the cluster. Too many new nodes are
    /// not remembered.
    pub(crate) fn moved(&mut self, slot: u16, to: &NodeAddress) {
        let is_primary = |shard: &Shard| {
            self.nodes
                .get(shard.primary)
                .is_some_and(|node| node.address == *to)
        };
        let shard = match self.shards.iter().position(is_primary) {
            Some(shard) => Some(shard),
            None => self.new_primary(to),
        };
        let shard = shard.and_then(|shard| u16::try_from(shard).ok());
        if let (Some(shard), Some(known)) = (shard, self.slots.get_mut(usize::from(slot))) {
            *known = shard;
        }
    }

    /// A node that was a replica, or was not known.
    fn new_primary(&mut self, address: &NodeAddress) -> Option<usize> {
        if self.shards.len() >= MAX_NODES {
            return None;
        }
        let known = self.nodes.iter().position(|node| node.address == *address);
        let primary = match known {
            Some(known) => known,
            None if self.nodes.len() >= MAX_NODES => return None,
            None => {
                self.nodes.push(Node {
                    address: address.clone(),
                    zone: None,
                });
                self.nodes.len() - 1
            }
        };
        self.shards.push(Shard {
            primary,
            replicas: Vec::new(),
        });
        Some(self.shards.len() - 1)
    }

    #[inline]
    fn shard(&self, slot: u16) -> Option<&Shard> {
        let &shard = self.slots.get(usize::from(slot))?;
        self.shards.get(usize::from(shard))
    }
}

/// Shows who has how many slots.
impl fmt::Debug for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut counts: HashMap<u16, usize> = HashMap::new();
        self.slots
            .iter()
            .for_each(|&shard| *counts.entry(shard).or_default() += 1);
        let mut map = f.debug_map();
        for (at, shard) in (0..).zip(&self.shards) {
            let address = self.nodes.get(shard.primary).map(|node| &node.address);
            map.entry(&address, &counts.get(&at).unwrap_or(&0));
        }
        map.finish()
    }
}

/// A description that is being read.
struct Builder {
    topology: Topology,
    known: HashMap<NodeAddress, usize>,
}

impl Builder {
    fn new() -> Self {
        Self {
            topology: Topology::empty(),
            known: HashMap::new(),
        }
    }

    /// The position of a node, which may be there already.
    fn node(&mut self, address: NodeAddress, zone: Option<&[u8]>) -> Result<usize, String> {
        let nodes = &mut self.topology.nodes;
        if let Some(&known) = self.known.get(&address) {
            return Ok(known);
        }
        if nodes.len() >= MAX_NODES {
            return Err(format!("it has more than {MAX_NODES} nodes"));
        }
        let zone = zone.and_then(|zone| std::str::from_utf8(zone).ok());
        let zone = zone.filter(|zone| !zone.is_empty() && zone.len() <= MAX_ZONE);
        self.known.insert(address.clone(), nodes.len());
        nodes.push(Node {
            address,
            zone: zone.map(Arc::from),
        });
        Ok(nodes.len() - 1)
    }

    /// The position of the shard of that primary, with these replicas in addition.
    fn shard(&mut self, primary: usize, replicas: Vec<usize>) -> Result<u16, String> {
        let shards = &mut self.topology.shards;
        let known = shards.iter().position(|shard| shard.primary == primary);
        let at = known.unwrap_or_else(|| {
            shards.push(Shard {
                primary,
                replicas: Vec::new(),
            });
            shards.len() - 1
        });
        let Some(shard) = shards.get_mut(at) else {
            return Err("it has too many shards".into());
        };
        for replica in replicas {
            let has_room = shard.replicas.len() < MAX_REPLICAS;
            if has_room && replica != primary && !shard.replicas.contains(&replica) {
                shard.replicas.push(replica);
            }
        }
        u16::try_from(at).map_err(|_| "it has too many shards".into())
    }

    fn assign(&mut self, start: i64, end: i64, shard: u16) -> Result<(), String> {
        let slot = |number: i64| {
            u16::try_from(number)
                .ok()
                .filter(|&slot| slot < SLOTS)
                .map(usize::from)
        };
        let range = slot(start)
            .zip(slot(end))
            .filter(|(start, end)| start <= end);
        let (start, end) =
            range.ok_or_else(|| format!("{start} to {end} is not a range of slots"))?;
        let slots = self.topology.slots.get_mut(start..=end).unwrap_or_default();
        for known in slots {
            // With every slot at most once, no description takes longer than its slots.
            if *known != NONE {
                return Err(format!(
                    "two entries have slots of the range {start} to {end}"
                ));
            }
            *known = shard;
        }
        Ok(())
    }

    fn end(self) -> Result<Topology, String> {
        match self.topology.assigned() {
            0 => Err("it assigns no slots".into()),
            _ => Ok(self.topology),
        }
    }
}

/// Replicas of one primary that are remembered: further ones are not needed for reading.
const MAX_REPLICAS: usize = 128;

/// Bytes of a zone's name: far more than any provider's.
const MAX_ZONE: usize = 255;

#[cfg(test)]
mod tests;
