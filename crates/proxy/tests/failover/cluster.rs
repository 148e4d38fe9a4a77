//! A proxy in front of a cluster of three servers.

use std::time::Duration;

use onecopy_proxy::Proxy;
use onecopy_proxy::config::{Mode, ReplicaReads};
use onecopy_testkit::server::Server;

use crate::pair::{self, state_of};
use crate::replication::until;

const NAMES: [&str; 3] = ["one", "two", "three"];

/// The servers, of which the first one gets the writes at first.
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Server>,
    pub(crate) proxy: Proxy,
}

impl Cluster {
    /// Starts the proxy; returns when it knows who is who.
    pub(crate) fn start(nodes: Vec<Server>) -> Self {
        let cluster = Self::start_with(nodes, None);
        cluster.await_states(["up", "standby", "standby"]);
        cluster
    }

    /// The same with reads on those that do not get the writes.
    pub(crate) fn start_reading(nodes: Vec<Server>, reads: ReplicaReads) -> Self {
        let cluster = Self::start_with(nodes, Some(reads));
        cluster.await_states(["up", "replica", "replica"]);
        cluster
    }

    fn start_with(nodes: Vec<Server>, reads: Option<ReplicaReads>) -> Self {
        let servers: Vec<_> = nodes.iter().collect();
        let mut config = pair::config(&servers, Mode::Transaction, reads);
        // Nodes that are only slow are not left.
        (config.health.timeout, config.health.fall) = (Duration::from_secs(30), 3);
        let proxy = Proxy::start(config).unwrap();
        Self { nodes, proxy }
    }

    /// Waits until the proxy has the nodes in these states.
    pub(crate) fn await_states(&self, states: [&str; 3]) {
        until(&format!("the proxy has {states:?}"), || {
            self.states() == states
        });
    }

    pub(crate) fn states(&self) -> [String; 3] {
        let mut admin = pair::admin(&self.proxy);
        NAMES.map(|name| state_of(&mut admin, name))
    }
}
