//! Reads the replies to CLUSTER SHARDS and CLUSTER SLOTS.
//!
//! ```text
//!   CLUSTER SHARDS   [ { slots: [ start end ... ]  nodes: [ { endpoint ip port tls-port role health ... } ... ] } ... ]
//!   CLUSTER SLOTS    [ [ start end [ endpoint port id { hostname ... } ] [ replica ... ] ... ] ... ]
//! ```
//!
//! With RESP2 the maps are arrays of names and values. An endpoint that is null or empty is the host that was asked; `?` is one
//! that the cluster does not know.
//!
//! Source: <https://valkey.io/commands/cluster-shards/>, <https://valkey.io/commands/cluster-slots/>.

use onecopy_resp_proto::Reply;

use super::{Builder, Topology};
use crate::cluster::address::NodeAddress;
use crate::fields::{field, list, number};

impl Topology {
    /// Reads the reply to CLUSTER SHARDS of the node at `asked`. `is_tls`: nodes are reached by TLS.
    ///
    /// # Errors
    /// Fails with what is wrong with it.
    pub(crate) fn of_shards(
        reply: Reply<'_>,
        asked: &NodeAddress,
        is_tls: bool,
    ) -> Result<Self, String> {
        let mut builder = Builder::new();
        for shard in list(Some(reply), "the reply")? {
            let slots = list(field(shard, b"slots"), "the slots of a shard")?;
            let nodes = list(field(shard, b"nodes"), "the nodes of a shard")?;
            let (mut primary, mut replicas) = (None, Vec::new());
            for node in nodes {
                let is_online =
                    field(node, b"health").is_none_or(|health| health.bytes() == b"online");
                let Some(address) = shard_node(node, asked, is_tls)? else {
                    continue;
                };
                let is_primary = field(node, b"role")
                    .is_some_and(|role| matches!(role.bytes(), b"master" | b"primary"));
                let zone = field(node, b"availability-zone").map(|zone| zone.bytes());
                match is_primary {
                    // After a failover the old one may be there still.
                    true if is_online || primary.is_none() => {
                        primary = Some(builder.node(address, zone)?)
                    }
                    false if is_online => replicas.push(builder.node(address, zone)?),
                    _ => {}
                }
            }
            let mut slots = slots.peekable();
            let (Some(primary), Some(_)) = (primary, slots.peek()) else {
                continue; // a primary without slots, or one that no one can reach
            };
            let shard = builder.shard(primary, replicas)?;
            while let Some(start) = slots.next() {
                let end = slots.next().ok_or("a range of slots has no end")?;
                builder.assign(number(start)?, number(end)?, shard)?;
            }
        }
        builder.end()
    }

    /// Reads the reply to CLUSTER SLOTS of the node at `asked`.
    ///
    /// # Errors
    /// Fails with what is wrong with it.
    pub(crate) fn of_slots(reply: Reply<'_>, asked: &NodeAddress) -> Result<Self, String> {
        let mut builder = Builder::new();
        for range in list(Some(reply), "the reply")? {
            let mut words = list(Some(range), "an entry")?;
            let (start, end) = words
                .next()
                .zip(words.next())
                .ok_or("an entry has no range of slots")?;
            let (start, end) = (number(start)?, number(end)?);
            let primary = words.next().ok_or("a range of slots has no node")?;
            let Some((address, zone)) = slots_node(primary, asked)? else {
                continue;
            };
            let primary = builder.node(address, zone)?;
            let mut replicas = Vec::new();
            for replica in words {
                if let Some((address, zone)) = slots_node(replica, asked)? {
                    replicas.push(builder.node(address, zone)?);
                }
            }
            let shard = builder.shard(primary, replicas)?;
            builder.assign(start, end, shard)?;
        }
        builder.end()
    }
}

/// A node of CLUSTER SHARDS; `None` if it can't be reached by this client.
fn shard_node(
    node: Reply<'_>,
    asked: &NodeAddress,
    is_tls: bool,
) -> Result<Option<NodeAddress>, String> {
    let tls_port = field(node, b"tls-port").filter(|_| is_tls);
    let Some(port) = tls_port.or_else(|| field(node, b"port")) else {
        return Ok(None);
    };
    let host = field(node, b"endpoint").or_else(|| field(node, b"ip"));
    address(host, port, asked)
}

/// A node and its zone.
type Located<'r> = (NodeAddress, Option<&'r [u8]>);

/// A node of CLUSTER SLOTS; `None` if it can't be reached by this client.
fn slots_node<'r>(node: Reply<'r>, asked: &NodeAddress) -> Result<Option<Located<'r>>, String> {
    let mut words = list(Some(node), "a node")?;
    let (host, port) = words
        .next()
        .zip(words.next())
        .ok_or("a node has no address")?;
    let zone = words
        .nth(1)
        .and_then(|metadata| field(metadata, b"availability-zone"));
    let address = address(Some(host), port, asked)?;
    Ok(address.map(|address| (address, zone.map(|zone| zone.bytes()))))
}

fn address(
    host: Option<Reply<'_>>,
    port: Reply<'_>,
    asked: &NodeAddress,
) -> Result<Option<NodeAddress>, String> {
    let port = number(port)?;
    let port = u64::try_from(port).map_err(|_| format!("port {port} is not valid for a node"))?;
    let host = host.filter(|host| !host.is_null()).map(|host| host.bytes());
    match host.unwrap_or_default() {
        b"" => NodeAddress::new(asked.host().as_bytes(), port).map(Some),
        b"?" => Ok(None),
        host => NodeAddress::new(host, port).map(Some),
    }
}
