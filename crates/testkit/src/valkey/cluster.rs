//! Real clusters, started privately on one machine and always stopped.

use std::thread;
use std::time::{Duration, Instant};

use super::{Builder, Server, StartError, url};
use crate::certificate::{Authority, Certificate};
use crate::private::{PATIENCE, free_port};

/// After this time without an answer a node counts as failed. Short, so that a failover takes a second or two.
const NODE_TIMEOUT_MS: u32 = 2_000;

/// Slots of a cluster.
const SLOTS: usize = 1 << 14;

/// How often the nodes are asked whether they agree.
const PAUSE: Duration = Duration::from_millis(20);

/// A private cluster. Its nodes stop when it is dropped.
///
/// ```no_run
/// use onecopy_testkit::valkey::Cluster;
///
/// let mut cluster = Cluster::start(3, 1)?; // 3 primaries with 1 replica each
/// println!("{}", cluster.url());
/// cluster.node_mut(0).kill();
/// # Ok::<(), onecopy_testkit::valkey::StartError>(())
/// ```
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Node>,
    primaries: usize,
    directives: Vec<String>,
    is_tls: bool,
}

#[derive(Debug)]
struct Node {
    server: Server,
    bus_port: u16,
    id: String,
}

impl Cluster {
    /// Starts so many primaries, and so many replicas of each; returns when all nodes agree, which takes some 3 seconds. The node
    /// at position `n` is a primary if `n < primaries`, else a replica of the one at `n % primaries`.
    ///
    /// # Errors
    /// As [`Server::start`], and if the nodes do not agree in time.
    pub fn start(primaries: usize, replicas: usize) -> Result<Self, StartError> {
        Self::start_with(primaries, replicas, |_| Vec::new())
    }

    /// The same with more lines of configuration for each node, by its position.
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub fn start_with(
        primaries: usize,
        replicas: usize,
        directives: impl Fn(usize) -> Vec<String>,
    ) -> Result<Self, StartError> {
        let mut cluster = Self {
            nodes: Vec::new(),
            primaries,
            directives: Vec::new(),
            is_tls: false,
        };
        for position in 0..primaries * (1 + replicas) {
            cluster.directives = directives(position);
            cluster.start_node(Server::builder())?;
        }
        cluster.join(primaries)?;
        Ok(cluster)
    }

    /// The same with TLS: of clients on a port of its own, and between the nodes. Each has the certificate for its position, which
    /// has to be one of [`Authority::node`].
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub fn start_tls(
        primaries: usize,
        replicas: usize,
        authority: &Authority,
        certificate: impl Fn(usize) -> Certificate,
        directives: impl Fn(usize) -> Vec<String>,
    ) -> Result<Self, StartError> {
        let mut cluster = Self {
            nodes: Vec::new(),
            primaries,
            directives: Vec::new(),
            is_tls: true,
        };
        for position in 0..primaries * (1 + replicas) {
            cluster.directives = directives(position);
            cluster.start_node(Server::builder().tls(authority, certificate(position)))?;
        }
        cluster.join(primaries)?;
        Ok(cluster)
    }

    /// Makes a cluster of the nodes: the slots, who knows whom, and who follows whom.
    fn join(&mut self, primaries: usize) -> Result<(), StartError> {
        let cluster = self;
        for (position, slots) in cluster.shares(primaries).into_iter().enumerate() {
            let (start, end) = slots;
            cluster.ask(
                position,
                &format!("CLUSTER SET-CONFIG-EPOCH {}", position + 1),
            )?;
            cluster.ask(position, &format!("CLUSTER ADDSLOTSRANGE {start} {end}"))?;
        }
        let all: Vec<usize> = (0..cluster.nodes.len()).collect();
        cluster.meet(&all)?;
        for position in primaries..cluster.nodes.len() {
            cluster.follow(position, position % primaries)?;
        }
        cluster.wait_until_stable()
    }

    /// Adds a primary without slots and a number of replicas of it; returns the primary's position when all nodes know them.
    ///
    /// # Errors
    /// As [`Cluster::start`].
    ///
    /// # Panics
    /// With TLS.
    pub fn grow(&mut self, replicas: usize) -> Result<usize, StartError> {
        assert!(!self.is_tls, "new nodes would need certificates");
        let first = self.nodes.len();
        let mut new = vec![0];
        for _ in 0..=replicas {
            new.push(self.start_node(Server::builder())?);
        }
        self.meet(&new)?;
        for replica in first + 1..self.nodes.len() {
            self.follow(replica, first)?;
        }
        self.wait_until_stable()?;
        Ok(first)
    }

