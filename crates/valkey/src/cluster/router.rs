//! Which node a command is sent to.

use std::collections::HashMap;
use std::sync::Arc;

use super::address::NodeAddress;
use super::attempts::Target;
use super::config::ReadFrom;
use super::error::ClusterError;
use super::route::Route;
use super::topology::{Node, Topology};
use crate::{Config, Error};

/// Nodes that are asked for the slots in one refresh: with more, a refresh of a cluster that is down would take for ever.
const MAX_ASKED: usize = 8;

/// Nodes that are asked for their zones at a time: the others are at the next refresh.
const MAX_ZONES_ASKED: usize = 64;

/// What is known of the cluster, and whose turn it is.
#[derive(Debug)]
pub(crate) struct Router {
    topology: Topology,
    read_from: ReadFrom,
    seeds: Vec<NodeAddress>,
    turn: usize,
    /// What nodes have said of their zones when they were asked; `None` if they have none.
    zones: HashMap<NodeAddress, Option<Arc<str>>>,
}

/// A node, and on which of its connections.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) address: NodeAddress,
    /// On one that was told READONLY: without that a replica redirects all commands. A connection to a primary must not be told: it
    /// would read old data when the primary has become a replica.
    pub(crate) is_replica: bool,
}

impl Place {
    fn primary(address: &NodeAddress) -> Self {
        Self {
            address: address.clone(),
            is_replica: false,
        }
    }

    /// How to connect to it, by the settings of all nodes.
    pub(crate) fn config(&self, node: &Config) -> Config {
        Config {
            endpoint: self.address.endpoint(),
            readonly: self.is_replica,
            ..node.clone()
        }
    }
}

impl Router {
    pub(crate) fn new(read_from: ReadFrom, seeds: Vec<NodeAddress>) -> Self {
        Self {
            topology: Topology::empty(),
            read_from,
            seeds,
            turn: 0,
            zones: HashMap::new(),
        }
    }

    /// Returns where a command goes.
    ///
    /// # Errors
    /// Fails if no node has its slot.
    pub(crate) fn place(&mut self, route: Route, target: &Target) -> Result<Place, Error> {
        match target {
            Target::Node(address) | Target::Asking(address) => Ok(Place::primary(address)),
            Target::Route if route.reads() && self.read_from != ReadFrom::Primary => {
                self.reader(route)
            }
            Target::Route | Target::Primary => self.primary(route.slot),
        }
    }

    fn primary(&mut self, slot: Option<u16>) -> Result<Place, Error> {
        let Some(slot) = slot else {
            return self.any_primary();
        };
        let primary = self.topology.primary(slot);
        let primary =
            primary.ok_or_else(|| Error::cluster_error(ClusterError::UnassignedSlot(slot)))?;
        Ok(Place::primary(&primary.address))
    }

    fn any_primary(&mut self) -> Result<Place, Error> {
        let turn = self.take_turn();
        let primaries = self.topology.primaries();
        let count = primaries.len().max(1);
        let primary = primaries.get(turn % count);
        let primary =
            primary.ok_or_else(|| Error::cluster_error(ClusterError::UnassignedSlot(0)))?;
        Ok(Place::primary(primary))
    }

    /// A node for a command that only reads.
    fn reader(&mut self, route: Route) -> Result<Place, Error> {
        let turn = self.take_turn();
        let slot = route.slot.unwrap_or_default();
        let Some(primary) = self.topology.primary(slot) else {
            return self.primary(route.slot);
        };
        let replicas: Vec<&Node> = self.topology.replicas(slot).collect();
        let mut nodes: Vec<&Node> = match &self.read_from {
            ReadFrom::Primary => Vec::new(),
            ReadFrom::Replica => replicas.clone(),
            ReadFrom::Any => replicas.iter().copied().chain([primary]).collect(),
            ReadFrom::Zone(zone) => {
                let all = replicas.iter().copied().chain([primary]);
                all.filter(|node| node.zone.as_ref().is_some_and(|own| **own == **zone))
                    .collect()
            }
        };
        if nodes.is_empty() {
            nodes = replicas;
        }
        let count = nodes.len().max(1);
        let node = nodes.get(turn % count).copied().unwrap_or(primary);
        Ok(Place {
            address: node.address.clone(),
            is_replica: node != primary,
        })
    }

    fn take_turn(&mut self) -> usize {
        self.turn = self.turn.wrapping_add(1);
        self.turn
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    pub(crate) fn learn(&mut self, topology: Topology) {
        self.topology = topology;
        let nodes = self.topology.nodes();
        self.zones
            .retain(|address, _| nodes.iter().any(|node| node.address == *address));
        for (address, zone) in &self.zones {
            self.topology.set_zone(address, zone.clone());
        }
    }

    /// Returns the nodes to ask for their zones, if these matter: those that the description says nothing of.
    pub(crate) fn without_zone(&self) -> Vec<NodeAddress> {
        if !matches!(self.read_from, ReadFrom::Zone(_)) {
            return Vec::new();
        }
        let nodes = self.topology.nodes().iter();
        let unknown =
            nodes.filter(|node| node.zone.is_none() && !self.zones.contains_key(&node.address));
        unknown
            .map(|node| node.address.clone())
            .take(MAX_ZONES_ASKED)
            .collect()
    }

    /// A node has answered INFO.
    pub(crate) fn learn_zone(&mut self, address: &NodeAddress, info: &[u8]) {
        let lines = info.split(|&byte| byte == b'\n');
        let mut zones = lines.filter_map(|line| line.strip_prefix(b"availability_zone:"));
        let zone = zones.next().and_then(|zone| std::str::from_utf8(zone).ok());
        let zone = zone
            .map(str::trim)
            .filter(|zone| !zone.is_empty())
            .map(Arc::from);
        self.topology.set_zone(address, zone.clone());
        self.zones.insert(address.clone(), zone);
    }

    pub(crate) fn moved(&mut self, slot: u16, to: &NodeAddress) {
        self.topology.moved(slot, to);
    }

    /// Returns whether there is such a node, with this role, as far as is known.
    pub(crate) fn has(&self, place: &Place) -> bool {
        self.topology.has(&place.address, place.is_replica)
    }

    /// Returns the nodes to ask for the slots, in this order: others each time, and seeds at last. `is_well` says whether a node
    /// seems to answer; those come first.
    pub(crate) fn candidates(
        &mut self,
        is_well: impl Fn(&NodeAddress) -> bool,
    ) -> Vec<NodeAddress> {
        let turn = self.take_turn();
        let nodes = self.topology.nodes();
        let start = turn % nodes.len().max(1);
        let (behind, before) = nodes.split_at_checked(start).unwrap_or_default();
        let known = before.iter().chain(behind).map(|node| &node.address);
        let (well, other): (Vec<_>, Vec<_>) = known.partition(|address| is_well(address));
        let seeds = self
            .seeds
            .iter()
            .filter(|seed| !nodes.iter().any(|node| node.address == **seed));
        let room = MAX_ASKED.saturating_sub(self.seeds.len().min(MAX_ASKED / 2));
        let nodes = well.into_iter().chain(other).take(room);
        nodes.chain(seeds).take(MAX_ASKED).cloned().collect()
    }
}

#[cfg(test)]
mod tests;