    /// `redis+cluster://127.0.0.1:PORT,127.0.0.1:PORT,...`, all nodes.
    pub fn url(&self) -> String {
        let nodes = self
            .nodes
            .iter()
            .map(|node| format!("127.0.0.1:{}", node.server.port()));
        format!("redis+cluster://{}", nodes.collect::<Vec<_>>().join(","))
    }

    /// `rediss+cluster://HOST:PORT,HOST:PORT,...?tls-ca=PATH`, all nodes under this name; `None` without TLS.
    pub fn tls_url(&self, host: &str) -> Option<String> {
        let authority = self.nodes.first()?.server.authority()?;
        let ports = self.nodes.iter().map(|node| node.server.tls_port());
        let ports: Vec<u16> = ports.collect::<Option<_>>()?;
        Some(url::tls_of_all(
            "rediss+cluster",
            host,
            &ports,
            "",
            authority,
        ))
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes; there are always some.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The number of primaries that it was started with.
    pub fn primaries(&self) -> usize {
        self.primaries
    }

    /// The node at this position.
    ///
    /// # Panics
    /// If there is none.
    pub fn node(&self, position: usize) -> &Server {
        &self.nodes[position].server
    }

    /// The node at this position, to kill, pause or restart it.
    ///
    /// # Panics
    /// If there is none.
    pub fn node_mut(&mut self, position: usize) -> &mut Server {
        &mut self.nodes[position].server
    }

    /// The identity of the node at this position, 40 hexadecimal digits.
    ///
    /// # Panics
    /// If there is none.
    pub fn id(&self, position: usize) -> &str {
        &self.nodes[position].id
    }

    /// The position of the node that listens on this port, with TLS or without.
    pub fn position(&self, port: u16) -> Option<usize> {
        self.nodes
            .iter()
            .position(|node| node.server.port() == port || node.server.tls_port() == Some(port))
    }

    /// Sends a command to a node, its words separated by single spaces; returns the reply as text, of an array its elements line by
    /// line.
    ///
    /// # Errors
    /// If the node can't be reached, or answers with an error, which is the text.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn ask(&self, position: usize, command: &str) -> Result<String, StartError> {
        self.nodes[position].server.ask(command)
    }

    /// Has both nodes redirect to each other for a slot that goes from one to the other. No key goes yet.
    ///
    /// # Errors
    /// If a node refuses it.
    pub fn begin_move(&self, slot: u16, from: usize, to: usize) -> Result<(), StartError> {
        self.ask(
            to,
            &format!("CLUSTER SETSLOT {slot} IMPORTING {}", self.id(from)),
        )?;
        self.ask(
            from,
            &format!("CLUSTER SETSLOT {slot} MIGRATING {}", self.id(to)),
        )?;
        Ok(())
    }

    /// Moves a slot from one primary to another as `valkey-cli --cluster reshard` does: its keys one after the other, while both
    /// nodes redirect to each other. `between` is called after each key.
    ///
    /// # Errors
    /// If a node refuses it.
    pub fn move_slot(
        &self,
        slot: u16,
        from: usize,
        to: usize,
        mut between: impl FnMut(),
    ) -> Result<(), StartError> {
        self.begin_move(slot, from, to)?;
        let port = self.node(to).announced_port();
        loop {
            let keys = self.ask(from, &format!("CLUSTER GETKEYSINSLOT {slot} 1"))?;
            let Some(key) = keys.lines().next().filter(|key| !key.is_empty()) else {
                break;
            };
            self.ask(
                from,
                &format!("MIGRATE 127.0.0.1 {port} {key} 0 5000 REPLACE"),
            )?;
            between();
        }
        // The new one first: from then on nobody loses the slot.
        for position in [to, from] {
            self.ask(
                position,
                &format!("CLUSTER SETSLOT {slot} NODE {}", self.id(to)),
            )?;
        }
        Ok(())
    }

    /// Waits until all nodes that run see all slots served, and each other's roles alike.
    ///
    /// # Errors
    /// If they don't agree in time.
    pub fn wait_until_stable(&self) -> Result<(), StartError> {
        self.wait_until(|cluster| {
            let mut views = Vec::new();
            for position in 0..cluster.nodes.len() {
                let Ok(info) = cluster.ask(position, "CLUSTER INFO") else {
                    continue;
                };
                let nodes = cluster.ask(position, "CLUSTER NODES").unwrap_or_default();
                if !info.contains("cluster_state:ok") || nodes.contains("handshake") {
                    return false;
                }
                let replication = cluster
                    .ask(position, "INFO replication")
                    .unwrap_or_default();
                let is_replica = replication.contains("role:slave");
                if is_replica && !replication.contains("master_link_status:up") {
                    return false;
                }
                // A replica counts as loading until its offset is known. Before 7.0 nobody says so.
                let shards = cluster.ask(position, "CLUSTER SHARDS").unwrap_or_default();
                if shards.lines().any(|line| line == "loading") {
                    return false;
                }
                views.push(view(&nodes));
            }
            views.windows(2).all(|two| two[0] == two[1])
        })
    }

    /// Waits until something is so.
    ///
    /// # Errors
    /// If that takes too long.
    pub fn wait_until(&self, is_so: impl Fn(&Self) -> bool) -> Result<(), StartError> {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self) {
            if Instant::now() > deadline {
                let nodes = self.nodes.iter().enumerate();
                let views = nodes.map(|(at, _)| self.ask(at, "CLUSTER NODES").unwrap_or_default());
                return Err(StartError::Deadline {
                    seconds: PATIENCE.as_secs(),
                    log: views.collect::<Vec<_>>().join("\n"),
                });
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn start_node(&mut self, mut builder: Builder) -> Result<usize, StartError> {
        let bus_port = free_port()?;
        if self.is_tls {
            builder = builder.directive("tls-cluster yes");
            builder = builder.directive("tls-replication yes");
        }
        for line in [
            "cluster-enabled yes",
            "cluster-config-file nodes.conf",
            "cluster-replica-validity-factor 0",
            "cluster-allow-replica-migration no",
            "repl-diskless-sync yes",
            "repl-diskless-sync-delay 0",
            // Until the first of these a replica of an empty primary counts as loading.
            "repl-ping-replica-period 1",
        ] {
            builder = builder.directive(line);
        }
        builder = builder.directive(format!("cluster-node-timeout {NODE_TIMEOUT_MS}"));
        builder = builder.directive(format!("cluster-port {bus_port}"));
        for line in &self.directives {
            builder = builder.directive(line);
        }
        let server = builder.start()?;
        self.nodes.push(Node {
            server,
            bus_port,
            id: String::new(),
        });
        let position = self.nodes.len() - 1;
        self.nodes[position].id = self.ask(position, "CLUSTER MYID")?;
        Ok(position)
    }

    /// The first and the last slot of each primary.
    fn shares(&self, primaries: usize) -> Vec<(usize, usize)> {
        let start = |position: usize| position * SLOTS / primaries;
        (0..primaries)
            .map(|position| (start(position), start(position + 1) - 1))
            .collect()
    }

    /// Introduces these nodes to each other: with all pairs that is faster than by gossip.
    fn meet(&self, positions: &[usize]) -> Result<(), StartError> {
        for &one in positions {
            for &other in positions.iter().filter(|&&other| other > one) {
                let Node {
                    server, bus_port, ..
                } = &self.nodes[other];
                self.ask(
                    one,
                    &format!(
                        "CLUSTER MEET 127.0.0.1 {} {bus_port}",
                        server.announced_port()
                    ),
                )?;
            }
        }
        let ids: Vec<&str> = self.nodes.iter().map(|node| node.id.as_str()).collect();
        self.wait_until(|cluster| {
            (0..cluster.nodes.len()).all(|position| {
                let nodes = cluster.ask(position, "CLUSTER NODES").unwrap_or_default();
                ids.iter().all(|id| nodes.contains(id)) && !nodes.contains("handshake")
            })
        })
    }

    fn follow(&self, replica: usize, primary: usize) -> Result<(), StartError> {
        self.ask(replica, &format!("CLUSTER REPLICATE {}", self.id(primary)))?;
        Ok(())
    }
}

/// A test that fails shows what has become of its nodes.
impl Drop for Cluster {
    fn drop(&mut self) {
        if !thread::panicking() {
            return;
        }
        for (position, node) in self.nodes.iter().enumerate() {
            let view = self.ask(position, "CLUSTER NODES");
            let view = view.unwrap_or_else(|error| error.to_string());
            let (port, log) = (node.server.port(), node.server.log_tail());
            println!("== node {position}, port {port}\n{view}\n{log}");
        }
    }
}

/// Of each node of CLUSTER NODES its identity, its role and its slots, without those that failed.
fn view(nodes: &str) -> Vec<String> {
    let mut view: Vec<String> = nodes
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let flags = words.get(2)?.replace("myself,", "");
            if flags.contains("fail") {
                return None;
            }
            Some(format!(
                "{} {flags} {} {:?}",
                words.first()?,
                words.get(3)?,
                words.get(8..)
            ))
        })
        .collect();
    view.sort();
    view
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_agree_whoever_has_them() {
        let one = "a 127.0.0.1:1@2 myself,master - 0 0 1 connected 0-99\nb 127.0.0.1:3@4 slave a 0 5 1 connected";
        let other = "b 127.0.0.1:3@4 myself,slave a 0 0 1 connected\na 127.0.0.1:1@2 master - 0 9 1 connected 0-99";
        assert_eq!(view(one), view(other));
        assert_ne!(view(one), view(&other.replace("0-99", "0-98")));
    }
}
